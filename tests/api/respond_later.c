/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler may keep its calls, return, and let another thread answer them
 * later, in any order. */
#include <pthread.h>

#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 20 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static hg_handle_t kept[CALLS];
static unsigned kept_count;

static hg_return_t serve(hg_handle_t handle)
{
    CHECK(the, kept_count < CALLS);
    kept[kept_count] = handle;
    kept_count++;
    return HG_SUCCESS;
}

/* Answers in reverse order. */
static void *answerer(void *arg)
{
    struct api *api = arg;

    for (unsigned i = CALLS; i-- > 0;) {
        number_t number;

        OK(api, HG_Get_input(kept[i], &number));
        number.value *= 3;
        OK(api, HG_Respond(kept[i], NULL, NULL, &number));
        OK(api, HG_Free_input(kept[i], &number));
        OK(api, HG_Destroy(kept[i]));
    }
    return NULL;
}

static void test(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "later", number_t, number_t, serve);
    struct api_call calls[CALLS];
    hg_handle_t handles[CALLS];
    pthread_t thread;

    the = api;
    api_sync(api);
    for (uint32_t i = 0; i < CALLS; i++) {
        handles[i] = api_handle(api, id);
        api_forward(api, handles[i], &(number_t){i}, &calls[i]);
    }
    UNTIL(api, kept_count == CALLS);
    CHECK(api, pthread_create(&thread, NULL, answerer, api) == 0);
    for (uint32_t i = 0; i < CALLS; i++) {
        number_t number = {0};

        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Get_output(handles[i], &number));
        CHECK(api, number.value == 3 * i);
        OK(api, HG_Free_output(handles[i], &number));
        OK(api, HG_Destroy(handles[i]));
    }
    CHECK(api, pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
