/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions of pools, those of abt_pool.h. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/ready_pool.h"
#include "ult/sched.h"
#include "ult/xstream_local.h"

enum { MANY = 64 }; /* units given to a function of the program at once */

static bool access_is_known(ABT_pool_access access)
{
    return (int)access >= ABT_POOL_ACCESS_PRIV &&
           access <= ABT_POOL_ACCESS_MPMC;
}

int ABT_pool_create_basic(ABT_pool_kind kind, ABT_pool_access access,
    ABT_bool automatic, ABT_pool *newpool)
{
    const struct amg_ready_pool_ops *ops = amg_ready_pool_ops_of(kind);
    struct amg_ready_pool *pool = NULL;

    amg_handle_clear(newpool);
    if (newpool == NULL)
        return ABT_ERR_INV_ARG;
    if (ops == NULL)
        return ABT_ERR_INV_POOL_KIND;
    if (!access_is_known(access))
        return ABT_ERR_INV_POOL_ACCESS;
    pool = amg_ready_pool_create(ops, access, automatic != ABT_FALSE);
    if (pool == NULL)
        return ABT_ERR_MEM;
    *newpool = amg_ready_pool_handle(pool);
    return ABT_SUCCESS;
}

static bool config_is_automatic(ABT_pool_config config)
{
    int is_automatic = ABT_FALSE;

    if (config == ABT_POOL_CONFIG_NULL ||
        ABT_pool_config_get(config, ABT_pool_config_automatic.key, NULL,
            &is_automatic) != ABT_SUCCESS)
        return false;
    return is_automatic != ABT_FALSE;
}

int ABT_pool_create(
    ABT_pool_user_def def, ABT_pool_config config, ABT_pool *newpool)
{
    struct amg_ready_pool *pool = NULL;
    ABT_pool_access access = ABT_POOL_ACCESS_MPMC;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newpool);
    if (def == ABT_POOL_USER_DEF_NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    if (newpool == NULL)
        return ABT_ERR_INV_ARG;
    if (amg_user_pool_of(def) == NULL && access_is_known(def->access))
        access = def->access;
    if (!amg_user_pool_is_whole(def))
        return ABT_ERR_INV_POOL_USER_DEF;
    pool = amg_ready_pool_create(NULL, access, config_is_automatic(config));
    if (pool == NULL)
        return ABT_ERR_MEM;
    pool->user = amg_user_pool_create(amg_ready_pool_handle(pool), def);
    rc = pool->user == NULL ? ABT_ERR_MEM
                            : amg_user_pool_init(pool->user, config);
    if (rc == ABT_SUCCESS) {
        *newpool = amg_ready_pool_handle(pool);
        return ABT_SUCCESS;
    }
    amg_mem_free(pool->user);
    pool->user = NULL; /* so that user->free is not called */
    amg_ready_pool_destroy(pool);
    return rc;
}

int ABT_pool_free(ABT_pool *pool)
{
    struct amg_ready_pool *known =
        pool == NULL ? NULL : amg_ready_pool_of(*pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    amg_ready_pool_quiesce(known);
    if (atomic_load_explicit(&known->users, memory_order_acquire) != 0 ||
        amg_ready_pool_total(known) != 0) {
        AMG_LOG_ERROR("ult",
            "ABT_pool_free: pool %d is used by %u schedulers and has %zu "
            "threads; free these first",
            known->id, atomic_load(&known->users), amg_ready_pool_total(known));
        return ABT_ERR_POOL;
    }
    amg_ready_pool_destroy(known);
    *pool = ABT_POOL_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_get_access(ABT_pool pool, ABT_pool_access *access)
{
    return AMG_GET(
        ABT_ERR_INV_POOL, pool, access, amg_ready_pool_of(pool)->access);
}

int ABT_pool_get_total_size(ABT_pool pool, size_t *size)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, size,
        amg_ready_pool_total(amg_ready_pool_of(pool)));
}

int ABT_pool_get_size(ABT_pool pool, size_t *size)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, size,
        amg_ready_pool_size(amg_ready_pool_of(pool)));
}

int ABT_pool_is_empty(ABT_pool pool, ABT_bool *is_empty)
{
    const struct amg_ready_pool *known = amg_ready_pool_of(pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if (is_empty == NULL)
        return ABT_ERR_INV_ARG;
    if (known->user != NULL && !known->user->is_old)
        *is_empty = known->user->is_empty(pool);
    else
        *is_empty = amg_ready_pool_size(known) == 0 ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_pool_get_id(ABT_pool pool, int *id)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, id, amg_ready_pool_of(pool)->id);
}

int ABT_pool_set_data(ABT_pool pool, void *data)
{
    return AMG_SET(ABT_ERR_INV_POOL, amg_ready_pool_of(pool), data, data);
}

