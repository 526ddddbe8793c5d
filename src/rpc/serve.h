/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side: from an arrival to the user's function. */
#ifndef AMG_RPC_SERVE_H
#define AMG_RPC_SERVE_H

#include "core/context.h"

/* An amg_arrival_fn: what a context does with a request that came in. */
void amg_serve_arrived(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival);

struct hg_handle;

/* Goes on with a request that is right in itself: is its RPC known? */
void amg_serve_known(struct hg_handle *handle);

#endif
