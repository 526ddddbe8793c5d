/* SPDX-License-Identifier: BSD-3-Clause */
/* Registry of the RPCs of a class: ids, procs, callbacks, user data. */
#ifndef AMG_RPC_REGISTRY_H
#define AMG_RPC_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "amalgam_oneway.h"
#include "base/pool.h"
#include "core/class.h"
#include "mercury_types.h"

enum { AMG_RPC_RECENT = 64, AMG_RPC_NAME_CAP = 40 };

/* An RPC. Lives until its class is closed, so that handles may keep a pointer
 * to the struct; after HG_Deregister() a registration with the same functions
 * reuses the struct. A registration, while no call runs, writes the fields. */
struct amg_rpc {
    struct amg_link link;
    hg_id_t id;
    hg_proc_cb_t in_proc;
    hg_proc_cb_t out_proc;
    hg_rpc_cb_t callback;
    /* Handler that takes no handle (`callback` is oneway_serve()), or NULL. */
    amalgam_oneway_cb_t oneway;
    atomic_bool is_one_way; /* has no response; publishes no other field */
    _Atomic(void *) data;   /* user data; calls may come before it is set */
    void (*data_free)(void *);
    /* Were the last arguments short, and did their proc not ask for the room
     * (encode.h)? True at first. A guess, which any thread that encodes stores:
     * relaxed. */
    atomic_bool in_was_short;
    atomic_bool out_was_short;
    hg_proc_cb_t fold_proc; /* out_proc of reductions; NULL: none is possible */
    struct amg_group_reduce *reduce; /* of its outputs in groups, or NULL */
    char name[AMG_RPC_NAME_CAP]; /* for reports, perhaps cut; "": not known */
};

/* Functions and sizes of handles that the registry uses. Constant. */
struct amg_rpc_handle_ops {
    size_t size;                /* of a handle, in bytes */
    void (*fini)(void *object); /* for each pooled handle, at the end */
    /* Called after an RPC was registered: serves requests that wait for it. */
    void (*registered)(hg_class_t *cls);
};

struct amg_deaths;
struct amg_hang;
struct amg_rpc_class;

/* Kinds of control messages: the id of AMG_HEADER_CONTROL. */
enum amg_control {
    AMG_CONTROL_SETTLE,     /* group_serve.c */
    AMG_CONTROL_QUIET_UP,   /* quiet.c: to a parent */
    AMG_CONTROL_QUIET_DOWN, /* quiet.c: to a child */
    AMG_CONTROL_CLOCK,      /* traced.c: to and from rank 0 */
    AMG_CONTROL_HANG_CLAIM, /* hang.c: a rank waits for long */
    AMG_CONTROL_HANG_TAKEN, /* the answer to that */
    AMG_CONTROL_HANG_ASK,   /* what does a rank do? */
    AMG_CONTROL_HANG_TELL,  /* a part of the answer to that */
    AMG_CONTROL_DEAD,       /* deaths.c: a rank has died */
    AMG_CONTROLS
};
enum { AMG_CONTROL_LEN = 32 }; /* bytes of their contents, padded by zeros */

/* Functions of calls to groups that calls in general use. Constant. */
struct amg_group_ops {
    /* A request of a call to a group has come in; nothing was done with it. */
    void (*arrived)(hg_handle_t up);
    /* A control message has come in. */
    void (*told)(
        hg_context_t *context, enum amg_control kind, const void *bytes);
    /* HG_Cancel() of a call to a group. False: the handle's call is no such. */
    bool (*cancel)(hg_handle_t handle);
    /* Ends the calls of a context whose time is over; AMG_CONTEXT_NEVER: all,
     * as the context ends. */
    void (*look)(hg_context_t *context, uint64_t now_ns);
    void (*fini)(struct amg_rpc_class *rpcs);
};

