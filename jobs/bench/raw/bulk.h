/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data between the two ranks: memory that the target exposes, and all that
 * moves it, ours and the controls. */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include "jobs/bench/frame/duel.h"
#include "mercury_bulk.h"

/* Memory of rank 1 like the library's: a mapping of a file without a name,
 * which another process of the machine can map too. */
struct like {
    unsigned char *base; /* rank 0: NULL if it cannot map the file */
    size_t len;
    bool is_shared; /* both ranks have mapped it */
};

/* By both ranks. Rank 1 ends the job if it cannot make or map the file; rank 0
 * prints a line if it cannot map the file, and `is_shared` is false. */
void like_open(struct pair *pair, size_t len, struct like *ret_like);
void like_close(struct like *like);

/* A window of MPI to memory of rank 1; opening takes tens of milliseconds. */
struct bulk_window {
    bool is_dynamic; /* a dynamic window; the memory is attached */
    MPI_Win win;
    MPI_Aint base;         /* displacement of the memory, for rank 0 */
    unsigned char *memory; /* rank 1 */
};

/* By both ranks. `memory`, of rank 1, lives until bulk_window_close(). */
void bulk_window_open(struct pair *pair, bool is_dynamic, unsigned char *memory,
    size_t len, struct bulk_window *ret_window);
void bulk_window_close(struct pair *pair, struct bulk_window *window);

/* The layout of the exposed memory, and of the caller's room. */
struct bulk_shape {
    bool is_library;    /* the exposed memory is the library's */
    uint32_t blocks;    /* 1: in one piece */
    size_t block;       /* bytes of each */
    size_t far_stride;  /* from block to block, in exposed memory */
    size_t near_stride; /* from block to block, in the caller's room */
};

/* The memory of a row; duel->arg of most batches of bulk data. */
struct bulk {
    struct bulk_shape shape;
    bool is_push;
    hg_bulk_t holder;     /* target: owns library memory, or HG_BULK_NULL */
    hg_bulk_t exposed;    /* the target's: the exposed blocks */
    hg_bulk_t theirs;     /* `exposed`, as the caller knows it */
    hg_bulk_t ours;       /* the caller's room */
    unsigned char *far;   /* the exposed memory, at the target; else NULL */
    uint64_t far_address; /* address of `far`, for bulk_cross() */
    pid_t far_pid;
    const struct like *like;
    const struct bulk_window *window; /* for bulk_window(); else NULL */
    /* Rank 1: memory of controls that do not use `far`: `like->base` if
     * `shape.is_library`, else the landing of the pair. */
    unsigned char *end;
};

/* By both ranks. `shape` needs at most pair->room_len, the length of `like`. */
void bulk_open(struct pair *pair, const struct bulk_shape *shape,
    const struct like *like, struct bulk *ret_bulk);
void bulk_close(struct pair *pair, struct bulk *bulk);

/* By both ranks. Transfers of a batch go between the caller's room and `far`
 * (the exposed memory, or the control's): bulk_fill() fills the end that they
 * read, and bulk_verify() verifies the end that they wrote. */
void bulk_fill(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far);
void bulk_verify(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far);

/* Number of transfers for 32 MiB: at most 200, but at least 2 * window. */
unsigned bulk_calls(size_t size, unsigned window);
/* Number of transfers that warm a batch up: 0 for sizes above 64 KiB. */
unsigned bulk_warm(size_t size);

/* Batches, here and below; duel->arg is a struct bulk. bulk_move() runs the
 * library's side, by HG_Bulk_transfer(); pair->context is open. */
double bulk_move(struct pair *pair, struct duel *duel);

#define BULK_STREAM_TEXT                                                       \
    "stream of messages of the same size, as many in flight: MPI_Isend to "    \
    "MPI_Irecv"
double bulk_stream(struct pair *pair, struct duel *duel);

#define BULK_ROUND_TEXT                                                        \
    "round trip of MPI_Send and MPI_Recv: that size there, and the same back"
double bulk_round(struct pair *pair, struct duel *duel);

#define BULK_FIXED_TEXT                                                        \
    "MPI_Rget (pull), or MPI_Put and MPI_Win_flush (push), of the same size, " \
    "as many in flight, in a window of MPI_Win_create over memory like the "   \
    "library's; the target in MPI_Barrier"
#define BULK_DYNAMIC_TEXT                                                      \
    "MPI_Rget (pull), or MPI_Put and MPI_Win_flush (push), of the same size, " \
    "as many in flight, in a dynamic window to which the same memory is "      \
    "attached; the target in MPI_Barrier"
/* In bulk->window, over the memory bulk->end. */
double bulk_window(struct pair *pair, struct duel *duel);

#define BULK_CROSS_TEXT                                                        \
    "bare process_vm_readv (pull) or process_vm_writev (push) of that size "   \
    "between the same buffers of the same processes"
double bulk_cross(struct pair *pair, struct duel *duel);
/* By both ranks: prepares bulk_cross(). bulk->far_pid is 0, with a line why,
 * if one process may not access the other. */
void bulk_cross_init(struct pair *pair, struct bulk *bulk);

/* If bulk->like is shared. */
#define BULK_COPY_TEXT                                                         \
    "memcpy of that size between the same private buffer and memory that "     \
    "both ranks have mapped"
double bulk_copy(struct pair *pair, struct duel *duel);

#endif
