/* SPDX-License-Identifier: BSD-3-Clause */
/* A one-way call with arguments too long for a message is served, and ends at
 * the origin when the target has pulled them. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { LEN = 1 << 20, CALLS = 20 };

static struct api *the;
static unsigned served;

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right && in.len == LEN);
    OK(the, HG_Free_input(handle, &in));
    EXPECT(the, HG_OPNOTSUPPORTED, HG_Respond(handle, NULL, NULL, NULL));
    served++;
    return HG_Destroy(handle);
}

static void test(struct api *api)
{
    api_blob_t in = {.len = LEN};
    hg_handle_t handle;
    hg_id_t id = MERCURY_REGISTER(api->cls, "long", api_blob_t, void, serve);

    the = api;
    OK(api, HG_Registered_disable_response(api->cls, id, HG_TRUE));
    api_sync(api);
    handle = api_handle(api, id);
    for (unsigned i = 0; i < CALLS; i++) {
        in.seed = i;
        OK(api, api_ask(api, handle, &in));
    }
    UNTIL(api, served == CALLS);
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
