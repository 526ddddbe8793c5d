/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle: how they leave.
 *
 * A call leaves at once, in a message of its own, unless another call to its
 * peer has left since the last call of HG_Progress(). In that case the call
 * begins a message, and further calls of the same RPC to the peer are added as
 * records. To keep the calls to a peer in order, the message leaves before a
 * call that cannot be added, and before a request or reply of a handle. The
 * message also leaves when the program makes progress or has run callbacks, and
 * before a thread that makes progress blocks. No message is begun meanwhile.
 *
 * The slot of a message is a hash of its peer. If two peers share a slot, a
 * call to one peer first sends the message that was begun for the other peer.
 *
 * The target serves plain requests without a handle (serve.c). Any other
 * request, for instance with checksums, or before the RPC is registered, gets a
 * handle, whose bytes oneway_serve() passes to the handler. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/addr.h"
#include "mercury_class.h"
#include "rpc/encode.h"
#include "wire/records.h"

_Static_assert(AMALGAM_ONEWAY_MAX + AMG_RELAYED_LEN == AMG_RECORD_ARG_MAX,
    "an argument fits into a record, also through leaders");

/* Messages through leaders to other nodes, and to the leader of this node, are
 * in the second half of the slots, so that they wait for no others. */
enum { SLOT_BITS = 5, SLOTS = 1 << SLOT_BITS, SLOTS_ALL = 2 * SLOTS };

/* The calls to one peer. */
struct stream {
    /* Of the last call; may be gone. NULL: a message through leaders. */
    const struct amg_peer *peer;
    unsigned turn; /* context->turns when a call left at once */
    /* The message that was begun, if any. The context counts such a message as
     * an operation in flight. */
    hg_id_t id;
    char *end;     /* end of the message's records */
    uint32_t room; /* bytes behind `end`; 0: no message */
    int count;     /* number of records */
    struct amg_buf *buf;
    struct hg_addr to;
};

/* Owned by the context. */
struct amg_streams {
    struct amg_bias lock; /* guards the slots; taken before drivers' locks */
    uint32_t len_max;     /* limit of a message's records; 0: no records */
    struct stream slots[SLOTS_ALL];
};

_Static_assert(SLOTS_ALL <= 64, "the bits of context->unsent");

hg_return_t amg_streams_open(struct amg_rpc_context *rpc)
{
    struct amg_streams *streams = amg_mem_zalloc(sizeof(*streams));

    if (streams == NULL)
        return HG_NOMEM;
    amg_bias_init(&streams->lock);
    streams->len_max = (uint32_t)amg_env_number(AMG_ENV_PACK_BYTES);
    rpc->streams = streams;
    return HG_SUCCESS;
}

void amg_streams_close(struct amg_rpc_context *rpc)
{
    for (unsigned i = 0; i < SLOTS_ALL; i++)
        AMG_ASSERT(rpc->streams->slots[i].buf == NULL);
    amg_mem_free(rpc->streams);
}

static inline unsigned slot_of(const struct amg_peer *peer)
{
    return (unsigned)((uint64_t)(uintptr_t)peer * 0x9e3779b97f4a7c15u >>
                      (64 - SLOT_BITS));
}

static inline unsigned turn_now(const hg_context_t *context)
{
    return atomic_load_explicit(&context->turns, memory_order_relaxed);
}

/* A message that waits for a credit of its peer. A one-way call creates such a
 * message only if no request to the peer waits; otherwise the call is refused.
 * A call or reply of a handle creates at most one per peer; see late_step(). */
struct late {
    struct amg_op op;
    hg_context_t *context;
    struct hg_addr to;
    int count; /* calls in the message */
};

/* Logs accepted calls that will not be handled. */
static void lost_log(const struct hg_addr *to, int count, const char *why)
{
    char text[256];

    AMG_LOG_WARNING("rpc", "%d one-way calls to %s are lost: %s", count,
        amg_addr_text(to, text, sizeof(text)), why);
}

static void late_step(struct amg_op *op)
{
    struct late *late = amg_container_of(op, struct late, op);
    hg_context_t *context = late->context;

    if (op->ret != HG_SUCCESS)
        lost_log(&late->to, late->count, HG_Error_to_string(op->ret));
    amg_addr_fini(&late->to);
    amg_mem_free(late);
    if (context->rpc->direct_end == 0) /* relay.c may wait for this */
        amg_context_look_at(context, 0);
    amg_context_leave(context);
}

