/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmarks in which all ranks take part.
 *
 * A team is a pair whose `comm` is that of all ranks: each has the class open,
 * and takes part in each batch of a duel, in pair_enter() and pair_leave(). Its
 * rank 0 keeps the clock and gets the rows. */
#ifndef BENCH_TEAM_H
#define BENCH_TEAM_H

#include "jobs/bench/frame/pair.h"

/* False at all ranks, with a word why at rank 0, where `bench` cannot run: the
 * transport knows no ranks. */
bool team_is_possible(const struct pair *like, const char *bench);
/* By all ranks of `comm`, which stays the caller's: a team without a class. If
 * they are more than the cores, none of them is pinned until team_leave(). */
void team_join(struct pair *team, const struct pair *like, MPI_Comm comm);
void team_leave(struct pair *team);
/* By all ranks, with a class of all. False as above. */
bool team_open(struct pair *team, const struct pair *like, const char *bench);
void team_close(struct pair *team);

/* One look for news, and the callbacks that are due; gives the core away when
 * there was nothing and ranks share it, as team_idle() does. Returns whether
 * there was something. */
bool team_turn(struct pair *team);
/* What a rank does that has looked and found nothing, also in a control. */
void team_idle(const struct pair *team);
/* By all ranks, with their contexts open: serves until all have come. */
void team_meet(struct pair *team);

/* The address of a rank of the team; to be freed by HG_Addr_free(). */
hg_addr_t team_addr(struct pair *team, int rank);

#endif
