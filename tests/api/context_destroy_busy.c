/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Context_destroy() that returns HG_BUSY stops receiving, and changes
 * nothing else: a long reply in flight still arrives. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { LEN = 1 << 20 };

static struct api *the;
static bool is_answered;
static hg_addr_t found;

static hg_return_t looked_up(const struct hg_cb_info *info)
{
    found = info->info.lookup.addr;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t blob;

    OK(the, HG_Get_input(handle, &blob));
    OK(the, HG_Free_input(handle, &blob));
    blob.len = LEN;
    OK(the, HG_Respond(handle, NULL, NULL, &blob));
    is_answered = true;
    return HG_Destroy(handle);
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    char text[256];
    hg_size_t len = sizeof(text);
    api_blob_t blob = {0};
    struct api_call call;
    hg_handle_t handle;

    the = api;
    OK(api, HG_Addr_to_string(api->cls, text, &len, api->right));
    api_sync(api);
    handle = api_handle(api, id);
    api_forward(api, handle, &blob, &call);
    UNTIL(api, is_answered);
    OK(api,
        HG_Addr_lookup1(api->context, looked_up, NULL, text, HG_OP_ID_IGNORE));
    EXPECT(api, HG_BUSY, HG_Context_destroy(api->context));
    OK(api, api_wait(api, &call));
    OK(api, HG_Get_output(handle, &blob));
    CHECK(api, blob.is_right && blob.len == LEN);
    OK(api, HG_Free_output(handle, &blob));
    UNTIL(api, found != HG_ADDR_NULL);
    OK(api, HG_Addr_free(api->cls, found));
    api_sync(api);
    EXPECT(api, HG_CANCELED, api_ask(api, handle, &blob));
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
