/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of cells from one process to one context of another: one writer, one
 * reader.
 *
 * It lies in the reader's segment. Both sides keep their places in private
 * memory; what they share is
 *
 *   line  written by   what
 *   0     writer       name, NUL terminated, before the slot is claimed
 *   1     writer       incarnation; is_full, when it sleeps for want of room
 *   2     reader       watch: does it look here? rarely written
 *   3     reader       consumed: cells it is done with, every 16
 *   4-43  writer       40 cells of one line each
 *
 *   cell, 64 bytes
 *   off len
 *     0   4 seq, its number in the life of the ring, from 1; written last
 *     4   1 kind, with AMG_SHM_FAR when the bytes are in a slab
 *     5   1 context of the sender; an answer goes there
 *     6   2 len, bytes in the cell
 *     8   4 cookie, names the call in the table of who began it
 *    12   2 credits that come back
 *    14   2 0
 *    16  48 the bytes, or struct amg_shm_far
 *
 * The reader never writes to a cell: it knows that the next one is there by its
 * number. So a message costs one line that wanders from writer to reader.
 *
 * A reader that stops looking at a ring, or goes to sleep, says so in `watch`,
 * and a writer that has written a cell and sees that raises the news of the
 * context (shm_region.h). That is a store and a load on each side (Dekker), and
 * one of the two must see the other:
 *
 *   writer                        reader
 *   seq = number                  watch = DORMANT
 *   (nothing)                     membarrier
 *   if (watch != WATCHED) news    if (seq == expected) watch = WATCHED
 *
 * The writer, who does this for each message, needs no fence of its own: the
 * reader's system call, made when it stops to look, puts one into every process
 * that runs (MEMBARRIER_CMD_GLOBAL_EXPEDITED). Where the kernel does not offer
 * that, the reader's segment says so, and writers fence.
 *
 * A writer that goes to sleep while the ring is full sets `is_full`, fences in
 * the same way, and looks once more; a reader that has reported looks at it.
 */
#ifndef AMG_SHM_SHM_RING_H
#define AMG_SHM_SHM_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/prefetch.h"

enum {
    AMG_SHM_LINE = 64,
    AMG_SHM_CELLS = 40,
    AMG_SHM_INLINE = 48,   /* bytes of a message that fit into a cell */
    AMG_SHM_REPORT = 16,   /* cells read between two stores of `consumed` */
    AMG_SHM_AHEAD = 3,     /* cells between one and the prefetch it causes */
    AMG_SHM_NAME_CAP = 64, /* of a segment, with the NUL */
};

/* What a cell says. REQUEST to CREDIT are messages of the contract, the rest
 * belongs to transfers (shm_bulk.h). */
enum amg_shm_kind {
    AMG_SHM_REQUEST, /* answer me */
    AMG_SHM_ONEWAY,  /* no answer wanted; gives a credit back when released */
    AMG_SHM_REPLY,   /* returns one credit */
    AMG_SHM_REFUSE, /* the same; cookie names the call, bytes a uint32_t code */
    AMG_SHM_CREDIT, /* only cell.credits */
    AMG_SHM_BULK,   /* this and all above it: amg_shm_transfer_message() */
    AMG_SHM_KIND_COUNT = AMG_SHM_BULK + 8,
    AMG_SHM_FAR = 0x80,
};

/* Bytes that did not fit: a slab in the sender's segment. */
struct amg_shm_far {
    uint32_t slab;
    uint32_t len;
};

struct amg_shm_cell {
    /* Publishes the rest of the cell; release here, acquire in
     * amg_shm_in_peek(). */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t seq;
    uint8_t kind;
    uint8_t context;
    uint16_t len;
    uint32_t cookie;
    uint16_t credits;
    uint16_t zero;
    union {
        uint8_t bytes[AMG_SHM_INLINE];
        struct amg_shm_far far;
    };
};

enum amg_shm_watch {
    AMG_SHM_UNSEEN,  /* no reader has opened it yet; it looks for news only */
    AMG_SHM_DORMANT, /* the reader looks only when there is news */
    AMG_SHM_WATCHED, /* it looks at every poll */
    AMG_SHM_CLOSED,  /* the context is closed; answers are still looked for */
    AMG_SHM_REFUSED, /* it cannot reach the writer, and will not look */
};

