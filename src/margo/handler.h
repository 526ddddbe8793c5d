/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch of incoming requests to user-level threads. The macros of margo.h
 * stay thin and call amalgam_margo_serve(), which is public for that reason. */
#ifndef AMG_MARGO_HANDLER_H
#define AMG_MARGO_HANDLER_H

#include <stdbool.h>

#include "base/list.h"
#include "base/lock.h"
#include "margo.h"
#include "margo/handle.h"

/* Queue of requests beyond the limit of concurrent handlers. */
struct amg_margo_dispatch {
    struct amg_lock lock;    /* guards all that follows, if there is a limit */
    struct amg_list waiting; /* of struct amg_margo_handle, by `queued` */
    unsigned running;
    ABT_key by_hand; /* set in threads of the program that serve */
};

void amg_margo_dispatch_init(margo_instance_id mid);
/* Call while the ULT runtime is initialised. False: no memory, logged. */
bool amg_margo_dispatch_open(margo_instance_id mid);
void amg_margo_dispatch_close(margo_instance_id mid);

/* Is the caller a handler of the instance? */
bool amg_margo_handler_is_self(margo_instance_id mid);

/* Handler of an RPC without one, which is registered only for calls. */
hg_return_t amg_margo_serve_none(hg_handle_t handle);

#endif
