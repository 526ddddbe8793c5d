/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs on their way out.
 *
 * A short message is injected: it has left when the post returns. For a longer
 * one a completion comes. A provider that has no room, or no connection yet,
 * says EAGAIN, at any post; then the message waits in its peer's queue, in
 * order, and the polls try again. So do messages to a peer that has not yet
 * told who it is. How long, is decided in ofi_hello.c. A post that fails for
 * good loses the peer, but not before the next poll: whoever sends need not
 * fear that what it works on ends meanwhile. */
#include "ofi_backend/ofi_send.h"

#include <string.h>

#include "base/log.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_hello.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_reg.h"
#include "ofi_backend/ofi_slab.h"

enum { CREDITS_PER_MESSAGE = UINT8_MAX };

void amg_ofi_send_address(struct amg_ofi_slab *slab, struct amg_peer *peer,
    uint8_t context, uint8_t target, enum amg_ofi_kind kind, uint32_t body_len)
{
    struct amg_peer *before = slab->peer;

    slab->peer = amg_ofi_peer_hold(peer);
    if (before != NULL)
        amg_ofi_peer_drop_locked(before);
    slab->header.kind = (uint8_t)(AMG_OFI_MAGIC | kind);
    slab->header.context = context;
    slab->header.target = target;
    slab->header.credits = 0;
    slab->len = (uint32_t)sizeof(slab->header) + body_len;
}

static void slab_left_locked(struct amg_ofi_slab *slab, hg_return_t ret)
{
    if (slab->post.op != NULL)
        amg_ofi_op_end_locked(slab->post.op, ret);
    amg_ofi_slab_put_locked(slab);
}

/* A hello names no sender, and is not counted. */
static bool is_counted(const struct amg_ofi_slab *slab)
{
    return slab->header.kind != (AMG_OFI_MAGIC | AMG_OFI_HELLO);
}

static void on_sent_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error)
{
    struct amg_ofi_slab *slab = AMG_OBJECT(work, struct amg_ofi_slab, work);
    struct amg_peer *peer = amg_ofi_peer_hold(slab->peer);
    uint32_t epoch = slab->epoch;

    (void)domain;
    (void)entry;
    amg_list_remove(&slab->post.link);
    peer->busy--;
    if (is_counted(slab) && epoch == peer->epoch &&
        slab->header.stamp == peer->my_token)
        peer->leaving--;
    slab_left_locked(slab, error == 0 ? HG_SUCCESS : HG_HOSTUNREACH);
    if (error != 0 && peer->epoch == epoch)
        amg_ofi_hello_lost_locked(
            peer, amg_ofi_call->strerror(error < 0 ? -error : error));
    amg_ofi_peer_drop_locked(peer);
}

ssize_t amg_ofi_send_post_locked(struct amg_ofi_slab *slab)
{
    struct amg_ofi_domain *domain = slab->domain;
    struct amg_peer *peer = slab->peer;
    unsigned kind = slab->header.kind & ~(unsigned)AMG_OFI_MAGIC_MASK;
    bool is_short =
        slab->len <= domain->facts.inject_len && kind > AMG_OFI_WELCOME;
    ssize_t code = 0;

    slab->header.stamp = peer->my_token;
    /* A hello comes from nobody that is known yet, who can give none. */
    slab->header.credits =
        kind == AMG_OFI_HELLO
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
    peer->sent += kind == AMG_OFI_HELLO ? 0 : 1;
    if (is_short) {
        slab_left_locked(slab, HG_SUCCESS);
    } else {
        peer->leaving += kind == AMG_OFI_HELLO ? 0 : 1;
        peer->busy++;
        amg_list_push(&domain->sends, &slab->post.link);
    }
    return 0;
}

void amg_ofi_send_try_later_locked(struct amg_peer *peer)
{
    if (peer->is_trying)
        return;
    peer->is_trying = true;
    amg_list_push(&peer->domain->trying, &peer->trying);
}

static void queue_push_locked(struct amg_ofi_slab *slab)
{
    struct amg_peer *peer = slab->peer;

    amg_list_push(&peer->unsent, &slab->post.link);
    amg_ofi_send_try_later_locked(peer);
}

void amg_ofi_send_locked(struct amg_ofi_slab *slab)
{
    struct amg_peer *peer = slab->peer;
    ssize_t code = -FI_EAGAIN;

    /* Who said hello first is told who is here before anything else. */
    if (peer->state == AMG_OFI_PEER_OPEN && !peer->owes_welcome &&
        peer->at != FI_ADDR_NOTAVAIL && amg_list_is_empty(&peer->unsent))
        code = amg_ofi_send_post_locked(slab);
    if (code == 0)
        return;
    if (amg_list_is_empty(&peer->unsent))
        amg_ofi_hello_set_deadline(peer);
    queue_push_locked(slab);
    if (code != -FI_EAGAIN)
        peer->broken = (int)-code;
    else if (peer->state == AMG_OFI_PEER_STRANGER ||
             peer->state == AMG_OFI_PEER_GREETED)
        amg_ofi_hello_say_locked(peer);
}

