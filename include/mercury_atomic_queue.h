/* SPDX-License-Identifier: BSD-3-Clause */
/* A bounded queue of pointers for any number of pushing and popping threads,
 * without locks.
 *
 * As in Vyukov's bounded queue, each slot has a turn: 2 t means that push
 * number t may fill the slot; 2 t + 1, that pop number t may empty the slot and
 * then sets 2 (t + count), for the push of the next round. While a thread with
 * a number is delayed in its slot, other slots can be used; a pop that comes to
 * this slot finds the queue empty, a push finds the queue full. */
#ifndef MERCURY_ATOMIC_QUEUE_H
#define MERCURY_ATOMIC_QUEUE_H

#include "mercury_atomic.h"

/* Bytes of a cache line; pushes and pops write to different cache lines. */
#define HG_ATOMIC_QUEUE_LINE 64

struct hg_atomic_queue_slot {
    /* Publishes `entry`: the side that has finished with the slot sets it, and
     * the other side reads it before it accesses `entry`. */
    hg_atomic_int64_t turn;
    void *entry;
};

/* Owned by the program, from hg_atomic_queue_alloc() to hg_atomic_queue_free().
 * Only the functions below access the members. */
struct hg_atomic_queue {
    hg_atomic_int64_t pushes; /* numbers given to pushing threads */
    char line_1[HG_ATOMIC_QUEUE_LINE - sizeof(hg_atomic_int64_t)];
    hg_atomic_int64_t pops; /* numbers given to popping threads */
    char line_2[HG_ATOMIC_QUEUE_LINE - sizeof(hg_atomic_int64_t)];
    struct hg_atomic_queue_slot *slots;
    int64_t count; /* number of slots; a power of two */
};

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an empty queue that threads share.
 *
 * @param count  [in]  maximum number of entries; a power of two
 * Owns:      the caller owns the result; hg_atomic_queue_free() frees it.
 * Errors:    NULL: count is no power of two, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but all `count` entries can be used.
 */
HG_UTIL_PUBLIC struct hg_atomic_queue *hg_atomic_queue_alloc(
    unsigned int count);

/**
 * Destroy a queue, without the entries that are left in it.
 *
 * @param queue  [in]  NULL is allowed
 * Owns:      the queue is consumed; the entries keep their owners.
 * Errors:    none.
 * Threads:   one thread, when no other uses the queue.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_atomic_queue_free(struct hg_atomic_queue *queue);

/**
 * Append an entry to a queue.
 *
 * @param queue  [in]  of hg_atomic_queue_alloc()
 * @param entry  [in]  not NULL: a pop from an empty queue returns NULL
 * Owns:      the thread that pops the entry owns it.
 * Errors:    HG_UTIL_FAIL the queue is full
 * Threads:   any thread; never blocks.
 * Undefined: an argument is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_atomic_queue_push(
    struct hg_atomic_queue *queue, void *entry)
{
    int64_t at = hg_atomic_get64(&queue->pushes);

    for (;;) {
        struct hg_atomic_queue_slot *slot =
            &queue->slots[at & (queue->count - 1)];
        int64_t turn = hg_atomic_get64(&slot->turn);

        if (turn == 2 * at && hg_atomic_cas64(&queue->pushes, at, at + 1)) {
            slot->entry = entry;
            hg_atomic_set64(&slot->turn, 2 * at + 1);
            return HG_UTIL_SUCCESS;
        }
        if (turn < 2 * at)
            return HG_UTIL_FAIL;
        at = hg_atomic_get64(&queue->pushes);
    }
}

/**
 * Pop the first entry of a queue, also while other threads pop.
 *
 * @param queue  [in]  of hg_atomic_queue_alloc()
 * Owns:      the entry is the caller's.
 * Errors:    NULL: the queue is empty.
 * Threads:   any thread; never blocks.
 * Undefined: queue is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void *hg_atomic_queue_pop_mc(
    struct hg_atomic_queue *queue)
{
    int64_t at = hg_atomic_get64(&queue->pops);

    for (;;) {
        struct hg_atomic_queue_slot *slot =
            &queue->slots[at & (queue->count - 1)];
        int64_t turn = hg_atomic_get64(&slot->turn);

        if (turn == 2 * at + 1 && hg_atomic_cas64(&queue->pops, at, at + 1)) {
            void *entry = slot->entry;

            hg_atomic_set64(&slot->turn, 2 * (at + queue->count));
            return entry;
        }
        if (turn < 2 * at + 1)
            return NULL;
        at = hg_atomic_get64(&queue->pops);
    }
}

/**
 * Pop the first entry of a queue, as its only consumer.
 *
 * @param queue  [in]  of hg_atomic_queue_alloc()
 * Owns:      the entry is the caller's.
 * Errors:    NULL: the queue is empty.
 * Threads:   one thread at a time; never blocks.
 * Undefined: queue is NULL; another thread pops.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void *hg_atomic_queue_pop_sc(
    struct hg_atomic_queue *queue)
{
    int64_t at = hg_atomic_get64(&queue->pops);
    struct hg_atomic_queue_slot *slot = &queue->slots[at & (queue->count - 1)];
    void *entry;

    if (hg_atomic_get64(&slot->turn) != 2 * at + 1)
        return NULL;
    entry = slot->entry;
    hg_atomic_set64(&queue->pops, at + 1);
    hg_atomic_set64(&slot->turn, 2 * (at + queue->count));
    return entry;
}

/**
 * Get the number of entries in a queue; approximate while other threads use it.
 *
 * @param queue  [in]  of hg_atomic_queue_alloc()
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: queue is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE unsigned int hg_atomic_queue_count(
    struct hg_atomic_queue *queue)
{
    /* Reads `pops` before `pushes`, so that the difference is not negative. */
    int64_t pops = hg_atomic_get64(&queue->pops);
    int64_t count = hg_atomic_get64(&queue->pushes) - pops;

    return (unsigned int)(count < queue->count ? count : queue->count);
}

/**
 * Tell whether a queue is empty; approximate while other threads use it.
 *
 * @param queue  [in]  of hg_atomic_queue_alloc()
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: queue is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE bool hg_atomic_queue_is_empty(
    struct hg_atomic_queue *queue)
{
    return hg_atomic_queue_count(queue) == 0;
}

#ifdef __cplusplus
}
#endif

#endif
