/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which choose the next thread of an execution stream, and their
 * public functions, except functions that run a scheduler (sched_run.c).
 *
 * A basic scheduler takes its pools in turn, so that a thread that only yields
 * does not starve the threads of other pools. All built-in schedulers block
 * while their pools are empty. */
#include "ult/sched.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/xstream_local.h"

/* Checks of the pools before an xstream sleeps: about 2 us, as long as a sleep
 * and a wake-up take. */
enum { LOOKS = 64 };

static bool pools_fill(struct amg_sched *sched, int count, ABT_pool *pools)
{
    sched->pools =
        amg_mem_zalloc(sizeof(struct amg_ready_pool *) * (size_t)(count + 1));
    sched->watches =
        amg_mem_zalloc(sizeof(struct amg_watch) * (size_t)(count + 1));
    if (sched->pools == NULL || sched->watches == NULL)
        return false;
    for (; sched->count < count; sched->count++) {
        struct amg_ready_pool *pool = NULL;

        if (pools != NULL)
            pool = amg_ready_pool_of(pools[sched->count]);
        if (pool == NULL)
            pool =
                amg_ready_pool_create(amg_ready_pool_ops_of(ABT_POOL_FIFO_WAIT),
                    ABT_POOL_ACCESS_MPMC, true);
        if (pool == NULL)
            return false;
        amg_ready_pool_ref(pool);
        sched->pools[sched->count] = pool;
    }
    return true;
}

void amg_sched_destroy(
    struct amg_sched *sched, struct amg_ready_pool *successor)
{
    if (sched->is_users && sched->def.free != NULL)
        sched->def.free(amg_sched_handle(sched));
    for (int i = 0; i < sched->count; i++)
        amg_ready_pool_unref(sched->pools[i], successor);
    amg_mem_free(sched->watches);
    amg_mem_free(sched->pools);
    amg_mem_free(sched);
}

void amg_sched_undo(struct amg_sched *sched, const ABT_pool *given)
{
    int own = 0;

    for (int i = 0; i < sched->count; i++)
        if (given != NULL && given[i] != ABT_POOL_NULL)
            amg_ready_pool_deref(sched->pools[i]);
        else
            sched->pools[own++] = sched->pools[i];
    sched->count = own;
    amg_sched_destroy(sched, NULL);
}

int amg_sched_create(ABT_sched_predef kind, const ABT_sched_def *def, int count,
    ABT_pool *pools, bool is_automatic, struct amg_sched **ret_sched)
{
    struct amg_sched *sched = NULL;

    if (def == NULL && ((int)kind < 0 || kind > ABT_SCHED_BASIC_WAIT))
        return ABT_ERR_INV_SCHED_PREDEF;
    if (count < 0 || (def != NULL && def->run == NULL))
        return ABT_ERR_INV_ARG;
    if (count == 0 && def == NULL) {
        count = 1;
        pools = NULL;
    }
    sched = amg_mem_zalloc(sizeof(*sched));
    if (sched == NULL)
        return ABT_ERR_MEM;
    sched->is_automatic = is_automatic;
    sched->seed = 1;
    sched->kind = kind;
    if (!pools_fill(sched, count, pools)) {
        amg_sched_undo(sched, pools);
        return ABT_ERR_MEM;
    }
    if (def != NULL) {
        sched->is_users = true;
        sched->def = *def;
    } else if (count == 1 && sched->pools[0]->ops != NULL) {
        sched->only = sched->pools[0];
    }
    *ret_sched = sched;
    return ABT_SUCCESS;
}

int amg_sched_default(ABT_sched sched, struct amg_sched **ret_sched)
{
    if (sched == ABT_SCHED_NULL)
        return amg_sched_create(
            ABT_SCHED_DEFAULT, NULL, 0, NULL, true, ret_sched);
    *ret_sched = amg_sched_of(sched);
    return ABT_SUCCESS;
}

bool amg_sched_take(struct amg_sched *sched)
{
    return !atomic_exchange_explicit(
        &sched->is_used, true, memory_order_acquire);
}

