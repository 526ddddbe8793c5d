/* SPDX-License-Identifier: BSD-3-Clause */
/* One handle makes 10,000 calls, reset in between or not, to one RPC and
 * another, and keeps the program's pointer. */
#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 10000 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static unsigned freed;

static hg_return_t serve(hg_handle_t handle, uint32_t more)
{
    number_t number;

    OK(the, HG_Get_input(handle, &number));
    number.value += more;
    OK(the, HG_Respond(handle, NULL, NULL, &number));
    OK(the, HG_Free_input(handle, &number));
    return HG_Destroy(handle);
}

static hg_return_t serve_one(hg_handle_t handle)
{
    return serve(handle, 1);
}

static hg_return_t serve_two(hg_handle_t handle)
{
    return serve(handle, 2);
}

static void data_free(void *data)
{
    (void)data;
    freed++;
}

static void test(struct api *api)
{
    hg_id_t ids[2] = {
        MERCURY_REGISTER(api->cls, "one", number_t, number_t, serve_one),
        MERCURY_REGISTER(api->cls, "two", number_t, number_t, serve_two)};
    hg_handle_t handle;
    uint32_t more = 1;

    the = api;
    api_sync(api);
    handle = api_handle(api, ids[0]);
    OK(api, HG_Set_data(handle, &more, data_free));
    for (uint32_t i = 0; i < CALLS; i++) {
        number_t number = {i};

        if (i % 3 == 0) {
            OK(api, HG_Reset(handle, i % 2 == 0 ? api->right : HG_ADDR_NULL,
                        ids[i % 2]));
            more = i % 2 + 1;
        }
        OK(api, api_ask(api, handle, &number));
        OK(api, HG_Get_output(handle, &number));
        CHECK(api, number.value == i + more);
        OK(api, HG_Free_output(handle, &number));
        CHECK(api, HG_Get_data(handle) == &more && freed == 0);
    }
    CHECK(api, HG_Ref_get(handle) == 1);
    OK(api, HG_Destroy(handle));
    CHECK(api, freed == 1);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
