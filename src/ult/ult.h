/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread: what ABT_thread points to. */
#ifndef AMG_ULT_ULT_H
#define AMG_ULT_ULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abt.h"
#include "base/bias.h"
#include "base/fibre.h"
#include "base/list.h"
#include "base/lock.h"
#include "ult/caught.h"
#include "ult/key.h"

struct amg_stack;
struct amg_stream;
struct amg_upool;

/* NEW -> READY <-> RUNNING -> { READY | BLOCKED -> READY | ENDED }; ENDED ->
 * READY by revival. */
enum amg_ult_state {
    AMG_ULT_NEW,
    AMG_ULT_READY,   /* in its pool */
    AMG_ULT_RUNNING, /* on a stream */
    AMG_ULT_BLOCKED, /* parked or suspended: who unparks it pushes it */
    AMG_ULT_ENDED,   /* its function has returned; kept until it is freed */
};

/* What is done for a thread that has left its stack, by whoever runs next on
 * that stream: only then may others have it. */
enum amg_ult_after {
    AMG_ULT_GOES_ON,
    AMG_ULT_YIELDS, /* pushed into its pool */
    AMG_ULT_PARKS,  /* `held` or `biased` is given back */
    AMG_ULT_ENDS,
};

/* What runs under the handle. */
enum amg_ult_kind {
    AMG_ULT_THREAD,    /* has a stack of its own */
    AMG_ULT_TASKLET,   /* runs on the stack of its scheduler */
    AMG_ULT_PRIMARY,   /* main(), on the stack it has */
    AMG_ULT_SCHEDULER, /* the loop of a stream; in no pool */
};

/* Owned by its creator until it is freed; without a name, by itself. Fields
 * without a word on it are touched by who runs it, or by the one who took it
 * off a list or out of a pool. */
struct amg_ult {
    struct amg_link link; /* in the list of `in` */
    void *sp;             /* where it goes on; valid while it does not run */
    /* It is pushed there when it is ready. Atomic for those who only ask. */
    struct amg_upool *_Atomic pool;
    /* The pool, one of ours, that it is in now; changed under the lock of that
     * one, whose holder alone can rely on it. */
    struct amg_upool *_Atomic in;
    void *unit; /* what a pool of the program's own calls it */
    /* That runs it, or ran it last. */
    struct amg_stream *_Atomic stream;
    _Atomic(enum amg_ult_state) state; /* only amg_ult_set_state() writes it */
    enum amg_ult_after after;
    enum amg_ult_kind kind;
    struct amg_lock *held;
    struct amg_bias *biased;   /* the same, for a lock of that kind */
    struct amg_ult *scheduler; /* it goes back there when it leaves */
    void (*function)(void *arg);
    void *arg;
    struct amg_stack *stack; /* NULL: the program's, or none */
    void *stack_base;
    size_t stack_room;        /* what it has of it */
    struct amg_fibre fibre;   /* for the sanitizers */
    struct amg_caught caught; /* while it does not run */
    /* From here on other threads come near, too. */
    struct amg_lock lock;    /* guards joiners, keys' writers */
    struct amg_list joiners; /* of struct amg_waiter */
    atomic_uint requests;    /* of enum amg_ult_request */
    struct amg_upool *_Atomic migrates_to;
    void (*on_migration)(ABT_thread thread, void *arg);
    void *on_migration_arg;
    struct amg_key_table keys;
    _Atomic uint64_t id; /* 0: nobody has asked yet */
    size_t stack_len;    /* as asked for */
    bool is_named;       /* somebody else frees it */
    bool is_migratable;
};

/* What it does as soon as it can. */
enum amg_ult_request {
    AMG_ULT_TO_CANCEL = 1, /* it ends */
    AMG_ULT_TO_RESUME = 2, /* was suspended, so that it may be resumed */
};

/* Where it belongs. */
static inline struct amg_upool *amg_ult_pool(const struct amg_ult *ult)
{
    return atomic_load_explicit(&ult->pool, memory_order_relaxed);
}

/* By its creator, or who has it; see amg_upool_adopt(). */
static inline void amg_ult_set_pool(struct amg_ult *ult, struct amg_upool *pool)
{
    atomic_store_explicit(&ult->pool, pool, memory_order_relaxed);
}

/* Is it in that pool, one of ours? NULL: in none. Without the pool's lock a
 * hint, unless the caller has the thread. */
static inline bool amg_ult_is_in(
    const struct amg_ult *ult, const struct amg_upool *pool)
{
    return atomic_load_explicit(&ult->in, memory_order_relaxed) == pool;
}

/* Pushes it into its pool, and wakes who waits for that pool. Any thread. */
void amg_ult_make_ready(struct amg_ult *ult);

/* By the scheduler of a stream, with what it popped from a pool: runs it until
 * it yields, parks or ends. Tasklets run on the scheduler's own stack. NULL:
 * what was left for the scheduler to run, if anything. */
void amg_ult_run(struct amg_stream *stream, struct amg_ult *ult);

/* By a scheduler in each round, and before it sleeps: main(), which runs on its
 * own OS thread only, when another stream has popped it; to be run next. Else
 * NULL. */
struct amg_ult *amg_ult_take_home(void);

/* The calling thread's; NULL: not a user-level thread, or a tasklet or a
 * scheduler, which cannot leave their stack to others. Never inlined, since the
 * OS thread may change at every call that switches. */
struct amg_ult *amg_ult_self(void);

/* The same, with tasklets and schedulers; NULL: the OS thread is no stream. */
struct amg_ult *amg_ult_current(void);

/* What a call says whose caller is on no stream, and so none of these. */
int amg_ult_none_code(void);

/* The next ones are for who makes streams. An OS thread begins to be `stream`,
 * and its own stack is that of the scheduler, which then calls amg_ult_run().
 * False: no memory, said in the log. After end nothing runs there. */
bool amg_ult_stream_begin(struct amg_stream *stream);
void amg_ult_stream_end(void);

/* The OS thread begins to be the primary stream: the caller goes on as a
 * thread of `pool`, and `loop(arg)` is the scheduler, on a stack of its own.
 * The loop does not return; it is dropped where it stands by end, which the
 * primary thread calls. False: no memory, said in the log. */
bool amg_ult_primary_begin(struct amg_stream *stream, struct amg_upool *pool,
    void (*loop)(void *arg), void *arg, struct amg_ult **ret_primary);
void amg_ult_primary_end(struct amg_ult *primary);

#endif
