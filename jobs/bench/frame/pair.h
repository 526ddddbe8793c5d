/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ranks between which all benchmarks measure, and teams of all ranks.
 *
 * Rank 0 calls and measures the time; rank 1 serves. Over a transport within
 * one process (self), rank 0 also serves, and rank 1 only takes part in the
 * controls. A team is a struct pair of all ranks. */
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

/* Owned by the function that opens the pair. */
struct pair {
    int rank;
    const char *bench; /* name of the benchmark that runs */
    const struct options *options;
    MPI_Comm comm;             /* of the two ranks; of a team: of all ranks */
    const struct world *world; /* all ranks */
    char cores[32];            /* where the ranks run, as text */
    const struct pin *pin;     /* of this rank */
    bool is_one_machine;       /* both ranks run on it */
    bool is_oversubscribed;    /* more ranks, or threads of them, than cores */
    const char *transport;     /* as the rows name it */
    char via[PAIR_NAME_CAP];   /* what carried a call between the ranks */
    hg_class_t *cls;
    unsigned segments;  /* mapped before the first call */
    bool is_collective; /* the class ends together with all its ranks */
    bool is_caller;
    bool is_target;
    bool has_thread;  /* a thread of the library serves: the program need not */
    unsigned wait_ms; /* how long a turn may sleep; 0: not at all */
    unsigned contexts; /* contexts of the class at a time; 0: one */
    hg_context_t *context;
    uint8_t context_id; /* of `context`, and of the context called */
    hg_addr_t peer;     /* the target */
    hg_id_t null_id;    /* a call without arguments */
    hg_id_t bytes_id;   /* carries a struct payload there */
    hg_id_t echo_id;    /* carries a struct echo there, a struct payload back */
    hg_id_t stop_id;    /* ends pair_serve() */
    /* A handler's release store pairs with pair_is_stopped()'s load. */
    atomic_bool is_stopped;
    sem_t stopped;          /* posted when `is_stopped` is set */
    atomic_ullong served;   /* calls that came to the target, except stop_id */
    uint32_t seed;          /* of the bytes of this batch; equal at all ranks */
    unsigned char *room;    /* `room_len` bytes to send from */
    unsigned char *landing; /* `room_len` bytes to receive into */
    size_t room_len;
    struct fabric *fabric; /* of the control; NULL: not needed yet */
    void (*fabric_close)(struct fabric *fabric); /* set together with it */
};

/* Bytes as an RPC carries them: their number (four bytes), then the bytes. */
struct payload {
    uint32_t len; /* before decoding: room; afterwards: bytes that came */
    void *data;
};

struct echo {
    struct payload payload;
    uint32_t wanted; /* bytes of the reply */
};

hg_return_t procs_payload(hg_proc_t proc, void *data);

/* Opens a class over `pair->comm` or, over transports without ranks, a class at
 * each rank. NULL: the library chooses. False, with a line why: no class. */
bool pair_open(struct pair *pair, const char *transport);
/* pair_open() in two steps: class, of all ranks if `is_of_ranks`; then peer. */
bool pair_open_class(
    struct pair *pair, const char *transport, bool is_of_ranks);
void pair_meet(struct pair *pair);
/* Called by all ranks that opened the pair. */
void pair_close(struct pair *pair);
/* Make another pair of the two ranks; pair_copy() does not open the pair. */
void pair_copy(const struct pair *pair, struct pair *ret_pair);
void pair_open_like(struct pair *pair, const struct pair *like,
    unsigned contexts, unsigned wait_ms);
/* Are caller and target two processes? If not, prints what is left out. */
bool pair_is_of_two(const struct pair *pair, const char *what);

/* Makes `room` and `landing` at least `len` bytes long; touches their pages. */
void pair_need_room(struct pair *pair, size_t len);
void pair_free_room(struct pair *pair);

