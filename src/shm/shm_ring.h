/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring of cells from one process to one context of another: one writer, one
 * reader.
 *
 * The ring is part of the reader's segment. Reader and writer keep their
 * positions in private memory; they share
 *
 *   line  written by   what
 *   0     writer       name of its segment, written before its claim is LIVE
 *   1     writer       its incarnation; is_full, which the reader clears
 *   2     reader       poll_state: when the reader reads the ring
 *   3     reader       consumed: cells read so far, stored every 16 cells
 *   4-83  writer       80 cells of one line each
 *
 *   cell, 64 bytes
 *   off len
 *     0   4 seq, its number in the life of the ring, from 1; written last
 *     4   1 kind, with AMG_SHM_OUT_OF_LINE if a msgbuf or block has the bytes
 *     5   1 context of the sender, to which replies go
 *     6   2 len, bytes of the message, in this cell and the further ones;
 *           with AMG_SHM_OUT_OF_LINE not used
 *     8   4 cookie, index of the call in the table of its origin; of CREDIT: a
 *           note of flow control (transport/flow.h)
 *    12   2 returned credits
 *    14   2 not used
 *    16  48 the bytes, or struct amg_shm_out_of_line
 *
 *   cell that continues a message, 64 bytes
 *     0   4 seq, its own number; written before the seq of the first cell
 *     4   4 not used: values of an earlier message
 *     8  56 bytes
 *
 * The reader does not write to the cells of a writer: the sequence number shows
 * that a cell is complete. So a message of one cell moves one cache line.
 *
 * A reader that stops polling a ring, or blocks, stores DORMANT in poll_state.
 * A writer that wrote a cell loads poll_state, and sets an event of the context
 * (shm_segment.h) unless the value is POLLED. Each side stores and then loads
 * (Dekker), so that at least one load returns the other side's store:
 *
 *   writer                        reader
 *   seq = number                  poll_state = DORMANT
 *   (no fence)                    membarrier
 *   if (poll_state != POLLED)     if (seq == expected)
 *       events                        poll_state = POLLED
 *
 * The writer needs no fence per message: a reader that stops polling makes a
 * system call that executes a fence in every running thread of the processes
 * that use such rings (MEMBARRIER_CMD_GLOBAL_EXPEDITED). If the writer's or the
 * reader's process lacks that call, the writer executes a fence per message.
 *
 * Before a writer blocks on a full ring, it sets `is_full`, fences all threads
 * by membarrier, and checks for room again; the reader loads `is_full` after
 * each store of `consumed`. Model: tests/models/shm_ring.pml. */
#ifndef AMG_SHM_SHM_RING_H
#define AMG_SHM_SHM_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/lock.h"

enum {
    AMG_SHM_LINE = 64,
    AMG_SHM_CELLS = 80,
    AMG_SHM_INLINE = 48,  /* bytes of a message that fit into a cell */
    AMG_SHM_MORE = 56,    /* bytes in each further cell of the message */
    AMG_SHM_MORE_MAX = 5, /* further cells of a message, at most */
    AMG_SHM_RUN = AMG_SHM_INLINE + AMG_SHM_MORE_MAX * AMG_SHM_MORE,
    AMG_SHM_REPORT = 16,   /* cells read between two stores of `consumed` */
    AMG_SHM_AHEAD = 3,     /* cells from the next to the prefetched cell */
    AMG_SHM_NAME_CAP = 64, /* of a segment, with the NUL */
};

/* Kinds of cells. REQUEST to CREDIT are messages of calls; the kinds from BULK
 * on are messages of transfers (shm_bulk.h). */
enum amg_shm_kind {
    AMG_SHM_REQUEST, /* wants a reply */
    AMG_SHM_ONEWAY,  /* no reply; the release returns a credit, unless the
                      * cookie is AMG_TOKEN_ACK */
    AMG_SHM_REPLY,   /* returns one credit, besides cell.credits */
    AMG_SHM_REFUSE,  /* returns credits like REPLY; bytes: a uint32_t code */
    AMG_SHM_CREDIT,  /* only returns cell.credits; the cookie is a note */
    AMG_SHM_BULK,    /* first kind of the messages of transfers */
    AMG_SHM_OUT_OF_LINE = 0x80, /* a bit: struct amg_shm_out_of_line follows */
};

/* Bytes of a message outside of cells: a msgbuf or block of the sender. */
struct amg_shm_out_of_line {
    uint32_t msgbuf; /* index for amg_shm_region_find() */
    uint32_t len;
};

enum { AMG_SHM_SHORT = 16 };

/* Copies `len` bytes of a cell, rounded up to 16 or to `room`: fixed lengths
 * are faster than the exact length. `to` and `from` have `room` bytes. */
static inline void amg_shm_inline_copy(
    void *to, const void *from, uint32_t len, size_t room)
{
    memcpy(to, from, AMG_SHM_SHORT);
    if (len > AMG_SHM_SHORT)
        memcpy((char *)to + AMG_SHM_SHORT, (const char *)from + AMG_SHM_SHORT,
            room - AMG_SHM_SHORT);
}