struct amg_shm_ring {
    char name[AMG_SHM_NAME_CAP];
    _Alignas(AMG_SHM_LINE) uint64_t incarnation;
    /* Dekker with `consumed`; cleared by the reader, who then tells. */
    _Atomic uint32_t is_full;
    /* Dekker with `seq`, see above. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t watch;
    /* Gives cells back: release when they were read, acquire by the writer
     * before it writes them again. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t consumed;
    struct amg_shm_cell cells[AMG_SHM_CELLS];
};

static_assert(sizeof(struct amg_shm_cell) == AMG_SHM_LINE, "one line");
static_assert(sizeof(struct amg_shm_ring) == (4 + 40) * 64, "the table above");

/* The writer's side; guarded by the lock of its domain. In a burst it asks for
 * the ownership of lines before it writes them: that takes as long as half a
 * message, and the rate rises from 4.5 to 6.8 million calls a second. A single
 * message must not: its reader looks at the line already, and a round trip
 * would take 0.15 us more. */
struct amg_shm_out {
    struct amg_shm_ring *ring; /* NULL: not claimed yet */
    uint32_t tail;             /* cells written */
    uint32_t index;            /* of the next one */
    uint32_t consumed;         /* as last seen */
    uint32_t lull;             /* of the domain, at the last message */
    bool needs_fence;          /* the reader has no membarrier, or we */
};

/* The reader's side; belongs to who polls the context. */
struct amg_shm_in {
    struct amg_shm_ring *ring;
    uint32_t head;     /* cells read */
    uint32_t index;    /* of the next one */
    uint32_t reported; /* as last stored in `consumed` */
    bool needs_fence;  /* the writer has no membarrier, or we */
};

/* A ring that is to be used by another writer: nobody writes to it now. */
void amg_shm_ring_reset(struct amg_shm_ring *ring);

void amg_shm_out_init(
    struct amg_shm_out *out, struct amg_shm_ring *ring, bool needs_fence);
void amg_shm_in_init(
    struct amg_shm_in *in, struct amg_shm_ring *ring, bool needs_fence);
/* The writer was told that there is room. */
static inline void amg_shm_in_told(struct amg_shm_in *in)
{
    atomic_store_explicit(&in->ring->is_full, 0, memory_order_relaxed);
}

/* The cell to fill in next, or NULL: the ring is full. */
static inline struct amg_shm_cell *amg_shm_out_next(struct amg_shm_out *out)
{
    if (out->tail - out->consumed >= AMG_SHM_CELLS) {
        out->consumed =
            atomic_load_explicit(&out->ring->consumed, memory_order_acquire);
        if (out->tail - out->consumed >= AMG_SHM_CELLS)
            return NULL;
    }
    return &out->ring->cells[out->index];
}

/* Hands the filled cell over. True: the reader does not look, tell it. */
static inline bool amg_shm_out_push(
    struct amg_shm_out *out, struct amg_shm_cell *cell)
{
    out->tail++;
    out->index = out->index + 1 == AMG_SHM_CELLS ? 0 : out->index + 1;
    atomic_store_explicit(&cell->seq, out->tail, memory_order_release);
    if (AMG_LIKELY(!out->needs_fence))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&out->ring->watch, memory_order_relaxed) !=
           AMG_SHM_WATCHED;
}

/* Has the reader not said that it read all cells? */
static inline bool amg_shm_out_is_unread(const struct amg_shm_out *out)
{
    return atomic_load_explicit(&out->ring->consumed, memory_order_acquire) !=
           out->tail;
}

/* After a push: if there was no lull since the one before, others may follow.
 */
static inline void amg_shm_out_prefetch(struct amg_shm_out *out, uint32_t lull)
{
    uint32_t index = out->index + AMG_SHM_AHEAD;

    if (lull == out->lull)
        amg_prefetch_to_write(
            &out->ring->cells[index < AMG_SHM_CELLS ? index
                                                    : index - AMG_SHM_CELLS]);
    out->lull = lull;
}

/* The oldest cell that was not read, or NULL. */
static inline const struct amg_shm_cell *amg_shm_in_peek(
    const struct amg_shm_in *in)
{
    const struct amg_shm_cell *cell = &in->ring->cells[in->index];

    return atomic_load_explicit(&cell->seq, memory_order_acquire) ==
                   in->head + 1
               ? cell
               : NULL;
}

/* Publishes how far we are. True: the writer sleeps for want of room, tell it,
 * and then amg_shm_in_told(). */
static inline bool amg_shm_in_report(struct amg_shm_in *in)
{
    in->reported = in->head;
    atomic_store_explicit(&in->ring->consumed, in->head, memory_order_release);
    if (AMG_LIKELY(!in->needs_fence))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&in->ring->is_full, memory_order_relaxed) != 0;
}

/* That cell was read, and its bytes are used no more. True as above. */
static inline bool amg_shm_in_pop(struct amg_shm_in *in)
{
    in->head++;
    in->index = in->index + 1 == AMG_SHM_CELLS ? 0 : in->index + 1;
    return in->head - in->reported >= AMG_SHM_REPORT && amg_shm_in_report(in);
}

#endif
