/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level thread, its states, and the handles of abt.h. */
#ifndef AMG_ULT_ULT_H
#define AMG_ULT_ULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abt.h"
#include "base/assert.h"
#include "base/bias.h"
#include "base/fibre.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"

struct amg_sched;
struct amg_stack;
struct amg_xstream;
struct amg_ready_pool;

/* NEW -> READY <-> RUNNING -> { BLOCKED -> READY | ENDED }; ENDED -> READY by
 * revival. A direct switch makes a NEW, BLOCKED or ENDED thread RUNNING. */
enum amg_ult_state {
    AMG_ULT_NEW,
    AMG_ULT_READY,   /* in its pool, or popped and not yet run */
    AMG_ULT_RUNNING, /* on an xstream */
    AMG_ULT_BLOCKED, /* parked or suspended: an unpark pushes the thread */
    AMG_ULT_ENDED,   /* by return, exit or cancel; not freed yet */
};

/* The action that the next thread on an xstream performs for the thread that
 * has just left its stack. Before the action no xstream may run that thread. */
enum amg_switch_action {
    AMG_SWITCH_NONE,
    AMG_SWITCH_YIELD, /* pushes the thread into its pool */
    AMG_SWITCH_TURN,  /* unlocks the pool (`biased`) that has the thread */
    AMG_SWITCH_PARK,  /* makes the thread BLOCKED, unlocks `held` or `biased` */
    AMG_SWITCH_END,   /* wakes the joiners, or frees an unnamed thread */
};

/* Kinds of threads behind a handle. */
enum amg_ult_kind {
    AMG_ULT_THREAD,    /* has a stack of its own */
    AMG_ULT_TASKLET,   /* runs on the stack of its scheduler */
    AMG_ULT_PRIMARY,   /* main(), on the stack of its OS thread */
    AMG_ULT_SCHEDULER, /* the loop of an xstream; in no pool */
};

/* Flags of a thread. */
enum amg_ult_request {
    AMG_ULT_TO_CANCEL = 1, /* to end when the thread yields or continues */
    AMG_ULT_TO_RESUME = 2, /* the thread is suspended, and may be resumed */
};

/* List of the C++ exceptions that a thread handles, and number of uncaught
 * exceptions. The C++ runtime has one such struct for each OS thread (Itanium
 * C++ ABI, exception handling 2.2.2). A switch of stacks saves that struct for
 * the thread that leaves, and loads the saved one of the next thread. */
struct amg_caught {
    void *exceptions;
    unsigned uncaught;
};

/* Slots for values of keys (ABT_key) in the struct of a thread itself, so that
 * a few keys need no allocation. */
enum { AMG_KEY_SLOTS = 4 };

/* A value for a key. A slot keeps its key until its table is cleared. */
struct amg_key_slot {
    /* Number of the key; 0: the slot is free. A release store publishes value
     * and destructor. No other key gets the number of a freed key. */
    _Atomic uint32_t number;
    void *_Atomic value;
    void (*destructor)(void *value);
};

/* The values of a thread by key. A table of zeros is empty. */
struct amg_key_table {
    struct amg_key_slot slots[AMG_KEY_SLOTS];
    struct amg_key_table *_Atomic more; /* on the heap; NULL: none */
};

/* Calls the destructors for all values but NULL, and frees the slots on the
 * heap; the table is zero again. */
void amg_key_table_clear_slowly(struct amg_key_table *table);

static inline void amg_key_table_clear(struct amg_key_table *table)
{
    /* Slot 0 is used first: if slot 0 is free, all slots are. Acquire: pairs
     * with the thread that set the value. */
    if (atomic_load_explicit(&table->slots[0].number, memory_order_acquire) !=
        0)
        amg_key_table_clear_slowly(table);
}

/* Attributes, behind ABT_thread_attr; owned by the program. */
struct amg_thread_attr {
    void *stack;        /* the program's; NULL: the library provides a stack */
    void *known_stack;  /* for ABT_thread_attr_get_stack() alone */
    size_t stack_len;   /* 0: the default length */
    bool is_of_primary; /* attributes of main(), whose stack is not known */
    bool is_migratable;
    void (*on_migration)(ABT_thread thread, void *arg);
    void *on_migration_arg;
};

/* A thread, behind ABT_thread. The creator of a named thread owns the thread,
 * and frees it; an unnamed thread owns itself. Unless a comment says that other
 * threads access a field, only the xstream that runs the thread, or the caller
 * that removed the thread from a list or a pool, accesses the field. */