/* Hands a message to the driver, which sends it when a credit returns. */
AMG_NOINLINE static hg_return_t late_send(hg_context_t *context,
    const struct hg_addr *to, const struct amg_message *message, int count)
{
    struct amg_ep *ep = amg_context_ep(context, to->route);
    struct late *late = amg_mem_zalloc(sizeof(*late));
    hg_return_t rc = HG_SUCCESS;

    if (late == NULL)
        return HG_NOMEM;
    late->op.step = late_step;
    late->context = context;
    late->count = count;
    amg_addr_init_copy(to, &late->to);
    amg_context_enter(context);
    rc = ep->transport->msg.send_request(ep, (struct amg_target){to->peer, 0},
        message->buf, message->len, false, &late->op);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_context_leave(context);
    amg_addr_fini(&late->to);
    amg_mem_free(late);
    return rc;
}

/* Sets or clears the bit of a slot in context->unsent. */
static void unsent_set_locked(
    hg_context_t *context, const struct stream *stream, bool is_unsent)
{
    uint64_t bit = UINT64_C(1) << (stream - context->rpc->streams->slots);
    uint64_t bits =
        atomic_load_explicit(&context->unsent, memory_order_relaxed);

    AMG_ASSERT_HELD_BIAS(&context->rpc->streams->lock);
    atomic_store_explicit(&context->unsent,
        is_unsent ? bits | bit : bits & ~bit, memory_order_relaxed);
}

/* Clears a stream whose message has left or is lost. */
static void stream_end_locked(hg_context_t *context, struct stream *stream)
{
    AMG_ASSERT_HELD_BIAS(&context->rpc->streams->lock);
    AMG_ASSERT(stream->buf != NULL && stream->count > 0);
    stream->buf = NULL;
    stream->room = 0;
    amg_addr_fini(&stream->to);
    unsent_set_locked(context, stream, false);
    amg_context_leave(context);
}

static void stream_count(hg_context_t *context, int count)
{
    struct amg_counters *counters = &context->counters;

    amg_counters_add_some(counters, AMG_COUNT_REQUESTS_SENT, count);
    if (count == 1)
        return;
    amg_counters_add(counters, AMG_COUNT_PACKED_MESSAGES);
    amg_counters_add_some(counters, AMG_COUNT_PACKED_CALLS, count);
}

/* Sends the message of a stream. Without a credit, the driver queues it; behind
 * earlier requests only if `is_final`, otherwise HG_AGAIN. HG_AGAIN, HG_NOMEM:
 * the stream keeps the message. After other errors the message is lost. */
static hg_return_t stream_send_locked(
    hg_context_t *context, struct stream *stream, bool is_final)
{
    struct amg_ep *ep = amg_context_ep(context, stream->to.route);
    struct amg_message message = {.buf = stream->buf};
    unsigned route = stream->to.route;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&context->rpc->streams->lock);
    message.len = (uint32_t)(stream->end - (char *)stream->buf->data);
    rc = ep->transport->msg.send_request(ep,
        (struct amg_target){stream->to.peer, 0}, message.buf, message.len,
        false, NULL);
    if (rc == HG_BUSY || (rc == HG_AGAIN && is_final))
        rc = late_send(context, &stream->to, &message, stream->count);
    if (rc == HG_AGAIN || rc == HG_NOMEM)
        return rc;
    if (rc == HG_SUCCESS) {
        stream_count(context, stream->count);
    } else {
        lost_log(&stream->to, stream->count, HG_Error_to_string(rc));
        ep->transport->msg.put_buf(ep, message.buf);
    }
    stream_end_locked(context, stream);
    amg_context_posted(context, route);
    return rc;
}

/* Has a call to the peer left at once in this turn? */
static inline bool stream_is_next(
    const struct stream *stream, const struct amg_peer *peer, unsigned turn)
{
    return stream->peer == peer && stream->turn == turn;
}

/* Is there room for a call in the message of a stream? */
static inline bool stream_fits(const struct stream *stream,
    const struct amg_peer *peer, hg_id_t id, uint32_t len)
{
    return stream->peer == peer && stream->id == id &&
           stream->room >= amg_record_len(len);
}

