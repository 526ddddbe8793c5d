/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and constants of abt.h. */
#ifndef ABT_TYPES_H
#define ABT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "abt_errors.h"

/* The version of Argobots whose API these headers declare. */
#define ABT_VERSION    "1.2"
#define ABT_NUMVERSION 10200300

/* ABT_CALC_VERSION() computes a number like ABT_NUMVERSION from its parts. */
#define ABT_RELEASE_TYPE_ALPHA 0
#define ABT_RELEASE_TYPE_BETA  1
#define ABT_RELEASE_TYPE_RC    2
#define ABT_RELEASE_TYPE_PATCH 3
#define ABT_CALC_VERSION(major, minor, revision, type, patch)                  \
    ((major)*10000000 + (minor)*100000 + (revision)*1000 + (type)*100 + (patch))

#define ABT_API_PUBLIC  __attribute__((visibility("default")))
#define ABT_API_PRIVATE __attribute__((visibility("hidden")))

typedef int ABT_bool;
#define ABT_TRUE  1
#define ABT_FALSE 0

/* Objects are opaque pointers. */
typedef struct ABT_xstream_opaque *ABT_xstream;
typedef struct ABT_xstream_barrier_opaque *ABT_xstream_barrier;
typedef struct ABT_sched_opaque *ABT_sched;
typedef struct ABT_sched_config_opaque *ABT_sched_config;
typedef struct ABT_pool_opaque *ABT_pool;
typedef struct ABT_pool_config_opaque *ABT_pool_config;
typedef struct ABT_unit_opaque *ABT_unit;
typedef struct ABT_thread_opaque *ABT_thread;
typedef struct ABT_thread_attr_opaque *ABT_thread_attr;
typedef ABT_thread ABT_task;
typedef struct ABT_key_opaque *ABT_key;
typedef struct ABT_mutex_opaque *ABT_mutex;
typedef struct ABT_mutex_attr_opaque *ABT_mutex_attr;
typedef struct ABT_cond_opaque *ABT_cond;
typedef struct ABT_rwlock_opaque *ABT_rwlock;
typedef struct ABT_eventual_opaque *ABT_eventual;
typedef struct ABT_future_opaque *ABT_future;
typedef struct ABT_barrier_opaque *ABT_barrier;
typedef struct ABT_timer_opaque *ABT_timer;
typedef struct ABT_tool_context_opaque *ABT_tool_context;
typedef struct ABT_pool_def ABT_pool_def;
typedef ABT_pool_def *ABT_pool_user_def; /* see ABT_pool_create() */

typedef uint64_t ABT_unit_id;
typedef uint64_t ABT_thread_id;
typedef uint64_t ABT_task_id;
typedef uint64_t ABT_pool_context;

#define ABT_NULL                 0
#define ABT_XSTREAM_ANY_RANK     (-1)
#define ABT_XSTREAM_NULL         ((ABT_xstream)NULL)
#define ABT_XSTREAM_BARRIER_NULL ((ABT_xstream_barrier)NULL)
#define ABT_SCHED_NULL           ((ABT_sched)NULL)
#define ABT_SCHED_CONFIG_NULL    ((ABT_sched_config)NULL)
#define ABT_POOL_NULL            ((ABT_pool)NULL)
#define ABT_POOL_CONFIG_NULL     ((ABT_pool_config)NULL)
#define ABT_POOL_USER_DEF_NULL   ((ABT_pool_user_def)NULL)
#define ABT_UNIT_NULL            ((ABT_unit)NULL)
#define ABT_THREAD_NULL          ((ABT_thread)NULL)
#define ABT_THREAD_ATTR_NULL     ((ABT_thread_attr)NULL)
#define ABT_TASK_NULL            ((ABT_task)NULL)
#define ABT_KEY_NULL             ((ABT_key)NULL)
#define ABT_MUTEX_NULL           ((ABT_mutex)NULL)
#define ABT_MUTEX_ATTR_NULL      ((ABT_mutex_attr)NULL)
#define ABT_COND_NULL            ((ABT_cond)NULL)
#define ABT_RWLOCK_NULL          ((ABT_rwlock)NULL)
#define ABT_EVENTUAL_NULL        ((ABT_eventual)NULL)
#define ABT_FUTURE_NULL          ((ABT_future)NULL)
#define ABT_BARRIER_NULL         ((ABT_barrier)NULL)
#define ABT_TIMER_NULL           ((ABT_timer)NULL)
#define ABT_TOOL_CONTEXT_NULL    ((ABT_tool_context)NULL)

