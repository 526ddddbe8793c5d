/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that come, and the buffers that receive them.
 *
 * Nothing from the network is trusted: this file drops a message, with one
 * warning, unless its header is valid, the message is for this process, its
 * sender has connected, and its body has the length of its kind.
 *
 * All messages arrive in a few large buffers, each of which takes messages
 * until the longest message may not fit any more (FI_MULTI_RECV). Several
 * buffers are posted: while one is full, no message is unexpected to the NIC.
 *
 * The provider releases a full buffer, but a message for that buffer may still
 * arrive: a long message, while short messages of other senders fill the bytes
 * behind it (net, 1.17), or a message that was matched when the buffer was
 * posted (tcp;ofi_rxm, 1.17). So the driver posts a buffer again at once only
 * if its messages leave no gap, and the longest message no longer fits. A gap
 * may remain for ever, if the sender is gone or the provider skipped the bytes;
 * or the missing message comes when the sender's link is back. So after some
 * time without messages the buffer gets other memory, and the driver keeps the
 * former memory for late messages. After REPLACED_MAX replacements, the driver
 * waits longer instead, and posts the buffer with its present memory again. */
#include "ofi_backend/ofi_ep.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_rma.h"

enum {
    RECEIVE_LEN_MIN = 131072, /* bytes of a buffer, at least */
    RECEIVE_MESSAGES = 4,     /* longest messages in a buffer, at least */
    QUIET_TICKS = 3,          /* 0.3 s; the tick of ofi_poll.c */
    QUIET_TICKS_LAST = 10,    /* if only the last message may be missing */
    QUIET_TICKS_LONG = 100,   /* before the same memory is posted again */
    REPLACED_MAX = 16,        /* blocks that are kept for late messages */
};

static size_t receive_len(const struct amg_ofi_domain *domain)
{
    size_t len = (size_t)domain->receive_max * RECEIVE_MESSAGES;

    return len < RECEIVE_LEN_MIN ? RECEIVE_LEN_MIN : len;
}

/* Posts the buffer; if the provider has no room, a later poll posts it. */
static hg_return_t receive_post_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    struct iovec iov = {receive->bytes, receive_len(domain)};
    void *desc = amg_ofi_reg_desc(receive->block->mr);
    const struct fi_msg msg = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &receive->work.context,
    };
    ssize_t code = amg_ofi_call->recvmsg(
        domain->fi.ep, &msg, domain->facts.is_multi ? FI_MULTI_RECV : 0);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(!receive->is_posted);
    receive->is_posted = code == 0;
    receive->wants_post = code == -FI_EAGAIN;
    receive->is_withdrawn = code != 0 && code != -FI_EAGAIN;
    receive->tick = domain->clock.tick;
    receive->end = 0;
    receive->sum = 0;
    if (code == -FI_EAGAIN)
        domain->in.wants_receive = true;
    if (code == 0 || code == -FI_EAGAIN)
        return HG_SUCCESS;
    return amg_ofi_error((int)code, "posting a buffer to receive into");
}

static void buffer_filled_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, const void *at, size_t len)
{
    size_t offset = (size_t)((const unsigned char *)at - receive->bytes);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    /* A message outside of the buffer is in the former memory of the buffer. */
    if (offset > receive_len(domain) || len > receive_len(domain) - offset)
        return;
    AMG_ASSERT(receive->end <= receive_len(domain));
    receive->sum += len;
    if (offset + len > receive->end)
        receive->end = offset + len;
    receive->tick = domain->clock.tick;
}

static void buffer_released_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    receive->is_posted = false;
    receive->tick = domain->clock.tick;
}

/* A provider may report that a message was too long, and then ignore the buffer
 * for ever (tcp;ofi_rxm, 1.17): an unknown sender could disable all buffers. So
 * the driver cancels the post, unless `at` tells that it has released it. */