/* Counts a call that was written to the end of the message. */
static inline void stream_grow_locked(
    const struct amg_streams *streams, struct stream *stream, uint32_t len)
{
    AMG_ASSERT_HELD_BIAS(&streams->lock);
    stream->end += amg_record_len(len);
    stream->room -= amg_record_len(len);
    stream->count++;
}

/* May a thread that makes progress be blocked? */
static bool is_blocked(const hg_context_t *context)
{
    return amg_cq_waiting(&context->cq) != 0;
}

/* Begins a message with a call to stream->peer, or through leaders. HG_MSGSIZE:
 * the call must be sent alone, and does not go through leaders. */
static AMG_INLINE hg_return_t stream_begin_locked(hg_context_t *context,
    struct stream *stream, const struct hg_addr *to, hg_id_t id,
    const void *arg, uint32_t len)
{
    struct amg_ep *ep = amg_context_ep(context, to->route);
    uint32_t room = context->rpc->streams->len_max;
    uint8_t group = stream->peer == NULL ? AMG_HEADER_GROUP : 0;
    hg_return_t rc = ep->transport->msg.get_buf(ep, to->peer, &stream->buf);

    AMG_ASSERT_HELD_BIAS(&context->rpc->streams->lock);
    AMG_ASSERT(stream->room == 0);
    if (rc != HG_SUCCESS) {
        stream->buf = NULL;
        return rc;
    }
    if (group != 0 && room < amg_record_len(len))
        room = amg_record_len(len);
    if (room > stream->buf->cap - AMG_HEADER_LEN)
        room = (stream->buf->cap - AMG_HEADER_LEN) & ~7u;
    if (room < amg_record_len(len)) {
        ep->transport->msg.put_buf(ep, stream->buf);
        stream->buf = NULL;
        return HG_MSGSIZE;
    }
    amg_header_write_request(
        stream->buf->data, AMG_HEADER_ONE_WAY | AMG_HEADER_SEVERAL | group, id);
    amg_addr_init_copy(to, &stream->to);
    stream->id = id;
    stream->end = (char *)stream->buf->data + AMG_HEADER_LEN;
    stream->room = room;
    stream->count = 0;
    amg_record_write(stream->end, arg, len);
    stream_grow_locked(context->rpc->streams, stream, len);
    amg_context_enter(context);
    unsent_set_locked(context, stream, true);
    atomic_thread_fence(memory_order_seq_cst); /* see hg_context.unsent */
    if (is_blocked(context))
        (void)stream_send_locked(context, stream, false);
    return HG_SUCCESS;
}

/* Sends a short call at once, if the driver can. */
static inline bool single_send_now(hg_context_t *context, struct amg_ep *ep,
    struct amg_peer *peer, hg_id_t id, const void *arg, uint32_t len)
{
    uint64_t words[AMG_NOW_LEN / sizeof(uint64_t)];

    if (len > AMG_NOW_LEN - AMG_HEADER_LEN ||
        !amg_rpc_is_plain(amg_rpc_class_of(context->cls)))
        return false;
    amg_header_write_request(words, AMG_HEADER_ONE_WAY, id);
    if (AMG_LIKELY(len == sizeof(words[0])))
        memcpy((char *)words + AMG_HEADER_LEN, arg, sizeof(words[0]));
    else if (len > 0)
        memcpy((char *)words + AMG_HEADER_LEN, arg, len);
    return ep->transport->msg.request_now(ep, (struct amg_target){peer, 0},
        words, AMG_HEADER_LEN + len, false, NULL);
}

/* Writes a one-way request of any class. HG_MSGSIZE: the bytes do not fit. */
static hg_return_t single_encode(const hg_class_t *cls, hg_id_t id,
    const void *bytes, uint32_t len, struct amg_message *message)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);
    bool is_summed = rpcs->checksum_level == HG_CHECKSUM_RPC_PAYLOAD;
    uint32_t tail_len = is_summed ? AMG_HEADER_TAIL_LEN : 0;
    uint64_t need = (uint64_t)AMG_HEADER_LEN + rpcs->in_offset + len + tail_len;
    char *room = (char *)message->buf->data + AMG_HEADER_LEN;

    if (need > message->buf->cap)
        return HG_MSGSIZE;
    amg_header_write_request(message->buf->data,
        AMG_HEADER_ONE_WAY | (is_summed ? AMG_HEADER_SUMMED : 0), id);
    memset(room, 0, rpcs->in_offset); /* the user's header: zeros */
    room += rpcs->in_offset;
    if (len > 0)
        memcpy(room, bytes, len);
    if (is_summed)
        amg_rpc_sum(room, len);
    amg_rpc_seal(cls, message->buf->data, rpcs->in_offset);
    message->len = (uint32_t)need;
    return HG_SUCCESS;
}

