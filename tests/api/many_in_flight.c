/* SPDX-License-Identifier: BSD-3-Clause */
/* 2000 calls forwarded before any progress all end, each with its reply. */
#include <stdlib.h>

#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 2000 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;

static hg_return_t serve(hg_handle_t handle)
{
    number_t number;

    OK(the, HG_Get_input(handle, &number));
    number.value = ~number.value;
    OK(the, HG_Respond(handle, NULL, NULL, &number));
    OK(the, HG_Free_input(handle, &number));
    return HG_Destroy(handle);
}

static void test(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "not", number_t, number_t, serve);
    struct api_call *calls = calloc(CALLS, sizeof(*calls));
    hg_handle_t *handles = calloc(CALLS, sizeof(hg_handle_t));

    the = api;
    CHECK(api, calls != NULL && handles != NULL);
    api_sync(api);
    for (uint32_t i = 0; i < CALLS; i++) {
        handles[i] = api_handle(api, id);
        api_forward(api, handles[i], &(number_t){i}, &calls[i]);
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        number_t number = {0};

        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Get_output(handles[i], &number));
        CHECK(api, number.value == ~i);
        OK(api, HG_Free_output(handles[i], &number));
        OK(api, HG_Destroy(handles[i]));
    }
    free(handles);
    free(calls);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