static void buffer_truncated_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, const void *at)
{
    size_t offset = (size_t)((const unsigned char *)at - receive->bytes);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    /* A truncated message fills the rest of the buffer. */
    if (at != NULL && offset <= receive_len(domain))
        buffer_filled_locked(domain, receive, at, receive_len(domain) - offset);
    if (at != NULL && !receive->is_posted)
        return;
    (void)amg_ofi_call->cancel(domain->fi.ep, &receive->work.context);
    receive->is_withdrawn = true;
    buffer_released_locked(domain, receive);
}

static bool is_filled(
    const struct amg_ofi_domain *domain, const struct amg_ofi_receive *receive)
{
    return receive->sum == receive->end &&
           (!domain->facts.is_multi ||
               receive_len(domain) - receive->end < domain->receive_max);
}

/* Ticks without a message after which the buffer is posted again. */
static unsigned quiet_ticks_of(
    const struct amg_ofi_domain *domain, const struct amg_ofi_receive *receive)
{
    if (is_filled(domain, receive))
        return receive->is_withdrawn ? QUIET_TICKS : 0;
    return receive->sum == receive->end && !receive->is_withdrawn
               ? QUIET_TICKS_LAST
               : QUIET_TICKS;
}

/* Gives a buffer with a gap other memory. False: no memory, or REPLACED_MAX. */
static bool memory_replace_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    struct amg_ofi_block *block = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->in.replaced_count >= REPLACED_MAX ||
        amg_ofi_block_make_locked(
            domain, receive_len(domain), FI_RECV, &block) != HG_SUCCESS)
        return false;
    domain->in.replaced_count++;
    block->next = domain->in.block;
    domain->in.block = block;
    receive->block = block;
    receive->bytes = block->bytes;
    receive->sum = 0;
    receive->end = 0;
    return true;
}

static void buffer_refill_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive)
{
    unsigned quiet_ticks = domain->clock.tick - receive->tick;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (receive->is_posted || domain->is_closing)
        return;
    if (!receive->wants_post && quiet_ticks < quiet_ticks_of(domain, receive))
        return;
    if (!receive->wants_post && !is_filled(domain, receive) &&
        !memory_replace_locked(domain, receive) &&
        quiet_ticks < QUIET_TICKS_LONG)
        return;
    (void)receive_post_locked(domain, receive);
}

void amg_ofi_receive_again_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    domain->in.wants_receive = false;
    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        buffer_refill_locked(domain, &domain->in.receives[i]);
}

static void on_credit_locked(const struct amg_ofi_message *message)
{
    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    amg_calls_on_note_locked(&message->domain->calls, &message->peer->calls,
        message->header->cookie);
}

/* Length of the body and handler of each kind. CONNECT, whose sender is not
 * known yet, and PACK, which has several messages, have no handler. */
static const struct kind_row {
    uint32_t len_min;
    uint32_t len_max;
    void (*on_message)(const struct amg_ofi_message *message);
} kind_rows[AMG_OFI_KIND_COUNT] = {
    [AMG_OFI_ACCEPT] = {AMG_OFI_CONNECT_MIN, UINT32_MAX,
        amg_ofi_connect_on_accept_locked},
    [AMG_OFI_DISCONNECT] = {0, 0, amg_ofi_connect_on_disconnect_locked},
    [AMG_OFI_REQUEST] = {0, UINT32_MAX, amg_ofi_msg_on_request_locked},
    [AMG_OFI_ONEWAY] = {0, UINT32_MAX, amg_ofi_msg_on_request_locked},
    [AMG_OFI_REPLY] = {0, UINT32_MAX, amg_ofi_msg_on_reply_locked},
    [AMG_OFI_REFUSE] = {sizeof(struct amg_ofi_refuse),
        sizeof(struct amg_ofi_refuse), amg_ofi_msg_on_refuse_locked},
    [AMG_OFI_CREDIT] = {0, 0, on_credit_locked},
    [AMG_OFI_GET] = {sizeof(struct amg_ofi_access),
        sizeof(struct amg_ofi_access), amg_ofi_mem_on_get_locked},
    [AMG_OFI_PUT] = {sizeof(struct amg_ofi_access) + 1, UINT32_MAX,
        amg_ofi_mem_on_put_locked},
    [AMG_OFI_DATA] = {1, UINT32_MAX, amg_ofi_rma_on_data_locked},
    [AMG_OFI_DONE] = {sizeof(struct amg_ofi_refuse),
        sizeof(struct amg_ofi_refuse), amg_ofi_rma_on_done_locked},
    [AMG_OFI_LEASE] = {sizeof(struct amg_ofi_lease_ask),
        sizeof(struct amg_ofi_lease_ask), amg_ofi_mem_on_lease_locked},
    [AMG_OFI_GRANT] = {sizeof(struct amg_ofi_grant), UINT32_MAX,
        amg_ofi_rma_on_grant_locked},
    [AMG_OFI_DENY] = {sizeof(struct amg_ofi_refuse),
        sizeof(struct amg_ofi_refuse), amg_ofi_rma_on_deny_locked},
    [AMG_OFI_REVOKE] = {0, 0, amg_ofi_rma_on_revoke_locked},
    [AMG_OFI_RETURN] = {0, 0, amg_ofi_mem_on_return_locked},
    [AMG_OFI_PACK] = {AMG_PACK_HEAD_LEN, UINT32_MAX, NULL},
};

