/* SPDX-License-Identifier: BSD-3-Clause */
/* A class: the transports that one instance of the library has open. */
#ifndef AMG_CORE_CLASS_H
#define AMG_CORE_CLASS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/bias.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/clock.h"
#include "base/status.h"
#include "core/progress_config.h"
#include "core/pool.h"
#include "mercury_types.h"
#include "transport/transport.h"

/* Route of a message. Bulk descriptors contain the number, so all builds must
 * have the same numbers. */
enum amg_route {
    AMG_ROUTE_SELF, /* loopback, always open */
    AMG_ROUTE_SHM,
    AMG_ROUTE_MPI,
    AMG_ROUTE_OFI,
    AMG_ROUTE_COUNT
};

enum amg_class_state {
    AMG_CLASS_CLOSED,    /* not open yet, or closed */
    AMG_CLASS_INHERITED, /* class of the parent process; see inherit.c */
    AMG_CLASS_OPENING,   /* transports are being opened */
    AMG_CLASS_OPEN,      /* contexts, addresses, handles may be made */
    AMG_CLASS_DRAINING,  /* closing, or disconnected by its borrower */
    AMG_CLASS_STATE_COUNT
};

/* Objects the user still holds, which HG_Finalize() checks. */
enum amg_class_count {
    AMG_CLASS_CONTEXTS,
    AMG_CLASS_ADDRS,
    AMG_CLASS_BULKS,
    AMG_CLASS_ALLOCS,    /* of amalgam_alloc() */
    AMG_CLASS_HANDLES,   /* of calls made here; a context counts all its
                            handles, also those of incoming calls */
    AMG_CLASS_BORROWERS, /* classes that use this class's domains: 0 or 1 */
    AMG_CLASS_COUNTS
};

/* All counters are monotonic. */
enum amg_counter {
    AMG_COUNT_REQUESTS_SENT,
    AMG_COUNT_REQUESTS_CAME,
    AMG_COUNT_REPLIES_SENT,
    AMG_COUNT_REPLIES_CAME,
    AMG_COUNT_LONG_REQUESTS,   /* sent, longer than an eager message */
    AMG_COUNT_LONG_REPLIES,    /* sent, longer than an eager message */
    AMG_COUNT_LONG_BYTES,      /* arguments of these requests and replies */
    AMG_COUNT_TRANSFERS,       /* bulk transfers of the program */
    AMG_COUNT_TRANSFER_BYTES,  /* data of these transfers */
    AMG_COUNT_PACKED_MESSAGES, /* of several one-way calls, sent */
    AMG_COUNT_PACKED_CALLS,    /* calls in these messages */
    AMG_COUNT_RUNS_BEGUN,      /* of handlers; see rpc/quiet.c */
    AMG_COUNT_RUNS_ENDED,
    AMG_COUNT_WAITS, /* of callers, after an empty poll */
    AMG_CONTEXT_COUNTERS,
    /* Not in struct amg_counters, but in sums of a class: */
    AMG_COUNT_SLEEPS = AMG_CONTEXT_COUNTERS, /* core/cq.h */
    AMG_COUNT_WAKES,                         /* core/cq.h, and drivers */
    AMG_COUNT_CREDITS_SHORT,                 /* drivers */
    AMG_COUNT_RETRIES,                       /* drivers */
    AMG_COUNTERS
};

/* Name of a counter in amalgam_counters(); NULL: the counter is not there. */
const char *amg_counter_name(unsigned counter);

/* Owned by its context; zero at first. */
struct amg_counters {
    struct amg_tally of[AMG_CONTEXT_COUNTERS];
};

static inline void amg_counters_add_some(
    struct amg_counters *counters, enum amg_counter it, int64_t count)
{
    amg_tally_add(&counters->of[it], count);
}
static inline void amg_counters_add(
    struct amg_counters *counters, enum amg_counter it)
{
    amg_counters_add_some(counters, it, 1);
}

/* Adds the counters to `sums`. */
static inline void amg_counters_sum(
    const struct amg_counters *counters, uint64_t sums[AMG_CONTEXT_COUNTERS])
{
    for (unsigned i = 0; i < AMG_CONTEXT_COUNTERS; i++)
        sums[i] += (uint64_t)amg_tally_sum(&counters->of[i]);
}

enum {
    AMG_PROTOCOL_CAP = 16,
    AMG_CLASS_REACH_CAP = 192,
    AMG_CLASS_REASON_CAP = 768
};

