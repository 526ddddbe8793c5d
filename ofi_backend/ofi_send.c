/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs), and their sends.
 *
 * A msgbuf is made when none is free, and lives until the domain closes. A used
 * msgbuf holds an outgoing message, or a request or reply that the user has not
 * released; credits bound these requests. An incoming message is copied out of
 * its receive buffer (4 KiB in 0.1 us), so that a handler that keeps a request
 * does not keep that buffer. Only registered msgbufs have pages before use.
 *
 * Calls and replies to one peer that the program posts between two polls, or
 * while messages wait for room, share a message (transport/pack.h), except the
 * first call. No calls share a message while a thread blocks, as the next poll
 * may be far off. A shared message follows all messages that wait for its peer.
 *
 * Providers keep short messages in order, but send long messages in pieces, or
 * have the receiver read them, so that later messages arrive first (ofi_rxm:
 * from 16 KiB on). So a request above IN_ORDER_LEN delays later requests until
 * it has left; a shared message counts as a request. A message leaves when the
 * peer polls, whatever the peer's handlers wait for, so this wait cannot
 * deadlock. A reply alone in a message waits only for the queue of its peer.
 *
 * A short message, except CONNECT and ACCEPT, is injected: it has left when the
 * post returns. Other messages complete later. A post may return EAGAIN if the
 * provider has no room or no connection yet; then the message waits in the
 * queue of its peer, in order, and the polls try again. Messages to a peer that
 * is not OPEN wait, too. ofi_poll.c has the deadlines. A post that fails for
 * good loses the peer, but only in the next poll, so that no operation ends
 * during the call that posts it. */
#include "ofi_backend/ofi_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"

enum {
    CREDITS_PER_MESSAGE = UINT8_MAX,
    MSGBUF_ALIGN = 64,      /* a cache line */
    CREDITS_RESERVED = 128, /* credits that the first block serves, at most */
    MSGBUFS_SPARE = 32,  /* in the first block, for messages without credits */
    MSGBUFS_MORE = 2,    /* in each later block */
    IN_ORDER_LEN = 8192, /* bytes: providers do not reorder shorter messages */
};

static size_t msgbuf_len(const struct amg_ofi_domain *domain, bool is_long)
{
    size_t len = sizeof(struct amg_ofi_msgbuf) +
                 (is_long ? (size_t)AMG_OFI_LONG_LEN : domain->message_max);

    return (len + MSGBUF_ALIGN - 1) / MSGBUF_ALIGN * MSGBUF_ALIGN;
}

/* Inserts a block of `count` msgbufs before the block `*at`. */
static hg_return_t msgbufs_make_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_block **at, size_t count, bool is_long)
{
    struct amg_ofi_block *block = NULL;
    hg_return_t rc = amg_ofi_block_make_locked(
        domain, count * msgbuf_len(domain, is_long), FI_SEND, &block);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (rc != HG_SUCCESS)
        return rc;
    block->count = count;
    block->next = *at;
    *at = block;
    return HG_SUCCESS;
}

/* Only the first block of the list has msgbufs left to cut. A long msgbuf has a
 * block of its own, inserted as the second in the list. */
static struct amg_ofi_msgbuf *msgbuf_make_locked(
    struct amg_ofi_domain *domain, bool is_long)
{
    struct amg_ofi_block **at = &domain->msgbufs.blocks;
    struct amg_ofi_msgbuf *msgbuf = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT((*at)->used_count <= (*at)->count);
    if (is_long)
        at = &(*at)->next;
    if ((is_long || (*at)->used_count == (*at)->count) &&
        msgbufs_make_locked(domain, at, is_long ? 1 : MSGBUFS_MORE, is_long) !=
            HG_SUCCESS)
        return NULL;
    msgbuf = (void *)((*at)->bytes +
                      (*at)->used_count++ * msgbuf_len(domain, is_long));
    memset(msgbuf, 0, sizeof(*msgbuf));
    msgbuf->domain = domain;
    msgbuf->block = *at;
    msgbuf->is_long = is_long;
    msgbuf->buf.data = msgbuf->data;
    msgbuf->buf.cap =
        (is_long ? (uint32_t)AMG_OFI_LONG_LEN : domain->message_max) -
        (uint32_t)sizeof(msgbuf->header);
    domain->msgbufs.count++;
    return msgbuf;
}

