/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers of threads, and of execution streams, whose callers block their
 * xstream meanwhile. */
#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/park.h"

/* A barrier, behind ABT_barrier or ABT_xstream_barrier; its creator's until it
 * is freed. The lock guards all. Callers that waited do not touch it once they
 * were unparked. */
struct barrier {
    struct amg_lock lock;
    uint32_t cap;   /* how many it is for */
    uint32_t count; /* how many have come */
    struct amg_list waiters;
};

/* Changes it to be for `cap` callers, unless that is 0. False: some wait. */
static bool barrier_set(struct barrier *self, uint32_t cap)
{
    bool is_empty = false;

    amg_lock_lock(&self->lock);
    is_empty = self->count == 0;
    if (is_empty && cap > 0)
        self->cap = cap;
    amg_lock_unlock(&self->lock);
    return is_empty;
}

/* `keeps_stream`: the whole OS thread sleeps meanwhile. */
static void barrier_wait(struct barrier *self, bool keeps_stream)
{
    struct amg_waiters_taken taken;
    struct amg_waiter waiter;

    amg_lock_lock(&self->lock);
    AMG_ASSERT(self->count < self->cap);
    if (self->count + 1 < self->cap) {
        self->count++;
        amg_waiter_init(&waiter);
        if (keeps_stream)
            waiter.ult = NULL;
        amg_waiters_push(&self->waiters, &waiter);
        amg_park(&waiter, &self->lock);
        return;
    }
    self->count = 0;
    taken = amg_waiters_take_all(&self->waiters);
    amg_lock_unlock(&self->lock);
    amg_waiters_wake(taken);
}

static struct barrier *barrier_of(ABT_barrier barrier)
{
    return (struct barrier *)(void *)barrier;
}

int ABT_barrier_create(uint32_t num_waiters, ABT_barrier *newbarrier)
{
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newbarrier);
    if (!AMG_CONTRACT(num_waiters > 0 && newbarrier != NULL))
        return rc;
    rc = amg_handle_create(newbarrier, sizeof(struct barrier));
    if (rc == ABT_SUCCESS)
        barrier_of(*newbarrier)->cap = num_waiters;
    return rc;
}

int ABT_barrier_reinit(ABT_barrier barrier, uint32_t num_waiters)
{
    bool is_empty = false;

    if (!AMG_CONTRACT(barrier != ABT_BARRIER_NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(num_waiters > 0))
        return ABT_ERR_INV_ARG;
    is_empty = barrier_set(barrier_of(barrier), num_waiters);
    return AMG_CONTRACT(is_empty) ? ABT_SUCCESS : ABT_ERR_BARRIER;
}

int ABT_barrier_free(ABT_barrier *barrier)
{
    if (!AMG_CONTRACT(barrier != NULL))
        return ABT_ERR_INV_ARG;
    if (!AMG_CONTRACT(*barrier != ABT_BARRIER_NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(barrier_set(barrier_of(*barrier), 0)))
        return ABT_ERR_BARRIER;
    amg_mem_free(barrier_of(*barrier));
    *barrier = ABT_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_barrier_wait(ABT_barrier barrier)
{
    if (!AMG_CONTRACT(barrier != ABT_BARRIER_NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(!amg_ult_caller_is_task()))
        return ABT_ERR_BARRIER;
    barrier_wait(barrier_of(barrier), false);
    return ABT_SUCCESS;
}

int ABT_barrier_get_num_waiters(ABT_barrier barrier, uint32_t *num_waiters)
{
    struct barrier *self = barrier_of(barrier);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(num_waiters != NULL))
        return ABT_ERR_INV_ARG;
    amg_lock_lock(&self->lock);
    *num_waiters = self->cap;
    amg_lock_unlock(&self->lock);
    return ABT_SUCCESS;
}

static struct barrier *xbarrier_of(ABT_xstream_barrier barrier)
{
    return (struct barrier *)(void *)barrier;
}

int ABT_xstream_barrier_create(
    uint32_t num_waiters, ABT_xstream_barrier *newbarrier)
{
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newbarrier);
    if (!AMG_CONTRACT(num_waiters > 0 && newbarrier != NULL))
        return rc;
    rc = amg_handle_create(newbarrier, sizeof(struct barrier));
    if (rc == ABT_SUCCESS)
        xbarrier_of(*newbarrier)->cap = num_waiters;
    return rc;
}

int ABT_xstream_barrier_free(ABT_xstream_barrier *barrier)
{
    if (!AMG_CONTRACT(barrier != NULL))
        return ABT_ERR_INV_ARG;
    if (!AMG_CONTRACT(*barrier != ABT_XSTREAM_BARRIER_NULL))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    if (!AMG_CONTRACT(barrier_set(xbarrier_of(*barrier), 0)))
        return ABT_ERR_XSTREAM_BARRIER;
    amg_mem_free(xbarrier_of(*barrier));
    *barrier = ABT_XSTREAM_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier)
{
    if (!AMG_CONTRACT(barrier != ABT_XSTREAM_BARRIER_NULL))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    barrier_wait(xbarrier_of(barrier), true);
    return ABT_SUCCESS;
}
