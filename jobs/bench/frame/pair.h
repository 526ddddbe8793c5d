/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ranks between which all benchmarks measure, and teams of all ranks.
 *
 * Rank 0 calls and holds the clock; rank 1 serves. If a transport leads to
 * oneself only, rank 0 does both, and rank 1 takes part in the controls. A team
 * is a pair of all ranks. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

#include "amalgam_progress.h"
#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/options.h"
#include "jobs/bench/frame/proc.h"
#include "jobs/bench/frame/world.h"
#include "mercury.h"
#include "mercury_proc.h"

struct fabric;

enum { PAIR_NAME_CAP = 64, PAIR_TURN_MAX = 64, PAIR_WAIT_MS = 100 };

/* Its opener owns it. */
struct pair {
    int rank;
    const char *bench; /* that is run */
    const struct options *options;
    MPI_Comm comm; /* the two ranks, NULL for others; of a team all */
    const struct world *world; /* all ranks */
    char cores[32];            /* where they run, in words */
    const struct pin *pin;     /* of this rank */
    bool is_one_machine;       /* both of them */
    bool is_oversubscribed;    /* more ranks, or threads of them, than cores */
    const char *transport;     /* as the rows name it */
    char via[PAIR_NAME_CAP];   /* what carried a call from one to the other */
    hg_class_t *cls;
    unsigned segments;  /* that were mapped before the first call */
    bool is_collective; /* the class ends together with all its ranks */
    bool is_caller;
    bool is_target;
    bool has_thread;  /* a thread of the library serves: the program need not */
    unsigned wait_ms; /* how long a turn may sleep; 0: not at all */
    unsigned contexts; /* of the class, as many at once; 0: one */
    hg_context_t *context;
    uint8_t context_id; /* of `context`, and of that which is called */
    hg_addr_t peer;     /* the target */
    hg_id_t null_id;    /* a call without arguments */
    hg_id_t bytes_id;   /* carries a struct payload there */
    hg_id_t echo_id;    /* carries a struct echo there, a struct payload back */
    hg_id_t stop_id;    /* ends pair_serve() */
    /* A handler's release store pairs with pair_is_stopped()'s load. */
    atomic_bool is_stopped;
    sem_t stopped;          /* posted then */
    atomic_ullong served;   /* calls that came to the target, but stop_id */
    uint32_t seed;          /* of the bytes of this batch, the same in all */
    unsigned char *room;    /* `room_len` bytes to send from */
    unsigned char *landing; /* the same, to receive into */
    size_t room_len;
    struct fabric *fabric; /* of the control; NULL: not needed yet */
    void (*fabric_close)(struct fabric *fabric); /* set together with it */
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

hg_return_t procs_payload(hg_proc_t proc, void *data);

/* Opens a class over `pair->comm` (transports without ranks: one for each of
 * the two). NULL: the library chooses. False, with a line why: it cannot. */
bool pair_open(struct pair *pair, const char *transport);
/* In two steps: the class, of all ranks if `is_of_ranks`; then the peer. */
bool pair_open_class(
    struct pair *pair, const char *transport, bool is_of_ranks);
void pair_meet(struct pair *pair);
/* By all ranks that opened it. */
void pair_close(struct pair *pair);
/* Another pair of the same two ranks: not open; or open, too. */
void pair_copy(const struct pair *pair, struct pair *ret_pair);
void pair_open_like(struct pair *pair, const struct pair *like,
    unsigned contexts, unsigned wait_ms);
/* Are caller and target two processes? If not, says what is left out. */
bool pair_is_of_two(const struct pair *pair, const char *what);

/* At least `len` bytes of each kind, the pages of which are there. */
void pair_need_room(struct pair *pair, size_t len);
void pair_free_room(struct pair *pair);

/* Fills in what a row says of the pair; rank 0 reports it. */
void pair_row(const struct pair *pair, struct row *row);
/* The same, with a ratio that follows from value and control_value. */
void pair_value(const struct pair *pair, struct row *row);
/* Rank 0 says that something is left out, in a line. */
void pair_say(const struct pair *pair, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* These give the core away where ranks share it. */
void pair_wait(const struct pair *pair, MPI_Request *request);
void pair_barrier(const struct pair *pair);
/* The same with a context open: serves until all have come. */
void pair_barrier_serving(struct pair *pair);
/* All ranks: between these the context is open. */
void pair_enter(struct pair *pair);
void pair_leave(struct pair *pair);
/* How this rank makes progress from the next pair_enter() on; a thread of the
 * library is on that core (-1: wherever). */
void pair_set_progress(struct pair *pair, enum amalgam_progress progress,
    enum amalgam_wait wait, int core);
void pair_by_caller(struct pair *pair, enum amalgam_wait wait);
void pair_by_thread(struct pair *pair, enum amalgam_wait wait, int core);

/* The caller's: a handle for calls to the target; a call, which waits for the
 * answer; and one with a handle of its own, without input. */
hg_handle_t pair_handle(struct pair *pair, hg_id_t id);
void pair_handle_free(struct pair *pair, hg_handle_t handle);
void pair_call(struct pair *pair, hg_handle_t handle, void *input);
void pair_call_once(struct pair *pair, hg_id_t id);
/* The pair of an incoming call: that of its context, where each thread has a
 * context of its own, else that of its class. */
struct pair *pair_of(hg_handle_t handle);
/* By others: serves, if it is the target, until the caller's pair_stop(). */
void pair_serve(struct pair *pair);
void pair_stop(struct pair *pair);
/* Has the other rank called it? Or until it has: asleep if a thread serves. */
bool pair_is_stopped(const struct pair *pair);
void pair_await_stop(struct pair *pair);
/* One call from rank 0 to rank 1, so that the ranks know each other. */
void pair_greet(struct pair *pair);

/* These end the job with a line: unless `call` returns HG_SUCCESS; always;
 * without memory (it is zeroed); when `buf` has other bytes than those of this
 * batch; at the target, unless `count` calls came since the last time. */
#define CHECK(pair, call) pair_check((pair), (call), #call)
void pair_check(const struct pair *pair, hg_return_t ret, const char *what);
void pair_fail(const struct pair *pair, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
void *pair_alloc(const struct pair *pair, size_t count, size_t len);
void pair_verify(
    const struct pair *pair, const void *buf, size_t len, const char *what);
void pair_verify_served(struct pair *pair, uint64_t count);

/* After a look that found nothing: gives the core away where it is shared. */
static inline void pair_idle(const struct pair *pair)
{
    if (pair->is_oversubscribed)
        sched_yield();
}

/* One look for news, and the callbacks that are due. Were there any? */
static inline bool pair_turn(struct pair *pair)
{
    unsigned count = 0;

    if (!pair->has_thread)
        HG_Progress(pair->context, pair->wait_ms);
    HG_Trigger(pair->context, pair->has_thread ? pair->wait_ms : 0,
        PAIR_TURN_MAX, &count);
    if (count == 0)
        pair_idle(pair);
    return count > 0;
}

/* A handler has served a call. Not one atomic operation, which would cost more:
 * calls that count come to one thread. */
static inline void pair_count_served(struct pair *pair)
{
    atomic_store_explicit(&pair->served,
        atomic_load_explicit(&pair->served, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

/* False at all ranks, with a line why: the transport knows no ranks. */
bool team_is_possible(const struct pair *like);
/* By all ranks of `comm`: a team without a class, which is not pinned if it has
 * more ranks than cores, until team_leave(). */
void team_join(struct pair *team, const struct pair *like, MPI_Comm comm);
void team_leave(struct pair *team);
/* By all ranks, with a class of all. False as above. */
bool team_open(struct pair *team, const struct pair *like);
void team_close(struct pair *team);
/* The addresses of all ranks; and their end. */
hg_addr_t *team_addrs(struct pair *team);
void team_addrs_free(struct pair *team, hg_addr_t *addrs);

#endif
