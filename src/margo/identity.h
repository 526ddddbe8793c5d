/* SPDX-License-Identifier: BSD-3-Clause */
/* Of what kind the providers of an instance are. */
#ifndef AMG_MARGO_IDENTITY_H
#define AMG_MARGO_IDENTITY_H

#include <stdbool.h>

#include "base/lock.h"
#include "base/map.h"
#include "margo.h"

struct amg_margo_identities {
    struct amg_lock lock; /* guards the map */
    struct amg_map texts; /* by provider id */
    hg_id_t rpc_id;       /* what asks another process */
};

/* Registers the RPC. False: logged. */
bool amg_margo_identities_init(margo_instance_id mid);
void amg_margo_identities_fini(margo_instance_id mid);

#endif
