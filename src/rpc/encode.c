/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding of the user's structs into message bytes, and back. */
#include "rpc/encode.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "wire/header.h"
#include "wire/proc.h"

/* Upper limit of the memory that a peer can make us allocate for one call. */
#define FETCH_LEN_MAX ((uint64_t)1 << 40)

/* A pull of long arguments; the end of its transfer, fetch_done(), frees it. */
struct fetch {
    struct hg_handle *handle;
    struct amg_args *args;
    amg_overflow_done_fn done;
    struct hg_bulk *remote;
    struct hg_bulk *local;
};

static void *long_place(
    const struct amg_encoding *encoding, const struct amg_buf *buf)
{
    return (char *)buf->data + AMG_HEADER_LEN + encoding->message.user_len;
}

static void long_put(const struct hg_handle *handle, struct amg_buf **buf)
{
    struct amg_ep *ep = amg_handle_ep(handle);

    if (*buf != NULL)
        ep->transport->msg.put_buf(ep, *buf);
    *buf = NULL;
}

/* Gets a buffer for the message; the encoding goes on in that buffer. */
static bool message_widen(struct hg_proc *proc)
{
    struct amg_encoding *encoding =
        amg_container_of(proc, struct amg_encoding, proc);
    struct amg_message *message = &encoding->message;

    encoding->rc = amg_rpc_get_buf(proc->handle, message);
    if (encoding->rc != HG_SUCCESS)
        return false;
    amg_proc_move(proc, long_place(encoding, message->buf),
        amg_message_args_cap(proc->handle, message));
    return true;
}

static void *extra_alloc(
    struct hg_proc *proc, hg_size_t len, hg_size_t *ret_cap)
{
    struct amg_encoding *encoding =
        amg_container_of(proc, struct amg_encoding, proc);
    const struct hg_handle *handle = proc->handle;
    struct amg_ep *ep = amg_handle_ep(handle);
    uint32_t around_len = amg_message_around_len(handle, &encoding->message);
    struct amg_buf *buf = NULL;

    if (handle->info.hg_class->plan.no_overflow ||
        len > AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN ||
        ep->transport->msg.get_long_buf(ep, handle->addr.peer,
            (uint32_t)len + around_len, &buf) != HG_SUCCESS)
        return NULL;
    AMG_ASSERT(buf->cap >= len + around_len);
    long_put(handle, &encoding->old); /* set if a proc took the buffer over */
    encoding->old = encoding->buf;
    encoding->buf = buf;
    *ret_cap = buf->cap - around_len;
    return long_place(encoding, buf);
}

static void extra_free(struct hg_proc *proc, void *ptr)
{
    struct amg_encoding *encoding =
        amg_container_of(proc, struct amg_encoding, proc);

    if (encoding->old != NULL && ptr == long_place(encoding, encoding->old))
        long_put(proc->handle, &encoding->old);
    else if (encoding->buf != NULL &&
             ptr == long_place(encoding, encoding->buf))
        long_put(proc->handle, &encoding->buf);
    else
        amg_mem_free(ptr);
}

const struct amg_proc_memory amg_encoding_memory = {
    message_widen, extra_alloc, extra_free};

/* Makes the longer buffer the buffer of the message, if the arguments are in
 * the longer one; returns the place of the arguments, or NULL. */
static char *long_take(struct amg_encoding *encoding)
{
    struct hg_proc *proc = &encoding->proc;

    if (encoding->buf == NULL ||
        proc->extra != long_place(encoding, encoding->buf))
        return NULL;
    proc->extra_is_taken = true;
    long_put(proc->handle, &encoding->message.buf);
    encoding->message.buf = encoding->buf;
    encoding->buf = NULL;
    return proc->extra;
}

/* Exposes the extra buffer of `proc`, and writes its length, its sum if
 * `args->is_summed`, and its descriptor to `room`; `*ret_len`: bytes written.
 * HG_OVERFLOW: long arguments are forbidden, or the descriptor has no room. */
static hg_return_t overflow_expose(struct hg_handle *handle,
    struct hg_proc *proc, void *room, uint64_t cap, struct amg_args *args,
    uint32_t *ret_len)
{
    hg_class_t *cls = handle->info.hg_class;
    uint64_t total = hg_proc_get_size_used(proc);
    uint64_t front = sizeof(total) + (args->is_summed ? sizeof(args->sum) : 0);
    uint64_t need = 0;
    hg_return_t rc = HG_OVERFLOW;

    if (cls->plan.no_overflow) {
        AMG_LOG_ERROR("rpc",
            "RPC id 0x%llx: arguments of %llu bytes exceed a message's %llu, "
            "and the class was opened with no_overflow",
            (unsigned long long)handle->info.id, (unsigned long long)total,
            (unsigned long long)cap);
        return HG_OVERFLOW;
    }
    args->extra = hg_proc_get_extra_buf(proc);
    rc = amg_bulk_make_owning(
        cls, args->extra, total, HG_BULK_READ_ONLY, &args->extra_bulk);
    if (rc != HG_SUCCESS)
        goto forget_extra;
    hg_proc_set_extra_buf_is_mine(proc, 1); /* taken from the proc */
    rc = amg_bulk_register(args->extra_bulk);
    if (rc != HG_SUCCESS)
        goto drop_bulk;
    need = front + amg_bulk_packed_len(args->extra_bulk, 0);
    rc = HG_OVERFLOW;
    if (need > cap)
        goto drop_bulk;
    memcpy(room, &total, sizeof(total));
    if (args->is_summed) {
        args->sum = (uint32_t)amg_checksum_add(HG_CRC32, 0, args->extra, total);
        memcpy((char *)room + sizeof(total), &args->sum, sizeof(args->sum));
    }
    amg_bulk_pack(args->extra_bulk, 0, (char *)room + front);
    args->len = total;
    *ret_len = (uint32_t)need;
    return HG_SUCCESS;

drop_bulk:
    amg_bulk_leave(args->extra_bulk);
    args->extra_bulk = NULL;
forget_extra:
    args->extra = NULL;
    return rc;
}

