/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups: how ranks pass a call on, run its handler, and collect the
 * answers.
 *
 * The origin of a call to a group is its root. Each rank that has a part of the
 * tree (transport/tree.h) calls the first members of the parts of its children,
 * by ordinary calls between two ranks: the edges. Their input is the input of
 * the group call as the root encoded it, and a trailer that names the part; so
 * a rank passes the call on, as soon as it arrives, without decoding, and long
 * inputs are pulled from the parent. The handler of a member runs like that of
 * a call to oneself: its answer goes to `own` of struct amg_group_call. A rank
 * answers its parent when its own handler and all edges have ended.
 *
 * A handler runs once on each rank, whatever happens to ranks in between:
 *
 *  - A call has a name, the root and a serial number of that root. A handler
 *    is queued only when the name is entered into the map `calls`, under its
 *    lock. If a rank fails, its parent calls that rank's children; a child that
 *    knows the name already answers the new parent, and does not run again.
 *  - A name leaves the map when nobody can ask for it any more. Only a rank
 *    whose parent is not the root, or that was called in place of a failed
 *    rank, can be asked twice. Such a rank keeps its answer until the root says
 *    that the call is over: each later call of the root carries its floor, the
 *    serial number below which all its calls have ended. A late copy of a call
 *    below the floor is refused.
 *  - A rank that cannot fold outputs, because it has no such RPC or no memory,
 *    counts as failed: its answer is a code, and its parent gets the outputs
 *    from that rank's children, which keep their answers.
 *  - A root has at most AMALGAM_GROUP_OPEN_MAX calls from its floor on; at that
 *    bound the next call returns HG_AGAIN. Serial numbers have 64 bits, and the
 *    map can do with 32 of them.
 *
 * Nothing waits without end: group_state.h counts the members that have not
 * answered. Each of them is behind the call of an edge, which ends as all calls
 * do, or is this rank, whose handler answers or is given up (handle.c). No
 * circle of waiting for credits: every edge but the root's own leads from a
 * lower to a higher rank, so by induction from the highest rank down each edge
 * ends if the calls of the program do.
 *
 * A rank that is told that a call is settled (cancelled, or too late) runs no
 * handler that has not begun, tells its children, and answers with what it has.
 * A child that does not answer in time is given up. If the rank is told before
 * the request comes, it keeps the code as its answer. */
#ifndef AMG_RPC_GROUP_H
#define AMG_RPC_GROUP_H

#include "amalgam_group.h"
#include "base/assert.h"
#include "rpc/group_state.h"
#include "rpc/handle.h"
#include "core/context.h"

enum { AMG_GROUP_WIDTH = 5 }; /* children of a rank within its node */

/* The fate of the members' outputs. */
enum amg_group_kind { AMG_GROUP_DROP, AMG_GROUP_FOLD, AMG_GROUP_GATHER };

/* The end of the input of an edge: after the input of the group call, padded to
 * 8 bytes, and for a list the ranks of the part. */
struct amg_group_trailer {
    uint64_t serial;
    uint32_t root;
    uint32_t first; /* the receiver's part, by positions */
    uint32_t count;
    uint32_t base; /* rank at position 0, and distance of neighbours; 0, 0 for a
                    * list */
    uint32_t stride;
    uint16_t lag;     /* serial - lag is the floor of the root */
    uint8_t kind;     /* enum amg_group_kind */
    uint8_t context;  /* of the root */
    uint8_t is_kept;  /* the receiver may be asked again */
    uint8_t pad_len;  /* behind the input */
    uint8_t zeros[6]; /* to a multiple of 8 bytes */
};

/* The start of the output of an edge; the ranges of failed members follow, and
 * then the folded output, or each output behind a struct amg_group_piece. */
struct amg_group_answer {
    uint32_t answered; /* members */
    uint32_t ranges;
    uint32_t ret; /* the first failure in time, hg_return_t */
    uint32_t has_output;
};

/* The control message that settles a call. */
struct amg_group_settle {
    uint64_t serial;
    uint32_t root;
    uint32_t ret; /* HG_CANCELED or HG_TIMEOUT */
};

/* Stands before each output that is gathered. */
struct amg_group_piece {
    uint32_t position;
    uint32_t len; /* of the output, which is padded to 8 bytes */
};

struct amalgam_group {
    hg_class_t *cls; /* NULL: AMALGAM_GROUP_ALL */
    atomic_int refs; /* the program's, and one of each call under way */
    uint32_t count;
    struct amg_tree tree; /* owns its ranks */
};

