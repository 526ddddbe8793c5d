/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments too long for one message: exposed here, pulled there. */
#ifndef AMG_RPC_OVERFLOW_H
#define AMG_RPC_OVERFLOW_H

#include "rpc/handle.h"
#include "wire/proc.h"

/* What the extra buffer of arguments for that peer is best made of. */
const struct amg_proc_memory *amg_overflow_memory(
    const struct hg_handle *handle);

/* Takes the extra buffer of `proc`, exposes it, and writes its length, its sum
 * if `args->is_summed`, and its descriptor to `room`; says how much that is.
 * HG_OVERFLOW: the class forbids it, or the descriptor does not fit either. */
hg_return_t amg_overflow_expose(struct hg_handle *handle, struct hg_proc *proc,
    void *room, uint64_t cap, struct amg_args *args, uint32_t *ret_len);

/* How many bytes a sender says that are, which a message describes by `args`;
 * not believed yet. */
uint64_t amg_overflow_len(const struct amg_args *args);

/* Told in progress, when `args` has the bytes, or why not. */
typedef void (*amg_overflow_done_fn)(struct hg_handle *handle, hg_return_t rc);

/* Starts to pull `len` bytes, as amg_overflow_len() said, of what the bytes
 * that `args` has so far describe: a sender may change these between two looks.
 * On success `done` follows. HG_PROTOCOL_ERROR: they describe nothing. */
hg_return_t amg_overflow_fetch(struct hg_handle *handle, struct amg_args *args,
    uint64_t len, amg_overflow_done_fn done);

/* Asks a pull in motion to end early. */
void amg_overflow_cancel(struct hg_handle *handle);

#endif
