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

/* There is room for its long arguments: pulls them. */
void amg_serve_pull(struct hg_handle *handle);

/* Answers with a code, and logs why; the user never sees this call. */
void amg_serve_refuse(
    struct hg_handle *handle, hg_return_t ret, const char *why);

#endif
