/* SPDX-License-Identifier: BSD-3-Clause */
/* Common part of the driver's tests with several ranks: a domain and an
 * endpoint. */
#ifndef TESTS_UNIT_MPI_BACKEND_PAIR_H
#define TESTS_UNIT_MPI_BACKEND_PAIR_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_public.h"

/* Ends all ranks: `expr` is false. */
#define CHECK(expr) ((expr) ? (void)0 : pair_fail(__FILE__, __LINE__, #expr))

/* Polls until `expr` holds; fails after 10 s. */
#define UNTIL(expr)                                                            \
    for (uint64_t end_ns = pair_deadline_ns(); !(expr);                        \
         pair_turn(end_ns, __FILE__, __LINE__, #expr))

extern const struct amg_transport *const pair_t;
extern const char *pair_protocol; /* set before pair_open(), or NULL */
extern uint8_t pair_contexts;     /* the same; 1 */
extern struct amg_domain *pair_domain;
extern struct amg_ep *pair_ep;
extern int pair_rank;
extern int pair_size;

struct pair_call {
    struct amg_op op;
    unsigned done;
};

void pair_fail(const char *file, int line, const char *what);
uint64_t pair_deadline_ns(void);
void pair_turn(uint64_t end_ns, const char *file, int line, const char *what);

/* With MPI running; `credits` 0 is the default. */
void pair_open(uint32_t credits);
/* Quiesces and closes all; the other ranks must do so, too. */
void pair_close(void);
/* Completes finished operations; answers each request with its own bytes. */
void pair_poll(void);
/* The same with at most `max` events and another function for requests, which
 * must release them. */
void pair_poll_with(unsigned max, void (*serve)(struct amg_arrival *));
/* Waits for all ranks; polls meanwhile, or is silent. */
void pair_sync(bool is_silent);

/* A number in memory shared by all ranks, 0 at first: the turn, changed without
 * a call of MPI. The ranks are on one node. */
extern atomic_int *pair_turns;
void pair_turns_make(void);
/* Collective; MPI_Finalize may fail with the window that holds it. */
void pair_turns_free(void);

struct amg_peer *pair_peer(int rank);
/* What rank 0 is to the windows of this rank. */
struct amg_mpi_rma_peer *pair_rma_peer(void);
void pair_call_init(struct pair_call *call);
/* A call to `rank` and back, with its bytes checked. */
void pair_ask(int rank, uint32_t number);
/* `key` of `from`, to all. */
void pair_key(struct amg_key *key, int from);
/* Rank 0 exposes `list`, one segment; all learn where it is, and `remote`
 * names its start. NULL at the others. */
struct amg_mem *pair_expose(
    struct amg_segment *list, uint8_t flags, struct amg_remote *remote);

#endif
