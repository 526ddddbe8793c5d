/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with arguments as programs make them: procs made by MERCURY_GEN_PROC(),
 * and each input and output decoded and freed. */
#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

#include "jobs/bench/frame/duel.h"
#include "mercury_macros.h"

MERCURY_GEN_PROC(bench_ints_t, ((int32_t)(a))((int32_t)(b)))

/* A std::string or std::vector<char> as the C++ API sends it. Decoding
 * allocates `data`. */
struct bytes {
    uint64_t len;
    char *data;
};

hg_return_t hg_proc_bench_bytes_t(hg_proc_t proc, void *data);

/* Arguments of a call: two ints there and back; a string; a bulk handle. */
enum args_kind { ARGS_INTS, ARGS_TEXT, ARGS_BULK, ARGS_KINDS };

/* Bytes that the program passes. */
enum { ARGS_INTS_LEN = 8, ARGS_TEXT_LEN = 20 };

/* Owned by its opener, at each of the two ranks. */
struct args {
    hg_id_t ids[ARGS_KINDS];
    hg_bulk_t bulk;
};

/* By both ranks, without a context; the class must stay open until the end. */
void args_open(struct pair *pair, struct args *ret_args);
void args_close(struct pair *pair, struct args *args);

/* duel->arg of args_latency(). */
struct args_load {
    const struct args *args;
    enum args_kind kind;
    bool is_by_request; /* awaited by hg_request_wait() */
};

/* Batches: one call after another; and calls with two ints, duel->window calls
 * in flight, where duel->arg is a struct args. */
double args_latency(struct pair *pair, struct duel *duel);
double args_rate(struct pair *pair, struct duel *duel);

/* The answer of the target to two ints, and its check by the caller: a wrong
 * answer ends the job. */
bench_ints_t args_swapped(bench_ints_t in);
void args_verify(
    const struct pair *pair, bench_ints_t in, const bench_ints_t *out);

#endif