void amg_sched_release(struct amg_sched *sched, bool is_destroyed,
    struct amg_ready_pool *successor)
{
    atomic_store_explicit(&sched->xstream, NULL, memory_order_relaxed);
    atomic_store_explicit(&sched->is_used, false, memory_order_release);
    if (is_destroyed)
        amg_sched_destroy(sched, successor);
}

void amg_xstream_set_sched(struct amg_xstream *xstream, struct amg_sched *sched)
{
    struct amg_sched *former = amg_xstream_sched(xstream);

    atomic_store_explicit(&sched->xstream, xstream, memory_order_relaxed);
    /* Release: pairs with amg_xstream_sched(), whose callers use the pools. */
    atomic_store_explicit(&xstream->sched, sched, memory_order_release);
    if (former != NULL)
        amg_sched_release(former, former->is_automatic,
            sched->count > 0 ? sched->pools[0] : NULL);
}

static struct amg_ult *pop_in_turn(struct amg_sched *sched)
{
    for (int tries = 0; tries < sched->count; tries++) {
        struct amg_ult *ult = NULL;

        if (sched->next >= sched->count)
            sched->next = 0;
        ult = amg_ready_pool_pop(sched->pools[sched->next++]);
        if (ult != NULL)
            return ult;
    }
    return NULL;
}

static struct amg_ult *pop_by_rank(struct amg_sched *sched)
{
    struct amg_ult *ult = NULL;

    for (int i = 0; i < sched->count && ult == NULL; i++)
        ult = amg_ready_pool_pop(sched->pools[i]);
    return ult;
}

/* The next pseudorandom number to choose a pool by (Marsaglia's xorshift). */
static unsigned seed_next(unsigned seed)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static struct amg_ult *pop_or_steal(struct amg_sched *sched)
{
    int others = sched->count - 1;
    struct amg_ult *ult = NULL;

    if (sched->count > 0)
        ult = amg_ready_pool_pop(sched->pools[0]);
    if (ult != NULL || others <= 0)
        return ult;
    sched->seed = seed_next(sched->seed);
    for (int i = 0; i < others && ult == NULL; i++)
        ult = amg_ready_pool_steal(
            sched->pools[1 + (sched->seed + (unsigned)i) % (unsigned)others]);
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
        return sched->count == 1 ? amg_ready_pool_pop(sched->pools[0])
                                 : pop_in_turn(sched);
    }
}

bool amg_sched_has(
    const struct amg_sched *sched, const struct amg_ready_pool *pool)
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
        size += amg_ready_pool_size(sched->pools[i]);
    return size;
}

/* May the scheduler end? Not while its pools have ready threads, or blocked
 * threads that no other scheduler would run later: blocked threads count in
 * pools whose only scheduler is this scheduler. */
static bool sched_is_empty(const struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++) {
        const struct amg_ready_pool *pool = sched->pools[i];
        bool is_only =
            atomic_load_explicit(&pool->users, memory_order_relaxed) == 1;

        if ((is_only ? amg_ready_pool_total(pool) : amg_ready_pool_size(pool)) >
            0)
            return false;
    }
    return true;
}

bool amg_sched_is_to_stop(const struct amg_sched *sched)
{
    struct amg_xstream *xstream =
        atomic_load_explicit(&sched->xstream, memory_order_relaxed);
    unsigned asked = atomic_load_explicit(&sched->asked, memory_order_acquire);
    unsigned of_stream = 0;

    if (xstream != NULL)
        of_stream = amg_xstream_asked(xstream);
    if ((asked & AMG_SCHED_TO_EXIT) != 0 ||
        (of_stream & (AMG_XSTREAM_TO_END | AMG_XSTREAM_TO_SWAP)) != 0)
        return true;
    if ((asked & AMG_SCHED_TO_FINISH) != 0 ||
        (of_stream & AMG_XSTREAM_TO_JOIN) != 0)
        return sched_is_empty(sched);
    return false;
}

struct amg_ult *amg_xstream_next(struct amg_xstream *xstream)
{
    struct amg_sched *sched = amg_xstream_sched(xstream);

    if (amg_xstream_is_asked(xstream) || sched->is_users ||
        atomic_load_explicit(&sched->asked, memory_order_relaxed) != 0)
        return NULL;
    return amg_sched_pop(sched);
}

