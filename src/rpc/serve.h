/* SPDX-License-Identifier: BSD-3-Clause */
/* Target side of a call: from an arrival to the user's function. */
#ifndef AMG_RPC_SERVE_H
#define AMG_RPC_SERVE_H

#include "core/context.h"
#include "rpc/handle.h"

/* Creates and frees the RPC layer's part of a context. HG_NOMEM. */
hg_return_t amg_rpc_context_open(hg_context_t *context);
void amg_rpc_context_close(hg_context_t *context);

/* Enables the class to call and to serve calls. HG_NOMEM. */
hg_return_t amg_serve_attach(hg_class_t *cls);

/* Periodic check of the context: on a thread of the program, or if the context
 * is old enough, stops keeping early requests. */
void amg_early_look(hg_context_t *context);
/* Stops keeping them on any thread. */
void amg_early_end(hg_context_t *context);

/* Refuses the requests that still wait: the context ends. */
void amg_pulls_refuse(hg_context_t *context);

/* An amg_arrival_fn: handles a request that arrived at a context. */
void amg_serve_arrived(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival);

#endif
