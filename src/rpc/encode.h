/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding of the user's structs into message bytes, and back. */
#ifndef AMG_RPC_ENCODE_H
#define AMG_RPC_ENCODE_H

#include <string.h>

#include "rpc/handle.h"
#include "wire/header.h"
#include "wire/proc.h"

/* Length of exposed arguments as stated by the sender in `args`; unverified. */
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
    struct amg_buf *buf; /* NULL: the message is in `now` */
    uint16_t user_len;   /* bytes of the user's own header */
    uint8_t flags;       /* AMG_HEADER_MORE, AMG_HEADER_SUMMED */
    uint32_t len;        /* of the whole message */
    uint64_t now[AMG_NOW_LEN / sizeof(uint64_t)];
};

/* Get the buffer of a call's message from the driver, and give it back. */
static inline hg_return_t amg_rpc_get_buf(
    const struct hg_handle *handle, struct amg_message *message)
{
    struct amg_ep *ep = amg_handle_ep(handle);

    return ep->transport->msg.get_buf(ep, handle->addr.peer, &message->buf);
}
static inline void amg_rpc_put_buf(
    const struct hg_handle *handle, const struct amg_message *message)
{
    struct amg_ep *ep = amg_handle_ep(handle);

    ep->transport->msg.put_buf(ep, message->buf);
}

/* Copies a complete message from `now` to a buffer. Errors of the driver. */
static inline hg_return_t amg_rpc_move_to_buf(
    const struct hg_handle *handle, struct amg_message *message)
{
    hg_return_t rc = amg_rpc_get_buf(handle, message);

    if (rc == HG_SUCCESS)
        memcpy(message->buf->data, message->now, message->len);
    return rc;
}

/* An encoding of arguments, on the stack. Owns the driver's longer buffers
 * until one becomes the buffer of the message.
 *
 * If the last arguments of an RPC were short, and their proc did not ask for
 * the size or place of the buffer, the next encoding begins in `now` of the
 * message, which the driver can send without a buffer. If the arguments are
 * longer now, or the proc asks, the proc goes on in a buffer of the driver. */
struct amg_encoding {
    struct hg_proc proc;
    struct amg_message message;
    hg_return_t rc;      /* of the attempt to get a buffer for the message */
    struct amg_buf *buf; /* longer buffer, or NULL */
    struct amg_buf *old; /* former longer buffer, until copied to `buf` */
};

extern const struct amg_proc_memory amg_encoding_memory;

static inline bool amg_rpc_is_summed(const struct hg_handle *handle)
{
    return amg_rpc_class_of(handle->info.hg_class)->checksum_level ==
           HG_CHECKSUM_RPC_PAYLOAD;
}

/* Bytes in front of the arguments and behind them. */
static inline uint32_t amg_message_around_len(
    const struct hg_handle *handle, const struct amg_message *message)
{
    return AMG_HEADER_LEN + message->user_len +
           (amg_rpc_is_summed(handle) ? AMG_HEADER_TAIL_LEN : 0);
}

/* Room for arguments in the buffer of the message; with no_overflow at most up
 * to the eager limit. */
static inline uint32_t amg_message_args_cap(
    const struct hg_handle *handle, const struct amg_message *message)
{
    const hg_class_t *cls = handle->info.hg_class;
    uint32_t cap = message->buf->cap;

    if (!AMG_LIKELY(!cls->plan.no_overflow)) {
        uint32_t eager = handle->is_incoming ? cls->limits.reply_len
                                             : cls->limits.request_len;

        cap = eager < cap ? eager : cap;
    }
    return cap - amg_message_around_len(handle, message);
}

/* Completes an encoding whose proc has returned `rc`. Called if `rc` is an
 * error, the bytes exceeded the room, or a checksum is needed. Returns `rc`, or
 * an error of the completion. */
hg_return_t amg_encoding_end(struct amg_encoding *encoding,
    struct amg_args *args, atomic_bool *was_short, hg_return_t rc);

/* Encodes `user` into the message of `encoding`, behind room for the head and
 * the user's own header. The message gets a buffer, unless `may_go_now`, the
 * class is plain, and these arguments and the last ones of the RPC are short.
 * Long arguments go into a longer buffer of the driver; if the driver has none,
 * their bytes are exposed (AMG_HEADER_MORE), and handle->in or ->out owns them.
 * AMG_HEADER_SUMMED: a checksum follows the arguments. After an error there is
 * neither: HG_OVERFLOW, HG_NOMEM, an error of the driver, or of the proc. */
static AMG_INLINE hg_return_t amg_rpc_encode(struct amg_encoding *encoding,
    struct hg_handle *handle, bool is_reply, void *user, bool may_go_now)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);
    struct amg_rpc *rpc = handle->rpc;
    struct amg_args *args = is_reply ? &handle->out : &handle->in;
    hg_proc_cb_t proc_cb = is_reply ? rpc->out_proc : rpc->in_proc;
    atomic_bool *was_short =
        is_reply ? &rpc->out_was_short : &rpc->in_was_short;
    struct amg_message *message = &encoding->message;
    char *room = (char *)message->now + AMG_HEADER_LEN;
    uint32_t cap = AMG_SHORT_LEN;
    hg_return_t rc = HG_SUCCESS;

    args->len = 0;
    message->buf = NULL;
    message->flags = 0;
    message->user_len = is_reply ? rpcs->out_offset : rpcs->in_offset;
    message->len = AMG_HEADER_LEN + message->user_len;
    if (!AMG_LIKELY(may_go_now && amg_rpc_is_plain(rpcs) &&
                    atomic_load_explicit(was_short, memory_order_relaxed))) {
        rc = amg_rpc_get_buf(handle, message);
        if (rc != HG_SUCCESS)
            return rc;
        room = (char *)message->buf->data + message->len;
        cap = amg_message_args_cap(handle, message);
    }
    if (proc_cb == NULL || user == NULL)
        return HG_SUCCESS;
    amg_proc_init(&encoding->proc, handle->info.hg_class, room, cap, HG_ENCODE);
    encoding->proc.handle = handle;
    if (!amg_addr_is_self(&handle->addr) &&
        !handle->info.hg_class->plan.no_bulk_eager)
        encoding->proc.flags = HG_PROC_BULK_EAGER;
    encoding->proc.memory = &amg_encoding_memory;
    encoding->proc.is_short = message->buf == NULL;
    encoding->buf = NULL;
    encoding->old = NULL;
    rc = proc_cb(&encoding->proc, user);
    if (!AMG_LIKELY(rc == HG_SUCCESS && encoding->proc.extra == NULL &&
                    (message->buf == NULL || !amg_rpc_is_summed(handle))))
        return amg_encoding_end(encoding, args, was_short, rc);
    args->len = (uint64_t)(encoding->proc.at.pos - encoding->proc.buf);
    amg_proc_note_short(&encoding->proc, args->len <= AMG_SHORT_LEN, was_short);
    message->len += (uint32_t)args->len;
    return HG_SUCCESS;
}

/* Encodes `user` by `proc_cb`, which may be NULL, into memory apart from a
 * message: `short_args` of AMG_SHORT_LEN bytes, or heap memory that `args` then
 * owns. */
hg_return_t amg_rpc_encode_apart(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    void *user, struct amg_args *args, uint64_t *short_args);

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

/* Completes a message whose head is written: adds the user's own header, and
 * what amg_rpc_seal() writes. */
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
