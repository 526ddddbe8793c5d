/* SPDX-License-Identifier: BSD-3-Clause */
/* Our calls, as batches: one after the other, and several in flight. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include "jobs/bench/frame/duel.h"

/* Null calls in a batch, unless the user wants others. */
enum { CALLS_LATENCY = 500, CALLS_RATE = 20000, CALLS_PER_WINDOW = 2000 };

/* One call after the other, with duel->size bytes of input. Within a context.
 */
double calls_latency(struct pair *pair, struct duel *duel);
/* Null calls, duel->window of them in flight. Within a context. */
double calls_rate(struct pair *pair, struct duel *duel);

/* The same with input and output of any size, of which the target sends back
 * echoes. duel->arg is a struct calls_echo. */
struct calls_echo {
    uint32_t in; /* bytes of payload */
    uint32_t out;
};

double calls_echo(struct pair *pair, struct duel *duel);

#endif
