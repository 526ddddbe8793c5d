/* SPDX-License-Identifier: BSD-3-Clause */
/* From the user's structs to message bytes, and back. */
#ifndef AMG_RPC_ENCODE_H
#define AMG_RPC_ENCODE_H

#include "rpc/handle.h"

/* Encodes `user` behind the head of `buf` and says in `ret_len` how long the
 * message is, and in `ret_flags` AMG_HEADER_MORE when the arguments are
 * exposed instead (then `args` has them). HG_OVERFLOW, HG_NOMEM, or what the
 * proc returned; nothing is kept then. */
hg_return_t amg_rpc_encode(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    void *user, struct amg_buf *buf, struct amg_args *args, uint32_t *ret_len,
    uint8_t *ret_flags);

/* Runs the proc over received bytes: HG_DECODE or HG_FREE. */
hg_return_t amg_rpc_decode(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    hg_proc_op_t op, const struct amg_args *args, void *user);

#endif
