/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions of pools, and definitions of user-defined pools;
 * ABT_pool_free() is in ready_pool.c, functions that wait are in sched.c. */
#include "ult/ready_pool.h"

#include "base/mem.h"

enum { MANY = 64 }; /* most units given to one call of push_many */

/* The u_get_type of definitions that ABT_pool_user_def_create() has made. */
static ABT_unit_type mark(ABT_unit unit)
{
    (void)unit;
    return ABT_UNIT_TYPE_THREAD;
}

/* The newer form of `def`. NULL: `def` is NULL, or of the older form. */
static struct amg_user_pool *user_of(ABT_pool_user_def def)
{
    return def != ABT_POOL_USER_DEF_NULL && def->u_get_type == mark
               ? amg_container_of(def, struct amg_user_pool, def)
               : NULL;
}

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

/* A copy of the definition for `pool`. NULL: no memory. */
static struct amg_user_pool *user_create(ABT_pool pool, ABT_pool_user_def def)
{
    const struct amg_user_pool *ours = user_of(def);
    struct amg_user_pool *user = amg_mem_zalloc(sizeof(*user));

    if (user == NULL)
        return NULL;
    if (ours != NULL)
        *user = *ours;
    else
        user->def = *def;
    user->is_old = ours == NULL;
    user->pool = pool;
    return user;
}

int ABT_pool_create(
    ABT_pool_user_def def, ABT_pool_config config, ABT_pool *newpool)
{
    struct amg_ready_pool *pool = NULL;
    struct amg_user_pool *user = NULL;
    ABT_pool_access access = ABT_POOL_ACCESS_MPMC;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newpool);
    if (def == ABT_POOL_USER_DEF_NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    if (newpool == NULL)
        return ABT_ERR_INV_ARG;
    if (user_of(def) == NULL) {
        if (def->u_create_from_thread == NULL || def->u_free == NULL ||
            def->p_push == NULL || def->p_pop == NULL)
            return ABT_ERR_INV_POOL_USER_DEF;
        if (access_is_known(def->access))
            access = def->access;
    }
    pool = amg_ready_pool_create(NULL, access,
        amg_config_flag(config, ABT_pool_config_automatic.key, false));
    if (pool == NULL)
        return ABT_ERR_MEM;
    user = user_create(amg_ready_pool_handle(pool), def);
    pool->user = user;
    if (user == NULL)
        rc = ABT_ERR_MEM;
    else if (user->is_old && user->def.p_init != NULL)
        rc = user->def.p_init(user->pool, config);
    else if (!user->is_old && user->init != NULL)
        rc = user->init(user->pool, config);
    if (rc == ABT_SUCCESS) {
        *newpool = amg_ready_pool_handle(pool);
        return ABT_SUCCESS;
    }
    amg_mem_free(user);
    amg_mem_free(pool); /* no other caller knows the pool */
    return rc;
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

static void list_each(const struct amg_list *list, void *arg,
    void (*visit)(void *arg, ABT_thread thread))
{
    for (struct amg_link *link = list->head.next; link != &list->head;
         link = link->next)
        visit(
            arg, amg_ult_handle(amg_container_of(link, struct amg_ult, link)));
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
        amg_bias_lock(&known->lock);
        list_each(&known->ready, arg, print_fn);
        list_each(&known->fresh, arg, print_fn);
        amg_bias_unlock(&known->lock);
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
        atomic_fetch_sub_explicit(&known->size, count, memory_order_relaxed);
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
        amg_unit_of(amg_ready_pool_pop(amg_ready_pool_of(pool))));
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
    /* Only a popped thread may be pushed: READY, and in no built-in pool. */
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

/* Pushes threads by the pool's function push_many, up to the first thread that
 * cannot be pushed; skips ABT_THREAD_NULL. Returns an ABT code. */
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
    const struct amg_user_pool *user = NULL;

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    user = amg_ready_pool_of(pool)->user;
    if (threads == NULL && num > 0)
        return ABT_ERR_INV_ARG;
    if (user != NULL && !user->is_old && user->push_many != NULL)
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

int ABT_pool_user_def_create(ABT_pool_user_create_unit_fn p_create_unit,
    ABT_pool_user_free_unit_fn p_free_unit,
    ABT_pool_user_is_empty_fn p_is_empty, ABT_pool_user_pop_fn p_pop,
    ABT_pool_user_push_fn p_push, ABT_pool_user_def *newdef)
{
    struct amg_user_pool *user = NULL;

    amg_handle_clear(newdef);
    if (p_create_unit == NULL || p_free_unit == NULL || p_is_empty == NULL ||
        p_pop == NULL || p_push == NULL || newdef == NULL)
        return ABT_ERR_INV_ARG;
    user = amg_mem_zalloc(sizeof(*user));
    if (user == NULL)
        return ABT_ERR_MEM;
    user->def.u_get_type = mark;
    user->create_unit = p_create_unit;
    user->free_unit = p_free_unit;
    user->is_empty = p_is_empty;
    user->pop = p_pop;
    user->push = p_push;
    *newdef = &user->def;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_free(ABT_pool_user_def *def)
{
    struct amg_user_pool *user = def == NULL ? NULL : user_of(*def);

    if (user == NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    amg_mem_free(user);
    *def = ABT_POOL_USER_DEF_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_user_def_set_init(
    ABT_pool_user_def def, ABT_pool_user_init_fn p_init)
{
    return AMG_SET(ABT_ERR_INV_POOL_USER_DEF, user_of(def), init, p_init);
}

int ABT_pool_user_def_set_free(
    ABT_pool_user_def def, ABT_pool_user_free_fn p_free)
{
    return AMG_SET(ABT_ERR_INV_POOL_USER_DEF, user_of(def), free, p_free);
}

int ABT_pool_user_def_set_get_size(
    ABT_pool_user_def def, ABT_pool_user_get_size_fn p_get_size)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), get_size, p_get_size);
}

int ABT_pool_user_def_set_pop_wait(
    ABT_pool_user_def def, ABT_pool_user_pop_wait_fn p_pop_wait)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), pop_wait, p_pop_wait);
}

int ABT_pool_user_def_set_pop_many(
    ABT_pool_user_def def, ABT_pool_user_pop_many_fn p_pop_many)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), pop_many, p_pop_many);
}

int ABT_pool_user_def_set_push_many(
    ABT_pool_user_def def, ABT_pool_user_push_many_fn p_push_many)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), push_many, p_push_many);
}

int ABT_pool_user_def_set_print_all(
    ABT_pool_user_def def, ABT_pool_user_print_all_fn p_print_all)
{
    return AMG_SET(
        ABT_ERR_INV_POOL_USER_DEF, user_of(def), print_all, p_print_all);
}