hg_return_t amg_ofi_msgbuf_init_locked(struct amg_ofi_domain *domain)
{
    unsigned credits = domain->calls.flow.limit;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (credits > CREDITS_RESERVED)
        credits = CREDITS_RESERVED;
    return msgbufs_make_locked(
        domain, &domain->msgbufs.blocks, 2 * credits + MSGBUFS_SPARE, false);
}

size_t amg_ofi_msgbuf_taken_locked(const struct amg_ofi_domain *domain)
{
    size_t taken = domain->msgbufs.count;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (unsigned is_long = 0; is_long <= 1; is_long++)
        for (const struct amg_link *link = domain->msgbufs.free[is_long];
             link != NULL; link = link->next)
            taken--;
    return taken;
}

void amg_ofi_msgbuf_fini_locked(struct amg_ofi_domain *domain)
{
    size_t taken = amg_ofi_msgbuf_taken_locked(domain);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (taken > 0) {
        AMG_LOG_WARNING("ofi",
            "%zu messages were still in use when the class was closed; the "
            "memory of all messages is not freed",
            taken);
        return;
    }
    while (domain->msgbufs.blocks != NULL) {
        struct amg_ofi_block *block = domain->msgbufs.blocks;

        domain->msgbufs.blocks = block->next;
        amg_ofi_block_free_locked(domain, block);
    }
}

struct amg_ofi_msgbuf *amg_ofi_msgbuf_get_locked(
    struct amg_ofi_domain *domain, bool is_long)
{
    struct amg_link *link = domain->msgbufs.free[is_long];

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (link == NULL)
        return msgbuf_make_locked(domain, is_long);
    domain->msgbufs.free[is_long] = link->next;
    link->next = NULL;
    return amg_container_of(link, struct amg_ofi_msgbuf, post.link);
}

void amg_ofi_msgbuf_put_locked(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_link **free = &msgbuf->domain->msgbufs.free[msgbuf->is_long];

    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    if (msgbuf->is_counted)
        amg_ofi_msgbuf_uncount_locked(msgbuf);
    if (msgbuf->peer != NULL)
        amg_ofi_peer_unref_locked(msgbuf->peer);
    msgbuf->peer = NULL;
    msgbuf->post.op = NULL;
    msgbuf->pack.count = 0;
    msgbuf->post.wants_reply = false;
    msgbuf->post.link.next = *free;
    *free = &msgbuf->post.link;
}

void amg_ofi_send_address_locked(struct amg_ofi_msgbuf *msgbuf,
    struct amg_peer *peer, uint8_t context, uint8_t target,
    enum amg_ofi_kind kind, uint32_t body_len)
{
    struct amg_peer *before = msgbuf->peer;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    msgbuf->peer = amg_ofi_peer_ref(peer);
    if (before != NULL)
        amg_ofi_peer_unref_locked(before);
    msgbuf->header.kind = (uint8_t)(AMG_OFI_MAGIC | kind);
    msgbuf->header.context = context;
    msgbuf->header.target = target;
    msgbuf->header.credits = 0;
    AMG_ASSERT(body_len <= msgbuf->buf.cap && kind < AMG_OFI_KIND_COUNT);
    msgbuf->len = (uint32_t)sizeof(msgbuf->header) + body_len;
}

static void msgbuf_left_locked(struct amg_ofi_msgbuf *msgbuf, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    if (msgbuf->post.op != NULL)
        amg_ofi_op_end_locked(msgbuf->post.op, ret);
    amg_ofi_msgbuf_put_locked(msgbuf);
}

static unsigned kind_of(const struct amg_ofi_header *header)
{
    return header->kind & ~(unsigned)AMG_OFI_MAGIC_MASK;
}

/* Does the connection count the message? Receivers count no CONNECT. */
static bool is_counted(struct amg_ofi_msgbuf *msgbuf)
{
    return amg_ofi_header_of(msgbuf)->kind != (AMG_OFI_MAGIC | AMG_OFI_CONNECT);
}