/* How a class is opened: the driver of each route, or NULL. */
struct amg_class_plan {
    const struct amg_transport *transports[AMG_ROUTE_COUNT];
    enum amg_route main_route;       /* route of addresses as text */
    const char *name;                /* result of HG_Class_get_name() */
    char protocol[AMG_PROTOCOL_CAP]; /* result of HG_Class_get_protocol() */
    uint32_t head_len; /* header bytes of the layer above in a message */
    struct amg_open how;
    /* Class that owns the domains, and lends them to this class; NULL: this
     * class opens its own domains. */
    hg_class_t *owner;
    /* Called once when the domains are open: may open further domains, and sets
     * `route_map`, `is_idle`, `reach` and `reason`. NULL: nothing to do. */
    hg_return_t (*join)(hg_class_t *cls);
    bool wants_near;       /* for `join`: open shared memory within the node */
    bool needs_near;       /* fail unless shm reaches all ranks of the job */
    const char *near_info; /* init string for shared memory; NULL: "" */
    /* For `join`: libfabric to the ranks of other nodes. */
    char far_protocol[AMG_PROTOCOL_CAP]; /* of the scheme; "": not wanted */
    const char *far_info;                /* init string for libfabric */
    bool needs_far;                      /* fail without libfabric */
    bool no_overflow;
    bool no_bulk_eager;
    bool release_input_early;
    bool no_loopback; /* calls to oneself use the main route, if possible */
    bool wants_stats; /* the counters are logged at the end */
    hg_checksum_level_t checksum_level;
    bool no_block; /* progress never blocks */
    /* Progress options; read while the class opens. NULL: defaults. */
    const struct amalgam_progress_options *progress;
    bool is_mercury; /* callbacks run in HG_Trigger() by default */
};

/* A rank of this node, itself included. */
struct amg_class_mate {
    uint32_t rank;
    uint32_t pid; /* 0: in another pid namespace, so it cannot be watched */
    uint64_t start_time; /* of amg_process_start() */
};

/* The ranks that a class reaches, and their nodes. */
struct amg_class_job {
    uint32_t rank;      /* of this process */
    uint32_t size;      /* 0: the peers are no ranks */
    uint32_t node_size; /* see struct amg_node */
    uint32_t mate_count;
    struct amg_class_mate *mates;    /* by rank; NULL: no memory, or no ranks */
    struct amg_status_class *status; /* never NULL; each class has its own */
    atomic_uint deaths; /* ranks known to be dead; by rpc/deaths.c, relaxed */
};

/* Has a rank of the class died? */
static inline bool amg_job_has_deaths(const struct amg_class_job *job)
{
    return atomic_load_explicit(&job->deaths, memory_order_relaxed) > 0;
}

/* Owned by its opener, until amg_class_close(). Fields that have no comment and
 * are not atomic, but for data_free, are constant while the class is open. */
struct hg_class {
    struct amg_link kept; /* in the attic, once destroyed */
    /* Written by class.c and by inherit.c; read by the checks of any thread. */
    _Atomic(enum amg_class_state) state;
    /* Held while a report is composed: no context leaves the class meanwhile.
     * Guards every `is_reported`. A report may look at a class that closes, so
     * a class in reused memory zeroes only the members after `is_reported`. */
    struct amg_lock report_lock;
    bool is_reported; /* domains are open: reports show the class */
    struct amg_domain *domains[AMG_ROUTE_COUNT]; /* NULL: not open */
    /* Open for the common teardown only: no peer is reached by this route, so
     * waits need not poll it. */
    bool is_idle[AMG_ROUTE_COUNT];
    struct amg_route_map *route_map; /* NULL: the main route reaches all */
    void (*route_map_free)(hg_class_t *);
    /* amg_node_ops.joined, which contexts call while other ranks may still be
     * opening the class; NULL: the ranks need no such calls. */
    uint32_t (*joined)(struct amg_domain *domain);
    /* Knows the ranks of the main route; NULL: the peers are no ranks. */
    const struct amg_node_ops *ranks;
    struct amg_class_job job;
    /* Ranks may be opening, so no thread may sleep long. A hint, so relaxed. */
    atomic_bool is_joining;
    char reach[AMG_CLASS_REACH_CAP];   /* how peers are reached, as text */
    char reason[AMG_CLASS_REASON_CAP]; /* why bulk data takes its path, or "" */
    bool is_first; /* the first rank of its job, which logs for all */
    struct amg_class_plan plan;
    struct amg_progress_config progress_config; /* progress thread, and core */
    struct amg_class_pool *pool; /* memory for bulk; NULL: the heap only */
    struct amg_limits limits;    /* the strictest of all routes */
    atomic_int counts[AMG_CLASS_COUNTS];
    struct amg_patience patience; /* of amg_class_quiesce() */
    bool is_abandoned;            /* amg_class_quiesce() gave up peers */
    bool has_lost;                /* calls of this process were given up */
    struct amg_link opened;       /* on the list of inherit.c */
    uint64_t past[AMG_COUNTERS];  /* sums of closed contexts */
    struct amg_lock lock;         /* guards `contexts` and `past` */
    hg_context_t *contexts[256];  /* by id; NULL: none */
    void *upper;                  /* state of the layer above; see upper_free */
    void (*upper_free)(hg_class_t *); /* run by amg_class_close() */
    void *data;                       /* user data */
    void (*data_free)(void *);
};

