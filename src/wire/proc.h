/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: encoding and decoding of arguments (mercury_proc.h). */
#ifndef AMG_WIRE_PROC_H
#define AMG_WIRE_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_proc.h"

/* The cursor is in the given buffer until an encoding exceeds it: then all
 * encoded bytes move to the extra buffer, and the cursor with them. A decoding
 * never leaves the given buffer. Bytes beyond those in use are not initialised,
 * so they must not be sent to a peer. */

/* Allocator of extra buffers, instead of the heap. */
struct amg_proc_memory {
    /* Whole pages, page-aligned; NULL: use the heap. */
    void *(*alloc)(hg_class_t *hg_class, hg_size_t len);
    /* Frees memory of `alloc` or of the heap. */
    void (*free)(hg_class_t *hg_class, void *ptr);
};

/* Owned by its creator, or by the struct that embeds it; used by one thread at
 * a time. */
struct hg_proc {
    char *pos;      /* the next byte */
    hg_size_t left; /* bytes from there to the end of the current buffer */
    hg_proc_op_t op;
    hg_proc_hash_t hash;
    uint64_t sum; /* of all bytes encoded or decoded */
    char *buf;    /* as given; stays the caller's */
    hg_size_t size;
    char *extra; /* NULL until needed */
    hg_size_t extra_size;
    const struct amg_proc_memory *memory; /* NULL: the heap */
    hg_class_t *hg_class;
    hg_handle_t handle;
    uint8_t flags;       /* HG_PROC_* */
    bool extra_is_taken; /* the extra buffer was handed over */
};

/* Initialises a proc without checksum, handle or flags; allocates nothing.
 * `buf` may be NULL for HG_FREE, or if `size` is 0. */
void amg_proc_init(struct hg_proc *proc, hg_class_t *hg_class, void *buf,
    hg_size_t size, hg_proc_op_t op);

/* Sets the allocator of extra buffers; before the first byte. */
void amg_proc_set_memory(
    struct hg_proc *proc, const struct amg_proc_memory *memory);

/* Enables a checksum of the bytes; before the first one. */
void amg_proc_set_hash(struct hg_proc *proc, hg_proc_hash_t hash);

/* Frees the extra buffer unless it was handed over. */
void amg_proc_fini(struct hg_proc *proc);

#endif
