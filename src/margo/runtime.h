/* SPDX-License-Identifier: BSD-3-Clause */
/* What Margo asks of the runtime of user-level threads beyond abt.h, or has to
 * do without. runtime_amalgam.c answers for ours, runtime_argobots.c for
 * Argobots. */
#ifndef AMG_MARGO_RUNTIME_H
#define AMG_MARGO_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bias.h"
#include "margo.h"

/* The runtime's kind of pool for an enum amg_margo_pool_kind, or the nearest
 * one. False: it has none of that kind. */
bool amg_margo_runtime_pool_kind(int kind, ABT_pool_kind *ret_kind);

/* By the loop: how many others are ready in its stream. */
unsigned amg_margo_runtime_ready(void);

/* By the loop: is its stream asked to end, and can another one run it? */
bool amg_margo_runtime_must_leave(void);

/* By the loop: the progress of a context, asleep for up to so long, which ends
 * when anything becomes ready for its stream. */
hg_return_t amg_margo_runtime_progress(
    hg_context_t *context, unsigned timeout_ms);

/* The calling thread, where it can park as below; else NULL. */
void *amg_margo_runtime_self(void);

/* It leaves its stream to others until it is unparked, once, by any thread. The
 * lock, which it refs, is given back when that may happen. */
void amg_margo_runtime_park(void *self, struct amg_bias *lock);
void amg_margo_runtime_unpark(void *self);

/* Can a thread nap as below? If not, nobody calls them. */
bool amg_margo_runtime_can_nap(void);

/* Sleeps, with its stream, while the word is `seen`, until the moment of
 * amg_clock_ns(), or until something becomes ready for the stream. */
void amg_margo_runtime_nap(
    atomic_uint *word, unsigned seen, uint64_t deadline_ns);

/* Changes the word, and ends the nap. */
void amg_margo_runtime_nap_wake(atomic_uint *word);

#endif
