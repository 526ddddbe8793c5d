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
#include "core/progress_config.h"
#include "core/pool.h"
#include "mercury_types.h"
#include "transport/transport.h"

/* Route of a message. The number is part of bulk descriptors, so it means the
 * same in every build. */
enum amg_route {
    AMG_ROUTE_SELF, /* loopback, always open */
    AMG_ROUTE_SHM,
    AMG_ROUTE_MPI,
    AMG_ROUTE_OFI,
    AMG_ROUTE_COUNT
};

enum amg_class_state {
    AMG_CLASS_CLOSED,    /* not open yet, or closed */
    AMG_CLASS_INHERITED, /* of the parent of this process; see inherit.c */
    AMG_CLASS_OPENING,   /* its transports are being opened */
    AMG_CLASS_OPEN,      /* contexts, addresses, handles may be made */
    AMG_CLASS_DRAINING,  /* closing: the user holds nothing of it any more */
    AMG_CLASS_STATE_COUNT
};

/* Objects the user still holds, which HG_Finalize() checks. */
enum amg_class_count {
    AMG_CLASS_CONTEXTS,
    AMG_CLASS_ADDRS,
    AMG_CLASS_BULKS,
    AMG_CLASS_ALLOCS,    /* of amalgam_alloc() */
    AMG_CLASS_HANDLES,   /* of calls made here; incoming calls are the context's
                          */
    AMG_CLASS_BORROWERS, /* the class that uses its domains: 0 or 1 */
    AMG_CLASS_COUNTS
};

/* All counters are monotonic. */
enum amg_counter {
    AMG_COUNT_REQUESTS_SENT,
    AMG_COUNT_REQUESTS_CAME,
    AMG_COUNT_REPLIES_SENT,
    AMG_COUNT_REPLIES_CAME,
    AMG_COUNT_LONG_REQUESTS,   /* sent */
    AMG_COUNT_LONG_REPLIES,    /* sent */
    AMG_COUNT_TRANSFERS,       /* bulk transfers of the program */
    AMG_COUNT_PACKED_MESSAGES, /* of several one-way calls, sent */
    AMG_COUNT_PACKED_CALLS,    /* in them */
    AMG_COUNTERS
};

/* Owned by its context; zero at first. */
struct amg_counters {
    struct amg_tally of[AMG_COUNTERS];
};

static inline void amg_counters_add_some(
    struct amg_counters *counters, enum amg_counter it, int count)
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
    const struct amg_counters *counters, uint64_t sums[AMG_COUNTERS])
{
    for (unsigned i = 0; i < AMG_COUNTERS; i++)
        sums[i] += (uint64_t)amg_tally_sum(&counters->of[i]);
}

enum {
    AMG_PROTOCOL_CAP = 16,
    AMG_CLASS_REACH_CAP = 192,
    AMG_CLASS_REASON_CAP = 768
};

/* How a class is opened: one driver for each route, or NULL. */
struct amg_class_plan {
    const struct amg_transport *transports[AMG_ROUTE_COUNT];
    enum amg_route main_route;       /* the one addresses are written for */
    const char *name;                /* as HG_Class_get_name() says */
    char protocol[AMG_PROTOCOL_CAP]; /* as HG_Class_get_protocol() says */
    uint32_t head_len; /* bytes of a message that the layers above use */
    struct amg_open how;
    /* Class whose open domains are used, and which keeps them; NULL: all are
     * opened. */
    hg_class_t *owner;
    /* Called once when the domains are open: may open more, and sets
     * `route_map`, `is_idle`, `reach` and `reason`. NULL: nothing to do. */
    hg_return_t (*join)(hg_class_t *cls);
    bool wants_near;       /* for `join`: shared memory within the node, */
    bool needs_near;       /* and no other route */
    const char *near_info; /* init string of its domain; NULL: "" */
    /* For `join`: libfabric to the ranks of other nodes. */
    char far_protocol[AMG_PROTOCOL_CAP]; /* of its scheme; "": not wanted */
    const char *far_info;                /* init string of its domain */
    bool needs_far;                      /* no other route between nodes */
    bool no_overflow;
    bool no_bulk_eager;
    bool release_input_early;
    bool no_loopback; /* calls to oneself by the main route, if it can */
    bool wants_stats; /* the counters are logged when it is closed */
    hg_checksum_level_t checksum_level;
    bool no_block; /* progress never blocks */
    /* Progress options; read while the class opens. NULL: defaults. */
    const struct amalgam_progress_options *progress;
    bool is_mercury; /* callbacks run in HG_Trigger() by default */
};

/* Owned by its opener, until amg_class_close(). Fields without a comment of
 * their own are constant while it is open. */
