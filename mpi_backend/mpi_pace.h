/* SPDX-License-Identifier: BSD-3-Clause */
/* What the probe measures next, and when it has to end. */
#ifndef AMG_MPI_BACKEND_MPI_PACE_H
#define AMG_MPI_BACKEND_MPI_PACE_H

#include "mpi_backend/mpi_choice.h"

/* The ways of one pull. */
enum amg_mpi_pull {
    AMG_MPI_PULL_MESSAGE,
    AMG_MPI_PULL_LIBRARY, /* by the window of such memory */
    AMG_MPI_PULL_USER,
    AMG_MPI_PULLS
};

enum {
    AMG_MPI_PACE_STEPS = AMG_MPI_SIZES * AMG_MPI_PULLS,
    AMG_MPI_PACE_MIN = 3, /* repetitions of one step that tell something */
    AMG_MPI_PACE_MAX = 9, /* and as many as count */
};

/* One size by one way. */
struct amg_mpi_step {
    uint64_t ns[AMG_MPI_PACE_MAX];
    uint64_t last_ns; /* of the newest, also that which did not count */
    unsigned done;    /* with the first, which only makes the connection */
    bool is_closed;   /* cannot be measured */
};

/* Owned by who embeds it. No function here reads a clock. */
struct amg_mpi_pace {
    uint64_t end_ns[AMG_MPI_SIZES];
    struct amg_mpi_step steps[AMG_MPI_SIZES][AMG_MPI_PULLS];
};

void amg_mpi_pace_init(
    struct amg_mpi_pace *pace, uint64_t begin_ns, uint64_t end_ns);
/* That way leads nowhere. */
void amg_mpi_pace_close(struct amg_mpi_pace *pace, enum amg_mpi_pull pull);
/* Of the first size that has any: the step with the fewest repetitions, which
 * will be over in time, as far as can be told. False: there is none, and
 * measuring ends. */
bool amg_mpi_pace_next(const struct amg_mpi_pace *pace, uint64_t now_ns,
    enum amg_mpi_size *ret_size, enum amg_mpi_pull *ret_pull);
void amg_mpi_pace_took(struct amg_mpi_pace *pace, enum amg_mpi_size size,
    enum amg_mpi_pull pull, uint64_t ns);
/* The median of those that count, and the best; 0: there are too few. */
uint64_t amg_mpi_pace_median_ns(const struct amg_mpi_pace *pace,
    enum amg_mpi_size size, enum amg_mpi_pull pull);
uint64_t amg_mpi_pace_best_ns(const struct amg_mpi_pace *pace,
    enum amg_mpi_size size, enum amg_mpi_pull pull);
/* As the choice wants them: the medians; or the best, where these speak more
 * against windows. On a busy machine medians are luck, and messages the safe
 * way. */
void amg_mpi_pace_figures(
    const struct amg_mpi_pace *pace, struct amg_mpi_figures *figures);

/* Who pulls when: `count` nodes, of which each pulls from the next one in one
 * of so many rounds, and has one part in a round at most. */
unsigned amg_mpi_pace_rounds(unsigned count);
unsigned amg_mpi_pace_round_of(unsigned node, unsigned count);

#endif
