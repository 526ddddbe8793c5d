/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding of the user's structs into message bytes, and back. */
#ifndef AMG_RPC_ENCODE_H
#define AMG_RPC_ENCODE_H

#include <string.h>

#include "rpc/handle.h"
#include "wire/header.h"
#include "wire/proc.h"

/* Length of exposed arguments that the sender states in `args`; unverified. */
uint64_t amg_overflow_len(const struct amg_args *args);

/* Called at the end of a pull. HG_SUCCESS: the pull's `args` hold the bytes. */
typedef void (*amg_overflow_done_fn)(struct hg_handle *handle, hg_return_t rc);

/* Starts to pull `len` bytes, the result of amg_overflow_len(), from the memory
 * that the descriptor in `args` names. `len` is passed in because the sender
 * may change the message between two reads. `done` is called only if HG_SUCCESS
 * is returned, maybe before the return. HG_PROTOCOL_ERROR: bad descriptor. */
hg_return_t amg_overflow_fetch(struct hg_handle *handle, struct amg_args *args,
    uint64_t len, amg_overflow_done_fn done);

/* A message that is being written; on the stack of the sender. */
struct amg_message {
    struct amg_buf *buf; /* amg_rpc_encode() may set a longer buffer */
    uint16_t user_len;   /* bytes of the user's own header */
    /* Set by amg_rpc_encode(). */
    uint32_t len;  /* of the whole message */
    uint8_t flags; /* AMG_HEADER_MORE, AMG_HEADER_SUMMED */
};

/* Encodes `user` into the message, behind the head and the user's own header.
 * Long arguments go into a longer buffer of the driver; if the driver has none,
 * they are exposed (AMG_HEADER_MORE), and `args` owns their memory.
 * AMG_HEADER_SUMMED: a checksum follows the arguments. After HG_OVERFLOW,
 * HG_NOMEM, or an error of the proc, `args` owns no memory. */
hg_return_t amg_rpc_encode_args(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    void *user, struct amg_args *args, struct amg_message *message);

/* Calls amg_rpc_encode_args(), if there are arguments to encode. */
static inline hg_return_t amg_rpc_encode(struct hg_handle *handle,
    hg_proc_cb_t proc_cb, void *user, struct amg_args *args,
    struct amg_message *message)
{
    message->len = AMG_HEADER_LEN + message->user_len;
    message->flags = 0;
    args->len = 0;
    if (proc_cb == NULL || user == NULL)
        return HG_SUCCESS;
    return amg_rpc_encode_args(handle, proc_cb, user, args, message);
}

/* Appends a checksum of the `len` bytes at `args`, which are the arguments, or
 * the descriptor of exposed arguments. */
void amg_rpc_sum(void *args, uint32_t len);

/* Completes a written head with the fields that only some classes use: the
 * length of the user's header, and the checksum of head and user's header. */
static inline void amg_rpc_seal(
    const hg_class_t *cls, void *message, uint16_t user_len)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);

    if (!amg_rpc_is_plain(rpcs))
        amg_header_complete(
            message, user_len, rpcs->checksum_level != HG_CHECKSUM_NONE);
}

/* Sets `args` to the arguments in a message of `len` bytes with the head
 * `header`, or to the descriptor of exposed arguments. HG_CHECKSUM_ERROR: the
 * descriptor is damaged. amg_rpc_check() checks the arguments themselves. */
hg_return_t amg_rpc_take(struct amg_args *args, void *message, uint64_t len,
    const struct amg_header *header);

/* HG_CHECKSUM_ERROR: the arguments were damaged on the way. */
hg_return_t amg_rpc_check(const struct amg_args *args);

/* Completes a message whose head is written: the user's own header, and what
 * amg_rpc_seal() writes. */
static inline void amg_rpc_finish(
    const struct hg_handle *handle, const struct amg_message *message)
{
    char *place = (char *)message->buf->data + AMG_HEADER_LEN;

    if (message->user_len != 0 && handle->raw != NULL)
        memcpy(place, handle->raw, message->user_len);
    else if (message->user_len != 0)
        memset(place, 0, message->user_len);
    amg_rpc_seal(handle->info.hg_class, message->buf->data, message->user_len);
}

#endif