static bool is_request(struct amg_ofi_msgbuf *msgbuf)
{
    unsigned kind = kind_of(amg_ofi_header_of(msgbuf));

    return kind == AMG_OFI_REQUEST || kind == AMG_OFI_ONEWAY ||
           kind == AMG_OFI_PACK;
}

static bool is_overtakable(struct amg_ofi_msgbuf *msgbuf)
{
    return msgbuf->len > IN_ORDER_LEN && is_request(msgbuf);
}

/* The provider no longer uses the msgbuf. */
static void post_end_locked(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_peer *peer = msgbuf->peer;

    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    AMG_ASSERT(peer->posts_in_flight > 0);
    peer->posts_in_flight--;
    AMG_ASSERT(!is_overtakable(msgbuf) || peer->overtakable > 0);
    peer->overtakable -= is_overtakable(msgbuf);
    amg_list_remove(&msgbuf->post.waiting);
}

/* Makes the next poll give up the peer. To give up the peer here would end
 * operations that the caller still uses. `code`: of libfabric, positive. */
static void peer_break_locked(struct amg_peer *peer, int code)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(code > 0);
    peer->broken = code;
    amg_ofi_peer_set_pending_locked(peer);
}

static void on_sent_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error)
{
    struct amg_ofi_msgbuf *msgbuf =
        amg_container_of(work, struct amg_ofi_msgbuf, work);
    struct amg_peer *peer = amg_ofi_peer_ref(msgbuf->peer);
    uint32_t epoch = msgbuf->epoch;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    (void)domain;
    (void)entry;
    amg_list_remove(&msgbuf->post.link);
    post_end_locked(msgbuf);
    if (is_counted(msgbuf) && epoch == peer->conn.epoch &&
        amg_ofi_header_of(msgbuf)->token == peer->conn.my_token)
        peer->conn.sending--;
    msgbuf_left_locked(msgbuf, error == 0 ? HG_SUCCESS : HG_HOSTUNREACH);
    if (error != 0 && peer->conn.epoch == epoch)
        peer_break_locked(peer, error < 0 ? -error : error);
    amg_ofi_peer_unref_locked(peer);
}

ssize_t amg_ofi_send_post_locked(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_ofi_domain *domain = msgbuf->domain;
    struct amg_peer *peer = msgbuf->peer;
    struct amg_ofi_header *header = amg_ofi_header_of(msgbuf);
    unsigned kind = kind_of(header);
    bool is_short =
        msgbuf->len <= domain->facts.inject_len && kind > AMG_OFI_ACCEPT;
    ssize_t code = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(peer->fi_addr != FI_ADDR_NOTAVAIL);
    AMG_ASSERT(peer->overtakable <= peer->posts_in_flight);
    if (peer->overtakable > 0 && is_request(msgbuf))
        return -FI_EAGAIN;
    header->token = peer->conn.my_token;
    /* The receiver of a CONNECT ignores the credits in the header. */
    header->credits =
        kind == AMG_OFI_CONNECT
            ? 0
            : (uint8_t)amg_flow_take_owed(&peer->calls, CREDITS_PER_MESSAGE);
    msgbuf->epoch = peer->conn.epoch;
    if (is_short) {
        code = amg_ofi_call->inject(
            domain->fi.ep, header, msgbuf->len, peer->fi_addr);
    } else {
        msgbuf->work.done = on_sent_locked;
        code = amg_ofi_call->send(domain->fi.ep, header, msgbuf->len,
            amg_ofi_reg_desc(msgbuf->block->mr), peer->fi_addr,
            &msgbuf->work.context);
    }
    if (code != 0) {
        amg_flow_owe_again(&domain->calls.flow, &peer->calls, header->credits);
        return code;
    }
    if (peer->calls.owed > 0) /* more than a message can carry */
        amg_flow_owe_again(&domain->calls.flow, &peer->calls,
            amg_flow_take_owed(&peer->calls, UINT16_MAX));
    peer->conn.sent += kind == AMG_OFI_CONNECT ? 0 : 1;
    if (is_short) {
        msgbuf_left_locked(msgbuf, HG_SUCCESS);
    } else {
        peer->conn.sending += kind == AMG_OFI_CONNECT ? 0 : 1;
        peer->posts_in_flight++;
        peer->overtakable += is_overtakable(msgbuf);
        amg_list_push(&domain->msgbufs.in_flight, &msgbuf->post.link);
        amg_list_push(&peer->sends, &msgbuf->post.waiting);
    }
    return 0;
}

