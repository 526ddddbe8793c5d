/* SPDX-License-Identifier: BSD-3-Clause */
/* Answer to a call, from its target back to its origin. */
#ifndef AMG_RPC_RESPOND_H
#define AMG_RPC_RESPOND_H

#include "rpc/handle.h"

/* When the context looks: asks origins that have been silent whether they are
 * still there. `lost` is told of each handle whose origin is not, and ends it.
 */
typedef void (*amg_acks_lost_fn)(struct hg_handle *handle);

/* Answers with a code and no arguments, before the user saw the call. */
void amg_respond_code(struct hg_handle *handle, hg_return_t ret);

/* The user let go of a call without an answer: HG_CANCELED is sent, so that
 * its origin does not wait for ever. */
void amg_respond_for_user(struct hg_handle *handle);

/* At the origin: tells `to` that its long reply of `token` was pulled, or will
 * not be. */
void amg_respond_send_ack(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, uint64_t token);
/* At the target: that word came, for the reply of `token`. */
void amg_respond_take_ack(
    hg_context_t *context, const struct hg_addr *from, uint64_t token);

/* The program does not want to wait for the end of its answer. */
void amg_respond_cancel(struct hg_handle *handle);

/* When the context looks: after origins that do not pull. */
void amg_respond_look(hg_context_t *context, uint64_t now_ns);

/* Ends all waiting for such words; the context is about to go. */
void amg_respond_abandon(hg_context_t *context);

#endif