typedef enum ABT_xstream_state {
    ABT_XSTREAM_STATE_RUNNING,
    ABT_XSTREAM_STATE_TERMINATED,
} ABT_xstream_state;

typedef enum ABT_thread_state {
    ABT_THREAD_STATE_READY,
    ABT_THREAD_STATE_RUNNING,
    ABT_THREAD_STATE_BLOCKED,
    ABT_THREAD_STATE_TERMINATED,
} ABT_thread_state;

typedef enum ABT_task_state {
    ABT_TASK_STATE_READY,
    ABT_TASK_STATE_RUNNING,
    ABT_TASK_STATE_TERMINATED,
} ABT_task_state;

typedef enum ABT_unit_type {
    ABT_UNIT_TYPE_THREAD,
    ABT_UNIT_TYPE_TASK,
    ABT_UNIT_TYPE_XSTREAM, /* not used any more */
    ABT_UNIT_TYPE_EXT,     /* an OS thread that is no stream */
} ABT_unit_type;

typedef enum ABT_sched_predef {
    ABT_SCHED_DEFAULT,    /* ABT_SCHED_BASIC_WAIT */
    ABT_SCHED_BASIC,      /* runs its pools in turn */
    ABT_SCHED_PRIO,       /* runs a pool only if all earlier pools are empty */
    ABT_SCHED_RANDWS,     /* runs its first pool; steals if that is empty */
    ABT_SCHED_BASIC_WAIT, /* the same as ABT_SCHED_BASIC */
} ABT_sched_predef;

/* No function returns this type any more. */
typedef enum ABT_sched_state {
    ABT_SCHED_STATE_READY,
    ABT_SCHED_STATE_RUNNING,
    ABT_SCHED_STATE_STOPPED,
    ABT_SCHED_STATE_TERMINATED,
} ABT_sched_state;

typedef enum ABT_sched_type {
    ABT_SCHED_TYPE_ULT,
    ABT_SCHED_TYPE_TASK,
} ABT_sched_type;

typedef enum ABT_pool_kind {
    ABT_POOL_FIFO,
    ABT_POOL_FIFO_WAIT,
    ABT_POOL_RANDWS, /* owners pop at one end, other streams at the other */
    /* Not in Argobots. PRIO_WAIT prefers threads that have run before,
     * EARLIEST_FIRST threads that were created earlier. */
    AMALGAM_POOL_PRIO_WAIT,
    AMALGAM_POOL_EARLIEST_FIRST,
} ABT_pool_kind;

typedef enum ABT_pool_access {
    ABT_POOL_ACCESS_PRIV, /* one stream pushes and pops */
    ABT_POOL_ACCESS_SPSC,
    ABT_POOL_ACCESS_MPSC,
    ABT_POOL_ACCESS_SPMC,
    ABT_POOL_ACCESS_MPMC,
} ABT_pool_access;

/* Why a function of a user-defined pool is called: bits, at most one of each
 * group (PRIO, OWNER, OP). */
#define ABT_POOL_CONTEXT_PRIO_DEFAULT              ((ABT_pool_context)0x0)
#define ABT_POOL_CONTEXT_PRIO_HIGH                 ((ABT_pool_context)0x1)
#define ABT_POOL_CONTEXT_PRIO_LOW                  ((ABT_pool_context)0x2)
#define ABT_POOL_CONTEXT_OWNER_DEFAULT             ((ABT_pool_context)0x0)
#define ABT_POOL_CONTEXT_OWNER_PRIMARY             ((ABT_pool_context)0x100)
#define ABT_POOL_CONTEXT_OWNER_SECONDARY           ((ABT_pool_context)0x200)
#define ABT_POOL_CONTEXT_OP_POOL_OTHER             ((ABT_pool_context)0x800)
#define ABT_POOL_CONTEXT_OP_THREAD_CREATE          ((ABT_pool_context)0x1000)
#define ABT_POOL_CONTEXT_OP_THREAD_CREATE_TO       ((ABT_pool_context)0x2000)
#define ABT_POOL_CONTEXT_OP_THREAD_REVIVE          ((ABT_pool_context)0x4000)
#define ABT_POOL_CONTEXT_OP_THREAD_REVIVE_TO       ((ABT_pool_context)0x8000)
#define ABT_POOL_CONTEXT_OP_THREAD_YIELD           ((ABT_pool_context)0x10000)
#define ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO        ((ABT_pool_context)0x20000)
#define ABT_POOL_CONTEXT_OP_THREAD_YIELD_LOOP      ((ABT_pool_context)0x40000)
#define ABT_POOL_CONTEXT_OP_THREAD_RESUME          ((ABT_pool_context)0x80000)
#define ABT_POOL_CONTEXT_OP_THREAD_RESUME_YIELD_TO ((ABT_pool_context)0x100000)
#define ABT_POOL_CONTEXT_OP_THREAD_MIGRATE         ((ABT_pool_context)0x200000)

