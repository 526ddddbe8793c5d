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
    OPTIONS_THREADS_MAX = 64,
};

/* Zeros and NULL take the defaults. */
struct options {
    const char *bench;
    const char *transport;
    const char *json; /* files to write; NULL: none */
    const char *csv;
    const char *expect; /* file of ratios that must hold; NULL: none */
    const char *what;
    const unsigned *size; /* only this size; NULL: all of the benchmark */
    unsigned window;      /* only this one; 0: all of the benchmark */
    unsigned peers;       /* of `silent` and `memory` */
    unsigned batches;     /* alternations of measurement and control */
    unsigned calls;       /* of each of the two in a batch; count: in all */
    unsigned runs;        /* of each row, its median counts; 0: one */
    unsigned threads;     /* of each rank, with rate; 0: as the cores allow */
    bool is_smoke;        /* only whether it works: few calls, no large ones */
    bool is_quick;       /* few batches and sizes: figures that say something */
    bool is_near;        /* between two ranks of one node */
    unsigned time_s;     /* for the whole run; 0: no limit */
    unsigned deadline_s; /* for one batch, or one step of the set-up */
};

/* `bench` is NULL when none is named. False when a word is none of ours: it is
 * returned in `ret_wrong`. */
bool options_read(
    struct options *options, int argc, char **argv, const char **ret_wrong);

/* How many operations a batch has of which `usual` give figures to rely on: a
 * part of them where the run is to be quick. duel_run() sees to its own. */
unsigned options_calls(const struct options *options, unsigned usual);
/* Of sizes or windows in rising order, is the one with this index measured? Of
 * a quick run's each fourth is; the first always. */
bool options_takes(const struct options *options, unsigned index);

/* Of a time or a number: as usual, for a quick run, for one that only looks
 * whether all works. */
unsigned options_pick(const struct options *options, unsigned usual,
    unsigned quick, unsigned smoke);

/* The part of the usage text that tells of options. */
void options_print(FILE *stream);

#endif
