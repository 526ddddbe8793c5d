/* SPDX-License-Identifier: BSD-3-Clause */
/* Long answers that wait for their origin to pull them. */
#ifndef AMG_RPC_ACKS_H
#define AMG_RPC_ACKS_H

#include "rpc/handle.h"

/* The answer in `handle` is about to be sent; from now on the word of its
 * origin may come. Gives it a token. HG_NOMEM. */
hg_return_t amg_acks_wait(struct hg_handle *handle);
/* It could not be sent. False: that word has come, and the call is over. */
bool amg_acks_unwait(struct hg_handle *handle);

/* The message has left, or never will, as `ret` says. True: the call is over,
 * with handle->ret, and the caller's to end. */
bool amg_acks_left(struct hg_handle *handle, hg_return_t ret);

/* That word came. The handle that waited, for the caller to end; NULL: none
 * does any more, or its message has yet to leave. */
struct hg_handle *amg_acks_take(
    hg_context_t *context, const struct hg_addr *from, uint64_t token);

/* Ends the wait of one, as `ret` says. True: the caller is to end it; false: it
 * has ended, or will when its message is given up. */
bool amg_acks_give_up(struct hg_handle *handle, hg_return_t ret);
/* The same of any that waits in a context that ends; NULL: none is left. */
struct hg_handle *amg_acks_give_up_any(hg_context_t *context);

/* When the context looks: asks origins that have been silent whether they are
 * still there. `lost` is told of each handle whose origin is not, and ends it.
 */
typedef void (*amg_acks_lost_fn)(struct hg_handle *handle);
void amg_acks_look(
    hg_context_t *context, uint64_t now_ns, amg_acks_lost_fn lost);

#endif
