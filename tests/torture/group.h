/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin's side of calls to groups: the group, its members' fates, and the
 * outputs, folded or gathered. The book has a call for each member, which the
 * origin posts and ends when the call to all has ended. */
#ifndef TESTS_TORTURE_GROUP_H
#define TESTS_TORTURE_GROUP_H

#include "message.h"
#include "origin.h"

/* Registers the RPCs for groups, and their reductions. */
void group_register(struct world_class *cls);
hg_id_t group_rpc(const struct origin *origin);

/* Makes the group of a call. Returns how many messages between ranks may be
 * cancelled, or be sent to no context. */
unsigned group_make(struct origin *origin);
void group_free(struct group *group);

/* Posts the call. */
hg_return_t group_forward(
    struct origin *origin, hg_cb_t callback, struct message_in *in);

/* The call has ended with origin->code: checks names and outputs. */
void group_ended(struct origin *origin, hg_handle_t handle);

/* The code and the runs of the handler that a member may end with. */
bool group_member_is_right(const struct plan *plan,
    const struct plan_call *call, const struct book_fate *fate);

#endif
