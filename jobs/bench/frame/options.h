/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum {
    OPTIONS_BATCHES_MIN = 15,
    OPTIONS_BATCHES = 21,
    OPTIONS_BATCHES_MAX = 1000,
    OPTIONS_SIZE_MAX = 256 * 1024 * 1024,
    OPTIONS_WINDOW_MAX = 64,
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
    unsigned window;      /* only this window; 0: all of the benchmark */
    unsigned peers;       /* of `silent` */
    unsigned batches;     /* alternations of measurement and control */
    unsigned calls;       /* of each side in a batch; with count: in all */
    unsigned runs;        /* of each row, whose median counts; 0: one */
    unsigned threads;     /* of each rank, with rate; 0: as the cores allow */
    unsigned time_s;      /* for the whole run; 0: no limit */
    unsigned deadline_s;  /* for one batch, or one step of the set-up */
    bool is_smoke;        /* few calls, no large ones: only a test */
    bool is_quick;        /* few batches and sizes */
    bool is_near;         /* between two ranks of one node */
};

/* `bench` is NULL if none is named. False: a word is not understood;
 * `ret_wrong` gets that word. */
bool options_read(
    struct options *options, int argc, char **argv, const char **ret_wrong);
/* The number of operations of a batch: `usual`, which give reliable figures, or
 * a part of these in a quick run. duel_run() passes duel->calls as `usual`. */
unsigned options_calls(const struct options *options, unsigned usual);
/* Is the size or window with this index, in rising order, measured? A quick run
 * measures the first and every fourth after the first. */
bool options_takes(const struct options *options, unsigned index);
/* The value for this kind of run: usual, quick, or smoke test. */
unsigned options_pick(const struct options *options, unsigned usual,
    unsigned quick, unsigned smoke);
/* Prints the part of the usage text that describes options. */
void options_print(FILE *stream);

#endif