/* Sends a call of any length, in any class, in a buffer of the driver. */
AMG_NOINLINE static hg_return_t single_send(hg_context_t *context,
    const struct hg_addr *to, hg_id_t id, const void *arg, uint32_t len)
{
    struct amg_ep *ep = amg_context_ep(context, to->route);
    struct amg_message message = {.buf = NULL};
    hg_return_t rc = ep->transport->msg.get_buf(ep, to->peer, &message.buf);

    if (rc != HG_SUCCESS)
        return rc;
    rc = single_encode(context->cls, id, arg, len, &message);
    if (rc == HG_SUCCESS)
        rc = ep->transport->msg.send_request(ep,
            (struct amg_target){to->peer, 0}, message.buf, message.len, false,
            NULL);
    if (rc == HG_BUSY)
        rc = late_send(context, to, &message, 1);
    if (!AMG_LIKELY(rc == HG_SUCCESS))
        ep->transport->msg.put_buf(ep, message.buf);
    return rc;
}

/* Sends a call in a message of its own. */
static inline hg_return_t call_send_alone(hg_context_t *context,
    const struct hg_addr *to, hg_id_t id, const void *arg, uint32_t len)
{
    struct amg_ep *ep = amg_context_ep(context, to->route);

    if (!single_send_now(context, ep, to->peer, id, arg, len)) {
        hg_return_t rc = single_send(context, to, id, arg, len);

        if (rc != HG_SUCCESS)
            return rc;
    }
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_SENT);
    amg_context_posted(context, to->route);
    return HG_SUCCESS;
}

/* Sends a call that does not fit into the message of its stream, or whose
 * stream has no message. If the stream has a message to another peer that
 * cannot leave, that message stays, and the call goes alone. */
static hg_return_t call_send_locked(hg_context_t *context,
    struct stream *stream, const struct hg_addr *to, hg_id_t id,
    const void *arg, uint32_t len)
{
    bool is_next = stream_is_next(stream, to->peer, turn_now(context));
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&context->rpc->streams->lock);
    if (stream->buf != NULL) {
        bool is_mine = stream->to.peer == to->peer;

        rc = stream_send_locked(context, stream, false);
        if (rc != HG_SUCCESS && is_mine)
            return rc;
    }
    if (stream->buf == NULL) {
        stream->peer = to->peer;
        stream->turn = turn_now(context);
        rc = HG_MSGSIZE;
        if (is_next && !is_blocked(context) &&
            amg_rpc_is_plain(amg_rpc_class_of(context->cls)))
            rc = stream_begin_locked(context, stream, to, id, arg, len);
        if (rc != HG_MSGSIZE)
            return rc;
    }
    return call_send_alone(context, to, id, arg, len);
}

/* Does `id` name a one-way RPC that is registered in this process? */
static hg_return_t id_check(const hg_class_t *cls, hg_id_t id)
{
    const struct amg_rpc *rpc = amg_rpc_find(cls, id);

    if (AMG_LIKELY(rpc != NULL && rpc->is_one_way))
        return HG_SUCCESS;
    AMG_LOG_ERROR("rpc", "RPC id 0x%" PRIx64 " is not %s", id,
        rpc == NULL ? "registered" : "one-way: it has a response");
    return rpc == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;
}

/* Sends any call, from any thread, or adds the call to a message. */
AMG_NOINLINE static hg_return_t call_send(hg_context_t *context,
    const struct hg_addr *to, hg_id_t id, const void *arg, uint32_t len)
{
    struct amg_streams *streams = context->rpc->streams;
    struct stream *stream = &streams->slots[slot_of(to->peer)];
    hg_return_t rc = id_check(context->cls, id);

    if (rc != HG_SUCCESS)
        return rc;
    /* NOTE(not a leaf): drivers and queues take their locks under this lock. */
    amg_bias_lock(&streams->lock);
    if (stream_fits(stream, to->peer, id, len)) {
        amg_record_write(stream->end, arg, len);
        stream_grow_locked(streams, stream, len);
    } else {
        rc = call_send_locked(context, stream, to, id, arg, len);
    }
    amg_bias_unlock(&streams->lock);
    return rc;
}

