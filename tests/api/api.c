/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of the public calls. */
#include "api.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../slow.h"
#include "amalgam_state.h"

enum { DEADLINE_S = 40 * TEST_SLOW, DRIVEN_MAX = 8, TRIGGER_MAX = 64 };

#define NS_PER_S 1000000000ull

static hg_context_t *driven[DRIVEN_MAX];
static int own_rank;

uint64_t api_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

hg_class_t *api_init(const char *transport, const struct api_wish *wish)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    if (wish->contexts > 0)
        info.na_init_info.max_contexts = wish->contexts;
    info.no_overflow = wish->no_overflow;
    info.no_bulk_eager = wish->no_bulk_eager;
    if (wish->tune != NULL)
        wish->tune(own_rank, &info);
    return HG_Init_opt2(transport, !wish->client_only,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
}

void api_fail(
    const struct api *api, const char *file, int line, const char *what)
{
    fprintf(stderr, "%s over %s, rank %d of %d: %s:%d: %s\n", api->test,
        api->transport, api->rank, api->size, file, line, what);
    fflush(stderr);
    api_world.die();
}

void api_expect(const struct api *api, hg_return_t got, hg_return_t wanted,
    const char *file, int line, const char *what)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s, not %s:\n", HG_Error_to_string(got),
        HG_Error_to_string(wanted));
    api_fail(api, file, line, what);
}

void api_drive(hg_context_t *context)
{
    for (int i = 0; i < DRIVEN_MAX; i++)
        if (driven[i] == NULL) {
            driven[i] = context;
            return;
        }
    abort();
}

void api_drive_no_more(hg_context_t *context)
{
    for (int i = 0; i < DRIVEN_MAX; i++)
        if (driven[i] == context)
            driven[i] = NULL;
}

static bool context_turn(hg_context_t *context)
{
    unsigned queued = 0;
    unsigned count = 0;

    (void)HG_Event_progress(context, &queued);
    (void)HG_Event_trigger(context, TRIGGER_MAX, &count);
    return count > 0;
}

void api_turn(struct api *api)
{
    bool was_busy = api->context != NULL && context_turn(api->context);

    for (int i = 0; i < DRIVEN_MAX; i++)
        if (driven[i] != NULL && context_turn(driven[i]))
            was_busy = true;
    if (!was_busy)
        sched_yield();
}

void api_wait_begin(struct api *api)
{
    api->deadline_ns = api_now_ns() + DEADLINE_S * NS_PER_S;
}

void api_wait_turn(
    struct api *api, const char *file, int line, const char *what)
{
    api_turn(api);
    if (api_now_ns() < api->deadline_ns)
        return;
    fprintf(stderr, "%s: waited %d s for:\n", api->test, DEADLINE_S);
    api_fail(api, file, line, what);
}

void api_set_mode(struct api *api, const struct api_mode *mode)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    options.progress = mode->progress;
    options.wait = mode->wait;
    EXPECT(api, HG_BUSY, amalgam_set_progress(api->cls, &options));
    OK(api, HG_Context_destroy(api->context));
    OK(api, amalgam_set_progress(api->cls, &options));
    api->context = HG_Context_create(api->cls);
    CHECK(api, api->context != NULL);
}

void api_sync(struct api *api)
{
    api_world.barrier_begin();
    UNTIL(api, api_world.barrier_is_done());
}

void api_settle(struct api *api)
{
    api_wait_begin(api);
    while (amalgam_write_state(api->cls, NULL) > 0) {
        api_turn(api);
        if (api_now_ns() < api->deadline_ns)
            continue;
        (void)amalgam_write_state(api->cls, stderr);
        api_fail(api, __FILE__, __LINE__, "things are under way for too long");
    }
}

hg_return_t api_done(const struct hg_cb_info *info)
{
    struct api_call *call = info->arg;

    call->done++;
    call->ret = info->ret;
    call->type = info->type;
    switch (info->type) {
    case HG_CB_FORWARD:
        call->handle = info->info.forward.handle;
        break;
    case HG_CB_RESPOND:
        call->handle = info->info.respond.handle;
        break;
    case HG_CB_BULK:
        call->size = info->info.bulk.size;
        break;
    default:
        break;
    }
    return HG_SUCCESS;
}

void api_forward(
    struct api *api, hg_handle_t handle, void *in, struct api_call *call)
{
    *call = (struct api_call){0};
    OK(api, HG_Forward(handle, api_done, call, in));
}

hg_return_t api_wait(struct api *api, struct api_call *call)
{
    UNTIL(api, call->done > 0);
    CHECK(api, call->done == 1);
    return call->ret;
}

hg_return_t api_ask(struct api *api, hg_handle_t handle, void *in)
{
    struct api_call call;
    hg_return_t rc;

    api_forward(api, handle, in, &call);
    rc = api_wait(api, &call);
    CHECK(api, call.type == HG_CB_FORWARD && call.handle == handle);
    return rc;
}

hg_handle_t api_handle(struct api *api, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(api, HG_Create(api->context, api->right, id, &handle));
    CHECK(api, handle != HG_HANDLE_NULL);
    return handle;
}

static uint8_t pattern_at(uint64_t i, uint64_t seed)
{
    uint64_t x =
        (i >> 3) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;

    x ^= x >> 29;
    return (uint8_t)(x >> (i % 8 * 8 % 40));
}

void api_fill(void *bytes, size_t len, uint64_t seed, uint64_t offset)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = pattern_at(offset + i, seed);
}

bool api_is_filled(
    const void *bytes, size_t len, uint64_t seed, uint64_t offset)
{
    for (size_t i = 0; i < len; i++)
        if (((const uint8_t *)bytes)[i] != pattern_at(offset + i, seed))
            return false;
    return true;
}

static void api_open(struct api *api, const struct api_wish *wish)
{
    api->cls = api_world.open(api->transport, wish);
    CHECK(api, api->cls != NULL);
    api->context = HG_Context_create(api->cls);
    CHECK(api, api->context != NULL);
    OK(api,
        api_world.address(api->cls, (api->rank + 1) % api->size, &api->right));
}

static void api_close(struct api *api)
{
    api_sync(api);
    if (api->context != NULL)
        api_settle(api);
    api_sync(api);
    if (api->right != HG_ADDR_NULL)
        OK(api, HG_Addr_free(api->cls, api->right));
    if (api->context != NULL) {
        unsigned count = 0;

        while (HG_Trigger(api->context, 0, 1, &count) == HG_SUCCESS)
            continue;
        OK(api, HG_Context_destroy(api->context));
    }
    if (api->cls != NULL)
        OK(api, HG_Finalize(api->cls));
}

int api_main(int argc, char **argv, const struct api_wish *wish,
    void (*test)(struct api *api))
{
    struct api api = {
        .test = argv[0], .transport = argc > 1 ? argv[1] : "self"};

    api_world.start(&api.rank, &api.size);
    own_rank = api.rank;
    api.is_alone = api.size == 1;
    if (api.size < wish->ranks) {
        api_world.stop();
        return API_SKIP;
    }
    api_open(&api, wish);
    test(&api);
    api_close(&api);
    api_world.stop();
    return EXIT_SUCCESS;
}