bool amg_xstream_runs_next(
    const struct amg_xstream *xstream, const struct amg_ready_pool *pool)
{
    const struct amg_sched *sched = amg_xstream_sched(xstream);

    return !sched->is_users && amg_sched_has(sched, pool) &&
           amg_sched_size(sched) == 1;
}

void amg_xstream_ask_claim(struct amg_xstream *xstream,
    enum amg_xstream_ask ask, struct amg_claim *ret_claim)
{
    /* Full barriers, here and in amg_sleeper_arm(): either the xstream, which
     * arms and then checks, sees the request, or the sleeper is claimed. */
    atomic_fetch_or_explicit(&xstream->asked, ask, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    if (!amg_sleeper_claim(&xstream->sleeper, ret_claim))
        ret_claim->was = AMG_SLEEPER_AWAKE;
}

void amg_xstream_ask(struct amg_xstream *xstream, enum amg_xstream_ask ask)
{
    struct amg_claim claim = {.was = AMG_SLEEPER_AWAKE};

    amg_xstream_ask_claim(xstream, ask, &claim);
    amg_sleeper_wake(&claim);
}

/* Adds the xstream to the watch lists of all its pools. False: a thread is
 * ready there, or the xstream has a request other than a join. */
static bool pools_watch(struct amg_xstream *xstream, struct amg_sched *sched)
{
    bool is_quiet = !amg_xstream_is_asked(xstream);

    for (int i = 0; i < sched->count; i++) {
        sched->watches[i].sleeper = &xstream->sleeper;
        if (!amg_ready_pool_watch(sched->pools[i], &sched->watches[i]))
            is_quiet = false;
    }
    return is_quiet;
}

static void xstream_disarm(struct amg_xstream *xstream)
{
    struct amg_sched *sched = amg_xstream_sched(xstream);

    amg_sleeper_disarm(&xstream->sleeper);
    for (int i = 0; i < sched->count; i++)
        amg_ready_pool_unwatch(sched->pools[i], &sched->watches[i]);
}

/* Arms the xstream's sleeper. `block`: NULL for the scheduler itself. False: a
 * thread is ready, or a request is pending; the caller must not sleep. */
static bool xstream_arm(struct amg_xstream *xstream, struct amg_block *block)
{
    struct amg_sched *sched = amg_xstream_sched(xstream);

    amg_sleeper_arm(&xstream->sleeper, block);
    if (pools_watch(xstream, sched) &&
        (block != NULL || !amg_sched_is_to_stop(sched)))
        return true;
    xstream_disarm(xstream);
    return false;
}

void amg_xstream_sleep(struct amg_xstream *xstream)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        if (amg_sched_size(amg_xstream_sched(xstream)) > 0)
            return;
        amg_relax();
    }
    if (!xstream_arm(xstream, NULL))
        return;
    amg_sleeper_sleep(&xstream->sleeper, AMG_NO_DEADLINE);
    xstream_disarm(xstream);
}

bool amg_block_begin(struct amg_block *block)
{
    struct amg_xstream *xstream = amg_xstream_self();

    if (!AMG_GIVEN(xstream) || !AMG_GIVEN(block) || !AMG_GIVEN(block->wake))
        return false;
    if (!xstream_arm(xstream, block))
        return false;
    /* A join that was requested before the arming has woken no sleeper. */
    if (!amg_block_must_migrate())
        return true;
    xstream_disarm(xstream);
    return false;
}

void amg_block_end(struct amg_block *block)
{
    struct amg_xstream *xstream = amg_xstream_self();

    AMG_ASSERT(xstream->sleeper.block == block);
    (void)block;
    xstream_disarm(xstream);
}

bool amg_block_has_ready(void)
{
    struct amg_xstream *xstream = amg_xstream_self();
    const struct amg_sched *sched = NULL;

    if (xstream == NULL)
        return false;
    sched = amg_xstream_sched(xstream);
    /* A request may be to run main(), which another xstream has popped. */
    return amg_xstream_is_asked(xstream) ||
           (sched->only != NULL ? amg_ready_pool_has_any(sched->only)
                                : amg_sched_size(sched) > 0);
}

