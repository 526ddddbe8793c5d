/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of messages as programs see them, and their own headers in them. */
#ifndef AMG_RPC_RAW_H
#define AMG_RPC_RAW_H

#include "rpc/handle.h"

/* A new call has no header of the user's yet: the place is zero again. */
void amg_raw_clear(struct hg_handle *handle);

/* Copies the user's own header into the message that is about to be sent. */
void amg_raw_send(
    const struct hg_handle *handle, void *message, uint16_t user_len);

/* Gives the message of a request back, as far as it is not needed for the
 * answer. Arguments that did not fit into it stay. */
void amg_raw_release(struct hg_handle *handle);

#endif