/* The RPC layer's part of a class. */
struct amg_rpc_class {
    const struct amg_rpc_handle_ops *handle_ops;
    struct amg_lock lock; /* guards rpcs, gone, all */
    struct amg_map rpcs;  /* by id */
    struct amg_map gone;  /* the deregistered RPCs, by id */
    struct amg_list all;  /* all RPCs, registered or not */
    /* RPCs found lately, by the low bits of their ids, so that most look-ups
     * take no lock. A release store pairs with the acquire load of the next
     * look-up. */
    _Atomic(struct amg_rpc *) recent[AMG_RPC_RECENT];
    struct amg_pool handles;  /* of calls made here */
    struct amg_pool incoming; /* of calls received; may keep `data` */
    /* Run for each new handle; may be NULL. Written before the first call. */
    hg_return_t (*on_create)(hg_handle_t handle, void *arg);
    void *on_create_arg;
    /* Contents of this class's messages besides arguments; see rpc/encode.h and
     * rpc/args.c. Written before the first call that they concern. */
    atomic_bool is_plain; /* no checksum and no offsets; threads that make
                           * progress read it at any time */
    uint16_t in_offset;   /* bytes of the user's own header of requests */
    uint16_t out_offset;
    hg_checksum_level_t checksum_level;
    /* Token of the next long reply; see respond.c. A counter only. */
    atomic_uint_fast64_t next_token;
    atomic_bool
        has_logged_unknown_ack; /* an ACK with an unknown token was logged */
    const struct amg_group_ops *group_ops;
    struct amg_groups *groups; /* calls to groups */
    struct amg_hang *hang;     /* NULL: no memory for reports of hangs */
    struct amg_deaths *deaths; /* NULL: no ranks, or no memory */
};

/* Enables the class to call and to serve calls. Takes `rpcs`, zeroed memory of
 * amg_mem; `ops` stays the caller's, and is constant. */
void amg_rpc_class_attach(hg_class_t *cls, struct amg_rpc_class *rpcs,
    const struct amg_rpc_handle_ops *ops);

/* Deaths of ranks: deaths.c. */
void amg_deaths_attach(hg_class_t *cls);
void amg_deaths_free(struct amg_deaths *deaths); /* accepts NULL */
/* By progress of context 0, in a tick: checks the ranks of this node. */
void amg_deaths_look(hg_context_t *context, uint64_t now_ns);
void amg_deaths_told(hg_context_t *context, const void *bytes);

static inline struct amg_rpc_class *amg_rpc_class_of(const hg_class_t *cls)
{
    return cls->upper;
}

static inline bool amg_rpc_is_plain(const struct amg_rpc_class *rpcs)
{
    return atomic_load_explicit(&rpcs->is_plain, memory_order_relaxed);
}

/* Registers an RPC under a name, with the functions of `wanted`, which is
 * copied; returns its id, or 0. If the id is registered, procs and callbacks
 * are replaced, with a warning. Error lines name the public function `call`. */
hg_id_t amg_rpc_register_name(hg_class_t *cls, const char *name,
    struct amg_rpc *wanted, const char *call);

/* Gives a registered RPC a name for reports. */
void amg_rpc_set_name(hg_class_t *cls, hg_id_t id, const char *name);
/* Copies the name of an RPC; "": not registered, or not known. */
const char *amg_rpc_name(
    const hg_class_t *cls, hg_id_t id, char ret_name[AMG_RPC_NAME_CAP]);

/* Looks up an id under the lock, and puts the RPC in `recent`; NULL: none. */
struct amg_rpc *amg_rpc_search(struct amg_rpc_class *rpcs, hg_id_t id);
/* RPC of an id that was found lately, or NULL. */
static inline struct amg_rpc *amg_rpc_recent(const hg_class_t *cls, hg_id_t id)
{
    struct amg_rpc *rpc = atomic_load_explicit(
        &amg_rpc_class_of(cls)->recent[id % AMG_RPC_RECENT],
        memory_order_acquire);

    return AMG_LIKELY(rpc != NULL && rpc->id == id) ? rpc : NULL;
}
/* RPC of an id; NULL: not registered. */
static inline struct amg_rpc *amg_rpc_find(const hg_class_t *cls, hg_id_t id)
{
    struct amg_rpc *rpc = amg_rpc_recent(cls, id);

    return AMG_LIKELY(rpc != NULL) ? rpc
                                   : amg_rpc_search(amg_rpc_class_of(cls), id);
}

#endif
