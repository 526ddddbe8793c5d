/* SPDX-License-Identifier: BSD-3-Clause */
/* What is registered under an RPC id, for a provider or for none. */
#ifndef AMG_MARGO_RPC_H
#define AMG_MARGO_RPC_H

#include <stdbool.h>

#include "margo.h"

/* HG_Registered_data() of its id; lives from registration to deregistration.
 * Part "instance" owns and completes this struct. */
struct amg_margo_rpc {
    margo_instance_id mid;
    const char *name;
    hg_id_t id;           /* with the provider in its low 16 bits */
    hg_proc_cb_t in_proc; /* NULL: nothing is sent */
    hg_proc_cb_t out_proc;
    ABT_pool pool; /* where its handlers run */
    bool has_no_response;
};

/* NULL: nothing is registered under it. */
struct amg_margo_rpc *amg_margo_rpc_of(margo_instance_id mid, hg_id_t id);

/* The id of `name` for a provider: a hash of the name above 16 bits. */
hg_id_t amg_margo_rpc_id(const char *name, uint16_t provider_id);

#endif
