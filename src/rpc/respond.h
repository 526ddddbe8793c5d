/* SPDX-License-Identifier: BSD-3-Clause */
/* Answer to a call, from its target back to its origin. */
#ifndef AMG_RPC_RESPOND_H
#define AMG_RPC_RESPOND_H

#include "rpc/handle.h"

/* Periodic check of the context: probes origins that have been silent. `lost`
 * is called for each handle whose origin is gone, and ends it. */
typedef void (*amg_acks_lost_fn)(struct hg_handle *handle);

/* Answers with a code and no arguments, before the user saw the call. */
void amg_respond_code(struct hg_handle *handle, hg_return_t ret);

/* The user dropped a call without an answer: sends HG_CANCELED, so that the
 * origin does not wait forever. */
void amg_respond_for_user(struct hg_handle *handle);

/* At the origin: tells `to` that its long reply with `token` was pulled, or
 * will not be. */
void amg_respond_send_ack(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, uint64_t token);
/* At the target: handles the ACK for the reply with `token`. */
void amg_respond_take_ack(
    hg_context_t *context, const struct hg_addr *from, uint64_t token);

/* The program stops waiting for the end of its answer. */
void amg_respond_cancel(struct hg_handle *handle);

/* Periodic check of the context: finds origins that do not pull. */
void amg_respond_look(hg_context_t *context, uint64_t now_ns);

/* Ends all waits for ACKs, before the context is destroyed. */
void amg_respond_abandon(hg_context_t *context);

#endif