struct amg_ult {
    struct amg_link link; /* in a list of the pool `in` */
    void *sp;             /* saved context, while the thread does not run */
    /* The pool into which the thread is pushed when ready. Atomic, since other
     * threads read this field. */
    struct amg_ready_pool *_Atomic pool;
    /* The built-in pool in which the thread is now; NULL: none. Changed under
     * the lock of that pool; only the holder of the lock can rely on it. */
    struct amg_ready_pool *_Atomic in;
    void *unit; /* unit in a user-defined pool */
    /* The xstream that runs the thread, or ran it last. */
    struct amg_xstream *_Atomic xstream;
    /* Written by amg_ult_set_state(), and reset for a reuse by ult_renew(). */
    _Atomic(enum amg_ult_state) state;
    enum amg_switch_action switch_action;
    enum amg_ult_kind kind;
    struct amg_lock *held;     /* lock that post_switch() unlocks; or NULL */
    struct amg_bias *biased;   /* biased lock that post_switch() unlocks */
    struct amg_ult *scheduler; /* runs next if no other thread is ready */
    void (*function)(void *arg);
    void *arg;
    struct amg_stack *stack; /* NULL: the program's stack, or no stack */
    void *stack_base;
    size_t stack_room;        /* bytes from stack_base that are usable */
    struct amg_fibre fibre;   /* for the sanitizers */
    struct amg_caught caught; /* saved while the thread does not run */
    /* Other threads touch the following fields, too. */
    struct amg_lock lock;    /* guards joiners, and the adding of key slots */
    struct amg_list joiners; /* of struct amg_waiter */
    atomic_uint requests;    /* of enum amg_ult_request */
    struct amg_ready_pool *_Atomic migrates_to;
    void (*on_migration)(ABT_thread thread, void *arg);
    void *on_migration_arg;
    struct amg_key_table keys;
    _Atomic uint64_t id; /* 0: ABT_thread_get_id() has given no id yet */
    size_t stack_len;    /* requested or default length */
    bool is_named;       /* the creator has a handle, and frees the thread */
    bool is_migratable;
};

/* Initialises a NEW thread of kind `kind`; all other fields are 0 or empty. */
static inline void amg_ult_init(struct amg_ult *ult, enum amg_ult_kind kind)
{
    memset(ult, 0, sizeof(*ult));
    ult->kind = kind;
    amg_list_init(&ult->joiners);
}

/* The pool that the thread belongs to. */
static inline struct amg_ready_pool *amg_ult_pool(const struct amg_ult *ult)
{
    return atomic_load_explicit(&ult->pool, memory_order_relaxed);
}

/* Called by the thread's creator, or by a caller that removed the thread from
 * its pool. If the old or new pool is user-defined, a push changes the unit. */
static inline void amg_ult_set_pool(
    struct amg_ult *ult, struct amg_ready_pool *pool)
{
    atomic_store_explicit(&ult->pool, pool, memory_order_relaxed);
}

/* Is the thread in the built-in `pool`? For NULL: in no built-in pool? Only a
 * hint, unless the caller holds the pool's lock or has removed the thread. */
static inline bool amg_ult_is_in(
    const struct amg_ult *ult, const struct amg_ready_pool *pool)
{
    return atomic_load_explicit(&ult->in, memory_order_relaxed) == pool;
}

/* Acquire: pairs with amg_ult_set_state(). */
static inline enum amg_ult_state amg_ult_state(const struct amg_ult *ult)
{
    return atomic_load_explicit(&ult->state, memory_order_acquire);
}

#define AMG_ULT_MAY(to) (1u << (to))

/* Called only by a caller that may change the thread: its creator, a scheduler
 * that popped the thread, the next thread on the xstream where the thread left
 * its stack, or a caller that removed the thread from a list. Release: a caller
 * that reads AMG_ULT_ENDED sees all writes of the thread. */