bool amg_block_take(struct amg_ult *other)
{
    struct amg_xstream *xstream = amg_xstream_self();
    struct amg_ready_pool *pool = NULL;

    if (xstream == NULL || amg_ult_self() == NULL)
        return false;
    pool = amg_xstream_sched(xstream)->only;
    return pool != NULL && amg_xstream_asked(xstream) == 0 &&
           atomic_load_explicit(&pool->size, memory_order_relaxed) == 1 &&
           atomic_load_explicit(&pool->users, memory_order_relaxed) == 1 &&
           amg_ready_pool_remove(pool, other);
}

bool amg_block_must_migrate(void)
{
    struct amg_xstream *xstream = amg_xstream_self();
    struct amg_ult *self = amg_ult_self();

    return xstream != NULL && self != NULL &&
           (amg_xstream_asked(xstream) & AMG_XSTREAM_TO_JOIN) != 0 &&
           atomic_load_explicit(
               &amg_ult_pool(self)->users, memory_order_relaxed) > 1;
}

#define NS_PER_S 1e9

/* Longer waits, above 95 years, have no deadline. */
#define SECS_MAX 3e9

static uint64_t deadline_after(double secs)
{
    if (!(secs > 0))
        return 0;
    if (secs > SECS_MAX)
        return AMG_NO_DEADLINE;
    return amg_clock_ns() + (uint64_t)(secs * NS_PER_S);
}

/* Has the xstream a request, so that its scheduler must not wait? A join counts
 * only when the scheduler may end, see sched_is_empty(). */
static bool must_not_wait(const struct amg_xstream *xstream)
{
    return xstream != NULL &&
           (amg_xstream_is_asked(xstream) ||
               amg_sched_is_to_stop(amg_xstream_sched(xstream)));
}

/* Sleeps until the pool is not empty, the deadline has passed, or the caller's
 * xstream has a request. */
static void pool_wait(struct amg_ready_pool *pool, uint64_t deadline_ns)
{
    struct amg_xstream *xstream = amg_xstream_self();
    struct amg_sleeper own;
    struct amg_watch watch = {.link = {.next = NULL}};

    amg_sleeper_init(&own);
    watch.sleeper = xstream == NULL ? &own : &xstream->sleeper;
    amg_sleeper_arm(watch.sleeper, NULL);
    if (amg_ready_pool_watch(pool, &watch) && !must_not_wait(xstream))
        amg_sleeper_sleep(watch.sleeper, deadline_ns);
    amg_sleeper_disarm(watch.sleeper);
    amg_ready_pool_unwatch(pool, &watch);
}

static struct amg_ult *pop_until(
    struct amg_ready_pool *pool, uint64_t deadline_ns)
{
    struct amg_ult *ult = amg_ready_pool_pop(pool);

    while (ult == NULL && amg_clock_ns() < deadline_ns &&
           !must_not_wait(amg_xstream_self())) {
        pool_wait(pool, deadline_ns);
        ult = amg_ready_pool_pop(pool);
    }
    return ult;
}

/* Waits up to `secs` to pop a thread; uses the program's pop_wait, if any. */
static struct amg_ult *pop_wait(
    struct amg_ready_pool *pool, double secs, ABT_pool_context context)
{
    struct amg_ult *ult = NULL;

    return amg_ready_pool_pop_wait(pool, secs, context, &ult)
               ? ult
               : pop_until(pool, deadline_after(secs));
}

int ABT_pool_pop_wait_thread_ex(ABT_pool pool, ABT_thread *thread,
    double time_secs, ABT_pool_context pool_context)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, thread,
        amg_ult_handle(
            pop_wait(amg_ready_pool_of(pool), time_secs, pool_context)));
}

int ABT_pool_pop_wait_thread(
    ABT_pool pool, ABT_thread *thread, double time_secs)
{
    return ABT_pool_pop_wait_thread_ex(
        pool, thread, time_secs, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop_wait(ABT_pool pool, ABT_unit *unit, double time_secs)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, unit,
        amg_unit_of(pop_wait(amg_ready_pool_of(pool), time_secs,
            ABT_POOL_CONTEXT_OP_POOL_OTHER)));
}

