/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance of Margo under torture: what it calls, what it serves, and what
 * goes on beside that.
 *
 * A call is named by the rank and the number of the call that began it, and its
 * depth below that; all that its origin and its handler do follows from a hash
 * of the seed and that name. */
#ifndef TESTS_TORTURE_MARGO_TORTURE_H
#define TESTS_TORTURE_MARGO_TORTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "book.h"
#include "margo-bulk-pool.h"
#include "margo-timer.h"
#include "margo_job.h"
#include "margo.h"
#include "plan.h"

struct exchange;

enum {
    MT_RPCS = 3,      /* RPCs with an answer, each with a pool of its own */
    MT_PROVIDERS = 3, /* of each rank; these come and go */
    MT_DEPTH = 3,     /* calls below the first one */
    MT_SEGMENTS = 4,
    MT_PLACES = 16, /* of memory that is kept */
    MT_POOLS = 4,   /* of bulk memory, up to MT_BULK_MAX */
    MT_BULK_MAX = 1 << 20,
};

/* Traffic of a call; the bits of --ops. */
enum mt_kind {
    MT_ECHO,     /* arguments and results */
    MT_PULL,     /* the handler reads memory of the origin */
    MT_PUSH,     /* the handler writes memory of the origin */
    MT_NEST,     /* the handler calls on */
    MT_ONEWAY,   /* no answer */
    MT_PROVIDER, /* to a provider that comes and goes */
    MT_LATE,     /* another thread answers when the handler has returned */
    MT_KINDS
};

/* Forms of a call at the origin; the bits of --ways. */
enum mt_way {
    MT_FORWARD,
    MT_TIMED,    /* with a limit that may pass */
    MT_WAIT,     /* margo_iforward() and margo_wait() */
    MT_TEST,     /* the same with margo_test() in a loop */
    MT_ANY,      /* several, and margo_wait_any() */
    MT_CALLBACK, /* margo_cforward() */
    MT_CANCEL,   /* HG_Cancel() while the call is under way */
    MT_DROP,     /* the handle is destroyed before the wait */
    MT_WAYS
};

/* How a handler passes time and answers; the bits of --handlers. */
enum mt_pause { MT_GO_ON, MT_YIELD, MT_SLEEP, MT_COMPUTE, MT_PAUSES };
enum mt_answer { MT_RESPOND, MT_IRESPOND, MT_CRESPOND, MT_ANSWERS };

/* Forms of a transfer in a handler. */
enum mt_transfer {
    MT_WHOLE,    /* margo_bulk_transfer() */
    MT_HALVES,   /* two requests, margo_wait_any() */
    MT_PARALLEL, /* margo_bulk_parallel_transfer() */
    MT_NOTIFIED, /* margo_bulk_ctransfer() */
    MT_FREED,    /* both handles are freed before the wait */
    MT_POOLED,   /* the local memory is that of a bulk pool */
    MT_TRANSFERS
};

/* What origin and target do for a call. */
struct mt_plan {
    uint64_t id;
    uint64_t hash;
    unsigned depth;
    enum mt_kind kind;
    enum mt_way way;
    unsigned target;
    unsigned rpc;
    unsigned provider;
    size_t in_len;
    size_t out_len;
    size_t bulk_len;
    unsigned segments;
    double limit_ms;
    enum mt_pause pause;
    unsigned pause_us;
    enum mt_answer answer;
    enum mt_transfer transfer;
    bool frees_input_first;
    bool is_last; /* posted when the end is near */
    bool misuses; /* the origin also does what the library must refuse */
};

/* Input and output of a call; `bytes` is malloc()ed where it is decoded. */
struct mt_args {
    uint64_t id;
    uint32_t len;
    hg_bulk_t bulk;
    unsigned char *bytes;
};

/* Memory of ended calls. */
struct mt_place {
    unsigned char *memory;
    size_t len;
};

struct mt_kept {
    pthread_mutex_t lock; /* guards what follows */
    struct mt_place places[MT_PLACES];
    unsigned next;
};

struct mt_beside; /* margo_beside.c */
struct mt_burst;  /* margo_origin.c */

/* An instance. Written before other threads use it, but for the book and the
 * atomic counters. */
struct mt {
    margo_instance_id mid;
    unsigned index; /* among those of this process */
    const struct plan *plan;
    struct book *book; /* of all instances of the process */
    uint64_t hash;     /* of the seed and the round */
    unsigned rank;
    unsigned size;
    uint32_t ops;
    uint32_t ways;
    uint32_t handlers;
    size_t len_max;
    hg_addr_t *addrs; /* of each rank */
    hg_id_t call_ids[MT_RPCS];
    hg_id_t one_way_id;
    hg_id_t provider_id; /* without the number of a provider */
    struct mt_beside *beside;
    struct mt_kept kept;
    atomic_int events[MARGO_MONITOR_MAX]; /* under way, by a monitor */
    margo_bulk_poolset_t pools;
    atomic_uint ends; /* callbacks of the end that ran */
};