struct hg_class {
    struct amg_link kept;       /* in the attic, once destroyed */
    enum amg_class_state state; /* written by amg_class_set_state() alone */
    struct amg_domain *domains[AMG_ROUTE_COUNT]; /* NULL: not open */
    /* Open for the common teardown only: no peer is reached by this route, so
     * waits need not poll it. */
    bool is_idle[AMG_ROUTE_COUNT];
    struct amg_route_map *route_map; /* NULL: the main route reaches all */
    void (*route_map_free)(hg_class_t *);
    /* How often the main route has to be looked at, although it is idle, for
     * the sake of ranks that are still opening: amg_node_ops.joined; NULL: it
     * need not be. */
    uint32_t (*joined)(struct amg_domain *domain);
    /* Knows the ranks of the main route; NULL: its peers are no ranks. */
    const struct amg_node_ops *ranks;
    /* Ranks may be opening still, so that no thread may sleep for long. A hint,
     * so relaxed. */
    atomic_bool is_joining;
    char reach[AMG_CLASS_REACH_CAP];   /* how peers are reached, as text */
    char reason[AMG_CLASS_REASON_CAP]; /* why bulk data take their way, or "" */
    bool is_first; /* the first rank of its job, which logs for all */
    struct amg_class_plan plan;
    struct amg_progress_config progress_config; /* its threads, cores */
    struct amg_class_pool *pool; /* memory for bulk; NULL: the heap only */
    struct amg_limits limits;    /* the smallest of all routes */
    atomic_int counts[AMG_CLASS_COUNTS];
    struct amg_patience patience; /* of amg_class_quiesce(), with the others */
    bool is_abandoned;            /* it has closed without some of them, */
    bool has_lost;                /* and calls to them are given up */
    struct amg_link opened;       /* on the list of inherit.c */
    uint64_t past[AMG_COUNTERS];  /* of closed contexts; guarded by the lock */
    struct amg_lock lock;         /* guards `contexts` */
    hg_context_t *contexts[256];  /* by id; NULL: none */
    /* Held while a report is composed; guards all `is_reported`. */
    struct amg_lock report_lock;
    bool is_reported;                 /* its domains are open */
    void *upper;                      /* of the layer above; see upper_free */
    void (*upper_free)(hg_class_t *); /* run by amg_class_close() */
    void *data;                       /* user data */
    void (*data_free)(void *);
};

static inline bool amg_class_is_inherited(const hg_class_t *cls)
{
    return cls->state == AMG_CLASS_INHERITED;
}

/* From its return on, reports show the class or context that has the flag; or
 * do not, so that it can be closed. */
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
/* Checks the class of a call that only reads it: it may be inherited. */
#define AMG_CLASS_EXISTS(hg_class)                                             \
    AMG_ALIVE((hg_class) != NULL && (hg_class)->state != AMG_CLASS_CLOSED,     \
        "class", (hg_class))

/* May only threads of the program make progress on this open route? */
bool amg_class_is_user_bound(const hg_class_t *cls, unsigned route);

/* Determines which threads make progress, when the class has opened and after a
 * change of the options: see amg_progress_config_settle(). */
void amg_class_settle_progress(hg_class_t *cls);

/* Contexts that are opened from now on have no handler threads: their owner
 * runs handlers in threads of its own. Nothing changes while contexts are
 * open. */
void amg_class_drop_handlers(hg_class_t *cls);

/* HG_BUSY: another class uses the owner's domains, or they have disconnected;
 * or the error from opening a domain. */
hg_return_t amg_class_open(
    const struct amg_class_plan *plan, hg_class_t **ret_class);

/* For the plan's `join`: opens one more domain, of a route that has none, for
 * the protocol of a scheme (NULL: its default). */
hg_return_t amg_class_add_route(hg_class_t *cls, enum amg_route route,
    const struct amg_transport *transport, const char *protocol,
    const char *info);
/* Closes it again; nothing of it is in use. */
void amg_class_remove_route(hg_class_t *cls, enum amg_route route);

/* Does anything besides contexts remain, held by the user or in flight? */
bool amg_class_is_held(const hg_class_t *cls);
/* Logs what the user still holds and returns HG_BUSY, or HG_SUCCESS. */
hg_return_t amg_class_check_idle(const hg_class_t *cls, bool with_contexts);

/* Announces that this process is closing, unless it is busy: with calls that no
 * driver has yet, or with operations in flight; it has made `posted` calls so
 * far. HG_SUCCESS: so has every process
 * of every open domain; HG_AGAIN: not yet; HG_TIMEOUT: some never did. The wait
 * for the ranks of a job follows base/patience.h, for others
 * AMALGAM_FINALIZE_TIMEOUT_MS. */
hg_return_t amg_class_quiesce(hg_class_t *cls, bool is_busy, uint64_t posted);
/* Logs the processes that this, or a call, waits for. */
void amg_class_report(hg_class_t *cls);

/* The user holds nothing any more, and amg_class_quiesce() has ended. */
void amg_class_close(hg_class_t *cls);

void amg_class_set_state(hg_class_t *cls, enum amg_class_state next);
void amg_class_count(hg_class_t *cls, enum amg_class_count what, int change);
int amg_class_counted(const hg_class_t *cls, enum amg_class_count what);

/* Reserves the context id; HG_BUSY if it is taken, HG_INVALID_ARG if it is not
 * below the number of contexts the class was opened for. */
hg_return_t amg_class_enter_context(
    hg_class_t *cls, uint8_t id, hg_context_t *context);
void amg_class_leave_context(
    hg_class_t *cls, uint8_t id, const struct amg_counters *counters);
/* The first open context whose id is at least `from`, or NULL. */
hg_context_t *amg_class_context(hg_class_t *cls, unsigned from);

/* counters.c */

/* All ranks of a job have closed: does none of them owe this one an answer or a
 * credit any more, nor this one them? Else writes what is under way. */
bool amg_class_owes_nothing(hg_class_t *cls);
/* Logs the counters of a class that closes, if it wants that. */
void amg_diag_end(hg_class_t *cls);

/* inherit.c */

/* Lists the open class; and no longer. */
void amg_classes_join(hg_class_t *cls);
void amg_classes_leave(hg_class_t *cls);
/* Calls `look` with open class number `index`, under the lock of the list.
 * False: no such class. */
bool amg_classes_look(
    unsigned index, void (*look)(hg_class_t *cls, void *arg), void *arg);

#endif
