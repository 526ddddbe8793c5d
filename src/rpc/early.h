/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that came before their RPC was registered. */
#ifndef AMG_RPC_EARLY_H
#define AMG_RPC_EARLY_H

#include "rpc/handle.h"

/* Keeps a request for an RPC that is not known yet: amg_serve_known() is run
 * for it once more, when it is, or when the program makes progress, or the
 * context is some seconds old. False: one of these is so already, so it is not
 * going to be. */
bool amg_early_keep(struct hg_handle *handle);

/* The RPC was registered. */
void amg_early_serve(hg_class_t *cls, hg_id_t id);

/* When the context looks: by a thread of the program, or when it is old enough,
 * nothing is kept any longer. */
void amg_early_look(hg_context_t *context);
/* Nothing is, whoever asks. */
void amg_early_end(hg_context_t *context);

#endif
