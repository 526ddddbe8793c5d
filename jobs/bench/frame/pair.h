/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ranks between which all benchmarks measure. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobs/bench/base/mapped.h"
#include "jobs/bench/frame/options.h"
#include "jobs/bench/frame/rows.h"
#include "jobs/bench/frame/world.h"
#include "mercury.h"

struct fabric;
struct pin;

enum { PAIR_NAME_CAP = 32, PAIR_TURN_MAX = 64 };

/* Rank 0 calls and holds the clock; rank 1 serves. Where a transport leads to
 * oneself only, rank 0 does both, and rank 1 takes part in the controls. Owned
 * by whoever opened it. */
struct pair {
    int rank;
    const struct options *options;
    MPI_Comm comm; /* the two ranks, NULL for others; of a team all */
    const struct world *world; /* all ranks */
    char cores[32];            /* where they run, in words */
    const struct pin *pin;     /* of this rank */
    bool is_one_machine;       /* both of them */
    bool is_crowded;           /* more ranks, or threads of them, than cores */
    const char *transport;     /* as the rows name it */
    char via[PAIR_NAME_CAP];   /* what carried a call from one to the other */
    hg_class_t *cls;
    struct mapped mapped; /* files that were mapped for it */
    bool is_collective;   /* the class ends together with all its ranks */
    bool is_caller;
    bool is_target;
    unsigned wait_ms;  /* how long a turn may sleep; 0: not at all */
    unsigned contexts; /* of the class, as many at once; 0: one */
    hg_context_t *context;
    uint8_t context_id; /* of `context`, and of that which is called */
    hg_addr_t peer;     /* the target */
    hg_id_t null_id;    /* a call without arguments */
    hg_id_t bytes_id;   /* carries a struct payload there */
    hg_id_t echo_id;    /* carries a struct echo there, a struct payload back */
    hg_id_t who_id;     /* tells what carried it */
    hg_id_t stop_id;    /* ends pair_serve() */
    bool is_stopped;    /* the target's */
    uint64_t served;    /* calls that came to the target, but stop and who */
    uint32_t seed;      /* of the bytes of this batch, the same in both */
    unsigned char *room;    /* `room_len` bytes to send from */
    unsigned char *landing; /* the same, to receive into */
    size_t room_len;
    struct fabric *fabric; /* of the control; NULL: not needed yet */
};

/* Bytes as RPCs carry them: four of length, then they. */
struct payload {
    uint32_t len; /* decoding: the bytes that fit, then those that came */
    void *data;
};

struct echo {
    struct payload payload;
    uint32_t wanted; /* bytes of the reply */
};

/* Opens a class over `comm`, of which `pair->comm` are the first two; others
 * have the address of rank 1 only. Strings of transports without ranks
 * ("self", "na+sm") open one for each of the two. NULL: the library chooses.
 * False, with a word why, when it cannot. */
bool pair_open(struct pair *pair, MPI_Comm comm, const char *transport);
/* The same in two steps: the class; then the peer, and what leads to it unless
 * that is known. */
bool pair_open_alone(struct pair *pair, MPI_Comm comm, const char *transport);
void pair_meet(struct pair *pair);
/* The first step for a class of all ranks of `comm`, whichever transport. */
bool pair_open_ranks(struct pair *pair, MPI_Comm comm, const char *transport);
/* The target, too, gets to know its peer; by both, when the pair is open. */
void pair_meet_back(struct pair *pair);
/* By all who opened it. */
void pair_close(struct pair *pair);
/* Another pair of the same two ranks, not open. */
void pair_copy(const struct pair *pair, struct pair *ret_pair);
/* Are caller and target two processes? If not, says that `bench` is left out.
 */
bool pair_is_of_two(const struct pair *pair, const char *bench);
/* Does nothing but looking now and then tell a sleeper of calls? */
bool pair_is_napping(const struct pair *pair);

/* At least `len` bytes of each kind, the pages of which are there. */
void pair_need_room(struct pair *pair, size_t len);
void pair_free_room(struct pair *pair);

/* What a row says of the pair. */
void pair_row(const struct pair *pair, struct row *ret_row);

/* Returns when all ranks have come; gives the core away where ranks share it.
 */
void pair_barrier(const struct pair *pair);
/* Both ranks: opens the context; until then and after pair_leave() there is
 * none, and nothing of the library is under way in MPI. */
void pair_enter(struct pair *pair);
void pair_leave(struct pair *pair);

/* The caller's, within these: a handle for calls to the target, to be ended by
 * HG_Destroy(). */
hg_handle_t pair_handle(struct pair *pair, hg_id_t id);
/* Calls and waits for the answer. */
void pair_call(struct pair *pair, hg_handle_t handle, void *input);
/* Who is not the caller: serves, if it is the target, until the caller calls
 * pair_stop(). */
void pair_serve(struct pair *pair);
void pair_stop(struct pair *pair);

/* Ends the job with a word when `ret` is not HG_SUCCESS. */
void pair_check(const struct pair *pair, hg_return_t ret, const char *what);
/* Ends the job with a word. */
void pair_fail(const struct pair *pair, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* Ends the job when `buf` has other bytes than those of this batch. */
void pair_verify(
    const struct pair *pair, const void *buf, size_t len, const char *what);
/* The target: ends the job when others than `count` calls came since the last
 * time; who is not the target asks nothing. */
void pair_verify_served(struct pair *pair, uint64_t count);

/* Who has looked and found nothing: gives the core away where it is shared. */
static inline void pair_idle(const struct pair *pair)
{
    if (pair->is_crowded)
        sched_yield();
}

/* One look for news, and the callbacks that are due. */
static inline void pair_turn(struct pair *pair)
{
    unsigned count = 0;

    HG_Progress(pair->context, pair->wait_ms);
    HG_Trigger(pair->context, 0, PAIR_TURN_MAX, &count);
    if (count == 0)
        pair_idle(pair);
}

#endif
