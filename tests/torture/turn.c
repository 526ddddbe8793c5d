/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: each turn takes one of the ways that the API offers. */
#include "turn.h"

#include <poll.h>

#include "job.h"
#include "later.h"

enum {
    INSIDE_MAX = 2,
    MANY = 64,
    SALT_TURN = 1300,
    SALT_AWAIT,
    SALT_MUTE,
    WAIT_MS = 2,
    LONG_MS = 2000,
    MUTE_MS = 100,
    SLEPT_MAX = 2, /* one may be the machine's fault */
};

static _Thread_local unsigned inside; /* handlers on this stack that turn */
static _Thread_local uint64_t turns;

static void expect_progress(struct world *world, hg_return_t rc)
{
    if (rc != HG_TIMEOUT)
        EXPECT_OK(world, rc);
}

static void by_progress(
    struct world *world, hg_context_t *context, unsigned wait_ms)
{
    unsigned count = 0;

    expect_progress(world, HG_Progress(context, wait_ms));
    do {
        count = 0;
        expect_progress(world, HG_Trigger(context, 0, MANY, &count));
    } while (count > 0);
}

static void by_event(struct world *world, hg_context_t *context)
{
    unsigned count = 0;

    EXPECT_OK(world, HG_Event_progress(context, &count));
    EXPECT_OK(world, HG_Event_trigger(context, MANY, &count));
}

static void by_descriptor(struct world *world, hg_context_t *context)
{
    struct pollfd event = {HG_Event_get_wait_fd(context), POLLIN, 0};

    if (event.fd >= 0 && !HG_Event_ready(context))
        (void)poll(&event, 1, WAIT_MS);
    by_event(world, context);
}

static void turn_context(
    struct world *world, struct world_class *cls, unsigned context_id)
{
    hg_context_t *context = cls->contexts[context_id].context;
    uint64_t hash = world->plan.hash + world->rank + turns;

    switch (plan_draw(hash, SALT_TURN + context_id, 8)) {
    case 0:
        by_progress(world, context, 1);
        break;
    case 1:
        by_event(world, context);
        break;
    case 2:
        if (world->plan.is_job)
            EXPECT_OK(world, job_turn(cls));
        else
            by_progress(world, context, 0);
        break;
    case 3:
        /* Another thread may take the event that this one waits for. */
        if (world->plan.threads == 1)
            by_descriptor(world, context);
        else
            by_progress(world, context, WAIT_MS);
        break;
    case 4:
        expect_progress(world, HG_Progress(context, 0));
        expect_progress(world, HG_Trigger(context, turns % 2, 1, NULL));
        break;
    default:
        by_progress(world, context, 0);
    }
}

static uint64_t now_ms(void)
{
    return world_now_ns() / 1000000;
}

/* A class makes progress and runs no callback, for a while: requests wait for
 * their handlers, and then for room, and the other ranks go on. */
static bool is_mute(const struct world *world, unsigned cls)
{
    uint64_t number = now_ms() / MUTE_MS * PLAN_RANKS_MAX + world->rank;

    return world->plan.is_mute &&
           plan_draw(world->plan.hash + number, SALT_MUTE + cls, 2) == 0;
}

void turn(struct world *world)
{
    turns++;
    for (unsigned i = 0; i < world->plan.classes; i++)
        for (unsigned k = 0; k < world->plan.contexts; k++) {
            struct world_class *cls = &world->classes[i];
            hg_context_t *context = cls->contexts[k].context;

            if (cls->cls == NULL || context == NULL)
                continue;
            if (is_mute(world, i))
                expect_progress(world, HG_Progress(context, 0));
            else
                turn_context(world, cls, k);
        }
    later_turn();
}

/* What comes must end the wait. One that lasts its whole time, and then finds
 * something, was not woken. */
static void by_long_wait(struct world *world, hg_context_t *context)
{
    static atomic_uint slept;
    uint64_t begin_ms = now_ms();
    hg_return_t rc = HG_Progress(context, LONG_MS);

    expect_progress(world, rc);
    if (rc == HG_SUCCESS && now_ms() - begin_ms >= LONG_MS &&
        atomic_fetch_add(&slept, 1) + 1 == SLEPT_MAX)
        book_finding(world->book,
            "HG_Progress has slept %d ms over what came, %d times", LONG_MS,
            SLEPT_MAX);
    by_progress(world, context, 0);
}

void turn_await(struct world *world)
{
    const struct plan *plan = &world->plan;

    /* Others wait for nothing of this rank that only a turn does. */
    if (plan->threads == 1 && plan->contexts == 1 && plan->classes == 1 &&
        later_count() == 0 &&
        plan_draw(plan->hash + world->rank + turns, SALT_AWAIT, 3) == 0)
        by_long_wait(world, world->classes[0].contexts[0].context);
    turn(world);
}

void turn_inside(hg_context_t *context)
{
    if (inside >= INSIDE_MAX)
        return;
    inside++;
    (void)HG_Progress(context, 0);
    (void)HG_Trigger(context, 0, 3, NULL);
    inside--;
}
