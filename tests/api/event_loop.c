/* SPDX-License-Identifier: BSD-3-Clause */
/* An event loop blocks on the context's descriptor and is woken for all events:
 * calls from the neighbour, and posts by another thread of this process. A
 * context without a descriptor returns none, and is polled. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 1000, WAIT_MS = 20000 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static atomic_uint served;
static atomic_uint ended;
static hg_id_t id;

static hg_return_t serve(hg_handle_t handle)
{
    number_t number;

    OK(the, HG_Get_input(handle, &number));
    OK(the, HG_Respond(handle, NULL, NULL, &number));
    OK(the, HG_Free_input(handle, &number));
    atomic_fetch_add(&served, 1);
    return HG_Destroy(handle);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    CHECK(the, info->ret == HG_SUCCESS);
    OK(the, HG_Destroy(info->info.forward.handle));
    atomic_fetch_add(&ended, 1);
    return HG_SUCCESS;
}

/* One call after another, without progress. */
static void *caller(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < CALLS; i++) {
        hg_handle_t handle = api_handle(the, id);
        number_t number = {i};

        OK(the, HG_Forward(handle, call_ended, NULL, &number));
        while (atomic_load(&ended) <= i)
            sched_yield();
    }
    return NULL;
}

static void loop_turn(struct api *api, int fd)
{
    struct pollfd news = {.fd = fd, .events = POLLIN};
    unsigned queued = 0;
    unsigned count = 0;

    if (!HG_Event_ready(api->context) && fd >= 0)
        CHECK(api, poll(&news, 1, WAIT_MS) == 1);
    OK(api, HG_Event_progress(api->context, &queued));
    OK(api, HG_Event_trigger(api->context, UINT32_MAX, &count));
    if (fd < 0 && count == 0)
        sched_yield();
}

static void test(struct api *api)
{
    int fd = HG_Event_get_wait_fd(api->context);
    pthread_t thread;

    the = api;
    CHECK(api, fd == HG_Event_get_wait_fd(api->context));
    id = MERCURY_REGISTER(api->cls, "number", number_t, number_t, serve);
    api_sync(api);
    CHECK(api, pthread_create(&thread, NULL, caller, NULL) == 0);
    while (atomic_load(&ended) < CALLS || atomic_load(&served) < CALLS)
        loop_turn(api, fd);
    CHECK(api, pthread_join(thread, NULL) == 0);
    CHECK(api, atomic_load(&ended) == CALLS && atomic_load(&served) == CALLS);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
