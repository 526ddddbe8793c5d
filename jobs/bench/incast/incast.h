/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks but one call that one: the batches of `incast`. */
#ifndef BENCH_INCAST_H
#define BENCH_INCAST_H

#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/tally.h"
#include "jobs/bench/incast/stint.h"

enum {
    INCAST_TARGET = 1,       /* the target of a pair, too */
    INCAST_HEAD_LEN = 24,    /* of each input that is not empty */
    INCAST_CHECK_EVERY = 16, /* of so many inputs all bytes of one are seen */
};

#define INCAST_CONTROL_TEXT                                                    \
    "the same by bare MPI: each origin MPI_Isend of as many bytes (24 for "    \
    "the null call) and MPI_Irecv of 24 B, as many in flight; the target up "  \
    "to 64 receives from MPI_ANY_SOURCE, MPI_Isend, MPI_Testsome"

/* What is called. */
enum incast_kind {
    INCAST_INPUT, /* carries duel->size bytes, or nothing */
    INCAST_BULK,  /* names so many bytes, which the handler pulls */
};

/* What else a batch tells, beside the rate; a row of each. */
enum incast_figure { INCAST_FAIR, INCAST_SLOWEST, INCAST_P99, INCAST_FIGURES };

/* What each batch of one side came to; rank 0's. */
struct incast_tally {
    struct tally figures[INCAST_FIGURES];
};

struct incast_target;

/* Of a row: duel->more. All ranks have the same. */
struct incast {
    struct pair *team;
    unsigned counts_ms;
    enum incast_kind kind;
    struct incast_target *target; /* rank INCAST_TARGET's; of ours */
    hg_id_t null_id;
    hg_id_t input_id;
    hg_id_t bulk_id;
    hg_id_t end_id;
    struct incast_tally ours;
    struct incast_tally control;
};

/* The first words of an input: who sent it, and which of its calls it is. */
struct incast_head {
    uint32_t origin;
    uint32_t place; /* in the window */
    uint64_t number;
    uint64_t sum; /* of all these */
};

static inline unsigned incast_origins(const struct pair *team)
{
    return (unsigned)team->world->size - 1;
}

/* Writes the head of an input, or of a message of the control. */
void incast_head_write(
    const struct pair *team, uint64_t number, unsigned place, void *ret_buf);
/* Fills `len` bytes, of which the head is written later. */
void incast_fill(const struct pair *team, void *ret_buf, size_t len);
/* Ends the job when those `len` bytes are not what an origin sends in this
 * batch; of most only the head is looked at, which is returned. */
struct incast_head incast_check(
    const struct pair *team, const void *buf, size_t len, const char *what);

/* Registers the calls in the class of incast->team; by all ranks. */
void incast_open(struct incast *incast);
/* By all ranks. See duel_batch_fn. */
double incast_calls(struct pair *team, struct duel *duel, double *ret_samples);
double incast_control(
    struct pair *team, struct duel *duel, double *ret_samples);

/* The end of a batch: by all ranks, `stint` is NULL at the target. Returns the
 * time in which duel->calls calls are made at the rate of this batch. */
double incast_end(struct pair *team, const struct duel *duel,
    const struct stint *stint, struct incast_tally *tally, double *ret_samples);

void incast_tally_fini(struct incast_tally *tally);

/* What the library of the target takes while large arguments come. */
void incast_memory_run(struct incast *incast);

#endif