/* A reduction of an RPC. */
struct amg_group_reduce {
    amalgam_reduce_cb_t fn;
    /* A function of the library in place of `fn`, which may fail; or NULL. */
    hg_return_t (*fold)(const void *from_out, void *inout_out, void *arg);
    void *arg;
    size_t out_len;
    unsigned flags; /* enum amalgam_reduce_flags */
    /* Of outputs whose struct only leads to `bytes_len` bytes that are folded:
     * their address, or NULL if there are not as many; or NULL. */
    void *(*bytes)(void *out, size_t bytes_len);
    size_t bytes_len;
};

struct amg_group_call;

/* The members for which one rank answers this rank: a part whose first member
 * this rank has asked, or this rank itself. */
struct amg_group_edge {
    struct amg_link link; /* call->edges; not of the rank itself */
    struct amg_link news; /* call->news */
    struct amg_group_call *call;
    struct amg_tree_part part;
    struct hg_handle *handle; /* of the call to that rank, or `own`; NULL: not
                               * needed any more */
    bool is_asked;            /* the answer is awaited */
};

/* A call to a group at one rank. Owned by its references: one for each edge
 * whose answer is awaited, for the map or the callback of the root, and for the
 * thread that works on it. From a pool of the class. */
struct amg_group_call {
    struct amg_group_state state;
    struct amg_lock lock; /* guards `state`, edges, and what follows it */
    struct amg_list edges;
    struct amg_list
        news;            /* edges whose outputs are not used yet, by position */
    hg_return_t settled; /* no further rank is asked; HG_SUCCESS: not so */
    hg_return_t unfolded; /* why outputs could not be used. Below the root: the
                           * answer is this code alone */
    bool is_ended;        /* the answer is due, or the callback is queued */
    bool is_busy;        /* a thread begins it or folds, or `entry` is queued */
    bool is_ordered;     /* outputs are folded after all have come */
    struct amg_args sum; /* the folded output, or the gathered ones, encoded;
                          * `data` is NULL: none has come */
    char *structs;       /* memory for two output structs */
    char *sum_struct;    /* the struct of the outputs folded so far, or NULL */
    /* Constant while the call is under way: */
    struct amg_groups *groups;
    hg_context_t *context;
    void (*end)(struct amg_group_call *call); /* runs once, without a lock */
    struct amg_group_trailer trailer; /* of the requests to children, but for
                                       * the part */
    struct hg_handle *user;           /* at the root: the program's handle */
    struct amalgam_group *group;
    amalgam_gather_cb_t each;
    struct amg_args block; /* the input; may lie in a request of a parent */
    uint64_t short_block[AMG_SHORT_LEN / sizeof(uint64_t)];
    struct hg_handle own; /* the origin that the own handler answers to; its
                           * `info` has the RPC and the context of all ranks */
    struct amg_group_edge own_edge; /* part: the position of this rank, or
                                     * AMG_TREE_NOWHERE */
    struct amg_cq_entry entry;      /* folds, or gives outputs */
    /* Under groups->lock: */
    struct amg_link link;      /* groups->open, or a floor's list */
    struct amg_link under_way; /* groups->under_way, until it has answered */
    struct amg_list ups;       /* requests of parents that are not answered */
    uint64_t limit_ns;         /* settles the call, or gives its children up */
    bool is_abandoned;         /* the context ends */
    atomic_int refs;
};

/* The state of a rank for quiescence (quiet.c). */
struct amg_quiet {
    struct amg_tree tree; /* of all ranks. Constant, as the three below */
    struct amg_tree_walk first;
    uint32_t parent;
    uint32_t children;
    struct amg_lock lock; /* guards what follows; NOTE(not a leaf): messages are
                           * sent under the lock */
    struct amg_tree_walk walk; /* over the children that were not told */
    bool must_tell;            /* there may be such children */
    bool is_over;              /* what they are told */
    bool has_told;             /* the parent, in this round */
    uint32_t came;             /* children that have told, in this round */
    uint64_t sum;              /* of these */
    uint64_t before; /* root: sum of the round before; NO_SUM: there was none */
    uint64_t wait_ns; /* until the next look at a rank that is not idle */
    /* Of the program's call; HG_AGAIN: under way. */
    bool has_entered;
    hg_return_t ret;
    amalgam_quiesce_cb_t callback; /* NULL: a thread waits */
    void *arg;
    hg_context_t *context; /* of `entry` */
    struct amg_cq_entry entry;
};

