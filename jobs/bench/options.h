/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command line asks for. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum {
    OPTIONS_SIZE_MAX = 256 * 1024 * 1024, /* so much as still fits */
    OPTIONS_WINDOW_MAX = 64,
    OPTIONS_PEERS_MAX = 512,
};

/* Zeros and NULL take the defaults. */
struct options {
    const char *bench;
    const char *transport;
    const char *json;
    const char *what;
    const unsigned *size; /* only this size; NULL: all of the benchmark */
    unsigned window;      /* only this one; 0: all of the benchmark */
    unsigned peers;       /* of `silent` and `memory` */
    unsigned batches;     /* alternations of measurement and control */
    unsigned calls;       /* of each of the two in a batch; count: in all */
    bool is_quick;        /* only whether it works: few calls, no large ones */
    unsigned deadline_s;  /* for one batch, or one step of the set-up */
};

/* False when a word is none of ours: it is returned in `ret_wrong`. */
bool options_read(
    struct options *options, int argc, char **argv, const char **ret_wrong);

/* The part of the usage text that tells of options. */
void options_print(FILE *stream);

#endif
