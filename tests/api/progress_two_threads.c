/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads share a context: one makes progress while another triggers, and then
 * two make progress at once while a third forwards. Nothing is lost or run
 * twice. */
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>

#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 2000, WINDOW = 20 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static atomic_bool is_over;
static atomic_uint served;
static atomic_uint ended;

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
    hg_handle_t handle = info->info.forward.handle;
    number_t number = {0};

    CHECK(the, info->ret == HG_SUCCESS);
    OK(the, HG_Get_output(handle, &number));
    OK(the, HG_Free_output(handle, &number));
    OK(the, HG_Destroy(handle));
    atomic_fetch_add(&ended, 1);
    return HG_SUCCESS;
}

static void *progressor(void *arg)
{
    hg_context_t *context = arg;

    while (!atomic_load(&is_over)) {
        hg_return_t rc = HG_Progress(context, 1);

        CHECK(the, rc == HG_SUCCESS || rc == HG_TIMEOUT);
        if (rc == HG_SUCCESS)
            sched_yield(); /* queued entries are for the other thread */
    }
    return NULL;
}

static void *triggerer(void *arg)
{
    hg_context_t *context = arg;

    while (!atomic_load(&is_over)) {
        hg_return_t rc = HG_Trigger(context, 1, 1, NULL);

        CHECK(the, rc == HG_SUCCESS || rc == HG_TIMEOUT);
    }
    return NULL;
}

/* Forwards all calls, WINDOW at a time, and makes no progress. */
static void forward_all(struct api *api, hg_id_t id)
{
    unsigned before = atomic_load(&ended);
    uint64_t deadline_ns = api_now_ns() + 40000000000ull;

    for (unsigned i = 0; i < CALLS; i++) {
        hg_handle_t handle = api_handle(api, id);
        number_t number = {i};

        OK(api, HG_Forward(handle, call_ended, NULL, &number));
        while (atomic_load(&ended) - before + WINDOW <= i) {
            CHECK(api, api_now_ns() < deadline_ns);
            sched_yield();
        }
    }
    while (atomic_load(&ended) - before < CALLS) {
        CHECK(api, api_now_ns() < deadline_ns);
        sched_yield();
    }
    CHECK(api, atomic_load(&ended) - before == CALLS);
}

static void run(
    struct api *api, hg_id_t id, void *(*const *runs)(void *), unsigned count)
{
    pthread_t threads[3];

    atomic_store(&is_over, false);
    for (unsigned i = 0; i < count; i++)
        CHECK(
            api, pthread_create(&threads[i], NULL, runs[i], api->context) == 0);
    forward_all(api, id);
    /* The others make progress until every rank has all replies. */
    api_sync(api);
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < count; i++)
        CHECK(api, pthread_join(threads[i], NULL) == 0);
    api_sync(api);
}

static void test(struct api *api)
{
    static void *(*const one_each[])(void *) = {progressor, triggerer};
    static void *(*const two_progress[])(void *) = {
        progressor, progressor, triggerer};
    hg_id_t id = MERCURY_REGISTER(api->cls, "echo", number_t, number_t, serve);

    the = api;
    api_sync(api);
    run(api, id, one_each, 2);
    run(api, id, two_progress, 3);
    CHECK(api, atomic_load(&served) == 2 * CALLS);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
