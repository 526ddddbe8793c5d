/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin's side of each call: it posts the call, does with its handle and
 * memory what the plan says, and checks how it ends. */
#ifndef TESTS_TORTURE_ORIGIN_H
#define TESTS_TORTURE_ORIGIN_H

#include "world.h"

struct group;
struct served;

/* A call at its origin. The callback, and what is done later, own references;
 * the last one checks the memory and frees it. */
struct origin {
    struct world *world;
    struct world_class *cls;
    struct plan_call call;
    hg_handle_t handle;
    atomic_uint references;
    atomic_uint *window;    /* of the thread that posted it, or NULL */
    struct served *waiting; /* the handler that answers afterwards, or NULL */
    struct group *group;    /* of a call to a group: see group.h */
    /* Memory that the target accesses. */
    hg_bulk_t bulk;
    uint8_t *memory;
    size_t memory_len;
    uint8_t *segments[PLAN_SEGMENTS_MAX];
    atomic_bool is_freed; /* one of two frees the handle */
    bool was_freed_early;
    bool is_checked;
    uint64_t sum; /* of the memory, when it was not exposed any more */
    hg_return_t code;
    uint64_t status;     /* of the transfer, as the target says */
    struct origin *next; /* kept until the end of the round */
};

/* Posts a call. `window` counts it while it is under way, if it is not NULL;
 * `waiting` is told when it has ended. False: the library refused it. */
bool origin_post(struct world *world, uint64_t id, atomic_uint *window,
    struct served *waiting);

/* Frees handles that were kept, and checks memory that was released early. */
void origin_finish(struct world *world);

/* NULL, or what is wrong with a call of this rank: a book_judge_fn. */
const char *origin_judge(
    void *world, uint64_t id, const struct book_fate *fate);
/* A book_origin_fn. */
unsigned origin_rank(void *world, uint64_t id);

/* exposed.c: makes and frees the memory of a call. */
void exposed_make(struct origin *origin);
/* The callback ran: releases the memory, unless that was done early. */
void exposed_end(struct origin *origin);
/* Releases it while the call is under way. */
void exposed_free_early(struct origin *origin);
/* Checks its contents, when nobody uses it any more; the memory is freed, or
 * kept to see whether somebody writes it nevertheless. */
void exposed_check(struct origin *origin);
/* True: `origin` is kept by the world. */
bool exposed_is_kept(struct origin *origin);
void exposed_finish(struct origin *origin);

#endif
