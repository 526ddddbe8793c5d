/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulls the parts of files from their senders, several pieces at a time.
 *
 * While the caller works on a piece, the next ones of the file arrive: up to
 * PART_PIECES of them, also across the border of two parts. Memory is bounded:
 * all files share one pool of slots of PIECE_LEN bytes, and a file that finds
 * none waits for its turn. */
#ifndef CHECKPOINT_PULL_H
#define CHECKPOINT_PULL_H

#include <stdbool.h>

#include "jobs/apps/checkpoint/job.h"
#include "jobs/apps/checkpoint/part.h"

struct pull_pool;
struct pull_slot;

/* A request whose bytes are wanted; owned by who gave it to pull_add(). */
struct pull_part {
    struct pull_part *next;
    hg_handle_t handle;
    part_in_t in;
    uint64_t issued; /* bytes asked for */
    uint64_t taken;  /* bytes that were seen and popped */
};

/* The parts of one file, in order; lives in the file. */
struct pull {
    struct pull_pool *pool;
    void (*step)(struct pull *pull); /* called when a piece has come */
    struct pull_part *first;
    struct pull_part *last;
    struct pull_slot *oldest; /* pieces asked for, in order */
    struct pull_slot *newest;
    unsigned count; /* of these */
    bool is_stopped;
    bool is_waiting; /* for a slot, in the pool's queue */
    struct pull *next_waiting;
};

/* A piece that is here. */
struct pull_piece {
    const void *bytes;
    uint64_t len;
    hg_return_t ret; /* other than HG_SUCCESS: it did not arrive */
};

/* NULL: no memory. */
struct pull_pool *pull_pool_open(struct job *job);
/* False: pieces are still under way. NULL is fine. */
bool pull_pool_close(struct pull_pool *pool);

/* Whether a piece could not be asked for since the last time: then the files
 * are to be looked at. */
bool pull_pool_has_failed(struct pull_pool *pool);

void pull_init(
    struct pull *pull, struct pull_pool *pool, void (*step)(struct pull *));
/* Takes a part in, and begins to pull it when its turn comes. */
void pull_add(struct pull *pull, struct pull_part *part);
/* The next piece of the first part. False: it is not here yet. */
bool pull_peek(const struct pull *pull, struct pull_piece *ret_piece);
/* The piece is not needed any more; asks for further ones. */
void pull_pop(struct pull *pull);
/* Takes the first part out, which has no pieces under way. */
struct pull_part *pull_part_pop(struct pull *pull);
/* Asks for nothing more. Pieces under way still come. */
void pull_stop(struct pull *pull);

#endif
