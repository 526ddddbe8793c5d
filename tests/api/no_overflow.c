/* SPDX-License-Identifier: BSD-3-Clause */
/* With the option no_overflow arguments that do not fit give HG_OVERFLOW at the
 * call itself, and short ones still work. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

static struct api *the;

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};

    OK(the, HG_Get_input(handle, &in));
    out.len = HG_Class_get_output_eager_size(the->cls) - API_BLOB_HEAD + 1;
    EXPECT(the, HG_OVERFLOW, HG_Respond(handle, NULL, NULL, &out));
    out.len--;
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    OK(the, HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static void test(struct api *api)
{
    uint64_t eager = HG_Class_get_input_eager_size(api->cls) - API_BLOB_HEAD;
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    api_blob_t in = {.len = eager + 1};
    api_blob_t out;
    hg_handle_t handle;

    the = api;
    api_sync(api);
    handle = api_handle(api, id);
    EXPECT(api, HG_OVERFLOW, HG_Forward(handle, api_done, NULL, &in));
    in.len = 5 << 20;
    EXPECT(api, HG_OVERFLOW, HG_Forward(handle, api_done, NULL, &in));
    in.len = eager;
    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Get_output(handle, &out));
    CHECK(api, out.is_right);
    OK(api, HG_Free_output(handle, &out));
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){.no_overflow = true}, test);
}
