/* SPDX-License-Identifier: BSD-3-Clause */
/* A target destroys its context and creates one of the same id, again and
 * again, while its neighbour calls it. Both sides wait in blocking progress: a
 * wake-up that goes to the old context makes a wait miss its deadline. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <string.h>

#include "api.h"
#include "mercury_macros.h"

enum {
    AGAIN = 1, /* id of the context that is recreated */
    PER_LIFE = 3,
    CALLS = 20 * PER_LIFE,
    PATIENCE_MS = 20000,
    REST_NS = 1000000,
    TRIGGER_MAX = 16,
};

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

/* For the thread of the target. */
static struct api *the;
static hg_context_t *again;
static unsigned begun;
static unsigned answered;
static unsigned lives;
static bool is_over;

static hg_return_t answer_left(const struct hg_cb_info *info)
{
    OK(the, info->ret);
    answered++;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    number_t number;

    CHECK(the, HG_Get_info(handle)->context == again);
    OK(the, HG_Get_input(handle, &number));
    OK(the, HG_Free_input(handle, &number));
    begun++;
    OK(the, HG_Respond(handle, answer_left, NULL, &number));
    return HG_Destroy(handle);
}

static hg_return_t serve_end(hg_handle_t handle)
{
    is_over = true;
    begun++;
    OK(the, HG_Respond(handle, answer_left, NULL, NULL));
    return HG_Destroy(handle);
}

/* Runs callbacks, and without any blocks until an event. */
static void turn(struct api *api, hg_context_t *context)
{
    unsigned count = 0;

    (void)HG_Trigger(context, 0, TRIGGER_MAX, &count);
    if (count == 0)
        OK(api, HG_Progress(context, PATIENCE_MS));
}

static void context_end(struct api *api)
{
    uint64_t until_ns = api_now_ns() + PATIENCE_MS * 1000000ull;

    /* Busy while it has calls to trigger. */
    while (HG_Context_destroy(again) == HG_BUSY) {
        unsigned count = 0;

        CHECK(api, api_now_ns() < until_ns);
        (void)HG_Progress(again, 0);
        (void)HG_Trigger(again, 0, TRIGGER_MAX, &count);
    }
    again = NULL;
}

static void *target(void *arg)
{
    struct api *api = arg;

    while (!is_over) {
        unsigned enough = begun + PER_LIFE;

        lives++;
        if (again == NULL)
            again = HG_Context_create_id(api->cls, AGAIN);
        CHECK(api, again != NULL);
        while (begun != answered || (begun < enough && !is_over))
            turn(api, again);
        context_end(api);
    }
    return NULL;
}

/* Gives the target time to block; nothing depends on it. */
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
}

/* Calls until it was served: no context exists between two lives. */
static void call(struct api *api, hg_handle_t handle, uint32_t value)
{
    uint64_t until_ns = api_now_ns() + PATIENCE_MS * 1000000ull;
    struct api_call call;

    do {
        CHECK(api, api_now_ns() < until_ns);
        rest();
        api_forward(api, handle, &(number_t){value}, &call);
        while (call.done == 0)
            turn(api, api->context);
        CHECK(api, call.ret == HG_SUCCESS || call.ret == HG_NOENTRY ||
                       call.ret == HG_CANCELED);
    } while (call.ret != HG_SUCCESS);
}

/* Opens a second context where Mercury allows it without an option. */
static void second(struct api *api)
{
    hg_context_t *context = NULL;

    if (strcmp(api->transport, "na+sm") != 0 &&
        strncmp(api->transport, "ofi", 3) != 0)
        return;
    context = HG_Context_create(api->cls);
    CHECK(api, context != NULL);
    CHECK(api, HG_Context_get_id(context) == 1);
    OK(api, HG_Context_destroy(context));
}

static void test(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "again", number_t, number_t, serve);
    hg_id_t end = MERCURY_REGISTER(api->cls, "end", void, void, serve_end);
    hg_handle_t handle = api_handle(api, id);
    hg_handle_t last = api_handle(api, end);
    pthread_t thread;

    the = api;
    again = HG_Context_create_id(api->cls, AGAIN);
    CHECK(api, again != NULL);
    OK(api, HG_Set_target_id(handle, AGAIN));
    OK(api, HG_Set_target_id(last, AGAIN));
    api_sync(api);
    CHECK(api, pthread_create(&thread, NULL, target, api) == 0);
    for (uint32_t i = 0; i < CALLS; i++) {
        number_t number = {CALLS};

        call(api, handle, i);
        OK(api, HG_Get_output(handle, &number));
        CHECK(api, number.value == i);
        OK(api, HG_Free_output(handle, &number));
    }
    call(api, last, 0);
    CHECK(api, pthread_join(thread, NULL) == 0);
    CHECK(api, lives > 1 && answered > CALLS);
    OK(api, HG_Destroy(handle));
    OK(api, HG_Destroy(last));
    second(api);
}

int main(int argc, char **argv)
{
    return api_main(
        argc, argv, &(struct api_wish){.contexts = AGAIN + 1}, test);
}