struct amg_shm_cell {
    /* Publishes the rest of the cell; release here, acquire in
     * amg_shm_in_has(). */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t seq;
    uint8_t kind;
    uint8_t context;
    uint16_t len;
    uint32_t cookie;
    uint16_t credits;
    uint16_t zero;
    union {
        uint8_t bytes[AMG_SHM_INLINE];
        struct amg_shm_out_of_line out_of_line;
    };
};

enum amg_shm_poll_state {
    AMG_SHM_UNSEEN,  /* the reader has not opened the ring yet */
    AMG_SHM_DORMANT, /* the writer must set an event after each message */
    AMG_SHM_POLLED,  /* no events: every poll of the reader reads the ring */
    AMG_SHM_CLOSED,  /* the context is closed; replies are still read */
    AMG_SHM_REFUSED, /* the reader refused the writer: never reads the ring */
};

struct amg_shm_ring {
    char name[AMG_SHM_NAME_CAP];
    _Alignas(AMG_SHM_LINE) uint64_t incarnation;
    /* Dekker with `consumed`, see the first comment. The reader clears
     * `is_full` and then wakes the writer. */
    _Atomic uint32_t is_full;
    /* Dekker with `seq`, see the first comment. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t poll_state;
    /* Returns cells: release store after the reader has read the cells, acquire
     * load by the writer before it writes into the cells again. */
    _Alignas(AMG_SHM_LINE) _Atomic uint32_t consumed;
    struct amg_shm_cell cells[AMG_SHM_CELLS];
};

static_assert(sizeof(struct amg_shm_cell) == AMG_SHM_LINE, "one line");
static_assert(
    offsetof(struct amg_shm_cell, cookie) + AMG_SHM_MORE == AMG_SHM_LINE,
    "the cell that continues a message");
static_assert(sizeof(struct amg_shm_ring) == (4 + 80) * 64, "the table above");

/* The writer's side; guarded by the lock of its domain. In a burst the writer
 * prefetches the lines that it will write: half the time of a message goes into
 * acquiring a line, and the prefetch raises the rate from 4.5 to 6.8 million
 * calls a second. After a single message the writer must not prefetch: a round
 * trip would take 0.15 us more. */
struct amg_shm_out {
    struct amg_shm_ring *ring; /* NULL: not claimed yet */
    struct amg_shm_cell *cell; /* next cell to fill */
    uint32_t tail;             /* number of cells written */
    uint32_t room;       /* cells to fill before `consumed` is read again */
    uint32_t idle_polls; /* amg_shm_domain.idle_polls at the last message */
    bool needs_fence;    /* reader or writer has no membarrier */
};

/* The reader's side; belongs to the owner of the inbox. */
struct amg_shm_in {
    struct amg_shm_ring *ring;
    struct amg_shm_cell *cell; /* next cell to read */
    uint32_t head;             /* number of cells read */
    uint32_t reported;         /* last value stored in `consumed` */
    bool needs_fence;          /* reader or writer has no membarrier */
};

/* Prepares a ring for another writer. No process writes to the ring now. */
static inline void amg_shm_ring_reset(struct amg_shm_ring *ring)
{
    /* The reader must not take old cells for cells of the next writer. */
    for (unsigned i = 0; i < AMG_SHM_CELLS; i++)
        atomic_store_explicit(&ring->cells[i].seq, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->consumed, 0, memory_order_relaxed);
    atomic_store_explicit(
        &ring->poll_state, AMG_SHM_UNSEEN, memory_order_relaxed);
    memset(ring->name, 0, sizeof(ring->name));
    ring->incarnation = 0;
    atomic_store_explicit(&ring->is_full, 0, memory_order_relaxed);
}

static inline void amg_shm_out_init(
    struct amg_shm_out *out, struct amg_shm_ring *ring, bool needs_fence)
{
    *out = (struct amg_shm_out){
        .ring = ring,
        .cell = ring->cells,
        .room = AMG_SHM_CELLS,
        .needs_fence = needs_fence,
    };
}

static inline void amg_shm_in_init(
    struct amg_shm_in *in, struct amg_shm_ring *ring, bool needs_fence)
{
    *in = (struct amg_shm_in){
        .ring = ring, .cell = ring->cells, .needs_fence = needs_fence};
}

/* The cell that is `count` cells behind `cell` in the ring. */
static inline struct amg_shm_cell *amg_shm_ring_cell(
    struct amg_shm_ring *ring, struct amg_shm_cell *cell, uint32_t count)
{
    cell += count;
    if (!AMG_LIKELY(cell < ring->cells + AMG_SHM_CELLS))
        cell -= AMG_SHM_CELLS;
    return cell;
}

/* Whether there is room for `cells` cells; reads `consumed` if `room` is too
 * small. If a faulty reader lowered `consumed`, `room` keeps its value. */