/* The instance of a handle; never NULL while handlers run. */
struct mt *mt_of(margo_instance_id mid);

/* margo_plan.c: ids of calls, and what follows from these. */
uint64_t mt_id_root(unsigned instance, unsigned origin, unsigned number);
/* The call that the handler of a call makes. */
uint64_t mt_id_child(uint64_t id);
unsigned mt_id_instance(uint64_t id);
/* Can the id be one of this instance? */
bool mt_id_is_known(const struct mt *mt, uint64_t id);
/* The rank that makes a call. */
unsigned mt_id_origin(const struct mt *mt, uint64_t id);
void mt_plan_make(const struct mt *mt, uint64_t id, struct mt_plan *ret_plan);
/* What is wrong with the fate of a call; NULL: nothing. */
const char *mt_plan_judge(
    const struct mt *mt, uint64_t id, const struct book_fate *fate);
/* May the origin have gone on before the handler ends? */
bool mt_plan_may_lose(const struct mt_plan *plan);
hg_return_t hg_proc_mt_args_t(hg_proc_t proc, void *data);
const char *mt_kind_name(unsigned kind);
/* The number of a provider of a rank. */
uint16_t mt_provider_number(unsigned rank, unsigned provider);

/* margo_memory.c */
/* Exposes memory in as many segments as the plan says. */
hg_return_t mt_expose(const struct mt *mt, const struct mt_plan *plan,
    unsigned char *bytes, uint8_t flags, hg_bulk_t *ret_bulk);

/* Takes memory over that no peer may write any more. */
void mt_keep(struct mt *mt, unsigned char *memory, size_t len);
void mt_keep_end(struct mt *mt);

/* margo_origin.c */
/* Makes one call, and books it. Blocks. */
void mt_call(struct mt *mt, uint64_t id);
/* The number of the call that a prefinalize callback makes. */
unsigned mt_last_number(const struct mt *mt);
/* Calls that are posted just before the end; NULL: none. */
struct mt_burst *mt_burst_post(struct mt *mt);
/* Reads the results of these, which have ended, and frees them. */
void mt_burst_finish(struct mt_burst *burst);
/* Makes the calls of this rank whose number is `first` modulo `step`. */
void mt_calls(struct mt *mt, unsigned first, unsigned step);

/* margo_transfer.c */
/* Does what the handler of a call does with the memory of its origin. */
void mt_transfer(struct mt *mt, const struct mt_plan *plan, hg_addr_t addr,
    hg_bulk_t remote);

/* margo_target.c */
void mt_register(struct mt *mt);
hg_id_t mt_provider_register(struct mt *mt, unsigned provider, ABT_pool pool);

/* Decisions of a thread that makes no calls of the plan, one after another. */
struct mt_steps {
    uint64_t hash;
    unsigned count;
};

/* A timer that several threads start and cancel. */
struct mt_shared_timer {
    struct mt *mt;
    margo_timer_t timer;
    atomic_uint starts; /* accepted */
    atomic_uint fired;
    atomic_uint running;
};

/* margo_timers.c */
void mt_shared_timer_open(struct mt *mt, struct mt_shared_timer *timer);
/* No other thread uses it any more. */
void mt_shared_timer_close(struct mt_shared_timer *timer);
/* Does something with timers, in any thread. */
void mt_timers(
    struct mt *mt, struct mt_steps *steps, struct mt_shared_timer *timer);

/* margo_beside.c */
/* The next decision: a number below `n`. */
unsigned mt_step(struct mt_steps *steps, unsigned n);
void mt_beside_register(struct mt *mt);
void mt_beside_start(struct mt *mt);
void mt_beside_stop(struct mt *mt);

/* margo_end.c */
/* Ends the instance, and frees what it owns. */
void mt_end(struct mt *mt);

/* margo_monitor.c */
struct margo_monitor mt_monitor_of(struct mt *mt);

/* margo_instance.c */
/* Opens the instance, with all that its calls need; false: the log says why
 * that is not possible here. */
bool mt_open(struct mt *mt, struct exchange *exchange, const char *transport);
/* Frees what it owns, when no call is under way any more. */
void mt_release(struct mt *mt);
/* torture_margo.c */
/* The first pool of the caller's stream; returns a code of Argobots. */
int mt_main_pool(ABT_pool *ret_pool);
/* Joins an OS thread while user-level threads of the caller's stream run. */
void mt_thread_join(struct mt *mt, pthread_t thread);

/* A finding unless the call returns HG_SUCCESS. */
#define MT_OK(mt, call)                                                        \
    do {                                                                       \
        hg_return_t rc_ = (call);                                              \
        if (rc_ != HG_SUCCESS)                                                 \
            book_finding((mt)->book, "%s:%d: %s is %s", __FILE__, __LINE__,    \
                #call, HG_Error_to_string(rc_));                               \
    } while (0)

#endif