static inline void amg_ult_set_state(
    struct amg_ult *ult, enum amg_ult_state state)
{
    static const unsigned char may[] = {
        [AMG_ULT_NEW] =
            AMG_ULT_MAY(AMG_ULT_READY) | AMG_ULT_MAY(AMG_ULT_RUNNING),
        [AMG_ULT_READY] = AMG_ULT_MAY(AMG_ULT_RUNNING),
        [AMG_ULT_RUNNING] = AMG_ULT_MAY(AMG_ULT_READY) |
                            AMG_ULT_MAY(AMG_ULT_BLOCKED) |
                            AMG_ULT_MAY(AMG_ULT_ENDED),
        /* RUNNING: another thread switches directly to this thread. */
        [AMG_ULT_BLOCKED] =
            AMG_ULT_MAY(AMG_ULT_READY) | AMG_ULT_MAY(AMG_ULT_RUNNING),
        [AMG_ULT_ENDED] =
            AMG_ULT_MAY(AMG_ULT_READY) | AMG_ULT_MAY(AMG_ULT_RUNNING),
    };
    enum amg_ult_state now =
        atomic_load_explicit(&ult->state, memory_order_relaxed);

    AMG_ASSERT((may[now] & AMG_ULT_MAY(state)) != 0);
    atomic_store_explicit(&ult->state, state, memory_order_release);
}

/* Clears the program's variable for a handle of any type, so that the variable
 * is NULL if a create function fails. NULL: the program gave no variable. */
static inline void amg_handle_clear(void *ret_handle)
{
    if (ret_handle != NULL)
        memset(ret_handle, 0, sizeof(void *));
}

/* A flag of `config`, a configuration of pools or schedulers, or NULL. Returns
 * `is_default` if the key has no value, or a value that is not an int. */
bool amg_config_flag(const void *config, int key, bool is_default);

/* Allocates an object of zeros, and stores its handle in the program's
 * variable, which is not NULL. Returns an ABT code. */
static inline int amg_handle_create(void *ret_handle, size_t len)
{
    void *object = amg_mem_zalloc(len);

    memcpy(ret_handle, &object, sizeof(object));
    return object == NULL ? ABT_ERR_MEM : ABT_SUCCESS;
}

/* Frees an object that has no users, and clears the program's variable, which
 * has its handle. Returns `none_code` if the variable or the handle is NULL. */
static inline int amg_handle_free(void *ret_handle, int none_code)
{
    void *object = NULL;

    if (ret_handle != NULL)
        memcpy(&object, ret_handle, sizeof(object));
    if (object == NULL)
        return none_code;
    amg_mem_free(object);
    amg_handle_clear(ret_handle);
    return ABT_SUCCESS;
}

/* Frees a synchronisation object if `is_idle` says that no thread waits for the
 * object; else returns `busy_code`. `call`: public function, for the log. */
int amg_sync_free(const char *call, void *ret_handle, int none_code,
    int busy_code, bool (*is_idle)(void *object));

/* The body of a getter: AMG_GET(ABT_ERR_INV_POOL, pool, id, POOL->id) stores
 * POOL->id in `*id` if `pool` and `id` are not NULL and returns an ABT code. */
#define AMG_GET(none_code, object, out, value)                                 \
    ((object) == NULL   ? (none_code)                                          \
        : (out) == NULL ? ABT_ERR_INV_ARG                                      \
                        : (*(out) = (value), ABT_SUCCESS))

/* The body of a setter: sets a member of `object`, unless `object` is NULL. */
#define AMG_SET(none_code, object, member, value)                              \
    ((object) == NULL ? (none_code) : ((object)->member = (value), ABT_SUCCESS))

static inline struct amg_ult *amg_ult_of(ABT_thread thread)
{
    return (struct amg_ult *)(void *)thread;
}

static inline ABT_thread amg_ult_handle(struct amg_ult *ult)
{
    return (ABT_thread)(void *)ult;
}

static inline struct amg_ready_pool *amg_ready_pool_of(ABT_pool pool)
{
    return (struct amg_ready_pool *)(void *)pool;
}

static inline ABT_pool amg_ready_pool_handle(struct amg_ready_pool *pool)
{
    return (ABT_pool)(void *)pool;
}

static inline struct amg_sched *amg_sched_of(ABT_sched sched)
{
    return (struct amg_sched *)(void *)sched;
}

static inline ABT_sched amg_sched_handle(struct amg_sched *sched)
{
    return (ABT_sched)(void *)sched;
}

static inline struct amg_xstream *amg_xstream_of(ABT_xstream xstream)
{
    return (struct amg_xstream *)(void *)xstream;
}

static inline ABT_xstream amg_xstream_handle(struct amg_xstream *xstream)
{
    return (ABT_xstream)(void *)xstream;
}

static inline struct amg_thread_attr *amg_thread_attr_of(ABT_thread_attr attr)
{
    return (struct amg_thread_attr *)(void *)attr;
}

#endif