/* Sends the first call to its peer in this turn. */
AMG_NOINLINE static hg_return_t call_send_first(hg_context_t *context,
    const struct hg_addr *to, hg_id_t id, const void *arg, uint32_t len)
{
    hg_return_t rc = id_check(context->cls, id);

    return rc == HG_SUCCESS ? call_send_alone(context, to, id, arg, len) : rc;
}

hg_return_t amg_streams_add(
    hg_context_t *context, const struct amg_relayed *call, uint32_t len)
{
    const struct amg_class_job *job = &context->cls->job;
    struct amg_streams *streams = context->rpc->streams;
    uint32_t next = call->target;
    struct stream *stream = &streams->slots[next % SLOTS];
    enum amg_relayed_kind kind = AMG_RELAYED_DOWN;
    hg_return_t rc = HG_SUCCESS;
    struct hg_addr to;
    hg_id_t id = 0;

    if (next / job->node_size != job->rank / job->node_size) {
        kind =
            job->rank % job->node_size == 0 ? AMG_RELAYED_IN : AMG_RELAYED_OUT;
        next = (kind == AMG_RELAYED_IN ? next : job->rank) / job->node_size;
        stream = &streams->slots[SLOTS + next % SLOTS];
        next *= job->node_size;
    }
    id = (hg_id_t)next << 32 | kind;
    amg_bias_lock(&streams->lock); /* NOTE(not a leaf): see call_send() */
    if (stream_fits(stream, NULL, id, len)) {
        amg_record_write(stream->end, call, len);
        stream_grow_locked(streams, stream, len);
    } else if (stream->buf != NULL) {
        rc = stream_send_locked(context, stream, false);
    }
    if (stream->buf == NULL) {
        stream->peer = NULL;
        rc = amg_addr_init_rank(context->cls, next, &to);
        if (rc == HG_SUCCESS) {
            rc = stream_begin_locked(context, stream, &to, id, call, len);
            amg_addr_fini(&to);
        }
    }
    amg_bias_unlock(&streams->lock);
    return rc;
}

/* Sends a call that is too long, or goes through leaders if its target is on
 * another node. */
AMG_NOINLINE static hg_return_t call_send_far(hg_context_t *context,
    const struct hg_addr *to, hg_id_t id, const void *arg, size_t len)
{
    const struct amg_class_job *job = &context->cls->job;
    int target = amg_addr_rank(to);
    struct amg_relayed call = {(uint32_t)target, job->rank, id, {0}};
    hg_return_t rc = HG_SUCCESS;

    if (len > AMALGAM_ONEWAY_MAX)
        return HG_MSGSIZE;
    if (target < 0 || !amg_rpc_is_plain(amg_rpc_class_of(context->cls)) ||
        call.target / job->node_size == job->rank / job->node_size)
        return call_send(context, to, id, arg, (uint32_t)len);
    if (len > 0)
        memcpy(call.arg, arg, len);
    rc = id_check(context->cls, id);
    return rc != HG_SUCCESS ? rc
                            : amg_streams_add(context, &call,
                                  AMG_RELAYED_LEN + (uint32_t)len);
}

/* How a call leaves. */
enum way {
    WAY_ADDED, /* added to the message of its stream */
    WAY_FIRST, /* the first call to its peer in this turn */
    WAY_ANY,   /* any other call, or the lock is not this thread's */
};

/* Adds the call to the message of its stream, or returns the way to take. */
static AMG_INLINE enum way way_take(hg_context_t *context,
    const struct amg_peer *peer, hg_id_t id, const void *arg, uint32_t len)
{
    struct amg_streams *streams = context->rpc->streams;
    struct stream *stream = &streams->slots[slot_of(peer)];
    unsigned turn = turn_now(context);
    enum way way = WAY_ANY;

    if (!amg_bias_lock_own(&streams->lock))
        return way;
    if (stream->buf == NULL) {
        if (!stream_is_next(stream, peer, turn)) {
            stream->peer = peer;
            stream->turn = turn;
            way = WAY_FIRST;
        }
    } else if (len % sizeof(uint64_t) == 0 &&
               stream_fits(stream, peer, id, len)) {
        amg_record_write_words(stream->end, arg, len);
        stream_grow_locked(streams, stream, len);
        way = WAY_ADDED;
    }
    amg_bias_unlock_own(&streams->lock);
    return way;
}