static inline bool amg_shm_out_has_room(struct amg_shm_out *out, uint32_t cells)
{
    uint32_t unread = 0;

    if (out->room >= cells)
        return true;
    unread = out->tail -
             atomic_load_explicit(&out->ring->consumed, memory_order_acquire);
    if (unread < AMG_SHM_CELLS - out->room)
        out->room = AMG_SHM_CELLS - unread;
    return out->room >= cells;
}

/* Number of cells of a message of `len` <= AMG_SHM_RUN bytes. */
static inline uint32_t amg_shm_run_cells(uint32_t len)
{
    return AMG_LIKELY(len <= AMG_SHM_INLINE)
               ? 1
               : 1 + (len - AMG_SHM_INLINE + AMG_SHM_MORE - 1) / AMG_SHM_MORE;
}

/* The bytes of a cell that continues a message. */
static inline void *amg_shm_cell_more(struct amg_shm_cell *cell)
{
    return &cell->cookie;
}

/* Writes the bytes that do not fit into the first of the `cells` cells of a
 * message, into the cells after out->cell. Reads whole cells from `bytes`. */
static inline void amg_shm_out_continue(
    struct amg_shm_out *out, const void *bytes, uint32_t cells)
{
    const struct amg_shm_cell *end = out->ring->cells + AMG_SHM_CELLS;
    const char *from = (const char *)bytes + AMG_SHM_INLINE;
    struct amg_shm_cell *cell = out->cell;
    uint32_t seq = out->tail + 1;
    uint32_t last = out->tail + cells;

    AMG_ASSERT(cells <= out->room);
    while (seq++ != last) {
        if (!AMG_LIKELY(++cell != end))
            cell = out->ring->cells;
        atomic_store_explicit(&cell->seq, seq, memory_order_relaxed);
        memcpy(amg_shm_cell_more(cell), from, AMG_SHM_MORE);
        from += AMG_SHM_MORE;
    }
}

/* Publishes `cells` filled cells from out->cell on. True: the reader does not
 * poll the ring, and the caller must set an event of the context. */
static inline bool amg_shm_out_push(
    struct amg_shm_out *out, struct amg_shm_cell *cell, uint32_t cells)
{
    atomic_store_explicit(&cell->seq, out->tail + 1, memory_order_release);
    out->tail += cells;
    out->room -= cells;
    out->cell = amg_shm_ring_cell(out->ring, cell, cells);
    if (AMG_LIKELY(!out->needs_fence))
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&out->ring->poll_state, memory_order_relaxed) !=
           AMG_SHM_POLLED;
}

/* Whether the reader has not yet reported all cells as read. */
static inline bool amg_shm_out_is_unread(const struct amg_shm_out *out)
{
    return atomic_load_explicit(&out->ring->consumed, memory_order_acquire) !=
           out->tail;
}

/* Called after a push. Prefetches in a burst, which means that no poll was idle
 * since the previous push. */
static inline void amg_shm_out_prefetch(
    struct amg_shm_out *out, uint32_t idle_polls)
{
    if (idle_polls == out->idle_polls)
        amg_prefetch_to_write(
            amg_shm_ring_cell(out->ring, out->cell, AMG_SHM_AHEAD));
    out->idle_polls = idle_polls;
}

static inline bool amg_shm_in_has(const struct amg_shm_in *in)
{
    return atomic_load_explicit(&in->cell->seq, memory_order_acquire) ==
           in->head + 1;
}

/* Publishes the read position. True: the writer waits for room, and the caller
 * must clear `is_full` and then wake the writer. */
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

/* Reads the bytes that are not in the first of the `cells` cells of a message.
 * If a faulty writer did not write the further cells, reads older bytes. */
static inline void amg_shm_in_continue(
    const struct amg_shm_in *in, void *bytes, uint32_t cells)
{
    const struct amg_shm_cell *end = in->ring->cells + AMG_SHM_CELLS;
    char *to = (char *)bytes + AMG_SHM_INLINE;
    struct amg_shm_cell *cell = in->cell;

    AMG_ASSERT(cells <= 1 + AMG_SHM_MORE_MAX);
    for (; cells > 1; cells--) {
        if (!AMG_LIKELY(++cell != end))
            cell = in->ring->cells;
        memcpy(to, amg_shm_cell_more(cell), AMG_SHM_MORE);
        to += AMG_SHM_MORE;
    }
}

/* Advances by `cells` cells (fewer than AMG_SHM_REPORT), whose bytes are no
 * longer used. True: amg_shm_in_report() was called, and returned true. */
static inline bool amg_shm_in_pop(struct amg_shm_in *in, uint32_t cells)
{
    in->head += cells;
    in->cell = amg_shm_ring_cell(in->ring, in->cell, cells);
    return !AMG_LIKELY(in->head % AMG_SHM_REPORT >= cells) &&
           amg_shm_in_report(in);
}

#endif