int ABT_pool_get_data(ABT_pool pool, void **data)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, data, amg_ready_pool_of(pool)->data);
}

int ABT_pool_print_all_threads(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_thread))
{
    struct amg_ready_pool *known = amg_ready_pool_of(pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if (print_fn == NULL)
        return ABT_ERR_INV_ARG;
    if (known->ops != NULL) {
        amg_ready_pool_each(known, arg, print_fn);
        return ABT_SUCCESS;
    }
    if (known->user->is_old || known->user->print_all == NULL)
        return ABT_ERR_POOL;
    known->user->print_all(pool, arg, print_fn);
    return ABT_SUCCESS;
}

struct print_units {
    void *arg;
    void (*print_fn)(void *, ABT_unit);
};

static void unit_print(void *arg, ABT_thread thread)
{
    const struct print_units *print = arg;

    print->print_fn(print->arg, amg_unit_of(amg_ult_of(thread)));
}

int ABT_pool_print_all(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_unit))
{
    struct print_units print = {.arg = arg, .print_fn = print_fn};
    struct amg_ready_pool *known = amg_ready_pool_of(pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if (print_fn == NULL)
        return ABT_ERR_INV_ARG;
    if (known->user != NULL && known->user->is_old &&
        known->user->def.p_print_all != NULL) {
        known->user->def.p_print_all(pool, arg, print_fn);
        return ABT_SUCCESS;
    }
    return ABT_pool_print_all_threads(pool, &print, unit_print);
}

#define NS_PER_S 1e9

/* Longer times, above 100 years, are no limit. */
#define SECS_MAX 3e9

static uint64_t deadline_after(double secs)
{
    if (!(secs > 0))
        return 0;
    if (secs > SECS_MAX)
        return AMG_NO_DEADLINE;
    return amg_clock_ns() + (uint64_t)(secs * NS_PER_S);
}

/* Has the caller's xstream a request, so that its scheduler must not wait? A
 * join counts only when no thread of its pools is blocked. */
static bool xstream_is_asked(struct amg_xstream *xstream)
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
    if (amg_ready_pool_watch(pool, &watch) && !xstream_is_asked(xstream))
        amg_sleeper_sleep(watch.sleeper, deadline_ns);
    amg_sleeper_disarm(watch.sleeper);
    amg_ready_pool_unwatch(pool, &watch);
}

static struct amg_ult *pop_until(
    struct amg_ready_pool *pool, uint64_t deadline_ns)
{
    struct amg_ult *ult = amg_ready_pool_pop(pool);

    while (ult == NULL && amg_clock_ns() < deadline_ns &&
           !xstream_is_asked(amg_xstream_self())) {
        pool_wait(pool, deadline_ns);
        ult = amg_ready_pool_pop(pool);
    }
    return ult;
}

/* Pops by the program's function for waits, if the pool has one. */
static struct amg_ult *pop_wait(
    struct amg_ready_pool *pool, double secs, ABT_pool_context context)
{
    const struct amg_user_pool *user = pool->user;
    struct amg_ult *ult = NULL;

    if (user != NULL && !user->is_old && user->pop_wait != NULL) {
        ult = amg_ult_of(
            user->pop_wait(amg_ready_pool_handle(pool), secs, context));
    } else if (user != NULL && user->is_old && user->def.p_pop_wait != NULL) {
        ult = amg_unit_ult(
            user->def.p_pop_wait(amg_ready_pool_handle(pool), secs));
    } else {
        return pop_until(pool, deadline_after(secs));
    }
    if (ult != NULL)
        amg_ready_pool_count_popped(pool);
    return ult;
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

static ABT_unit unit_or_null(struct amg_ult *ult)
{
    return ult == NULL ? ABT_UNIT_NULL : amg_unit_of(ult);
}

int ABT_pool_pop_wait(ABT_pool pool, ABT_unit *unit, double time_secs)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, unit,
        unit_or_null(pop_wait(amg_ready_pool_of(pool), time_secs,
            ABT_POOL_CONTEXT_OP_POOL_OTHER)));
}

int ABT_pool_pop_timedwait(ABT_pool pool, ABT_unit *unit, double abstime_secs)
{
    return ABT_pool_pop_wait(pool, unit, abstime_secs - ABT_get_wtime());
}

