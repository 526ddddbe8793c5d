/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ranks between which all benchmarks measure. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mercury.h"

/* What the command line asks for; zeros and NULL take the defaults. */
struct options {
    const char *bench;
    const char *transport;
    const char *json;
    const char *what;
    const unsigned *size; /* only this size; NULL: all of the benchmark */
    unsigned batches;     /* alternations of measurement and control */
    unsigned calls;       /* of each of the two in a batch; count: in all */
};

/* Rank 0 calls and holds the clock; rank 1 serves. Owned by main(). */
struct pair {
    int rank;
    const struct options *options;
    const char *transport; /* as the rows name it */
    hg_class_t *cls;
    hg_context_t *context;
    hg_addr_t peer;      /* the other rank */
    hg_id_t null_id;     /* a call without arguments */
    hg_id_t bytes_id;    /* a call that carries a struct payload */
    hg_id_t stop_id;     /* ends pair_serve() of rank 1 */
    bool is_stopped;     /* rank 1's */
    unsigned char *room; /* `room_len` bytes to send from and receive into */
    size_t room_len;
};

/* Bytes as the RPC `bytes_id` carries them: four of length, then they. */
struct payload {
    uint32_t len; /* decoding: the bytes that fit, then those that came */
    void *data;
};

/* Opens the class over both ranks; false, with a word why, when it cannot. */
bool pair_open(struct pair *pair);
/* By both ranks. */
void pair_close(struct pair *pair);

/* At least `len` bytes, the pages of which are there. */
void pair_need_room(struct pair *pair, size_t len);

/* Both ranks: opens the context; until then and after pair_leave() there is
 * none, and nothing of the library is under way in MPI. */
void pair_enter(struct pair *pair);
void pair_leave(struct pair *pair);

/* Within these: a handle for calls to rank 1, to be ended by HG_Destroy(). */
hg_handle_t pair_handle(struct pair *pair, hg_id_t id);
/* Calls and waits for the answer. */
void pair_call(struct pair *pair, hg_handle_t handle, void *input);
/* Rank 1: serves until rank 0 calls pair_stop(). */
void pair_serve(struct pair *pair);
void pair_stop(struct pair *pair);

/* Ends the job with a word when `ret` is not HG_SUCCESS. */
void pair_check(const struct pair *pair, hg_return_t ret, const char *what);

/* One look for news, and the callbacks that are due; never sleeps. */
static inline void pair_turn(struct pair *pair)
{
    unsigned count = 0;

    HG_Progress(pair->context, 0);
    HG_Trigger(pair->context, 0, 1, &count);
}

#endif
