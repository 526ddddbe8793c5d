/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls may have their long arguments here before they run. */
#ifndef AMG_RPC_PULLS_H
#define AMG_RPC_PULLS_H

#include "rpc/handle.h"

/* A request whose arguments, handle->pull_len bytes, are to be pulled:
 * amg_serve_pull() is run for it when there is room for them, now or later. */
void amg_pulls_add(struct hg_handle *handle);

/* What it took is free for others: it is about to run, or its pull failed. */
void amg_pulls_end(struct hg_handle *handle);

/* Those that still wait are refused: the context ends. */
void amg_pulls_refuse(hg_context_t *context);

#endif