/* Sets what a row says of the pair; rank 0 reports the row. */
void pair_row(const struct pair *pair, struct row *row);
/* pair_row(), with the ratio of value to control_value. */
void pair_value(const struct pair *pair, struct row *row);
/* Rank 0 prints a line, for example that something is left out. */
void pair_say(const struct pair *pair, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A wait and a barrier that yield the core where ranks share cores. */
void pair_wait(const struct pair *pair, MPI_Request *request);
void pair_barrier(const struct pair *pair);
/* pair_barrier() with a context open: serves until all ranks have come. */
void pair_barrier_serving(struct pair *pair);
/* Called by all ranks; between the two calls the context is open. */
void pair_enter(struct pair *pair);
void pair_leave(struct pair *pair);
/* Sets how this rank makes progress from the next pair_enter() on; a progress
 * thread runs on `core` (-1: on any). */
void pair_set_progress(struct pair *pair, enum amalgam_progress progress,
    enum amalgam_wait wait, int core);
void pair_by_caller(struct pair *pair, enum amalgam_wait wait);
void pair_by_thread(struct pair *pair, enum amalgam_wait wait, int core);

/* For the caller: a handle for calls to the target; a call that waits for its
 * answer; such a call of all ranks, without input; a call without input, with a
 * handle of its own. */
hg_handle_t pair_handle(struct pair *pair, hg_id_t id);
void pair_handle_free(struct pair *pair, hg_handle_t handle);
void pair_call(struct pair *pair, hg_handle_t handle, void *input);
void pair_call_all(struct pair *pair, hg_handle_t handle);
void pair_call_once(struct pair *pair, hg_id_t id);
/* The pair of an incoming call: the data of its context, where each thread has
 * a context, else the data of its class. */
struct pair *pair_of(hg_handle_t handle);
/* For other ranks: the target serves until the caller calls pair_stop(). */
void pair_serve(struct pair *pair);
void pair_stop(struct pair *pair);
/* Was pair_stop() called? pair_await_stop() waits (asleep, if `has_thread`). */
bool pair_is_stopped(const struct pair *pair);
void pair_await_stop(struct pair *pair);
/* One call from rank 0 to rank 1, so that the ranks know each other. */
void pair_greet(struct pair *pair);

/* Print a line and end the job: pair_check() unless `ret` is HG_SUCCESS;
 * pair_alloc() (zeroed) without memory; pair_verify() if `buf` has wrong bytes;
 * pair_verify_served() if the target served not `count` calls; pair_fail(). */
#define CHECK(pair, call) pair_check((pair), (call), #call)
void pair_check(const struct pair *pair, hg_return_t ret, const char *what);
void pair_fail(const struct pair *pair, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
void *pair_alloc(const struct pair *pair, size_t count, size_t len);
void pair_verify(
    const struct pair *pair, const void *buf, size_t len, const char *what);
void pair_verify_served(struct pair *pair, uint64_t count);

/* After a poll that found nothing: yields the core where ranks share cores. */
static inline void pair_idle(const struct pair *pair)
{
    if (pair->is_oversubscribed)
        sched_yield();
}

/* Polls once, and runs the callbacks that are due. Was there a callback? */
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

/* Counts a served call. A load and a store cost less than an atomic increment,
 * and are enough: all counted calls come to one thread. */
static inline void pair_count_served(struct pair *pair)
{
    atomic_store_explicit(&pair->served,
        atomic_load_explicit(&pair->served, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

/* False at all ranks, with a line why: the transport knows no ranks. */
bool team_is_possible(const struct pair *like);
/* Called by all ranks of `comm`: makes a team without a class. A team of more
 * ranks than cores is not pinned until team_leave(). */
void team_join(struct pair *team, const struct pair *like, MPI_Comm comm);
void team_leave(struct pair *team);
/* Called by all ranks: the first `ranks`, in MPI's order, which keeps nodes
 * together, run `run` as a team without a class. All wait, asleep, until that
 * team has finished. */
void team_part(const struct pair *like, unsigned ranks,
    void (*run)(struct pair *part, unsigned ranks, void *arg), void *arg);
/* Called by all ranks: a team with a class. False as team_is_possible(). */
bool team_open(struct pair *team, const struct pair *like);
void team_close(struct pair *team);
/* The addresses of all ranks; frees them. */
hg_addr_t *team_addrs(struct pair *team);
void team_addrs_free(struct pair *team, hg_addr_t *addrs);

#endif
