/* SPDX-License-Identifier: BSD-3-Clause */
/* When a handler lets go of a call without an answer, its origin is told
 * HG_CANCELED instead of waiting for ever. */
#include "api.h"

enum { ROUNDS = 200 };

static struct api *the;
static hg_handle_t kept;

static hg_return_t serve(hg_handle_t handle)
{
    return HG_Destroy(handle);
}

/* A share that was taken keeps the call open. */
static hg_return_t serve_shared(hg_handle_t handle)
{
    OK(the, HG_Ref_incr(handle));
    OK(the, HG_Destroy(handle));
    kept = handle;
    return HG_SUCCESS;
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "forget", NULL, NULL, serve);
    hg_id_t shared_id =
        HG_Register_name(api->cls, "shared", NULL, NULL, serve_shared);
    struct api_call call;
    hg_handle_t handle;

    the = api;
    api_sync(api);
    handle = api_handle(api, id);
    for (unsigned i = 0; i < ROUNDS; i++)
        EXPECT(api, HG_CANCELED, api_ask(api, handle, NULL));
    OK(api, HG_Reset(handle, HG_ADDR_NULL, shared_id));
    api_forward(api, handle, NULL, &call);
    UNTIL(api, kept != HG_HANDLE_NULL);
    CHECK(api, HG_Ref_get(kept) == 1);
    OK(api, HG_Respond(kept, NULL, NULL, NULL));
    OK(api, HG_Destroy(kept));
    OK(api, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
