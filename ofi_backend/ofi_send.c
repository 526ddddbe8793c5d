/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (slabs), and their sends.
 *
 * There are as many slabs as were ever in use at once: messages on their way
 * out, replies, and requests of peers that the user has not released, which the
 * credits bound. A message that came in is copied out of the buffer it was
 * received in (4 KiB in 0.1 us), so that a handler that keeps its request never
 * keeps a whole buffer from being posted again. Memory that no message filled
 * is never touched.
 *
 * A short message is injected: it has left when the post returns. For a longer
 * one a completion comes. A provider that has no room, or no connection yet,
 * says EAGAIN, at any post; then the message waits in its peer's queue, in
 * order, and the polls try again. So do messages to a peer that has not yet
 * told who it is. How long, is decided in ofi_connect.c. A post that fails for
 * good loses the peer, but not before the next poll: a sender need not fear
 * that what it works on ends meanwhile. */
#include "ofi_backend/ofi_send.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_wait.h"

enum {
    CREDITS_PER_MESSAGE = UINT8_MAX,
    SLAB_ALIGN = 64,        /* a cache line, on all machines we know */
    CREDITS_RESERVED = 128, /* at most so many are reserved for */
    SLABS_SPARE = 32, /* of the first block, for what credits do not bound */
    SLABS_MORE = 2,   /* in each later block: what is bounded stays so */
};

static size_t slab_len(const struct amg_ofi_domain *domain)
{
    return (sizeof(struct amg_ofi_slab) + domain->room_len + SLAB_ALIGN - 1) /
           SLAB_ALIGN * SLAB_ALIGN;
}

static hg_return_t slabs_make(struct amg_ofi_domain *domain, size_t count)
{
    struct amg_ofi_block *block = NULL;
    hg_return_t rc = amg_ofi_block_make(domain, count * slab_len(domain),
        FI_SEND | FI_RECV | FI_READ | FI_WRITE, &block);

    if (rc != HG_SUCCESS)
        return rc;
    block->count = count;
    block->next = domain->blocks;
    domain->blocks = block;
    return HG_SUCCESS;
}

/* The newest block is the only one with slabs left to cut. */
static struct amg_ofi_slab *slab_make(struct amg_ofi_domain *domain)
{
    struct amg_ofi_block *block = domain->blocks;
    struct amg_ofi_slab *slab = NULL;

    AMG_ASSERT(block->cut_count <= block->count);
    if (block->cut_count == block->count) {
        if (slabs_make(domain, SLABS_MORE) != HG_SUCCESS)
            return NULL;
        block = domain->blocks;
    }
    slab = (void *)(block->bytes + block->cut_count * slab_len(domain));
    block->cut_count++;
    slab->post.link = (struct amg_link){NULL, NULL};
    slab->domain = domain;
    slab->post.ep = NULL;
    slab->post.op = NULL;
    slab->peer = NULL;
    slab->block = block;
    slab->post.wants_reply = false;
    slab->has_credit = false;
    slab->header = (struct amg_ofi_header){.kind = 0};
    slab->buf.data = slab->data;
    slab->buf.cap = domain->room_len - (uint32_t)sizeof(slab->header);
    slab->arrival.link = (struct amg_link){NULL, NULL};
    domain->slab_count++;
    return slab;
}

hg_return_t amg_ofi_slab_init(struct amg_ofi_domain *domain)
{
    unsigned credits = domain->calls.flow.limit;

    if (credits > CREDITS_RESERVED)
        credits = CREDITS_RESERVED;
    return slabs_make(domain, 2 * credits + SLABS_SPARE);
}

void amg_ofi_slab_fini(struct amg_ofi_domain *domain)
{
    while (domain->slabs != NULL) {
        domain->slabs = domain->slabs->next;
        domain->slab_count--;
    }
    if (domain->slab_count > 0) {
        AMG_LOG_WARNING("ofi",
            "%zu messages were still in use when the class was closed; the "
            "memory of all is not given back",
            domain->slab_count);
        return;
    }
    while (domain->blocks != NULL) {
        struct amg_ofi_block *block = domain->blocks;

        domain->blocks = block->next;
        amg_ofi_block_free(block);
    }
}

