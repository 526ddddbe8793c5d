/* SPDX-License-Identifier: BSD-3-Clause */
/* A scheduler, which says what a stream runs next.
 *
 * A basic one goes over its pools in turn: a thread that never stops yielding
 * in one of them does not keep the others from being run. All of them sleep
 * while their pools are empty. */
#include "ult/sched.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/relax.h"
#include "ult/stream.h"
#include "ult/ult.h"
#include "ult/upool.h"

/* How often it looks before it sleeps: some two microseconds, which is what it
 * takes to fall asleep and to be woken. */
enum { LOOKS = 64 };

static bool pools_fill(struct amg_sched *sched, int count, ABT_pool *pools)
{
    sched->pools =
        amg_mem_zalloc(sizeof(struct amg_upool *) * (size_t)(count + 1));
    sched->watches =
        amg_mem_zalloc(sizeof(struct amg_watch) * (size_t)(count + 1));
    if (sched->pools == NULL || sched->watches == NULL)
        return false;
    for (; sched->count < count; sched->count++) {
        struct amg_upool *pool = NULL;

        if (pools != NULL)
            pool = (struct amg_upool *)(void *)pools[sched->count];
        if (pool == NULL)
            pool = amg_upool_create(amg_upool_ops_of(ABT_POOL_FIFO_WAIT),
                ABT_POOL_ACCESS_MPMC, true);
        if (pool == NULL)
            return false;
        amg_upool_hold(pool);
        sched->pools[sched->count] = pool;
    }
    return true;
}

static struct amg_sched *sched_alloc(
    int count, ABT_pool *pools, bool is_automatic)
{
    struct amg_sched *sched = amg_mem_zalloc(sizeof(*sched));

    if (sched == NULL)
        return NULL;
    sched->is_automatic = is_automatic;
    if (!pools_fill(sched, count, pools)) {
        amg_sched_destroy(sched, NULL);
        return NULL;
    }
    return sched;
}

int amg_sched_create(ABT_sched_predef kind, int count, ABT_pool *pools,
    bool is_automatic, struct amg_sched **ret_sched)
{
    struct amg_sched *sched = NULL;

    if ((int)kind < 0 || kind > ABT_SCHED_BASIC_WAIT)
        return ABT_ERR_INV_SCHED_PREDEF;
    if (count < 0)
        return ABT_ERR_INV_ARG;
    if (count == 0) {
        count = 1;
        pools = NULL;
    }
    sched = sched_alloc(count, pools, is_automatic);
    if (sched == NULL)
        return ABT_ERR_MEM;
    sched->kind = kind;
    *ret_sched = sched;
    return ABT_SUCCESS;
}

int amg_sched_create_users(const ABT_sched_def *def, int count, ABT_pool *pools,
    bool is_automatic, struct amg_sched **ret_sched)
{
    struct amg_sched *sched = NULL;

    if (def == NULL || def->run == NULL || count < 0)
        return ABT_ERR_INV_ARG;
    sched = sched_alloc(count, pools, is_automatic);
    if (sched == NULL)
        return ABT_ERR_MEM;
    sched->is_users = true;
    sched->def = *def;
    *ret_sched = sched;
    return ABT_SUCCESS;
}

void amg_sched_destroy(struct amg_sched *sched, struct amg_upool *heir)
{
    if (sched->is_users && sched->def.free != NULL)
        sched->def.free((ABT_sched)(void *)sched);
    for (int i = 0; i < sched->count; i++)
        amg_upool_drop(sched->pools[i], heir);
    amg_mem_free(sched->watches);
    amg_mem_free(sched->pools);
    amg_mem_free(sched);
}

static struct amg_ult *pop_in_turn(struct amg_sched *sched)
{
    for (int tries = 0; tries < sched->count; tries++) {
        struct amg_ult *ult = NULL;

        if (sched->next >= sched->count)
            sched->next = 0;
        ult = amg_upool_pop(sched->pools[sched->next++]);
        if (ult != NULL)
            return ult;
    }
    return NULL;
}

static struct amg_ult *pop_by_rank(struct amg_sched *sched)
{
    struct amg_ult *ult = NULL;

    for (int i = 0; i < sched->count && ult == NULL; i++)
        ult = amg_upool_pop(sched->pools[i]);
    return ult;
}

/* Numbers that are good enough to choose a victim; Marsaglia's xorshift. */
static unsigned seed_next(unsigned seed)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static struct amg_ult *pop_or_steal(struct amg_sched *sched)
{
    struct amg_stream *stream =
        atomic_load_explicit(&sched->stream, memory_order_relaxed);
    int others = sched->count - 1;
    struct amg_ult *ult = NULL;
    unsigned first = 0;

    if (sched->count > 0)
        ult = amg_upool_pop(sched->pools[0]);
    if (ult != NULL || others <= 0)
        return ult;
    if (stream != NULL)
        first = stream->seed = seed_next(stream->seed);
    for (int i = 0; i < others && ult == NULL; i++)
        ult = amg_upool_steal(
            sched->pools[1 + (first + (unsigned)i) % (unsigned)others]);
    return ult;
}

