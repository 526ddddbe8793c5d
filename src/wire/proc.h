/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: encoding and decoding of arguments (mercury_proc.h). */
#ifndef AMG_WIRE_PROC_H
#define AMG_WIRE_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "mercury_proc.h"

/* The cursor is in the given buffer until an encoding exceeds it: then all
 * encoded bytes move to the extra buffer, and the cursor with them. A decoding
 * never leaves the given buffer. Bytes beyond those in use are not initialised,
 * so they must not be sent to a peer. */

/* Allocator of extra buffers, instead of the heap. */
struct amg_proc_memory {
    /* At least `len` bytes, aligned to 8; `*ret_cap` is their number. NULL: use
     * the heap. */
    void *(*alloc)(struct hg_proc *proc, hg_size_t len, hg_size_t *ret_cap);
    /* Frees memory of `alloc` or of the heap. */
    void (*free)(struct hg_proc *proc, void *ptr);
};

/* Owned by its creator, or by the struct that embeds it; used by one thread at
 * a time. */
struct hg_proc {
    struct hg_proc_cursor at; /* first, where the inline procs expect it */
    hg_proc_hash_t hash;
    uint64_t sum; /* of all bytes encoded or decoded, if there is a hash */
    char *buf;    /* buffer of the caller */
    hg_size_t size;
    char *extra;                          /* NULL until needed */
    hg_size_t extra_size;                 /* set if there is an extra buffer */
    const struct amg_proc_memory *memory; /* NULL: the heap */
    hg_class_t *hg_class;
    hg_handle_t handle;
    uint8_t flags;       /* HG_PROC_* */
    bool extra_is_taken; /* the extra buffer now belongs to the caller */
};

/* Sets the cursor and the end of the buffer. The inline procs see no room, and
 * do not use the buffer, if a checksum is wanted or nothing is coded. */
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
}

/* Bytes that were encoded or decoded. */
static inline hg_size_t amg_proc_used(const struct hg_proc *proc)
{
    return (
        hg_size_t)(proc->at.pos -
                   (AMG_LIKELY(proc->extra == NULL) ? proc->buf : proc->extra));
}

/* Frees the extra buffer unless it was handed over. */
void amg_proc_drop_extra(struct hg_proc *proc);
static inline void amg_proc_fini(struct hg_proc *proc)
{
    if (!AMG_LIKELY(proc->extra == NULL))
        amg_proc_drop_extra(proc);
}

#endif
