/* SPDX-License-Identifier: BSD-3-Clause */
/* Which RPCs a class knows: ids, procs, callbacks, user data. */
#ifndef AMG_RPC_REGISTRY_H
#define AMG_RPC_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/pool.h"
#include "core/class.h"
#include "mercury_types.h"

/* One RPC. Lives until its class is closed, also when it is deregistered, so
 * handles may keep a pointer to it; registering the same again takes it back.
 * Fields are written by the registering thread, which must not be while the RPC
 * is called (as in Mercury). */
struct amg_rpc {
    struct amg_link link;
    hg_id_t id;
    hg_proc_cb_t in_proc;
    hg_proc_cb_t out_proc;
    hg_rpc_cb_t callback;
    bool is_one_way;
    void *data; /* the user's */
    void (*data_free)(void *);
};

/* What the registry has to know of handles. Constant. */
struct amg_rpc_handle_ops {
    size_t size;                /* of one, in bytes */
    void (*fini)(void *object); /* of one that the pools still keep */
    /* An RPC was registered: requests for it may wait. */
    void (*registered)(hg_class_t *cls, hg_id_t id);
};

/* What the RPC layer keeps with a class. */
struct amg_rpc_class {
    const struct amg_rpc_handle_ops *handle_ops;
    struct amg_lock lock; /* guards rpcs, gone, all */
    struct amg_map rpcs;  /* by id */
    struct amg_map gone;  /* those that are deregistered, by id */
    struct amg_list all;  /* both */
    /* The one found last, because calls come in runs. Its release store pairs
     * with the acquire load of the next look-up. */
    _Atomic(struct amg_rpc *) last;
    struct amg_pool handles; /* of calls made here */
    struct amg_pool served;  /* of calls that came; they keep data, see there */
    /* Run for each new handle; NULL: nothing. Written before calls are made. */
    hg_return_t (*on_create)(hg_handle_t handle, void *arg);
    void *on_create_arg;
    /* What the messages of this class carry besides arguments; see rpc/encode.h
     * and rpc/args.c. Written before calls are made. */
    bool is_plain;      /* none of what follows */
    uint16_t in_offset; /* bytes of the user's own header of requests */
    uint16_t out_offset;
    hg_checksum_level_t checksum_level;
    /* Gives each long reply a token; see respond.c. A counter only. */
    atomic_uint_fast64_t next_token;
    atomic_bool has_told_stray; /* of a token that was never given; a flag */
};

/* Makes it for the class; `ops` stays the caller's, and is constant. HG_NOMEM.
 */
hg_return_t amg_rpc_class_attach(
    hg_class_t *cls, const struct amg_rpc_handle_ops *ops);

static inline struct amg_rpc_class *amg_rpc_class_of(const hg_class_t *cls)
{
    return cls->upper;
}

/* NULL when the id is not registered. */
struct amg_rpc *amg_rpc_find(const hg_class_t *cls, hg_id_t id);

#endif
