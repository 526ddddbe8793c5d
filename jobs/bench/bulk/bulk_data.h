/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the target exposes, the caller's room for it, and their bytes. */
#ifndef BENCH_BULK_DATA_H
#define BENCH_BULK_DATA_H

#include <sys/types.h>

#include "jobs/bench/bulk/like.h"
#include "jobs/bench/frame/duel.h"
#include "mercury_bulk.h"

struct bulk_window;

/* How exposed memory lies, and that of the caller. */
struct bulk_shape {
    bool is_library;    /* the exposed memory is the library's */
    uint32_t blocks;    /* 1: in one piece */
    size_t block;       /* bytes of each */
    size_t far_stride;  /* from one to the next, in exposed memory */
    size_t near_stride; /* the same, in the caller's room */
};

/* What a row moves; duel->more of most batches of bulk data. Owned by whoever
 * opened it. */
struct bulk {
    struct bulk_shape shape;
    bool is_push;
    hg_bulk_t holder;     /* the target's: memory of the library */
    hg_bulk_t exposed;    /* the target's: its blocks */
    hg_bulk_t theirs;     /* the same, as the caller knows it */
    hg_bulk_t ours;       /* the caller's room */
    unsigned char *far;   /* the exposed memory, where it is exposed */
    uint64_t far_address; /* of the same, for bulk_cross() */
    pid_t far_pid;
    const struct like *like;
    const struct bulk_window *window; /* for bulk_window(); else NULL */
    /* Rank 1: what controls have in its place, as far as they need it: its
     * landing, or memory like the library's. */
    unsigned char *end;
    unsigned char *scratch; /* as long, to look at blocks; else NULL */
};

/* Both ranks. The room of the pair is long enough; `like` is as long. */
void bulk_open(struct pair *pair, const struct bulk_shape *shape,
    const struct like *like, struct bulk *ret_bulk);
void bulk_close(struct pair *pair, struct bulk *bulk);

/* The end of the target in a batch of duel->size bytes at a time: the exposed
 * memory, or what the control has in its place. The caller's is its room. */
void bulk_fill(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far);
void bulk_verify(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far);

/* For a row: where the payload lies at the target. */
static inline const char *bulk_memory(const struct bulk *bulk)
{
    return bulk->shape.is_library ? "library" : "host";
}

#endif