int ABT_pool_pop_threads_ex(ABT_pool pool, ABT_thread *threads, size_t len,
    size_t *num, ABT_pool_context pool_context)
{
    struct amg_ready_pool *known = amg_ready_pool_of(pool);
    size_t count = 0;

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if ((threads == NULL && len > 0) || num == NULL)
        return ABT_ERR_INV_ARG;
    if (known->user != NULL && !known->user->is_old &&
        known->user->pop_many != NULL) {
        known->user->pop_many(pool, threads, len, &count, pool_context);
        for (size_t i = 0; i < count; i++)
            amg_ready_pool_count_popped(known);
        *num = count;
        return ABT_SUCCESS;
    }
    while (count < len) {
        struct amg_ult *ult = amg_ready_pool_pop_for(known, pool_context);

        if (ult == NULL)
            break;
        threads[count++] = amg_ult_handle(ult);
    }
    *num = count;
    return ABT_SUCCESS;
}

int ABT_pool_pop_threads(
    ABT_pool pool, ABT_thread *threads, size_t len, size_t *num)
{
    return ABT_pool_pop_threads_ex(
        pool, threads, len, num, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop_thread_ex(
    ABT_pool pool, ABT_thread *thread, ABT_pool_context pool_context)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, thread,
        amg_ult_handle(
            amg_ready_pool_pop_for(amg_ready_pool_of(pool), pool_context)));
}

int ABT_pool_pop_thread(ABT_pool pool, ABT_thread *thread)
{
    return ABT_pool_pop_thread_ex(pool, thread, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop(ABT_pool pool, ABT_unit *unit)
{
    return AMG_GET(ABT_ERR_INV_POOL, pool, unit,
        unit_or_null(amg_ready_pool_pop(amg_ready_pool_of(pool))));
}

int ABT_pool_remove(ABT_pool pool, ABT_unit unit)
{
    struct amg_ult *ult = amg_unit_ult(unit);

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    return amg_ready_pool_remove(amg_ready_pool_of(pool), ult) ? ABT_SUCCESS
                                                               : ABT_ERR_POOL;
}

static int adopt_for(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    /* A popped thread is ready, and on no list. */
    if (amg_ult_state(ult) != AMG_ULT_READY || !amg_ult_is_in(ult, NULL))
        return ABT_ERR_UNIT;
    return amg_ready_pool_adopt(pool, ult);
}

static int push_for(
    struct amg_ready_pool *pool, struct amg_ult *ult, ABT_pool_context context)
{
    int rc = adopt_for(pool, ult);

    if (rc == ABT_SUCCESS)
        amg_ready_pool_push(pool, ult, context);
    return rc;
}

/* Pushes threads, up to the first that cannot be pushed, by the program's
 * function for several threads; ABT_THREAD_NULL is left out. */
static int push_many_for(struct amg_ready_pool *pool, const ABT_thread *threads,
    size_t num, ABT_pool_context context)
{
    ABT_unit units[MANY];
    size_t count = 0;
    int rc = ABT_SUCCESS;

    for (size_t i = 0; i < num && rc == ABT_SUCCESS; i++) {
        if (threads[i] == ABT_THREAD_NULL)
            continue;
        rc = adopt_for(pool, amg_ult_of(threads[i]));
        if (rc == ABT_SUCCESS)
            units[count++] = amg_unit_of(amg_ult_of(threads[i]));
        if (count == MANY) {
            amg_ready_pool_push_many(pool, units, count, context);
            count = 0;
        }
    }
    if (count > 0)
        amg_ready_pool_push_many(pool, units, count, context);
    return rc;
}

int ABT_pool_push(ABT_pool pool, ABT_unit unit)
{
    struct amg_ult *ult = amg_unit_ult(unit);

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    return push_for(
        amg_ready_pool_of(pool), ult, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_push_thread_ex(
    ABT_pool pool, ABT_thread thread, ABT_pool_context pool_context)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (thread == ABT_THREAD_NULL)
        return ABT_ERR_INV_THREAD;
    return push_for(amg_ready_pool_of(pool), amg_ult_of(thread), pool_context);
}

int ABT_pool_push_thread(ABT_pool pool, ABT_thread thread)
{
    return ABT_pool_push_thread_ex(
        pool, thread, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_push_threads_ex(ABT_pool pool, const ABT_thread *threads,
    size_t num, ABT_pool_context pool_context)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (threads == NULL && num > 0)
        return ABT_ERR_INV_ARG;
    if (amg_ready_pool_takes_many(amg_ready_pool_of(pool)))
        return push_many_for(
            amg_ready_pool_of(pool), threads, num, pool_context);
    for (size_t i = 0; i < num; i++) {
        int rc = ABT_SUCCESS;

        if (threads[i] != ABT_THREAD_NULL)
            rc = ABT_pool_push_thread_ex(pool, threads[i], pool_context);
        if (rc != ABT_SUCCESS)
            return rc;
    }
    return ABT_SUCCESS;
}

int ABT_pool_push_threads(ABT_pool pool, const ABT_thread *threads, size_t num)
{
    return ABT_pool_push_threads_ex(
        pool, threads, num, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}
