/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: encoding and decoding of arguments (mercury_proc.h). */
#ifndef AMG_WIRE_PROC_H
#define AMG_WIRE_PROC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "mercury_proc.h"

/* The cursor is in the given buffer. If the buffer is too short for an
 * encoding, all encoded bytes, and the cursor, move to the extra buffer. A
 * decoding never leaves the given buffer. The bytes behind the encoded bytes
 * are not initialised, so they must not be sent to a peer. */

/* Functions that give a proc memory other than the heap. */
struct amg_proc_memory {
    /* For a buffer that is_short: moves the encoded bytes to a longer buffer,
     * by amg_proc_move(). False: no memory; the short buffer stays. */
    bool (*widen)(struct hg_proc *proc);
    /* Allocates `*ret_cap` bytes, at least `len`, aligned to 8. NULL: take the
     * memory from the heap. */
    void *(*alloc)(struct hg_proc *proc, hg_size_t len, hg_size_t *ret_cap);
    /* Frees memory of `alloc` or of the heap. */
    void (*free)(struct hg_proc *proc, void *ptr);
};

/* Owned by its creator, or by the struct that embeds it; used by one thread at
 * a time. */
struct hg_proc {
    struct hg_proc_cursor at; /* first member, for the inline procs */
    hg_proc_hash_t hash;
    uint64_t sum; /* checksum of the bytes so far, unless HG_NOHASH */
    char *buf;    /* the given buffer: the caller's */
    hg_size_t size;
    char *extra;                          /* the extra buffer, or NULL */
    hg_size_t extra_size;                 /* set if there is an extra buffer */
    const struct amg_proc_memory *memory; /* NULL: the heap */
    hg_class_t *hg_class;
    hg_handle_t handle;
    uint8_t flags;       /* HG_PROC_* */
    bool extra_is_taken; /* the extra buffer now belongs to the caller */
    /* `buf` is a short buffer: `memory->widen` replaces it when it is full, or
     * when a type asks for its size or for a place in it. */
    bool is_short;
    bool was_asked_room; /* a type has asked for size or place */
};

/* Sets the cursor and the end of the buffer. If the proc has a checksum, or for
 * HG_FREE, the end is NULL, so that the inline procs do not use the buffer. */
static inline void amg_proc_aim(struct hg_proc *proc, char *pos, char *limit)
{
    proc->at.pos = pos;
    proc->at.end =
        proc->hash == HG_NOHASH && proc->at.op != HG_FREE ? limit : NULL;
}

/* Initialises a proc without checksum, handle or flags; allocates nothing.
 * `buf` may be NULL if `size` is 0, or for HG_FREE, which uses neither. */
static inline void amg_proc_init(struct hg_proc *proc, hg_class_t *hg_class,
    void *buf, hg_size_t size, hg_proc_op_t op)
{
    proc->at.op = op;
    proc->at.was_asked_op = false;
    proc->hash = HG_NOHASH;
    proc->buf = buf;
    proc->size = op == HG_FREE ? 0 : size;
    amg_proc_aim(proc, buf, buf == NULL ? NULL : proc->buf + proc->size);
    proc->extra = NULL;
    proc->memory = NULL;
    proc->hg_class = hg_class;
    proc->handle = NULL;
    proc->flags = 0;
    proc->extra_is_taken = false;
    proc->is_short = false;
    proc->was_asked_room = false;
}

/* Bytes that were encoded or decoded. */
static inline hg_size_t amg_proc_used(const struct hg_proc *proc)
{
    return (
        hg_size_t)(proc->at.pos -
                   (AMG_LIKELY(proc->extra == NULL) ? proc->buf : proc->extra));
}

/* Notes in `was_short` whether the next encoding of this type may begin in a
 * short buffer: yes if this encoding `fits` and asked for no size or place. */
static inline void amg_proc_note_short(
    const struct hg_proc *proc, bool fits, atomic_bool *was_short)
{
    bool is_short = fits && !proc->was_asked_room;

    if (!AMG_LIKELY(
            is_short == atomic_load_explicit(was_short, memory_order_relaxed)))
        atomic_store_explicit(was_short, is_short, memory_order_relaxed);
}

/* Copies the encoded bytes to `buf`, where the encoding continues. */
void amg_proc_move(struct hg_proc *proc, void *buf, hg_size_t size);

/* Frees the extra buffer unless it was handed over. */
void amg_proc_drop_extra(struct hg_proc *proc);
static inline void amg_proc_fini(struct hg_proc *proc)
{
    if (!AMG_LIKELY(proc->extra == NULL))
        amg_proc_drop_extra(proc);
}

#endif