struct amg_ofi_slab *amg_ofi_slab_get_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = domain->slabs;

    if (link == NULL)
        return slab_make(domain);
    domain->slabs = link->next;
    link->next = NULL;
    return amg_container_of(link, struct amg_ofi_slab, post.link);
}

void amg_ofi_slab_put_locked(struct amg_ofi_slab *slab)
{
    if (slab->peer != NULL)
        amg_ofi_peer_unref_locked(slab->peer);
    slab->peer = NULL;
    slab->post.op = NULL;
    slab->has_credit = false;
    slab->post.wants_reply = false;
    slab->post.link.next = slab->domain->slabs;
    slab->domain->slabs = &slab->post.link;
}

void amg_ofi_send_address(struct amg_ofi_slab *slab, struct amg_peer *peer,
    uint8_t context, uint8_t target, enum amg_ofi_kind kind, uint32_t body_len)
{
    struct amg_peer *before = slab->peer;

    slab->peer = amg_ofi_peer_ref(peer);
    if (before != NULL)
        amg_ofi_peer_unref_locked(before);
    slab->header.kind = (uint8_t)(AMG_OFI_MAGIC | kind);
    slab->header.context = context;
    slab->header.target = target;
    slab->header.credits = 0;
    AMG_ASSERT(body_len <= slab->buf.cap && kind < AMG_OFI_KIND_COUNT);
    slab->len = (uint32_t)sizeof(slab->header) + body_len;
}

static void slab_left_locked(struct amg_ofi_slab *slab, hg_return_t ret)
{
    if (slab->post.op != NULL)
        amg_ofi_op_end_locked(slab->post.op, ret);
    amg_ofi_slab_put_locked(slab);
}

/* A CONNECT names no sender, and is not counted. */
static bool is_counted(const struct amg_ofi_slab *slab)
{
    return slab->header.kind != (AMG_OFI_MAGIC | AMG_OFI_CONNECT);
}

static void on_sent_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error)
{
    struct amg_ofi_slab *slab =
        amg_container_of(work, struct amg_ofi_slab, work);
    struct amg_peer *peer = amg_ofi_peer_ref(slab->peer);
    uint32_t epoch = slab->epoch;

    (void)domain;
    (void)entry;
    AMG_ASSERT(peer->busy > 0);
    amg_list_remove(&slab->post.link);
    peer->busy--;
    if (is_counted(slab) && epoch == peer->epoch &&
        slab->header.stamp == peer->my_token)
        peer->leaving--;
    slab_left_locked(slab, error == 0 ? HG_SUCCESS : HG_HOSTUNREACH);
    if (error != 0 && peer->epoch == epoch)
        amg_ofi_peer_break_locked(peer, error < 0 ? -error : error);
    amg_ofi_peer_unref_locked(peer);
}

ssize_t amg_ofi_send_post_locked(struct amg_ofi_slab *slab)
{
    struct amg_ofi_domain *domain = slab->domain;
    struct amg_peer *peer = slab->peer;
    unsigned kind = slab->header.kind & ~(unsigned)AMG_OFI_MAGIC_MASK;
    bool is_short =
        slab->len <= domain->facts.inject_len && kind > AMG_OFI_ACCEPT;
    ssize_t code = 0;

    AMG_ASSERT(peer->at != FI_ADDR_NOTAVAIL);
    slab->header.stamp = peer->my_token;
    /* A CONNECT goes to a peer that does not know this process yet. */
    slab->header.credits =
        kind == AMG_OFI_CONNECT
            ? 0
            : (uint8_t)amg_flow_take_owed(&peer->calls, CREDITS_PER_MESSAGE);
    slab->epoch = peer->epoch;
    if (is_short) {
        code = amg_ofi_call->inject(
            domain->ep, &slab->header, slab->len, peer->at);
    } else {
        slab->work.done = on_sent_locked;
        code = amg_ofi_call->send(domain->ep, &slab->header, slab->len,
            amg_ofi_reg_desc(slab->block->mr), peer->at, &slab->work.context);
    }
    if (code != 0) {
        amg_flow_owe_again(
            &domain->calls.flow, &peer->calls, slab->header.credits);
        return code;
    }
    if (peer->calls.owed > 0) /* more than one message tells of */
        amg_flow_owe_again(&domain->calls.flow, &peer->calls,
            amg_flow_take_owed(&peer->calls, UINT16_MAX));
    peer->sent += kind == AMG_OFI_CONNECT ? 0 : 1;
    if (is_short) {
        slab_left_locked(slab, HG_SUCCESS);
    } else {
        peer->leaving += kind == AMG_OFI_CONNECT ? 0 : 1;
        peer->busy++;
        amg_list_push(&domain->sends, &slab->post.link);
    }
    return 0;
}

