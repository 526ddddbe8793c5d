/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose handle the program gave back before it answered them. */
#ifndef AMG_RPC_UNANSWERED_H
#define AMG_RPC_UNANSWERED_H

#include "rpc/handle.h"

/* The program gives a reference of a call back that it has not answered, as
 * amg_handle_let_go(). False: it has none, or the call is being given up. */
bool amg_unanswered_drop(struct hg_handle *handle, int share);

/* The program answers a call of which it has no reference. False: it is being
 * given up. */
bool amg_unanswered_claim(struct hg_handle *handle);
/* That answer could not be sent. */
void amg_unanswered_again(struct hg_handle *handle);

/* When the context looks: gives up what is due. */
void amg_unanswered_look(hg_context_t *context, uint64_t now_ns);
/* The context is about to go: gives all up. */
void amg_unanswered_end(hg_context_t *context);

#endif