static inline bool amg_class_is_inherited(const hg_class_t *cls)
{
    return cls->state == AMG_CLASS_INHERITED;
}

/* Sets whether reports show the class or context that `flag` is part of. Once
 * `value` false is set, no report reads that object, so it can be closed. */
static inline void amg_report_set(hg_class_t *cls, bool *flag, bool value)
{
    amg_lock_lock(&cls->report_lock);
    *flag = value;
    amg_lock_unlock(&cls->report_lock);
}

/* Checks a class passed in by the program. */
#define AMG_CLASS_OK(hg_class)                                                 \
    AMG_OURS((hg_class) != NULL && (hg_class)->state > AMG_CLASS_INHERITED,    \
        amg_class_is_inherited(hg_class), "class", (hg_class))
/* Checks a class passed to a call that only reads; it may be inherited. */
#define AMG_CLASS_EXISTS(hg_class)                                             \
    AMG_ALIVE((hg_class) != NULL && (hg_class)->state != AMG_CLASS_CLOSED,     \
        "class", (hg_class))

/* May only threads of the program make progress on this open route? */
bool amg_class_is_user_bound(const hg_class_t *cls, unsigned route);

/* Determines which threads make progress, when the class has opened and after a
 * change of the options: see amg_progress_config_settle(). */
void amg_class_settle_progress(hg_class_t *cls);

/* Opens a class. HG_BUSY: another class uses the domains of plan->owner, or
 * that owner has disconnected; else the error of the options or of a domain. */
hg_return_t amg_class_open(
    const struct amg_class_plan *plan, hg_class_t **ret_class);

/* For the plan's `join`: opens a domain for a route without a domain.
 * `protocol`: from the scheme; NULL: the driver's default. */
hg_return_t amg_class_add_route(hg_class_t *cls, enum amg_route route,
    const struct amg_transport *transport, const char *protocol,
    const char *info);
/* Closes the domain of a route, if any; nothing of the domain is in use. */
void amg_class_remove_route(hg_class_t *cls, enum amg_route route);

/* Closes a class, of which the user holds no object any more. If the class owns
 * its domains, amg_class_quiesce() has returned a code other than HG_AGAIN. */
void amg_class_close(hg_class_t *cls);

void amg_class_set_state(hg_class_t *cls, enum amg_class_state next);
void amg_class_count(hg_class_t *cls, enum amg_class_count what, int change);
int amg_class_counted(const hg_class_t *cls, enum amg_class_count what);

/* The first open context whose id is at least `from`, or NULL. */
hg_context_t *amg_class_context(hg_class_t *cls, unsigned from);

/* quiesce.c */

/* Announces that this process is closing, unless operations are in flight or
 * calls have not reached a driver yet. HG_SUCCESS: all processes of every open
 * domain are closing; HG_AGAIN: not yet; HG_TIMEOUT: this process or a peer
 * gave up. The wait for ranks of a job follows base/clock.h; other waits end
 * after AMALGAM_FINALIZE_TIMEOUT_MS. */
hg_return_t amg_class_quiesce(hg_class_t *cls);
/* Logs the processes that amg_class_quiesce(), or a call, waits for. */
void amg_class_report(hg_class_t *cls);

/* counters.c */

/* After all ranks of a job have closed: did all answers and credits between
 * this rank and the others return? Else writes what is under way to stderr. */
bool amg_class_owes_nothing(hg_class_t *cls);
/* Logs the counters of a class that closes, if its plan says so. */
void amg_diag_end(hg_class_t *cls);

/* inherit.c */

/* Add an open class to the list of classes, and remove the class. */
void amg_classes_join(hg_class_t *cls);
void amg_classes_leave(hg_class_t *cls);
/* Calls `look` with open class number `index`, under the lock of the list.
 * False: no such class. */
bool amg_classes_look(
    unsigned index, void (*look)(hg_class_t *cls, void *arg), void *arg);

/* nics.c */

/* The index of the NIC nearest to `binding`; among equally near NICs `turn`
 * selects. `count` is at most AMG_NICS_ALIKE_MAX. Returns `count` if there is
 * no memory, or the machine description has none of `nics`. */
uint32_t amg_nics_choose(const struct amg_machine *machine,
    const struct amg_cpuset *binding, const struct amg_nic_id *nics,
    uint32_t count, uint32_t turn, char ret_why[AMG_NIC_WHY_CAP]);

/* amg_nics_choose() for this process, with the description of this machine,
 * which is loaded first. The `nearest` of struct amg_open_nic. */
uint32_t amg_nics_nearest(const struct amg_nic_id *nics, uint32_t count,
    uint32_t turn, char ret_why[AMG_NIC_WHY_CAP]);

#endif
