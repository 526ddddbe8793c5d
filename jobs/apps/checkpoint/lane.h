/* SPDX-License-Identifier: BSD-3-Clause */
/* One file after the other on its way to a server.
 *
 * Up to FILE_PARTS parts of the file are under way at once: one is read while
 * the other is pulled. A file that cannot be read to its end is given up at its
 * server by a call of its own, once the calls under way are answered. */
#ifndef CHECKPOINT_LANE_H
#define CHECKPOINT_LANE_H

#include "jobs/apps/checkpoint/call.h"
#include "jobs/apps/checkpoint/part.h"
#include "jobs/apps/checkpoint/source.h"

struct lane;

/* A part under way: the call, and the memory that the server pulls from. */
struct lane_part {
    struct call call;
    struct lane *lane;
    void *bytes; /* PART_LEN of them, from the first use on */
    hg_bulk_t bulk;
    bool is_last; /* the file ends with it */
};

/* Owned by the sender. */
struct lane {
    struct callers *callers;
    struct source source;
    uint64_t number; /* of the file in the list */
    int server;
    bool is_busy;     /* there is a file */
    bool is_sent;     /* to its last part */
    bool has_failed;  /* and was reported */
    bool is_opened;   /* the server may have it open */
    bool is_verified; /* it has the same bytes, under the final name */
    struct lane_part parts[FILE_PARTS];
};

void lane_init(struct lane *lane, struct callers *callers);
/* Begins to send a file. The lane must be idle. */
void lane_start(struct lane *lane, const struct entry *entry, uint64_t number);
/* Sends what can be sent now. True: the file has come to its end, this way or
 * the other, and the lane is idle again. */
bool lane_step(struct lane *lane, uint64_t now_ns);
/* Gives the file up, if there is one. */
void lane_stop(struct lane *lane);
void lane_fini(struct lane *lane);

#endif