/* Posts the message, or puts it into the queue of its peer. */
static void message_send_locked(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_peer *peer = msgbuf->peer;
    ssize_t code = -FI_EAGAIN;

    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    amg_ofi_peer_watch_locked(peer);
    /* A peer that sent a CONNECT gets the ACCEPT before any other message. */
    if (peer->state == AMG_OFI_PEER_OPEN && !peer->conn.owes_accept &&
        peer->fi_addr != FI_ADDR_NOTAVAIL && amg_list_is_empty(&peer->unsent))
        code = amg_ofi_send_post_locked(msgbuf);
    if (code == 0)
        return;
    if (amg_list_is_empty(&peer->unsent))
        amg_ofi_peer_set_deadline(peer);
    amg_list_push(&peer->unsent, &msgbuf->post.link);
    peer->domain->peers.unsent_count++;
    amg_driver_count(&peer->domain->calls.counts.retries);
    amg_ofi_peer_set_pending_locked(peer);
    if (code != -FI_EAGAIN)
        peer_break_locked(peer, (int)-code);
    else if (peer->state == AMG_OFI_PEER_UNKNOWN ||
             peer->state == AMG_OFI_PEER_CLAIMED)
        amg_ofi_peer_connect_locked(peer);
}

static void kept_send_locked(
    struct amg_ofi_domain *domain, struct amg_pack *pack)
{
    struct amg_ofi_msgbuf *msgbuf =
        amg_container_of(pack, struct amg_ofi_msgbuf, pack);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_packer_take(&domain->packer, pack);
    if (pack->count > 1) {
        const struct amg_ofi_header header = {
            .kind = AMG_OFI_MAGIC | AMG_OFI_PACK,
            .target = pack->target,
            .cookie = pack->count,
        };

        memcpy(msgbuf->packed, &header, sizeof(header));
        msgbuf->len = (uint32_t)sizeof(header) + pack->len;
    }
    message_send_locked(msgbuf);
}

void amg_ofi_send_kept_locked(struct amg_ofi_domain *domain)
{
    struct amg_pack *pack = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while ((pack = amg_packer_first(&domain->packer)) != NULL)
        kept_send_locked(domain, pack);
}

/* Asks the packer whether to keep the call. The caller has checked that no
 * thread blocks, so that a thread polls soon. */
static enum amg_pack_verdict call_keep_locked(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_packer *packer = &msgbuf->domain->packer;
    struct amg_peer *peer = msgbuf->peer;

    AMG_ASSERT_HELD_BIAS(&msgbuf->domain->lock);
    if (!amg_list_is_empty(&peer->unsent))
        peer->packed.turn = packer->turn; /* messages wait: keep the call */
    msgbuf->pack = (struct amg_pack){
        .head = {.kind = (uint8_t)kind_of(&msgbuf->header),
            .context = msgbuf->header.context,
            .cookie = msgbuf->header.cookie},
        .body = msgbuf->data,
        .len = msgbuf->len - (uint32_t)sizeof(msgbuf->header),
        .target = msgbuf->header.target,
    };
    return amg_packer_post(packer, &peer->packed, &msgbuf->pack);
}

