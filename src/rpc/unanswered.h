/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose handle the program gave back before it answered them. */
#ifndef AMG_RPC_UNANSWERED_H
#define AMG_RPC_UNANSWERED_H

#include "rpc/handle.h"

/* May it still be let go of before it is answered? */
static inline bool amg_unanswered_is_open(const struct hg_handle *handle)
{
    enum amg_handle_state state = amg_handle_state(handle);

    return state == AMG_HANDLE_RUNNING || state == AMG_HANDLE_REPLYING;
}

/* The program gives a reference of a call back that it has not answered, as
 * amg_handle_let_go(). False: it has none, or the call is being given up. */
bool amg_unanswered_drop(struct hg_handle *handle, int share);

/* The program answers a call of which it has no reference, and has that of the
 * answer then. False: it is being given up. */
bool amg_unanswered_claim(struct hg_handle *handle);
/* An answer could not be sent. The handle may be gone after that. */
void amg_unanswered_again(struct hg_handle *handle);

/* When the context looks: gives up what is due. */
void amg_unanswered_look(hg_context_t *context, uint64_t now_ns);
/* The context is about to go: gives all up. */
void amg_unanswered_end(hg_context_t *context);

#endif
