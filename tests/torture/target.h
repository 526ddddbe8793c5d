/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of each call: handlers, and what follows them. */
#ifndef TESTS_TORTURE_TARGET_H
#define TESTS_TORTURE_TARGET_H

#include "message.h"
#include "world.h"

/* A call that is being served; the function that answers it frees it. */
struct served {
    struct world *world;
    struct world_class *cls;
    struct plan_call call;
    hg_handle_t handle;
    struct message_in in; /* freed with the answer, unless that came before */
    bool has_input;
    hg_return_t status;
    atomic_uint left; /* calls that the answer waits for */
    /* transfer.c */
    hg_bulk_t local;
    uint8_t *memory;
    size_t offset; /* of the bytes in `memory` */
    atomic_uint parts;
    atomic_int failure;
};

/* Functions of the RPCs. */
hg_return_t target_call(hg_handle_t handle);
hg_return_t target_empty(hg_handle_t handle);
/* A call of a stream, with a handle. */
hg_return_t target_stream_handle(hg_handle_t handle);
void target_stream(
    hg_class_t *cls, int from_rank, const void *bytes, size_t len);
void target_stream_empty(
    hg_class_t *cls, int from_rank, const void *bytes, size_t len);

/* A call that the handler made has ended: with the status of its transfer. */
void target_child_ended(struct served *served, uint64_t status);

/* Answers, frees the argument and the handle, and `arg`, a struct served. */
void target_answer(void *arg);

/* beyond.c: posts a pull of more than the origin exposes, by a handle whose
 * bytes were changed; it must fail, and write nothing. `served->parts` counts
 * it until `over` is called. */
void beyond_post(struct served *served, void (*over)(struct served *served));

/* transfer.c: moves the bytes of a call, a struct served, and then answers. */
void transfer_start(void *arg);

#endif