static void unknown_warn(struct amg_ofi_domain *domain, size_t len)
{
    if (!domain->peers.has_warned)
        AMG_LOG_WARNING("ofi",
            "dropped a message of %zu bytes of an unknown form, or for a "
            "process that was at this address before; further ones are not "
            "reported",
            len);
    domain->peers.has_warned = true;
}

static bool message_is_well_formed(
    const struct amg_ofi_message *message, unsigned kind)
{
    if (message->len >= kind_rows[kind].len_min &&
        message->len <= kind_rows[kind].len_max)
        return true;
    amg_ofi_peer_violation(
        message->peer, AMG_VIOLATION_FORM, kind, (long)message->len);
    return false;
}

/* Hands on the calls of a PACK. A call may end the connection to the peer, and
 * then the calls behind that call are dropped. */
static void pack_read_locked(const struct amg_ofi_message *pack,
    struct amg_pack_iter *iter, struct amg_ofi_msgbuf *whole)
{
    struct amg_ofi_header header = *pack->header;
    struct amg_ofi_message message = {
        .domain = pack->domain,
        .peer = pack->peer,
        .header = &header,
        .whole = whole,
    };
    struct amg_pack_part part;
    uint32_t epoch = pack->peer->conn.epoch;

    AMG_ASSERT_HELD_BIAS(&pack->domain->lock);
    if (whole != NULL)
        message.arrival = amg_pack_arrivals(whole->data, pack->len);
    while (pack->peer->conn.epoch == epoch && amg_pack_iter_next(iter, &part)) {
        unsigned kind = part.head.kind;

        header.context = part.head.context;
        header.cookie = part.head.cookie;
        header.kind = (uint8_t)(AMG_OFI_MAGIC | kind);
        message.body = part.body;
        message.len = part.head.len;
        if (kind < AMG_OFI_REQUEST || kind > AMG_OFI_CREDIT)
            amg_ofi_peer_violation(
                pack->peer, AMG_VIOLATION_FORM, AMG_OFI_PACK, (long)kind);
        else if (message_is_well_formed(&message, kind))
            kind_rows[kind].on_message(&message);
        message.arrival += whole != NULL ? 1 : 0;
    }
}

static void pack_take_locked(const struct amg_ofi_message *pack)
{
    struct amg_ofi_domain *domain = pack->domain;
    struct amg_ofi_msgbuf *whole = NULL;
    struct amg_pack_iter iter;
    uint32_t count = pack->header->cookie;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (pack->len > amg_ofi_pack_len(domain) ||
        !amg_pack_iter_init(
            &iter, pack->body, pack->len, count, domain->packer.count_max)) {
        amg_ofi_peer_violation(
            pack->peer, AMG_VIOLATION_FORM, AMG_OFI_PACK, (long)count);
        return;
    }
    whole = amg_ofi_msg_copy_locked(pack);
    if (whole != NULL) /* else each call tries to make its own copy */
        iter.at = whole->data;
    pack_read_locked(pack, &iter, whole);
    if (whole != NULL)
        amg_ofi_msgbuf_end_locked(whole);
}