uint64_t amg_overflow_len(const struct amg_args *args)
{
    uint64_t total = 0;

    if (args->len >= sizeof(total))
        memcpy(&total, args->data, sizeof(total));
    return total;
}

static void fetch_set_id(struct hg_handle *handle, struct hg_op_id *id)
{
    hg_context_t *context = handle->info.context;

    amg_lock_lock(&context->rpc->lock);
    handle->fetch = id;
    amg_lock_unlock(&context->rpc->lock);
}

static void fetch_done(struct hg_op_id *transfer)
{
    struct fetch *fetch = amg_transfer_owner(transfer);
    struct hg_handle *handle = fetch->handle;
    amg_overflow_done_fn done = fetch->done;
    hg_return_t rc = amg_transfer_result(transfer);

    fetch_set_id(handle, NULL);
    if (rc == HG_SUCCESS) {
        fetch->args->extra = fetch->local->owned;
        fetch->local->owned = NULL;
        fetch->args->data = fetch->args->extra;
        fetch->args->len = fetch->local->len;
    }
    amg_transfer_end(transfer);
    amg_bulk_leave(fetch->remote);
    amg_bulk_leave(fetch->local);
    amg_mem_free(fetch);
    done(handle, rc);
}

/* Reads the checksum and the descriptor, and allocates `total` bytes. */
static hg_return_t fetch_prepare(
    struct fetch *fetch, hg_class_t *cls, uint64_t total)
{
    struct amg_args *args = fetch->args;
    const char *bytes = args->data;
    uint64_t front = sizeof(total) + (args->is_summed ? sizeof(args->sum) : 0);
    void *data = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (args->len < front)
        return HG_PROTOCOL_ERROR;
    if (args->is_summed) /* from here on `sum` is that of the pulled bytes */
        memcpy(&args->sum, bytes + sizeof(total), sizeof(args->sum));
    rc = amg_bulk_unpack(
        cls, bytes + front, args->len - front, true, &fetch->remote);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_PROTOCOL_ERROR;
    if (total == 0 || total > fetch->remote->len || total > FETCH_LEN_MAX)
        goto drop_remote;
    rc = HG_NOMEM;
    data = amg_mem_alloc(total);
    if (data == NULL)
        goto drop_remote;
    rc = amg_bulk_make_owning(
        cls, data, total, HG_BULK_WRITE_ONLY, &fetch->local);
    if (rc != HG_SUCCESS)
        goto free_data;
    return HG_SUCCESS;

free_data:
    amg_mem_free(data);
drop_remote:
    amg_bulk_leave(fetch->remote);
    return rc;
}

hg_return_t amg_overflow_fetch(struct hg_handle *handle, struct amg_args *args,
    uint64_t len, amg_overflow_done_fn done)
{
    struct amg_transfer_plan plan = {
        .context = handle->info.context,
        .op = HG_BULK_PULL,
        .origin_addr = &handle->addr,
        .origin_context = handle->info.context_id,
    };
    struct fetch *fetch = amg_mem_zalloc(sizeof(*fetch));
    struct hg_op_id *transfer = NULL;
    hg_return_t rc = HG_NOMEM;

    if (fetch == NULL)
        return HG_NOMEM;
    fetch->handle = handle;
    fetch->args = args;
    fetch->done = done;
    rc = fetch_prepare(fetch, handle->info.hg_class, len);
    if (rc != HG_SUCCESS)
        goto free_fetch;
    plan.origin = fetch->remote;
    plan.local = fetch->local;
    plan.len = fetch->local->len;
    rc = amg_transfer_create(&plan, fetch_done, fetch, &transfer);
    if (rc != HG_SUCCESS)
        goto drop_bulks;
    fetch_set_id(handle, transfer);
    amg_transfer_go(transfer);
    return HG_SUCCESS;

drop_bulks:
    amg_bulk_leave(fetch->remote);
    amg_bulk_leave(fetch->local);
free_fetch:
    amg_mem_free(fetch);
    return rc;
}

static uint32_t sum_of(const void *data, uint64_t len)
{
    return (uint32_t)amg_checksum_add(HG_CRC32, 0, data, len);
}