hg_return_t amalgam_forward_oneway(hg_context_t *context, hg_addr_t addr,
    hg_id_t id, const void *arg, size_t len)
{
    enum way way = WAY_ANY;

    if (!AMG_CONTEXT_OK(context) || !AMG_ADDR_OK(addr) ||
        !AMG_CONTRACT(addr->cls == context->cls && addr->peer != NULL,
            "the address is of another class than the context") ||
        !AMG_CONTRACT(
            arg != NULL || len == 0, "arg is NULL, but len is %zu", len))
        return amg_refusal();
    if (!AMG_LIKELY(len < context->rpc->direct_end))
        return call_send_far(context, addr, id, arg, len);
    way = way_take(context, addr->peer, id, arg, (uint32_t)len);
    if (way == WAY_ADDED)
        return HG_SUCCESS;
    return way == WAY_FIRST
               ? call_send_first(context, addr, id, arg, (uint32_t)len)
               : call_send(context, addr, id, arg, (uint32_t)len);
}

hg_return_t amg_streams_send(hg_context_t *context, bool is_final)
{
    struct amg_streams *streams = context->rpc->streams;
    hg_return_t ret = HG_SUCCESS;
    uint64_t bits = 0;

    amg_bias_lock(&streams->lock); /* NOTE(not a leaf): see call_send() */
    bits = atomic_load_explicit(&context->unsent, memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1u) {
        struct stream *stream = &streams->slots[__builtin_ctzll(bits)];

        /* The next call to the peer leaves at once. */
        stream->turn = turn_now(context) - 1u;
        if (stream_send_locked(
                context, stream, is_final && stream->peer != NULL) == HG_NOMEM)
            ret = HG_NOMEM;
    }
    amg_bias_unlock(&streams->lock);
    return ret;
}

void amg_streams_abandon(hg_context_t *context)
{
    struct amg_streams *streams = context->rpc->streams;

    amg_bias_lock(&streams->lock); /* NOTE(not a leaf): see call_send() */
    for (unsigned i = 0; i < SLOTS_ALL; i++) {
        struct stream *stream = &streams->slots[i];
        struct amg_ep *ep = NULL;

        if (stream->buf == NULL)
            continue;
        lost_log(&stream->to, stream->count,
            "the context ends while the calls wait for credits");
        ep = amg_context_ep(context, stream->to.route);
        ep->transport->msg.put_buf(ep, stream->buf);
        stream_end_locked(context, stream);
    }
    amg_bias_unlock(&streams->lock);
}

/* Callback of one-way RPCs: serves the requests that need a handle. */
static hg_return_t oneway_serve(hg_handle_t handle)
{
    const char *why = NULL;
    char text[256];

    if (!handle->is_one_way)
        why = "its origin waits for a reply";
    else if (handle->in.len > AMALGAM_ONEWAY_MAX)
        why = "its arguments are longer than AMALGAM_ONEWAY_MAX";
    else if (amg_rpc_check(&handle->in) != HG_SUCCESS)
        why = "its arguments are damaged (checksum mismatch)";
    if (why == NULL)
        handle->rpc->oneway(handle->info.hg_class, amg_addr_rank(&handle->addr),
            handle->in.data, handle->in.len);
    else
        AMG_LOG_WARNING("rpc",
            "a request from %s (RPC id 0x%" PRIx64 ") is not handled: %s",
            amg_addr_text(&handle->addr, text, sizeof(text)), handle->info.id,
            why);
    return HG_Destroy(handle);
}

hg_id_t amalgam_register_oneway(
    hg_class_t *hg_class, const char *func_name, amalgam_oneway_cb_t handler)
{
    struct amg_rpc wanted = {
        .callback = handler == NULL ? NULL : oneway_serve,
        .oneway = handler,
        .is_one_way = true,
    };

    return AMG_CLASS_OK(hg_class) && AMG_GIVEN(func_name)
               ? amg_rpc_register_name(hg_class, func_name, &wanted, __func__)
               : 0;
}