static void message_take_locked(
    struct amg_ofi_domain *domain, const unsigned char *bytes, size_t len)
{
    struct amg_ofi_header header;
    struct amg_ofi_message message = {.domain = domain, .header = &header};
    unsigned kind = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (len < sizeof(header) || len > domain->receive_max) {
        unknown_warn(domain, len);
        return;
    }
    memcpy(&header, bytes, sizeof(header));
    kind = header.kind & ~(unsigned)AMG_OFI_MAGIC_MASK;
    message.body = bytes + sizeof(header);
    message.len = (uint32_t)(len - sizeof(header));
    if ((header.kind & AMG_OFI_MAGIC_MASK) != AMG_OFI_MAGIC ||
        kind >= AMG_OFI_KIND_COUNT ||
        (len > domain->message_max &&
            (kind < AMG_OFI_REQUEST || kind > AMG_OFI_REPLY)) ||
        (kind == AMG_OFI_CONNECT && message.len < AMG_OFI_CONNECT_MIN)) {
        unknown_warn(domain, len);
        return;
    }
    if (kind == AMG_OFI_CONNECT) {
        amg_ofi_connect_on_connect_locked(domain, message.body, message.len);
        return;
    }
    if (header.token != 0)
        message.peer = amg_ofi_token_find_locked(domain, header.token);
    if (message.peer == NULL) {
        unknown_warn(domain, len);
        return;
    }
    message.peer->conn.received++;
    if (message.peer->state != AMG_OFI_PEER_OPEN && kind != AMG_OFI_ACCEPT &&
        !amg_ofi_connect_prove_locked(message.peer))
        return;
    (void)amg_ofi_peer_ref(message.peer);
    if (message_is_well_formed(&message, kind)) {
        message.peer->heard_tick = domain->clock.tick;
        message.peer->watched.is_heard = true;
        if (header.credits > 0)
            amg_calls_credit_locked(
                &domain->calls, &message.peer->calls, header.credits);
        if (kind == AMG_OFI_PACK)
            pack_take_locked(&message);
        else
            kind_rows[kind].on_message(&message);
    }
    amg_ofi_peer_unref_locked(message.peer);
}

static void on_received_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error)
{
    struct amg_ofi_receive *receive =
        amg_container_of(work, struct amg_ofi_receive, work);
    /* The provider sets `buf` only if a buffer takes many messages. */
    const unsigned char *at =
        domain->facts.is_multi ? entry->buf : receive->bytes;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (error == 0 && at != NULL && entry->len > 0) {
        buffer_filled_locked(domain, receive, at, entry->len);
        message_take_locked(domain, at, entry->len);
    }
    if (error != 0 && error != FI_ECANCELED &&
        amg_calls_may_warn(&domain->calls))
        AMG_LOG_WARNING(
            "ofi", "receiving failed: %s", amg_ofi_call->strerror(error));
    /* The provider releases a buffer with its last message, or separately. */
    if ((entry->flags & FI_MULTI_RECV) != 0 || error == FI_ECANCELED ||
        !domain->facts.is_multi)
        buffer_released_locked(domain, receive);
    if (error != 0 && error != FI_ECANCELED && domain->facts.is_multi)
        buffer_truncated_locked(domain, receive, entry->buf);
    buffer_refill_locked(domain, receive);
}

hg_return_t amg_ofi_receive_begin_locked(struct amg_ofi_domain *domain)
{
    size_t len = receive_len(domain);
    hg_return_t rc = amg_ofi_block_make_locked(
        domain, AMG_OFI_RECEIVES * len, FI_RECV, &domain->in.block);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (rc != HG_SUCCESS)
        return rc;
    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++) {
        struct amg_ofi_receive *receive = &domain->in.receives[i];

        receive->work.done = on_received_locked;
        receive->block = domain->in.block;
        receive->bytes = domain->in.block->bytes + i * len;
        if (receive_post_locked(domain, receive) != HG_SUCCESS)
            return HG_NA_ERROR;
    }
    return HG_SUCCESS;
}