void amg_ofi_send_locked(struct amg_ofi_msgbuf *msgbuf)
{
    struct amg_ofi_domain *domain = msgbuf->domain;
    struct amg_pack_peer *packed = &msgbuf->peer->packed;
    enum amg_pack_verdict verdict = AMG_PACK_SEND;
    unsigned kind = kind_of(&msgbuf->header);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (kind >= AMG_OFI_REQUEST && kind <= AMG_OFI_CREDIT &&
        domain->wait.armed_count == 0)
        verdict = call_keep_locked(msgbuf);
    else if (packed->kept != NULL) /* must leave before `msgbuf` */
        kept_send_locked(domain, packed->kept);
    if (verdict == AMG_PACK_FULL) {
        kept_send_locked(domain, packed->kept);
        verdict = call_keep_locked(msgbuf);
    }
    AMG_ASSERT(verdict != AMG_PACK_FULL);
    if (verdict == AMG_PACK_SEND)
        message_send_locked(msgbuf);
    else if (verdict == AMG_PACK_JOINED)
        msgbuf_left_locked(msgbuf, HG_SUCCESS);
}

bool amg_ofi_send_control_locked(struct amg_peer *peer,
    struct amg_ofi_header header, const void *body, uint32_t body_len)
{
    struct amg_ofi_msgbuf *msgbuf =
        amg_ofi_msgbuf_get_locked(peer->domain, false);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (msgbuf == NULL)
        return false;
    msgbuf->header.cookie = header.cookie;
    if (body_len > 0)
        memcpy(msgbuf->data, body, body_len);
    amg_ofi_send_address_locked(
        msgbuf, peer, header.context, header.target, header.kind, body_len);
    amg_ofi_send_locked(msgbuf);
    return true;
}

void amg_ofi_send_answer_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target, enum amg_ofi_kind kind, uint32_t cookie, hg_return_t ret)
{
    const struct amg_ofi_refuse refuse = {.code = ret};
    char text[AMG_OFI_TEXT_CAP];

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (amg_ofi_send_control_locked(peer,
            (struct amg_ofi_header){.kind = (uint8_t)kind,
                .context = context,
                .target = target,
                .cookie = cookie},
            &refuse, sizeof(refuse)) ||
        peer->broken != 0)
        return;
    AMG_LOG_ERROR("ofi",
        "no memory to answer %s; operations in flight with it end, and "
        "both sides reconnect",
        amg_ofi_peer_text(peer, text));
    peer_break_locked(peer, FI_ENOMEM);
}

void amg_ofi_send_drop_locked(const struct amg_ofi_ep *ep)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);
    struct amg_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_ofi_send_kept_locked(domain);
    peer = amg_ofi_peer_next_watched_locked(domain, NULL);
    amg_calls_drop_locked(&domain->calls, &ep->base);
    amg_calls_detach_locked(
        &domain->calls, &domain->msgbufs.in_flight, &ep->base);
    for (; peer != NULL; peer = amg_ofi_peer_next_watched_locked(domain, peer))
        amg_calls_detach_locked(&domain->calls, &peer->unsent, &ep->base);
}

void amg_ofi_send_lost_locked(struct amg_peer *peer)
{
    struct amg_pack *kept = peer->packed.kept;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (kept != NULL) {
        amg_packer_take(&peer->domain->packer, kept);
        msgbuf_left_locked(amg_container_of(kept, struct amg_ofi_msgbuf, pack),
            HG_HOSTUNREACH);
    }
    while ((link = amg_list_pop(&peer->unsent)) != NULL) {
        peer->domain->peers.unsent_count--;
        msgbuf_left_locked(
            amg_container_of(link, struct amg_ofi_msgbuf, post.link),
            HG_HOSTUNREACH);
    }
    for (link = amg_list_first(&peer->sends); link != NULL;
         link = amg_list_next(&peer->sends, link)) {
        struct amg_ofi_msgbuf *msgbuf =
            amg_container_of(link, struct amg_ofi_msgbuf, post.waiting);

        if (msgbuf->post.op != NULL)
            amg_ofi_op_end_locked(msgbuf->post.op, HG_HOSTUNREACH);
        msgbuf->post.op = NULL;
    }
}

void amg_ofi_send_abandon_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while ((link = amg_list_pop(&domain->msgbufs.in_flight)) != NULL) {
        struct amg_ofi_msgbuf *msgbuf =
            amg_container_of(link, struct amg_ofi_msgbuf, post.link);

        post_end_locked(msgbuf);
        msgbuf_left_locked(msgbuf, HG_CANCELED);
    }
}