/* Functions of a user-defined pool, for ABT_pool_user_def_create(). */
typedef ABT_unit (*ABT_pool_user_create_unit_fn)(
    ABT_pool pool, ABT_thread thread);
typedef void (*ABT_pool_user_free_unit_fn)(ABT_pool pool, ABT_unit unit);
typedef ABT_bool (*ABT_pool_user_is_empty_fn)(ABT_pool pool);
typedef ABT_thread (*ABT_pool_user_pop_fn)(
    ABT_pool pool, ABT_pool_context context);
typedef void (*ABT_pool_user_push_fn)(
    ABT_pool pool, ABT_unit unit, ABT_pool_context context);
typedef int (*ABT_pool_user_init_fn)(ABT_pool pool, ABT_pool_config config);
typedef void (*ABT_pool_user_free_fn)(ABT_pool pool);
typedef size_t (*ABT_pool_user_get_size_fn)(ABT_pool pool);
typedef ABT_thread (*ABT_pool_user_pop_wait_fn)(
    ABT_pool pool, double time_secs, ABT_pool_context context);
typedef void (*ABT_pool_user_pop_many_fn)(ABT_pool pool, ABT_thread *threads,
    size_t max_threads, size_t *num_popped, ABT_pool_context context);
typedef void (*ABT_pool_user_push_many_fn)(ABT_pool pool, const ABT_unit *units,
    size_t num_units, ABT_pool_context context);
typedef void (*ABT_pool_user_print_all_fn)(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_thread));

/* Functions of a user-defined pool in the older form, for ABT_pool_def. */
typedef ABT_unit_type (*ABT_unit_get_type_fn)(ABT_unit unit);
typedef ABT_thread (*ABT_unit_get_thread_fn)(ABT_unit unit);
typedef ABT_task (*ABT_unit_get_task_fn)(ABT_unit unit);
typedef ABT_bool (*ABT_unit_is_in_pool_fn)(ABT_unit unit);
typedef ABT_unit (*ABT_unit_create_from_thread_fn)(ABT_thread thread);
typedef ABT_unit (*ABT_unit_create_from_task_fn)(ABT_task task);
typedef void (*ABT_unit_free_fn)(ABT_unit *unit);
typedef int (*ABT_pool_init_fn)(ABT_pool pool, ABT_pool_config config);
typedef size_t (*ABT_pool_get_size_fn)(ABT_pool pool);
typedef void (*ABT_pool_push_fn)(ABT_pool pool, ABT_unit unit);
typedef ABT_unit (*ABT_pool_pop_fn)(ABT_pool pool);
typedef ABT_unit (*ABT_pool_pop_wait_fn)(ABT_pool pool, double time_secs);
typedef ABT_unit (*ABT_pool_pop_timedwait_fn)(
    ABT_pool pool, double abstime_secs);
typedef int (*ABT_pool_remove_fn)(ABT_pool pool, ABT_unit unit);
typedef int (*ABT_pool_free_fn)(ABT_pool pool);
typedef void (*ABT_pool_print_all_fn)(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_unit));

struct ABT_pool_def {
    ABT_pool_access access;
    ABT_unit_get_type_fn u_get_type;
    ABT_unit_get_thread_fn u_get_thread;
    ABT_unit_get_task_fn u_get_task;
    ABT_unit_is_in_pool_fn u_is_in_pool;
    ABT_unit_create_from_thread_fn u_create_from_thread;
    ABT_unit_create_from_task_fn u_create_from_task;
    ABT_unit_free_fn u_free;
    ABT_pool_init_fn p_init;
    ABT_pool_get_size_fn p_get_size;
    ABT_pool_push_fn p_push;
    ABT_pool_pop_fn p_pop;
    ABT_pool_pop_wait_fn p_pop_wait;
    ABT_pool_pop_timedwait_fn p_pop_timedwait;
    ABT_pool_remove_fn p_remove;
    ABT_pool_free_fn p_free;
    ABT_pool_print_all_fn p_print_all;
};

typedef enum ABT_pool_config_type {
    ABT_POOL_CONFIG_INT,
    ABT_POOL_CONFIG_DOUBLE,
    ABT_POOL_CONFIG_PTR,
} ABT_pool_config_type;