bool amg_ofi_send_control_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target, enum amg_ofi_kind kind, uint32_t cookie, const void *body,
    uint32_t body_len)
{
    struct amg_ofi_slab *slab = amg_ofi_slab_get_locked(peer->domain);

    if (slab == NULL)
        return false;
    slab->header.cookie = cookie;
    if (body_len > 0)
        memcpy(slab->data, body, body_len);
    amg_ofi_send_address(slab, peer, context, target, kind, body_len);
    amg_ofi_send_locked(slab);
    return true;
}

void amg_ofi_send_answer_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target, enum amg_ofi_kind kind, uint32_t cookie, hg_return_t ret)
{
    const struct amg_ofi_refuse refuse = {.code = ret};
    char text[AMG_OFI_TEXT_CAP];

    if (amg_ofi_send_control_locked(
            peer, context, target, kind, cookie, &refuse, sizeof(refuse)) ||
        peer->broken != 0)
        return;
    AMG_LOG_ERROR("ofi",
        "there is no memory to answer %s; what is under way between the two is "
        "given up, and they begin anew",
        amg_ofi_peer_text(peer, text));
    peer->broken = FI_ENOMEM;
    amg_ofi_send_try_later_locked(peer);
}

/* All that waits for this peer, until it waits again. True: some has left. */
static bool send_try_locked(struct amg_peer *peer)
{
    bool has_left = false;

    if (peer->broken != 0) {
        amg_ofi_hello_lost_locked(peer, amg_ofi_call->strerror(peer->broken));
        return false;
    }
    if ((peer->owes_hello || peer->owes_welcome ||
            peer->at == FI_ADDR_NOTAVAIL) &&
        !amg_ofi_hello_try_locked(peer))
        return false;
    if (peer->state == AMG_OFI_PEER_FOREIGN)
        amg_ofi_hello_lost_locked(peer, NULL); /* it was told why */
    while (peer->state == AMG_OFI_PEER_OPEN) {
        struct amg_link *link = amg_list_pop(&peer->unsent);
        struct amg_ofi_slab *slab = NULL;
        ssize_t code = 0;

        if (link == NULL)
            break;
        slab = AMG_OBJECT(link, struct amg_ofi_slab, post.link);
        code = amg_ofi_send_post_locked(slab);
        if (code == 0) {
            has_left = true;
            amg_ofi_hello_set_deadline(peer);
            continue;
        }
        amg_list_push_front(&peer->unsent, link);
        if (code != -FI_EAGAIN)
            amg_ofi_hello_lost_locked(peer, amg_ofi_call->strerror((int)-code));
        break;
    }
    return has_left;
}

void amg_ofi_send_retry_locked(struct amg_ofi_domain *domain)
{
    struct amg_list all;
    struct amg_list served;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_init(&served);
    amg_list_splice(&all, &domain->trying);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_peer *peer = AMG_OBJECT(link, struct amg_peer, trying);
        bool has_left = false;

        peer->is_trying = false;
        (void)amg_ofi_peer_hold(peer);
        has_left = send_try_locked(peer);
        if ((peer->owes_hello || peer->owes_welcome ||
                !amg_list_is_empty(&peer->unsent)) &&
            !peer->is_trying) {
            peer->is_trying = true;
            amg_list_push(has_left ? &served : &domain->trying, link);
        }
        amg_ofi_peer_drop_locked(peer);
    }
    /* Peers share the room: who got some is behind who got none. */
    amg_list_splice(&domain->trying, &served);
}

void amg_ofi_send_detach_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_ep *ep)
{
    struct amg_link *link = amg_list_first(&domain->trying);

    amg_calls_detach_locked(&domain->calls, &domain->sends, &ep->base);
    for (; link != NULL; link = amg_list_next(&domain->trying, link))
        amg_calls_detach_locked(&domain->calls,
            &AMG_OBJECT(link, struct amg_peer, trying)->unsent, &ep->base);
}

void amg_ofi_send_lost_locked(const struct amg_peer *peer)
{
    struct amg_list *sends = &peer->domain->sends;
    struct amg_link *link = peer->busy > 0 ? amg_list_first(sends) : NULL;

    for (; link != NULL; link = amg_list_next(sends, link)) {
        struct amg_ofi_slab *slab =
            AMG_OBJECT(link, struct amg_ofi_slab, post.link);

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
            AMG_OBJECT(link, struct amg_ofi_slab, post.link);

        slab->peer->busy--;
        slab_left_locked(slab, HG_CANCELED);
    }
}
