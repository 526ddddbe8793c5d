/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls run their handler and end at the origin when they were sent; a
 * reply to them is refused. */
#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 1000 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static uint32_t served;

static hg_return_t serve(hg_handle_t handle)
{
    number_t in;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.value == served); /* in the order of sending */
    OK(the, HG_Free_input(handle, &in));
    EXPECT(the, HG_OPNOTSUPPORTED, HG_Respond(handle, NULL, NULL, NULL));
    served++;
    return HG_Destroy(handle);
}

static void test(struct api *api)
{
    hg_handle_t handle;
    hg_id_t id = MERCURY_REGISTER(api->cls, "one_way", number_t, void, serve);

    the = api;
    OK(api, HG_Registered_disable_response(api->cls, id, HG_TRUE));
    api_sync(api);
    handle = api_handle(api, id);
    for (uint32_t i = 0; i < CALLS; i++)
        OK(api, api_ask(api, handle, &(number_t){i}));
    UNTIL(api, served == CALLS);
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