typedef struct ABT_pool_config_var {
    int key;
    ABT_pool_config_type type;
} ABT_pool_config_var;

/* Functions of a user-defined scheduler. */
typedef int (*ABT_sched_init_fn)(ABT_sched sched, ABT_sched_config config);
typedef void (*ABT_sched_run_fn)(ABT_sched sched);
typedef int (*ABT_sched_free_fn)(ABT_sched sched);
typedef ABT_pool (*ABT_sched_get_migr_pool_fn)(ABT_sched sched);

typedef struct ABT_sched_def {
    ABT_sched_type type;
    ABT_sched_init_fn init;
    ABT_sched_run_fn run;
    ABT_sched_free_fn free;
    ABT_sched_get_migr_pool_fn get_migr_pool;
} ABT_sched_def;

typedef enum ABT_sched_config_type {
    ABT_SCHED_CONFIG_INT,
    ABT_SCHED_CONFIG_DOUBLE,
    ABT_SCHED_CONFIG_PTR,
} ABT_sched_config_type;

typedef struct ABT_sched_config_var {
    int idx;
    ABT_sched_config_type type;
} ABT_sched_config_var;

#ifdef __cplusplus
extern "C" {
#endif

/* Configuration of a scheduler. end: ends a list; automatic: whether the
 * scheduler is freed with its stream. Two variables have no effect: access
 * (ABT_pool_access of new pools) and freq (how often to check for events). */
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_var_end;
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_access;
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_automatic;
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_basic_freq;

/* Configuration of a pool: whether its last scheduler frees the pool. */
extern ABT_API_PUBLIC const ABT_pool_config_var ABT_pool_config_automatic;

#ifdef __cplusplus
}
#endif

/* Memory of an object that need not be created: an initialiser sets the memory,
 * the program uses the handle of the memory, and never frees the object. The
 * first word is the kind of the object, the rest is initially zero. */
typedef struct ABT_mutex_memory {
    uint64_t kind; /* 1: recursive */
    uint64_t state[9];
} ABT_mutex_memory;

typedef struct ABT_cond_memory {
    uint64_t kind;
    uint64_t state[7];
} ABT_cond_memory;

typedef struct ABT_rwlock_memory {
    uint64_t kind;
    uint64_t state[11];
} ABT_rwlock_memory;

typedef struct ABT_eventual_memory {
    uint64_t kind;
    uint64_t state[9];
} ABT_eventual_memory;

/* clang-format off */
#define ABT_MUTEX_INITIALIZER           { 0, { 0 } }
#define ABT_RECURSIVE_MUTEX_INITIALIZER { 1, { 0 } }
#define ABT_COND_INITIALIZER            { 0, { 0 } }
#define ABT_RWLOCK_INITIALIZER          { 0, { 0 } }
#define ABT_EVENTUAL_INITIALIZER        { 0, { 0 } }
/* clang-format on */

#define ABT_MUTEX_MEMORY_GET_HANDLE(memory)    ((ABT_mutex)(void *)(memory))
#define ABT_COND_MEMORY_GET_HANDLE(memory)     ((ABT_cond)(void *)(memory))
#define ABT_RWLOCK_MEMORY_GET_HANDLE(memory)   ((ABT_rwlock)(void *)(memory))
#define ABT_EVENTUAL_MEMORY_GET_HANDLE(memory) ((ABT_eventual)(void *)(memory))

/* Values of ABT_info_query_config(). The type is ABT_bool unless a comment
 * names another type. */
