/* SPDX-License-Identifier: BSD-3-Clause */
/* Target side of a call: from an arrival to the user's function. */
#ifndef AMG_RPC_SERVE_H
#define AMG_RPC_SERVE_H

#include "core/context.h"
#include "rpc/handle.h"

/* Lets the class call, and serve calls. HG_NOMEM. */
hg_return_t amg_serve_attach(hg_class_t *cls);

/* When the context looks: by a thread of the program, or when it is old enough,
 * nothing is kept any longer. */
void amg_early_look(hg_context_t *context);
/* Nothing is, whoever asks. */
void amg_early_end(hg_context_t *context);

/* Those that still wait are refused: the context ends. */
void amg_pulls_refuse(hg_context_t *context);

/* An amg_arrival_fn: what a context does with a request that came in. */
void amg_serve_arrived(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival);

#endif
