/* SPDX-License-Identifier: BSD-3-Clause */
/* Built-in kinds of pools, which differ in the order of their threads.
 *
 * prio_wait prefers threads that have run before, earliest_first threads that
 * were created earlier, so that work in progress ends before new work begins.
 * Since threads that only yield would starve new threads, every 8th pop of
 * prio_wait takes a new thread, every 4th pop of earliest_first the newest. */
#include "ult/ready_pool.h"

enum { TURNS_OLD = 8, TURNS_EARLIEST = 4 };

static struct amg_ult *ult_of(struct amg_link *link)
{
    return link == NULL ? NULL : amg_container_of(link, struct amg_ult, link);
}

static bool ult_has_run(struct amg_ult *ult)
{
    return atomic_load_explicit(&ult->xstream, memory_order_relaxed) != NULL;
}

static struct amg_ult *list_pop_last(struct amg_list *list)
{
    struct amg_link *link = list->head.prev;

    if (amg_list_is_empty(list))
        return NULL;
    amg_list_remove(link);
    return ult_of(link);
}

static void fifo_push(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    amg_list_push(&pool->ready, &ult->link);
}

/* Does not clear ult->link: ult->in says that the thread is in no pool. */
static struct amg_ult *fifo_pop(struct amg_ready_pool *pool)
{
    struct amg_link *link = amg_list_first(&pool->ready);

    if (link == NULL)
        return NULL;
    pool->ready.head.next = link->next;
    link->next->prev = &pool->ready.head;
    return ult_of(link);
}

/* Steals at the end opposite to that of the owner's pops. */
static struct amg_ult *randws_steal(struct amg_ready_pool *pool)
{
    return list_pop_last(&pool->ready);
}

static void prio_push(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    amg_list_push(ult_has_run(ult) ? &pool->ready : &pool->fresh, &ult->link);
}

/* Counts a pop; true: the pop has to take a thread that has not run yet. */
static bool fresh_is_due(struct amg_ready_pool *pool)
{
    if (amg_list_is_empty(&pool->fresh)) {
        pool->turns = 0;
        return false;
    }
    if (!amg_list_is_empty(&pool->ready) && ++pool->turns < TURNS_OLD)
        return false;
    pool->turns = 0;
    return true;
}

static struct amg_ult *prio_pop(struct amg_ready_pool *pool)
{
    if (fresh_is_due(pool))
        return ult_of(amg_list_pop(&pool->fresh));
    return ult_of(amg_list_pop(&pool->ready));
}

static ABT_unit_id id_of(struct amg_link *link)
{
    ABT_unit_id id = 0;

    ABT_thread_get_id((ABT_thread)(void *)ult_of(link), &id);
    return id;
}

/* id_of() gives a thread its id, so ids follow the order of first pushes. The
 * search for a place begins at the end for a new thread, else at the front. */
static void earliest_push(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    ABT_unit_id id = id_of(&ult->link);
    struct amg_link *after = &pool->ready.head;

    if (ult_has_run(ult)) {
        while (after->next != &pool->ready.head && id_of(after->next) < id)
            after = after->next;
    } else {
        after = pool->ready.head.prev;
        while (after != &pool->ready.head && id_of(after) > id)
            after = after->prev;
    }
    amg_list_insert(after, &ult->link);
}

static struct amg_ult *earliest_pop(struct amg_ready_pool *pool)
{
    if (++pool->turns < TURNS_EARLIEST)
        return ult_of(amg_list_pop(&pool->ready));
    pool->turns = 0;
    return list_pop_last(&pool->ready);
}

const struct amg_ready_pool_ops *amg_ready_pool_ops_of(ABT_pool_kind kind)
{
    static const struct amg_ready_pool_ops kinds[] = {
        {ABT_POOL_FIFO, "fifo", fifo_push, fifo_pop, fifo_pop},
        {ABT_POOL_FIFO_WAIT, "fifo_wait", fifo_push, fifo_pop, fifo_pop},
        {ABT_POOL_RANDWS, "randws", fifo_push, fifo_pop, randws_steal},
        {AMALGAM_POOL_PRIO_WAIT, "prio_wait", prio_push, prio_pop, prio_pop},
        {AMALGAM_POOL_EARLIEST_FIRST, "earliest_first", earliest_push,
            earliest_pop, earliest_pop},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].kind == kind)
            return &kinds[i];
    return NULL;
}