void amg_ofi_send_locked(struct amg_ofi_slab *slab)
{
    struct amg_peer *peer = slab->peer;
    ssize_t code = -FI_EAGAIN;

    /* A peer that sent a CONNECT first gets the ACCEPT before anything else. */
    if (peer->state == AMG_OFI_PEER_OPEN && !peer->owes_accept &&
        peer->at != FI_ADDR_NOTAVAIL && amg_list_is_empty(&peer->unsent))
        code = amg_ofi_send_post_locked(slab);
    if (code == 0)
        return;
    if (amg_list_is_empty(&peer->unsent))
        amg_ofi_peer_set_deadline(peer);
    amg_list_push(&peer->unsent, &slab->post.link);
    amg_ofi_peer_try_later_locked(peer);
    if (code != -FI_EAGAIN)
        amg_ofi_peer_break_locked(peer, (int)-code);
    else if (peer->state == AMG_OFI_PEER_UNKNOWN ||
             peer->state == AMG_OFI_PEER_CLAIMED)
        amg_ofi_peer_connect_locked(peer);
}

bool amg_ofi_send_control_locked(struct amg_peer *peer,
    struct amg_ofi_header header, const void *body, uint32_t body_len)
{
    struct amg_ofi_slab *slab = amg_ofi_slab_get_locked(peer->domain);

    if (slab == NULL)
        return false;
    slab->header.cookie = header.cookie;
    if (body_len > 0)
        memcpy(slab->data, body, body_len);
    amg_ofi_send_address(
        slab, peer, header.context, header.target, header.kind, body_len);
    amg_ofi_send_locked(slab);
    return true;
}

void amg_ofi_send_answer_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target, enum amg_ofi_kind kind, uint32_t cookie, hg_return_t ret)
{
    const struct amg_ofi_refuse refuse = {.code = ret};
    char text[AMG_OFI_TEXT_CAP];

    if (amg_ofi_send_control_locked(peer,
            (struct amg_ofi_header){.kind = (uint8_t)kind,
                .context = context,
                .target = target,
                .cookie = cookie},
            &refuse, sizeof(refuse)) ||
        peer->broken != 0)
        return;
    AMG_LOG_ERROR("ofi",
        "there is no memory to answer %s; what is under way between the two is "
        "given up, and they begin anew",
        amg_ofi_peer_text(peer, text));
    amg_ofi_peer_break_locked(peer, FI_ENOMEM);
}

void amg_ofi_send_detach_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_ep *ep)
{
    struct amg_link *link = amg_list_first(&domain->trying);

    amg_calls_detach_locked(&domain->calls, &domain->sends, &ep->base);
    for (; link != NULL; link = amg_list_next(&domain->trying, link))
        amg_calls_detach_locked(&domain->calls,
            &amg_container_of(link, struct amg_peer, trying)->unsent,
            &ep->base);
}

void amg_ofi_send_lost_locked(const struct amg_peer *peer)
{
    struct amg_list *sends = &peer->domain->sends;
    struct amg_link *link = peer->busy > 0 ? amg_list_first(sends) : NULL;

    for (; link != NULL; link = amg_list_next(sends, link)) {
        struct amg_ofi_slab *slab =
            amg_container_of(link, struct amg_ofi_slab, post.link);

        if (slab->post.op == NULL || slab->peer != peer)
            continue;
        amg_ofi_op_end_locked(slab->post.op, HG_HOSTUNREACH);
        slab->post.op = NULL;
    }
}

void amg_ofi_send_abandon_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&domain->sends)) != NULL) {
        struct amg_ofi_slab *slab =
            amg_container_of(link, struct amg_ofi_slab, post.link);

        AMG_ASSERT(slab->peer->busy > 0);
        slab->peer->busy--;
        slab_left_locked(slab, HG_CANCELED);
    }
}