int ABT_pool_pop_timedwait(ABT_pool pool, ABT_unit *unit, double abstime_secs)
{
    return ABT_pool_pop_wait(pool, unit, abstime_secs - ABT_get_wtime());
}

int ABT_sched_create_basic(ABT_sched_predef predef, int num_pools,
    ABT_pool *pools, ABT_sched_config config, ABT_sched *newsched)
{
    struct amg_sched *sched = NULL;
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newsched);
    if (newsched == NULL)
        return rc;
    rc = amg_sched_create(predef, NULL, num_pools, pools,
        amg_config_flag(config, ABT_sched_config_automatic.idx, true), &sched);
    if (rc == ABT_SUCCESS)
        *newsched = amg_sched_handle(sched);
    return rc;
}

int ABT_sched_create(ABT_sched_def *def, int num_pools, ABT_pool *pools,
    ABT_sched_config config, ABT_sched *newsched)
{
    struct amg_sched *sched = NULL;
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newsched);
    if (newsched == NULL || def == NULL)
        return rc;
    rc = amg_sched_create(ABT_SCHED_DEFAULT, def, num_pools, pools,
        amg_config_flag(config, ABT_sched_config_automatic.idx, false), &sched);
    if (rc != ABT_SUCCESS)
        return rc;
    if (def->init != NULL)
        rc = def->init(amg_sched_handle(sched), config);
    if (rc != ABT_SUCCESS) {
        sched->def.free = NULL; /* not called, since init failed */
        amg_sched_undo(sched, num_pools > 0 ? pools : NULL);
        return rc;
    }
    *newsched = amg_sched_handle(sched);
    return ABT_SUCCESS;
}

int ABT_sched_free(ABT_sched *sched)
{
    struct amg_sched *known = sched == NULL ? NULL : amg_sched_of(*sched);

    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (atomic_load_explicit(&known->is_used, memory_order_acquire)) {
        AMG_LOG_ERROR("ult",
            "ABT_sched_free: a stream or a pool uses the scheduler; first free "
            "that stream, or let the scheduler end in that pool%s",
            known->is_automatic ? ", which frees the scheduler as well" : "");
        return ABT_ERR_SCHED;
    }
    amg_sched_destroy(known, NULL);
    *sched = ABT_SCHED_NULL;
    return ABT_SUCCESS;
}

int ABT_sched_get_num_pools(ABT_sched sched, int *num_pools)
{
    return AMG_GET(
        ABT_ERR_INV_SCHED, sched, num_pools, amg_sched_of(sched)->count);
}

int ABT_sched_get_pools(
    ABT_sched sched, int max_pools, int idx, ABT_pool *pools)
{
    const struct amg_sched *known = amg_sched_of(sched);

    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (idx < 0 || max_pools < 0 || max_pools > known->count - idx ||
        (pools == NULL && max_pools > 0))
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < max_pools; i++)
        pools[i] = amg_ready_pool_handle(known->pools[idx + i]);
    return ABT_SUCCESS;
}

int ABT_sched_get_size(ABT_sched sched, size_t *size)
{
    return AMG_GET(
        ABT_ERR_INV_SCHED, sched, size, amg_sched_size(amg_sched_of(sched)));
}

int ABT_sched_get_total_size(ABT_sched sched, size_t *size)
{
    const struct amg_sched *known = amg_sched_of(sched);

    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (size == NULL)
        return ABT_ERR_INV_ARG;
    *size = 0;
    for (int i = 0; i < known->count; i++)
        *size += amg_ready_pool_total(known->pools[i]);
    return ABT_SUCCESS;
}

int ABT_sched_set_data(ABT_sched sched, void *data)
{
    return AMG_SET(ABT_ERR_INV_SCHED, amg_sched_of(sched), data, data);
}

int ABT_sched_get_data(ABT_sched sched, void **data)
{
    return AMG_GET(ABT_ERR_INV_SCHED, sched, data, amg_sched_of(sched)->data);
}

int ABT_xstream_check_events(ABT_sched sched)
{
    return sched == ABT_SCHED_NULL ? ABT_ERR_INV_SCHED : ABT_SUCCESS;
}