void amg_rpc_sum(void *args, uint32_t len)
{
    uint32_t sum = sum_of(args, len);

    memcpy((char *)args + len, &sum, sizeof(sum));
}

/* After an encoding that exceeded its room: sets `*room` to the arguments in
 * the longer buffer, which replaces the message's buffer. Without a longer
 * buffer exposes the arguments, and sets `*room` to their descriptor in the
 * message's buffer, of `*room_len` bytes. */
static hg_return_t extra_finish(struct amg_encoding *encoding,
    struct amg_args *args, char **room, uint32_t *room_len)
{
    struct hg_handle *handle = encoding->proc.handle;
    struct amg_message *message = &encoding->message;
    char *place = NULL;

    if (message->buf == NULL) /* the bytes are on the heap */
        return encoding->rc;
    *room = long_place(encoding, message->buf);
    place = long_take(encoding);
    amg_counters_add(&handle->info.context->counters,
        handle->is_incoming ? AMG_COUNT_LONG_REPLIES : AMG_COUNT_LONG_REQUESTS);
    amg_counters_add_some(&handle->info.context->counters, AMG_COUNT_LONG_BYTES,
        (int64_t)args->len);
    if (place != NULL) {
        *room = place;
        return HG_SUCCESS;
    }
    args->is_summed = amg_rpc_is_summed(handle);
    message->flags = AMG_HEADER_MORE;
    return overflow_expose(handle, &encoding->proc, *room,
        amg_message_args_cap(handle, message), args, room_len);
}

hg_return_t amg_encoding_end(struct amg_encoding *encoding,
    struct amg_args *args, atomic_bool *was_short, hg_return_t rc)
{
    struct amg_message *message = &encoding->message;
    const struct hg_handle *handle = encoding->proc.handle;
    char *room = encoding->proc.buf;
    uint32_t room_len = 0;

    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "the proc of RPC id 0x%llx could not encode its arguments",
            (unsigned long long)handle->info.id);
        goto fini;
    }
    args->len = amg_proc_used(&encoding->proc);
    room_len = (uint32_t)args->len;
    amg_proc_note_short(&encoding->proc, args->len <= AMG_SHORT_LEN, was_short);
    if (encoding->proc.extra != NULL) {
        rc = extra_finish(encoding, args, &room, &room_len);
        if (rc != HG_SUCCESS)
            goto fini;
    }
    message->len += room_len;
    if (amg_rpc_is_summed(handle)) {
        amg_rpc_sum(room, room_len);
        message->len += AMG_HEADER_TAIL_LEN;
        message->flags |= AMG_HEADER_SUMMED;
    }

fini:
    amg_proc_fini(&encoding->proc);
    long_put(handle, &encoding->buf);
    long_put(handle, &encoding->old);
    if (rc != HG_SUCCESS && message->buf != NULL)
        amg_rpc_put_buf(handle, message);
    return rc;
}

hg_return_t amg_rpc_encode_apart(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    void *user, struct amg_args *args, uint64_t *short_args)
{
    hg_class_t *cls = handle->info.hg_class;
    uint64_t room[64];
    struct hg_proc proc;
    hg_return_t rc = HG_SUCCESS;

    args->data = short_args;
    args->len = 0;
    if (proc_cb == NULL || user == NULL)
        return HG_SUCCESS;
    amg_proc_init(&proc, cls, room, sizeof(room), HG_ENCODE);
    proc.handle = handle;
    proc.flags = cls->plan.no_bulk_eager ? 0 : HG_PROC_BULK_EAGER;
    rc = proc_cb(&proc, user);
    args->len = amg_proc_used(&proc);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "the proc of RPC id 0x%llx could not encode its arguments",
            (unsigned long long)handle->info.id);
    } else if (proc.extra != NULL) {
        args->extra = proc.extra;
        args->data = args->extra;
        proc.extra_is_taken = true;
    } else if (args->len <= AMG_SHORT_LEN) {
        memcpy(short_args, room, args->len);
    } else if ((args->extra = amg_mem_alloc(args->len)) == NULL) {
        rc = HG_NOMEM;
    } else {
        args->data = memcpy(args->extra, room, args->len);
    }
    amg_proc_fini(&proc);
    return rc;
}

hg_return_t amg_rpc_take(struct amg_args *args, void *message, uint64_t len,
    const struct amg_header *header)
{
    args->data = (char *)message + AMG_HEADER_LEN + header->user_len;
    args->len = amg_header_args_len(header, len);
    if ((header->flags & AMG_HEADER_SUMMED) == 0)
        return HG_SUCCESS;
    args->is_summed = true;
    memcpy(&args->sum, (const char *)args->data + args->len, sizeof(args->sum));
    return (header->flags & AMG_HEADER_MORE) != 0 ? amg_rpc_check(args)
                                                  : HG_SUCCESS;
}

hg_return_t amg_rpc_check(const struct amg_args *args)
{
    return args->is_summed && sum_of(args->data, args->len) != args->sum
               ? HG_CHECKSUM_ERROR
               : HG_SUCCESS;
}
