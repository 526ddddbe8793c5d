/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: encoding and decoding of arguments (mercury_proc.h). */
#ifndef AMG_WIRE_PROC_H
#define AMG_WIRE_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_proc.h"

/* The cursor stands in the buffer that was given, until an encoding outgrows
 * it: then all that was coded moves to the extra buffer, and the cursor with
 * it. A decoding never leaves the buffer that was given. Bytes behind those in
 * use are not written, so they are not to be shown to a peer. */

/* Where extra buffers come from, instead of the heap. */
struct amg_proc_memory {
    /* Whole pages, aligned to pages; NULL: the heap is to give them. */
    void *(*alloc)(hg_class_t *hg_class, hg_size_t len);
    /* What that, or the heap, gave. */
    void (*free)(hg_class_t *hg_class, void *ptr);
};

/* Owned by whoever embeds it or made it; used by one thread at a time. */
struct hg_proc {
    char *pos;      /* the next byte */
    hg_size_t left; /* bytes from there to the end of the buffer in use */
    hg_proc_op_t op;
    hg_proc_hash_t hash;
    uint64_t sum; /* of all bytes that passed */
    char *buf;    /* as given; stays the giver's */
    hg_size_t size;
    char *extra; /* NULL until needed */
    hg_size_t extra_size;
    const struct amg_proc_memory *memory; /* NULL: the heap */
    hg_class_t *hg_class;
    hg_handle_t handle;
    uint8_t flags;       /* HG_PROC_* */
    bool extra_is_taken; /* the extra buffer is not ours any more */
};

/* Makes a proc in place, without sum, handle or flags; allocates nothing.
 * `buf` may be NULL for HG_FREE, or when `size` is 0. */
void amg_proc_init(struct hg_proc *proc, hg_class_t *hg_class, void *buf,
    hg_size_t size, hg_proc_op_t op);

/* Extra buffers come from there; before the first byte. */
void amg_proc_set_memory(
    struct hg_proc *proc, const struct amg_proc_memory *memory);

/* From now on bytes are summed; before the first one. */
void amg_proc_set_hash(struct hg_proc *proc, hg_proc_hash_t hash);

/* Frees the extra buffer unless it was taken. */
void amg_proc_fini(struct hg_proc *proc);

#endif
