/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests between ranks: a class with some RPCs on every
 * rank, waits with a deadline, and a way to fail. */
#ifndef TESTS_MPI_RANKS_H
#define TESTS_MPI_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "amalgam.h"
#include "mercury_macros.h"

enum { RANKS_SKIP = 77 };

/* A class with one context, in which every wait makes progress. */
struct ranks {
    hg_class_t *cls; /* NULL once closed */
    hg_context_t *context;
    int rank; /* in the communicator of the class */
    int size;
    hg_id_t echo;         /* replies with its number plus one */
    hg_id_t note;         /* one-way; only counted */
    hg_id_t swap;         /* pulls the caller's bytes, pushes others back */
    atomic_ulong echoed;  /* calls served here */
    atomic_ulong noted;   /* one-way calls that arrived here */
    atomic_ulong bad;     /* of them, malformed ones */
    uint64_t noted_value; /* sum of their values */
};

MERCURY_GEN_PROC(ranks_echo_t, ((uint64_t)(value))((int32_t)(from)))

/* A call and its result. */
struct ranks_call {
    atomic_uint done; /* runs of its callback */
    hg_return_t ret;
    hg_handle_t handle;
    hg_size_t size; /* of a transfer */
};

/* Initializes MPI at `level`, which it must provide, and sets the time
 * limit. */
void ranks_start(int level);
/* SIGALRM ends the process after so many seconds; a wait fails 15 s earlier. */
void ranks_limit(unsigned seconds);
/* Ends: MPI_Finalize, and EXIT_SUCCESS. */
int ranks_stop(void);
/* Ends a rank that outlived `dead`: writes the line that apart.sh counts, waits
 * until the other survivors wrote theirs, and leaves without MPI_Finalize,
 * which would wait for the dead rank. The wait is needed because mpiexec may
 * kill the others as soon as one rank has left without MPI_Finalize. */
__attribute__((noreturn)) void ranks_survived(int dead);

/* Opens a class, its context, and registers the RPCs above. */
void ranks_open(struct ranks *ranks, MPI_Comm comm);
void ranks_open_with(
    struct ranks *ranks, MPI_Comm comm, const struct amalgam_options *options);
/* The same with a class that was opened already. */
void ranks_adopt(struct ranks *ranks, hg_class_t *cls);
/* Part of ranks_adopt(), in ranks_serve.c. */
void ranks_register(struct ranks *ranks);
/* Waits make no progress in it any more; and do again. */
void ranks_leave(struct ranks *ranks);
void ranks_return(struct ranks *ranks);
/* amalgam_finalize, which must succeed. */
void ranks_close(struct ranks *ranks);

/* Progress and callbacks of all open classes, once. */
void ranks_turn(void);
/* Returns when all ranks have called it; serves meanwhile. */
void ranks_meet(MPI_Comm comm);

/* Forwards `id` to `rank`; NULL `in` for no input. Creates the handle, which
 * ranks_end() destroys. Returns the code of HG_Forward(). */
hg_return_t ranks_begin(struct ranks *ranks, struct ranks_call *call, int rank,
    hg_id_t id, void *in);
/* Waits for the callback, which must run once; returns the result. */
hg_return_t ranks_wait(struct ranks_call *call);
/* Destroys the handle. */
void ranks_end(struct ranks_call *call);
/* An hg_cb_t whose argument is a struct ranks_call. */
hg_return_t ranks_done(const struct hg_cb_info *info);

/* A complete call of `echo`, whose reply is checked. */
void ranks_echo(struct ranks *ranks, int rank, uint64_t value);
/* A complete call of `swap` with `len` bytes. */
void ranks_swap(struct ranks *ranks, int rank, size_t len);
/* Both, with every rank including self. */
void ranks_exchange(struct ranks *ranks);

/* Transfers and waits; returns the result. */
hg_return_t ranks_transfer(struct ranks *ranks, hg_bulk_op_t op, hg_addr_t addr,
    hg_bulk_t origin, hg_size_t origin_offset, hg_bulk_t local,
    hg_size_t local_offset, hg_size_t size);
/* Exposes or wraps one block of memory. */
hg_bulk_t ranks_bulk(
    struct ranks *ranks, void *bytes, size_t len, uint8_t flags);

/* Bytes that depend on their position: byte `offset + i` of `seed`. */
void ranks_fill(void *bytes, size_t len, uint64_t seed, uint64_t offset);
bool ranks_is_filled(
    const void *bytes, size_t len, uint64_t seed, uint64_t offset);

/* Redirects the library's log of one level into a file, to be searched. */
FILE *ranks_log_catch(const char *level);
bool ranks_log_has(FILE *file, const char *text);

uint64_t ranks_now_ns(void);

/* Ends the job: `what` is false. */
void ranks_fail(const char *file, int line, const char *what);
void ranks_expect(hg_return_t got, hg_return_t wanted, const char *file,
    int line, const char *what);
void ranks_wait_begin(uint64_t *ret_deadline_ns);
void ranks_wait_turn(
    uint64_t deadline_ns, const char *file, int line, const char *what);

#define CHECK(expr) ((expr) ? (void)0 : ranks_fail(__FILE__, __LINE__, #expr))

/* The call must return exactly this code. */
#define EXPECT(wanted, call)                                                   \
    ranks_expect((call), (wanted), __FILE__, __LINE__, #call)

#define OK(call) EXPECT(HG_SUCCESS, call)

/* Serves until `expr` holds. */
#define UNTIL(expr)                                                            \
    do {                                                                       \
        uint64_t until_ns_ = 0;                                                \
        for (ranks_wait_begin(&until_ns_); !(expr);)                           \
            ranks_wait_turn(until_ns_, __FILE__, __LINE__, #expr);             \
    } while (0)

#endif
