/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin gets HG_NOENTRY for an RPC that is unknown at its target, and
 * HG_INVALID_ARG for one that has no callback there; the handle stays
 * usable. */
#include "api.h"
#include "mercury_macros.h"

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static unsigned served;

static hg_return_t serve(hg_handle_t handle)
{
    served++;
    (void)HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

/* The handle is created while the RPC is known here, so it is sent. */
static void unknown(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "gone", number_t, void, serve);
    hg_handle_t handle = api_handle(api, id);
    number_t in = {1};
    number_t out = {2};

    OK(api, HG_Deregister(api->cls, id));
    api_sync(api);
    EXPECT(api, HG_NOENTRY, api_ask(api, handle, &in));
    EXPECT(api, HG_FAULT, HG_Get_output(handle, &out));
    CHECK(api, out.value == 2);
    EXPECT(api, HG_NOENTRY, api_ask(api, handle, &in));
    EXPECT(api, HG_NOENTRY, HG_Reset(handle, HG_ADDR_NULL, 12345));
    api_sync(api);
    /* Registered again, it is served. */
    CHECK(api, MERCURY_REGISTER(api->cls, "gone", number_t, void, serve) == id);
    api_sync(api);
    OK(api, HG_Destroy(handle));
    handle = api_handle(api, id);
    OK(api, api_ask(api, handle, &in));
    CHECK(api, served == 1 || !api->is_alone);
    OK(api, HG_Destroy(handle));
}

static void no_callback(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "deaf", number_t, void, NULL);
    hg_handle_t handle = api_handle(api, id);
    number_t in = {1};

    api_sync(api);
    EXPECT(api, HG_INVALID_ARG, api_ask(api, handle, &in));
    EXPECT(api, HG_INVALID_ARG, api_ask(api, handle, &in));
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    unknown(api);
    no_callback(api);
    api_sync(api);
    CHECK(api, served == 1);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