typedef enum ABT_info_query_kind {
    ABT_INFO_QUERY_KIND_ENABLED_DEBUG,
    ABT_INFO_QUERY_KIND_ENABLED_PRINT_ERRNO,
    ABT_INFO_QUERY_KIND_ENABLED_LOG,
    ABT_INFO_QUERY_KIND_ENABLED_VALGRIND,
    ABT_INFO_QUERY_KIND_ENABLED_CHECK_ERROR,
    ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_PRODUCER,
    ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_CONSUMER,
    ABT_INFO_QUERY_KIND_ENABLED_PRESERVE_FPU,
    ABT_INFO_QUERY_KIND_ENABLED_THREAD_CANCEL,
    ABT_INFO_QUERY_KIND_ENABLED_TASK_CANCEL,
    ABT_INFO_QUERY_KIND_ENABLED_MIGRATION,
    ABT_INFO_QUERY_KIND_ENABLED_STACKABLE_SCHED,
    ABT_INFO_QUERY_KIND_ENABLED_EXTERNAL_THREAD,
    ABT_INFO_QUERY_KIND_ENABLED_SCHED_SLEEP,
    ABT_INFO_QUERY_KIND_ENABLED_PRINT_CONFIG,
    ABT_INFO_QUERY_KIND_ENABLED_AFFINITY,
    ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS,         /* unsigned int */
    ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE, /* size_t */
    ABT_INFO_QUERY_KIND_DEFAULT_SCHED_STACKSIZE,  /* size_t */
    ABT_INFO_QUERY_KIND_DEFAULT_SCHED_EVENT_FREQ, /* uint64_t */
    ABT_INFO_QUERY_KIND_DEFAULT_SCHED_SLEEP_NSEC, /* uint64_t */
    ABT_INFO_QUERY_KIND_ENABLED_TOOL,
    ABT_INFO_QUERY_KIND_FCONTEXT,
    ABT_INFO_QUERY_KIND_DYNAMIC_PROMOTION,
    ABT_INFO_QUERY_KIND_ENABLED_STACK_UNWIND,
    ABT_INFO_QUERY_KIND_ENABLED_STACK_OVERFLOW_CHECK, /* int; 2: a guard page */
    ABT_INFO_QUERY_KIND_WAIT_POLICY,                  /* int; 0: sleeps */
    ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC,
} ABT_info_query_kind;

/* Events for tools; see abt_tool.h. */
#define ABT_TOOL_EVENT_THREAD_NONE    ((uint64_t)0)
#define ABT_TOOL_EVENT_THREAD_CREATE  ((uint64_t)0x1)
#define ABT_TOOL_EVENT_THREAD_JOIN    ((uint64_t)0x2)
#define ABT_TOOL_EVENT_THREAD_FREE    ((uint64_t)0x4)
#define ABT_TOOL_EVENT_THREAD_REVIVE  ((uint64_t)0x8)
#define ABT_TOOL_EVENT_THREAD_RUN     ((uint64_t)0x10)
#define ABT_TOOL_EVENT_THREAD_FINISH  ((uint64_t)0x20)
#define ABT_TOOL_EVENT_THREAD_CANCEL  ((uint64_t)0x40)
#define ABT_TOOL_EVENT_THREAD_YIELD   ((uint64_t)0x80)
#define ABT_TOOL_EVENT_THREAD_SUSPEND ((uint64_t)0x100)
#define ABT_TOOL_EVENT_THREAD_RESUME  ((uint64_t)0x200)
#define ABT_TOOL_EVENT_THREAD_ALL     ((uint64_t)0x3ff)

typedef enum ABT_tool_query_kind {
    ABT_TOOL_QUERY_KIND_POOL,
    ABT_TOOL_QUERY_KIND_STACK_DEPTH,
    ABT_TOOL_QUERY_KIND_CALLER_TYPE,
    ABT_TOOL_QUERY_KIND_CALLER_HANDLE,
    ABT_TOOL_QUERY_KIND_SYNC_OBJECT_TYPE,
    ABT_TOOL_QUERY_KIND_SYNC_OBJECT_HANDLE,
} ABT_tool_query_kind;

typedef enum ABT_exec_entity_type {
    ABT_EXEC_ENTITY_TYPE_EXT,
    ABT_EXEC_ENTITY_TYPE_THREAD,
    ABT_EXEC_ENTITY_TYPE_TASK,
} ABT_exec_entity_type;

typedef enum ABT_sync_event_type {
    ABT_SYNC_EVENT_TYPE_UNKNOWN,
    ABT_SYNC_EVENT_TYPE_USER,
    ABT_SYNC_EVENT_TYPE_OTHER,
    ABT_SYNC_EVENT_TYPE_THREAD_JOIN,
    ABT_SYNC_EVENT_TYPE_TASK_JOIN,
    ABT_SYNC_EVENT_TYPE_MUTEX,
    ABT_SYNC_EVENT_TYPE_COND,
    ABT_SYNC_EVENT_TYPE_RWLOCK,
    ABT_SYNC_EVENT_TYPE_EVENTUAL,
    ABT_SYNC_EVENT_TYPE_FUTURE,
    ABT_SYNC_EVENT_TYPE_BARRIER,
    ABT_SYNC_EVENT_TYPE_XSTREAM_JOIN,
} ABT_sync_event_type;

typedef void (*ABT_tool_thread_callback_fn)(ABT_thread thread,
    ABT_xstream xstream, uint64_t event, ABT_tool_context context,
    void *user_arg);
typedef void (*ABT_tool_task_callback_fn)(ABT_task task, ABT_xstream xstream,
    uint64_t event, ABT_tool_context context, void *user_arg);

#endif