struct amg_ult *amg_sched_pop(struct amg_sched *sched)
{
    switch (sched->kind) {
    case ABT_SCHED_PRIO:
        return pop_by_rank(sched);
    case ABT_SCHED_RANDWS:
        return pop_or_steal(sched);
    default:
        return sched->count == 1 ? amg_upool_pop(sched->pools[0])
                                 : pop_in_turn(sched);
    }
}

bool amg_sched_has(const struct amg_sched *sched, const struct amg_upool *pool)
{
    for (int i = 0; i < sched->count; i++)
        if (sched->pools[i] == pool)
            return true;
    return false;
}

size_t amg_sched_size(const struct amg_sched *sched)
{
    size_t size = 0;

    for (int i = 0; i < sched->count; i++)
        size += amg_upool_size(sched->pools[i]);
    return size;
}

/* What nobody else would run: threads that are blocked count only where this
 * is the one scheduler of the pool. */
static bool sched_is_empty(const struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++) {
        const struct amg_upool *pool = sched->pools[i];
        bool is_only =
            atomic_load_explicit(&pool->users, memory_order_relaxed) == 1;

        if ((is_only ? amg_upool_total(pool) : amg_upool_size(pool)) > 0)
            return false;
    }
    return true;
}

bool amg_sched_is_to_stop(const struct amg_sched *sched)
{
    struct amg_stream *stream =
        atomic_load_explicit(&sched->stream, memory_order_relaxed);
    unsigned asked = atomic_load_explicit(&sched->asked, memory_order_acquire);
    unsigned of_stream = 0;

    if (stream != NULL)
        of_stream = atomic_load_explicit(&stream->asked, memory_order_acquire);
    if ((asked & AMG_SCHED_TO_EXIT) != 0 ||
        (of_stream & (AMG_STREAM_TO_END | AMG_STREAM_TO_SWAP)) != 0)
        return true;
    if ((asked & AMG_SCHED_TO_FINISH) != 0 ||
        (of_stream & AMG_STREAM_TO_JOIN) != 0)
        return sched_is_empty(sched);
    return false;
}

/* Lets others come to what this stream will not get to at once. */
static void sched_pass_on(struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++)
        amg_upool_nudge(sched->pools[i]);
}

/* Main() first, if it has come home: for as long as that computes. */
static void sched_look(struct amg_sched *sched, struct amg_stream *stream)
{
    struct amg_ult *primary = amg_ult_take_home();

    if (primary != NULL)
        sched_pass_on(sched);
    amg_ult_run(stream, primary);
}

bool amg_sched_has_to_stop(struct amg_sched *sched)
{
    struct amg_stream *stream =
        atomic_load_explicit(&sched->stream, memory_order_relaxed);

    /* Acquire: pairs with amg_stream_ask(), whose caller has brought main()
     * home before. */
    if (stream != NULL &&
        (atomic_load_explicit(&stream->asked, memory_order_relaxed) &
            AMG_STREAM_TO_LOOK) != 0) {
        atomic_fetch_and_explicit(&stream->asked, ~(unsigned)AMG_STREAM_TO_LOOK,
            memory_order_acquire);
        sched_look(sched, stream);
    }
    return amg_sched_is_to_stop(sched);
}

/* Nothing is ready: looks for a moment, then sleeps. */
static void sched_wait(struct amg_sched *sched, struct amg_stream *stream)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        if (amg_sched_size(sched) > 0)
            return;
        amg_relax();
    }
    amg_stream_sleep(stream);
}

static void sched_loop(struct amg_sched *sched)
{
    struct amg_stream *stream =
        atomic_load_explicit(&sched->stream, memory_order_relaxed);
    bool has_slept = false;

    while (!amg_sched_has_to_stop(sched)) {
        struct amg_ult *ult = amg_sched_pop(sched);

        if (ult == NULL) {
            sched_wait(sched, stream);
            has_slept = true;
            continue;
        }
        if (has_slept)
            sched_pass_on(sched);
        has_slept = false;
        amg_ult_run(stream, ult);
    }
}

void amg_sched_run(struct amg_sched *sched)
{
    if (sched->is_users)
        sched->def.run((ABT_sched)(void *)sched);
    else
        sched_loop(sched);
    /* A push may have rung for this stream alone, or for nobody since this
     * stream was about to look. */
    sched_pass_on(sched);
}
