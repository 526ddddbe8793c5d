/* SPDX-License-Identifier: BSD-3-Clause */
/* Argument and result of the calls, with their procs. */
#ifndef TESTS_TORTURE_MESSAGE_H
#define TESTS_TORTURE_MESSAGE_H

#include "mercury_proc.h"
#include "mercury_proc_bulk.h"
#include "world.h"

/* What an origin sends: the id, the number among the calls of its context to
 * one context (0: none), and the bytes of the argument. */
struct message_in {
    uint64_t id;
    uint64_t order;
    hg_bulk_t bulk; /* of kinds that expose memory, or move it */
    uint8_t *bytes;
};

/* What a target answers: the id, how a transfer ended, bytes of the result. */
struct message_out {
    uint64_t id;
    uint64_t status;
    uint8_t *bytes;
};

hg_return_t message_in_proc(hg_proc_t proc, void *data);
hg_return_t message_out_proc(hg_proc_t proc, void *data);

/* The contents that a plan says; the caller frees `bytes`. */
uint8_t *message_bytes(
    const struct plan_call *call, bool is_reply, size_t *ret_len);
/* Checks them: a finding if they are others. */
void message_check(struct world *world, const struct plan_call *call,
    bool is_reply, const uint8_t *bytes);

/* The bytes of the program in front of a request, or a reply: writes them, or
 * checks them with a finding. */
void message_head_write(struct world *world, const struct plan_call *call,
    hg_handle_t handle, bool is_reply);
void message_head_check(struct world *world, const struct plan_call *call,
    hg_handle_t handle, bool is_reply);

/* The bytes of a call without a handle: id, number, argument. */
enum { MESSAGE_STREAM_CAP = 64 };
size_t message_stream(
    const struct plan_call *call, uint64_t order, uint8_t *ret_bytes);

#endif