/* The part of a class for calls to groups. */
struct amg_groups {
    struct amg_lock lock;      /* guards all but pools and `quiet` */
    struct amg_map calls;      /* calls that came from a parent, by name */
    struct amg_map floors;     /* struct floor by root */
    struct amg_list open;      /* calls of this rank as the root, by serial */
    struct amg_list under_way; /* all calls that have not ended */
    uint64_t serial;           /* of the next call of this rank */
    struct amg_pool pool;      /* of struct amg_group_call */
    struct amg_pool edges;     /* of struct amg_group_edge */
    struct amg_rpc edge;       /* procs of all edges */
    struct amg_quiet quiet;    /* guards itself */
};

static inline struct amg_groups *amg_groups_of(const hg_class_t *cls)
{
    return amg_rpc_class_of(cls)->groups;
}

/* group.c: the life of a call. */

hg_return_t amg_group_edge_proc(hg_proc_t proc, void *data);
/* `look` of struct amg_group_ops. */
void amg_group_look(hg_context_t *context, uint64_t now_ns);

/* A call with one reference, without state; NULL: no memory. */
struct amg_group_call *amg_group_call_make(hg_context_t *context, hg_id_t id);
/* Frees a call that has not begun. */
void amg_group_call_drop(struct amg_group_call *call);
static inline void amg_group_call_ref(struct amg_group_call *call)
{
    atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
}
void amg_group_call_unref(struct amg_group_call *call);
/* Frees the answer of an edge. */
void amg_group_edge_drop(struct amg_group_edge *edge);
/* Says which members a new call is for; `self`: the position of this rank. */
void amg_group_call_place(struct amg_group_call *call,
    const struct amg_tree *tree, struct amg_tree_part part, uint32_t self);
/* Begins: asks the children, and runs the own handler. */
void amg_group_call_begin(struct amg_group_call *call);
/* After each event: folds, and ends the call if all members have answered or
 * failed. No lock is held. */
void amg_group_call_move(struct amg_group_call *call);
/* Settles the call with HG_CANCELED or HG_TIMEOUT. With `gives_up`, ends all
 * edges at once. */
void amg_group_call_settle(
    struct amg_group_call *call, hg_return_t ret, bool gives_up);

/* Is there an output to use, or must the folded one be encoded? */
static inline bool amg_group_is_due_locked(const struct amg_group_call *call)
{
    bool is_over = amg_group_state_is_over(&call->state);

    AMG_ASSERT_HELD(&call->lock);
    return (!amg_list_is_empty(&call->news) &&
               (!call->is_ordered || is_over)) ||
           (call->sum_struct != NULL && is_over);
}

/* group_fold.c: the outputs. */

/* Uses the outputs that have come, in HG_Trigger(), and then calls
 * amg_group_call_move(). is_busy is set. */
void amg_group_fold_run(struct amg_cq_entry *entry);
/* Gives the failed ranks of a gathering to the program. */
void amg_group_fold_names(struct amg_group_call *call);

/* group_root.c: the public functions. */

/* `cancel` of struct amg_group_ops. */
bool amg_group_cancel(hg_handle_t handle);
/* amalgam_register_reduce(). With an `arg_len`, `arg` is copied. */
hg_return_t amg_group_reduce_set(hg_class_t *cls, hg_id_t id,
    const struct amg_group_reduce *reduce, size_t arg_len);
/* Changes the reduction that an RPC has: an output is a struct of `out_len`
 * bytes that leads to the bytes that are folded. */
void amg_group_reduce_lead(hg_class_t *cls, hg_id_t id, size_t out_len,
    void *(*bytes)(void *out, size_t bytes_len));

/* group_serve.c: a call that came from a parent. */

/* Enables a class to make and serve calls to groups. Takes `groups`, zeroed
 * memory of amg_mem. */
void amg_groups_attach(hg_class_t *cls, struct amg_groups *groups);

/* quiet.c: quiescence of the class. */

/* Enables the class to wait for quiescence. */
void amg_quiet_attach(hg_class_t *cls);

/* Enters, unless an earlier call has. HG_AGAIN: not over; without a callback,
 * call again, and any other result is returned once. HG_BUSY: another call of
 * the program waits. */
hg_return_t amg_quiet_enter(
    hg_class_t *cls, amalgam_quiesce_cb_t callback, void *arg);

/* A message about quiescence has come in. */
void amg_quiet_told(
    hg_context_t *context, enum amg_control kind, const void *bytes);
/* Does what is due; at AMG_CONTEXT_NEVER the context ends. */
void amg_quiet_look(hg_context_t *context, uint64_t now_ns);

#endif
