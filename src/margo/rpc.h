/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered RPCs, each for a provider or for no provider, and the arguments of
 * their calls. */
#ifndef AMG_MARGO_RPC_H
#define AMG_MARGO_RPC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "margo.h"
#include "mercury.h"
#include "mercury_proc.h"
#include "mercury_types.h"

struct margo_request_struct;

/* HG_Registered_data() of an RPC's id; owned by the instance, from registration
 * until the instance ends. Requests may use the memory after the RPC is
 * deregistered; a later registration of that name reuses the memory. */
struct amg_margo_rpc {
    struct amg_link link; /* on the instance's list */
    margo_instance_id mid;
    char *name;
    hg_id_t id; /* with the provider in its low 16 bits */
    /* Independent values: a request in progress while the RPC is registered
     * again sees former or new values. */
    _Atomic(hg_proc_cb_t) in_proc; /* NULL: nothing is sent */
    _Atomic(hg_proc_cb_t) out_proc;
    _Atomic(hg_proc_cb_t) fold_proc; /* in reductions; NULL: out_proc */
    _Atomic(ABT_pool) pool;          /* where handlers of the RPC run */
    atomic_bool has_no_response;
    atomic_bool is_registered;
    bool has_handler;
    /* Guards data and data_free; taken after the lock of all RPCs. */
    struct amg_lock data_lock;
    _Atomic(void *) data; /* of the program; set at any time */
    void (*data_free)(void *);
};

struct amg_margo_rpcs {
    hg_rpc_cb_t refuse; /* serves RPCs without a handler; constant */
    /* Guards `all` and `gone`. Held while an RPC is registered, deregistered or
     * gets data or a pool: the locks of pools and HG are taken after `lock`. */
    struct amg_lock lock;
    struct amg_list all;
    struct amg_map gone; /* deregistered RPCs, by id */
};

/* The RPC of an id; NULL: not registered. */
struct amg_margo_rpc *amg_margo_rpc_of(margo_instance_id mid, hg_id_t id);
/* Like amg_margo_rpc_of(), but never logs. */
struct amg_margo_rpc *amg_margo_rpc_find(margo_instance_id mid, hg_id_t id);

/* Is an RPC of the program registered with a handler? */
bool amg_margo_rpcs_are_served(margo_instance_id mid);

/* The id of `name` for a provider: a hash of the name in the upper half. */
hg_id_t amg_margo_rpc_id(const char *name, uint16_t provider_id);

/* `refuse` gets the requests of RPCs that are registered without a handler. */
void amg_margo_rpcs_init(margo_instance_id mid, hg_rpc_cb_t refuse);
/* Deregisters and frees all RPCs. */
void amg_margo_rpcs_fini(margo_instance_id mid);

/* services.c: the RPCs that each instance serves itself. */
struct amg_margo_services {
    struct amg_lock lock;      /* guards the map */
    struct amg_map identities; /* identities, by provider id */
    hg_id_t
        identity_id; /* the RPC that reads the identity at another process */
    atomic_bool allows_shutdown; /* by other processes; an independent value */
};

/* Registers the RPCs. False: failed, logged. */
bool amg_margo_services_open(margo_instance_id mid);
void amg_margo_services_close(margo_instance_id mid);

/* arguments.c: the input and output of a call, with Margo's header in front:
 * the `data` of amg_margo_proc_input() and amg_margo_proc_output(). */
struct amg_margo_args {
    hg_proc_cb_t proc; /* of the program; NULL: no struct */
    void *user;        /* struct of the program; NULL: header alone */
    hg_id_t parent_id; /* in front of the input; 0: none */
    hg_return_t code;  /* in front of the output */
    /* The request whose arguments are encoded, for events of the monitor; NULL:
     * no monitor. */
    struct margo_request_struct *monitored;
    bool is_posted; /* the post succeeded: HG has encoded the struct */
    bool is_over;   /* set by the post: the answer has left, no thread waits */
};

/* Registered with HG for every RPC; `data` is a struct amg_margo_args. */
hg_return_t amg_margo_proc_input(hg_proc_t proc, void *data);
hg_return_t amg_margo_proc_output(hg_proc_t proc, void *data);
/* Codes outputs in reductions; `data` is the program's struct. */
hg_return_t amg_margo_proc_fold(hg_proc_t proc, void *data);

/* At the origin: the code in front of the received output. */
hg_return_t amg_margo_peek_code(hg_handle_t handle);
/* At the target: the parent in front of the received input; 0: none. */
hg_id_t amg_margo_peek_parent(hg_handle_t handle);

#endif
