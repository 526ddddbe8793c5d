/* SPDX-License-Identifier: BSD-3-Clause */
/* How an instance ends, and how long its memory lives. The steps, and who takes
 * them, stand in ending.c. */
#ifndef AMG_MARGO_ENDING_H
#define AMG_MARGO_ENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "margo.h"

/* OPENING -> RUNNING -> ENDING -> STOPPED -> ENDED; a failed open goes from
 * OPENING to ENDED. */
enum amg_margo_state {
    AMG_MARGO_OPENING, /* nobody else knows it yet */
    AMG_MARGO_RUNNING, /* calls are made and served */
    AMG_MARGO_ENDING,  /* prefinalize callbacks; calls and handlers end */
    AMG_MARGO_STOPPED, /* the loop has ended; finalize callbacks, then the class
                        * and the pools stay as long as there are references */
    AMG_MARGO_ENDED,   /* all of them are gone: only memory is left */
    AMG_MARGO_STATE_COUNT
};

/* One function that is called while the instance ends; owned by its list. */
struct amg_margo_callback {
    struct amg_link link;
    const void *owner; /* NULL: the program's, of no provider */
    margo_finalize_callback_t function;
    void *arg;
};

/* Two lists of them, the one to be run first at the front. */
struct amg_margo_callbacks {
    struct amg_lock lock;   /* guards both */
    struct amg_list before; /* prefinalize */
    struct amg_list after;  /* finalize */
};

struct amg_margo_ending {
    struct amg_margo_callbacks callbacks;
    ABT_mutex_memory
        mutex;        /* guards all up to `cond`, which tells of changes */
    unsigned closers; /* threads that will see to the end */
    bool is_drained;  /* nothing runs in it, the loop has ended */
    bool is_claimed;  /* somebody stops it */
    bool is_stopped;  /* finalize callbacks have run */
    bool is_closed;   /* without references: the class is, too */
    bool is_reaped;   /* somebody ends streams and pools */
    ABT_cond_memory cond;
    /* Prefinalize callbacks have run: the loop may drain. Its release store
     * pairs with the acquire load of the loop. */
    atomic_bool is_ready;
    uint64_t deadline_ns; /* written before is_ready: calls are given up */
    /* Who runs callbacks now, which must not wait for the end: its user-level
     * thread, or its OS thread where it is none. Lone values. */
    _Atomic(ABT_thread) runner;
    _Atomic(uintptr_t) runner_os;
    /* For the loop alone, while it drains. */
    uint64_t tell_ns; /* when it tells what it waits for, */
    unsigned tell_ms; /* and how long it has waited by then */
    bool was_cancelled;
    bool is_stuck; /* handlers did not end in time: its memory stays */
};

/* How long it lives: class, context and pools while there are references; the
 * memory also while somebody is in a call about the end, or it has not ended.
 * Guarded by the lock of life.c. */
struct amg_margo_life {
    struct amg_link link; /* among all instances */
    unsigned refs;        /* references; one of them is the end's */
    unsigned holds;       /* calls that are under way */
    bool has_begun;       /* the end has, */
    bool is_paid;         /* and has given its reference back */
    bool is_closing;      /* there are no references, nor will be */
};

enum amg_margo_state amg_margo_state_of(margo_instance_id mid);
/* Asserts that the edge is allowed. */
void amg_margo_set_state(margo_instance_id mid, enum amg_margo_state next);

void amg_margo_ending_init(margo_instance_id mid);
/* Nothing waits for it any more. */
void amg_margo_ending_fini(margo_instance_id mid);

/* By the loop, between two looks: has all ended that it is needed for? */
bool amg_margo_ending_drain(margo_instance_id mid);
/* By the loop, as its last act. */
void amg_margo_ending_drained(margo_instance_id mid);

/* Runs the callbacks of a list, each of which may push and pop others. */
void amg_margo_callbacks_run(margo_instance_id mid, bool before);
/* Drops what is left. */
void amg_margo_callbacks_fini(margo_instance_id mid);

/* Is the instance known, and not closed? A hold keeps its memory until drop. */
void amg_margo_life_begin(margo_instance_id mid);
bool amg_margo_life_hold(margo_instance_id mid);
void amg_margo_life_drop(margo_instance_id mid);
/* One reference more. False: not known, or closed. */
bool amg_margo_life_ref(margo_instance_id mid);
/* One less, of an instance that is held. `ret_begins`: it is the last one, and
 * the end begins instead. False: there is none that the caller could have. */
bool amg_margo_life_unref(margo_instance_id mid, bool *ret_begins);
bool amg_margo_life_refs(margo_instance_id mid, unsigned *ret_count);
/* The end begins: one reference is its own. */
void amg_margo_life_begin_end(margo_instance_id mid);
/* It gives that back. */
void amg_margo_life_pay(margo_instance_id mid);
/* Are there no references? Then no more are given, and the first one who asks
 * closes it. */
bool amg_margo_life_close(margo_instance_id mid, bool *ret_is_mine);

/* Opening: the steps that ending takes back; see close.c. */
void amg_margo_close_network(margo_instance_id mid);
void amg_margo_close_rest(margo_instance_id mid);

#endif
