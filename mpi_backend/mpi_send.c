/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: calls that leave at once or are packed, and messages in flight.
 *
 * Messages that MPI sends wait on one list until a poll tests them. A small
 * message is complete when MPI_Isend returns, but a test then would be one more
 * call of MPI, with its lock, per message: polls test several sends at once,
 * when there are enough, or when no message arrived. Sends to different ranks
 * may complete in any order.
 *
 * A message that MPI refuses goes back to the caller. The driver retries some
 * messages: replies and its own messages, whose failure nothing would report to
 * the rank that waits for them; and messages that the driver had accepted
 * before, in a pack or from a thread that may not call MPI. The few retries are
 * made at once, because later messages must not overtake the message. */
#include "mpi_backend/mpi_send.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_long.h"
#include "mpi_backend/mpi_peer.h"

enum { WHAT_CAP = 80 };

/* `kept` of a rank that has died, so that messages to it take the ways of calls
 * that may be kept, which drop these messages. */
static struct amg_pack to_nowhere;

hg_return_t amg_mpi_send_check(const struct amg_mpi_domain *domain)
{
    static atomic_bool was_told;

    if (domain->is_dead) {
        AMG_LOG_ERROR("mpi", "MPI_Finalize ended this class; close classes "
                             "before MPI_Finalize");
        return HG_NA_ERROR;
    }
    if (domain->comm.thread_level != MPI_THREAD_SINGLE ||
        amg_role.is_library_thread || amg_mpi_comm_may_call(&domain->comm))
        return HG_SUCCESS;
    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_ERROR("mpi",
            "another thread started MPI, with MPI_THREAD_SINGLE, so the calls "
            "of this thread are refused; use MPI_Init_thread with "
            "MPI_THREAD_FUNNELED or higher");
    return HG_OPNOTSUPPORTED;
}

/* MPI could not send a message to `rank`, with `code`: logs MPI's text once per
 * rank, then counts such messages for the next check of peers. Returns
 * HG_NA_ERROR. */
static hg_return_t send_fail_locked(
    struct amg_mpi_domain *domain, uint32_t rank, int code)
{
    struct amg_mpi_peer *peer = amg_mpi_peer_get_locked(domain, rank);
    char what[WHAT_CAP];

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (peer == NULL || peer->is_lost) {
        domain->liveness.lost++;
        return HG_NA_ERROR;
    }
    peer->is_lost = true;
    snprintf(what, sizeof(what),
        "sending a message to rank %u (more of these are counted)", rank);
    return amg_mpi_comm_error(code, what);
}

/* A message was not sent. If it was a call, ends the call, and takes back the
 * credit, which neither a reply nor the peer's handling will return. */
static void request_unsent_locked(const struct amg_mpi_msgbuf *msgbuf,
    unsigned kind, uint32_t cookie, hg_return_t ret)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    uint32_t rank = (uint32_t)msgbuf->rank;
    struct amg_post post = {.cookie = cookie,
        .peer = &amg_mpi_peer_of_locked(domain, rank)->calls,
        .wants_reply = kind == AMG_MPI_REQUEST};

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (amg_flow_is_closed(post.peer))
        return; /* all ended when the rank died */
    if (kind != AMG_MPI_REQUEST &&
        (kind != AMG_MPI_ONEWAY || cookie == AMG_TOKEN_ACK))
        return;
    domain->oneways -= kind == AMG_MPI_ONEWAY;
    amg_calls_unsent_locked(&domain->calls, &post, rank, ret);
}

static void calls_unsent_locked(
    const struct amg_mpi_msgbuf *msgbuf, hg_return_t ret)
{
    struct amg_pack_iter iter;
    struct amg_pack_part part;

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    if (msgbuf->packed.kind == 0) {
        request_unsent_locked(msgbuf, amg_mpi_kind_of(&msgbuf->header),
            msgbuf->header.cookie, ret);
        return;
    }
    if (!amg_pack_iter_init(&iter, &msgbuf->header, msgbuf->pack.len,
            msgbuf->pack.count, msgbuf->domain->packer.count_max))
        return;
    while (amg_pack_iter_next(&iter, &part))
        request_unsent_locked(msgbuf,
            part.head.kind & ~(unsigned)AMG_MPI_MAGIC_MASK, part.head.cookie,
            ret);
}

/* Ends the operation of a message that MPI has sent, or could not send. */
static void msgbuf_left_locked(struct amg_mpi_msgbuf *msgbuf, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    if (msgbuf->post.op != NULL)
        amg_mpi_op_end_locked(msgbuf->post.op, ret);
    if (!AMG_LIKELY(ret == HG_SUCCESS))
        calls_unsent_locked(msgbuf, ret);
    msgbuf->packed.kind = 0;
    amg_mpi_msgbuf_put_locked(msgbuf);
}

static void sends_add_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_msgbuf *msgbuf)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_list_push(&domain->sends.in_flight, &msgbuf->post.link);
    domain->sends.count++;
}

/* Hands the message that begins with `header` to MPI. `peer` is NULL before the
 * first contact, when no credits are owed. */
static inline hg_return_t msgbuf_post_locked(struct amg_mpi_msgbuf *msgbuf,
    struct amg_mpi_header *header, struct amg_mpi_peer *peer)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    header->credits = AMG_LIKELY(peer != NULL)
                          ? amg_flow_take_owed(&peer->calls, UINT16_MAX)
                          : 0;
    rc = MPI_Isend(header, (int)msgbuf->len, MPI_BYTE, msgbuf->rank,
        msgbuf->tag, domain->comm.messages, &msgbuf->request);
    if (rc != MPI_SUCCESS) {
        if (header->credits > 0)
            amg_flow_owe_again(
                &domain->calls.flow, &peer->calls, header->credits);
        return send_fail_locked(domain, (uint32_t)msgbuf->rank, rc);
    }
    sends_add_locked(domain, msgbuf);
    return HG_SUCCESS;
}

/* Hands an announced message to MPI. False: MPI refuses the message. */
static bool long_send_locked(struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    int rc = MPI_Isend(&msgbuf->header, (int)msgbuf->len, MPI_BYTE,
        msgbuf->rank, msgbuf->tag, domain->comm.data, &msgbuf->request);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (rc != MPI_SUCCESS) {
        if (!amg_mpi_peer_of_locked(domain, (uint32_t)msgbuf->rank)->is_lost)
            (void)send_fail_locked(domain, (uint32_t)msgbuf->rank, rc);
        return false;
    }
    amg_list_remove(&msgbuf->post.link);
    sends_add_locked(domain, msgbuf);
    return true;
}

/* Sends announced messages, to each rank in the order of the announcements. */
static void longs_send_locked(struct amg_mpi_domain *domain)
{
    struct amg_list *unsent = &domain->longs.unsent;
    struct amg_link *link = amg_list_first(unsent);
    struct amg_link *next = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (; link != NULL; link = amg_list_next(unsent, link))
        domain->peers.all[amg_mpi_msgbuf_of_link(link)->rank]->is_stuck = false;
    for (link = amg_list_first(unsent); link != NULL; link = next) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);
        struct amg_mpi_peer *peer = domain->peers.all[msgbuf->rank];

        next = amg_list_next(unsent, link);
        peer->is_stuck = peer->is_stuck || !long_send_locked(msgbuf);
    }
}

/* Sends the announcement, which carries the owed credits, then the message. */
AMG_NOINLINE static hg_return_t long_post_locked(
    struct amg_mpi_msgbuf *msgbuf, struct amg_mpi_peer *peer)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    struct amg_mpi_msgbuf *announcement = amg_mpi_msgbuf_get_locked(domain);
    int tag = 0;
    hg_return_t rc = HG_NOMEM;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (announcement == NULL)
        return HG_NOMEM;
    tag = amg_mpi_long_announce_locked(msgbuf, announcement);
    rc = msgbuf_post_locked(announcement, &announcement->header, peer);
    if (rc != HG_SUCCESS) {
        amg_mpi_msgbuf_put_locked(announcement);
        return rc;
    }
    msgbuf->header.credits = 0;
    msgbuf->tag = tag;
    AMG_ASSERT(peer != NULL);
    amg_list_push(&domain->longs.unsent, &msgbuf->post.link);
    longs_send_locked(domain);
    return HG_SUCCESS;
}

static void kept_send_locked(
    struct amg_mpi_domain *domain, struct amg_pack *pack)
{
    struct amg_mpi_msgbuf *msgbuf =
        amg_container_of(pack, struct amg_mpi_msgbuf, pack);
    struct amg_mpi_header *header = &msgbuf->header;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_packer_take(&domain->packer, pack);
    if (pack->count > 1) {
        header = &msgbuf->packed;
        *header = (struct amg_mpi_header){
            .kind = AMG_MPI_MAGIC | AMG_MPI_PACK, .cookie = pack->count};
        msgbuf->len = (uint32_t)sizeof(*header) + pack->len;
    }
    for (unsigned i = 0; i < AMG_MPI_TRIES && (i == 0 || rc != HG_SUCCESS); i++)
        rc = msgbuf_post_locked(msgbuf, header,
            amg_mpi_peer_of_locked(domain, (uint32_t)msgbuf->rank));
    if (rc != HG_SUCCESS)
        msgbuf_left_locked(msgbuf, rc);
}

void amg_mpi_send_kept_locked(struct amg_mpi_domain *domain)
{
    struct amg_pack *pack = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while ((pack = amg_packer_first(&domain->packer)) != NULL)
        kept_send_locked(domain, pack);
}

/* If a message has left for the peer since the last poll, keeps the call until
 * the next poll, or copies it to a kept message; drops a message to a dead
 * rank. True: the msgbuf is taken. */
AMG_NOINLINE static bool call_keep_locked(
    struct amg_mpi_msgbuf *msgbuf, struct amg_mpi_peer *peer)
{
    struct amg_packer *packer = &msgbuf->domain->packer;
    enum amg_pack_verdict verdict = AMG_PACK_FULL;

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    if (peer->pack.kept == &to_nowhere) {
        msgbuf_left_locked(msgbuf, HG_HOSTUNREACH);
        return true;
    }
    msgbuf->pack.head = (struct amg_pack_head){.kind = msgbuf->header.kind,
        .context = msgbuf->header.context,
        .cookie = msgbuf->header.cookie};
    msgbuf->pack.body = msgbuf->data;
    msgbuf->pack.len = msgbuf->len - (uint32_t)sizeof(msgbuf->header);
    msgbuf->pack.target = (uint8_t)(msgbuf->tag - msgbuf->domain->stamp);
    while ((verdict = amg_packer_post(packer, &peer->pack, &msgbuf->pack)) ==
           AMG_PACK_FULL)
        kept_send_locked(msgbuf->domain, peer->pack.kept);
    if (verdict != AMG_PACK_JOINED)
        return verdict == AMG_PACK_KEPT;
    if (msgbuf->post.op != NULL)
        amg_mpi_op_end_locked(msgbuf->post.op, HG_SUCCESS);
    amg_mpi_msgbuf_put_locked(msgbuf);
    return true;
}

/* True: the message was kept or dropped. Only CREDIT may overtake kept calls.
 */
static inline bool msgbuf_keep_locked(
    struct amg_mpi_msgbuf *msgbuf, struct amg_mpi_peer *peer)
{
    unsigned kind = amg_mpi_kind_of(&msgbuf->header);

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    if (AMG_LIKELY(kind <= AMG_MPI_REFUSE))
        return !AMG_LIKELY(
                   amg_packer_is_first(&msgbuf->domain->packer, &peer->pack)) &&
               call_keep_locked(msgbuf, peer);
    if (peer->pack.kept == &to_nowhere)
        return call_keep_locked(msgbuf, peer);
    if (peer->pack.kept != NULL && kind != AMG_MPI_CREDIT)
        kept_send_locked(msgbuf->domain, peer->pack.kept);
    return false;
}

/* Sends messages of threads that may not call MPI, before later messages. */
AMG_NOINLINE static void deferred_send_locked(struct amg_mpi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_list_init(&all);
    amg_list_splice(&all, &domain->sends.deferred);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);
        hg_return_t rc = amg_mpi_send_surely_locked(msgbuf);

        if (rc != HG_SUCCESS)
            msgbuf_left_locked(msgbuf, rc);
    }
}

hg_return_t amg_mpi_send_locked(struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    struct amg_mpi_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(msgbuf->rank >= 0 && msgbuf->rank < domain->comm.size);
    AMG_ASSERT(msgbuf->len >= sizeof(msgbuf->header) &&
               msgbuf->len - sizeof(msgbuf->header) <= msgbuf->buf.cap);
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        amg_list_push(&domain->sends.deferred, &msgbuf->post.link);
        return HG_SUCCESS;
    }
    if (!AMG_LIKELY(amg_list_is_empty(&domain->sends.deferred)))
        deferred_send_locked(domain);
    peer = domain->peers.all[msgbuf->rank];
    if (AMG_LIKELY(peer != NULL) && msgbuf_keep_locked(msgbuf, peer))
        return HG_SUCCESS;
    if (!AMG_LIKELY(!amg_mpi_long_is(msgbuf)))
        return long_post_locked(msgbuf, peer);
    return msgbuf_post_locked(msgbuf, &msgbuf->header, peer);
}

void amg_mpi_send_control_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    int context, enum amg_mpi_kind kind, uint32_t cookie, uint32_t body_len)
{
    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    msgbuf->post.op = NULL;
    msgbuf->header.cookie = cookie;
    amg_mpi_send_address(msgbuf, rank, context, kind, body_len);
    if (amg_mpi_send_surely_locked(msgbuf) != HG_SUCCESS)
        amg_mpi_msgbuf_put_locked(msgbuf);
}

/* Removes the oldest sends, at most AMG_MPI_SENDS; returns their number. */
static int sends_take_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_msgbuf *ret_msgbufs[AMG_MPI_SENDS],
    MPI_Request ret_requests[AMG_MPI_SENDS])
{
    int count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (count < AMG_MPI_SENDS && domain->sends.count > 0) {
        struct amg_mpi_msgbuf *msgbuf =
            amg_mpi_msgbuf_of_link(amg_list_pop(&domain->sends.in_flight));

        AMG_ASSERT(msgbuf->request != MPI_REQUEST_NULL);
        domain->sends.count--;
        ret_msgbufs[count] = msgbuf;
        ret_requests[count] = msgbuf->request;
        count++;
    }
    return count;
}

/* Tests all requests: ret_codes[i] is valid if requests[i] has become
 * MPI_REQUEST_NULL. */
static void requests_test(
    int count, MPI_Request *requests, int ret_codes[AMG_MPI_SENDS])
{
    MPI_Status statuses[AMG_MPI_SENDS];
    int indices[AMG_MPI_SENDS];
    int done = 0;
    int rc = amg_mpi_comm_test_some(count, requests, &done, indices, statuses);

    for (int i = 0; rc == MPI_SUCCESS && i < done; i++)
        ret_codes[indices[i]] = statuses[i].MPI_ERROR;
    for (int i = 0; rc != MPI_SUCCESS && i < count; i++) {
        requests[i] = MPI_REQUEST_NULL;
        ret_codes[i] = rc;
    }
}

void amg_mpi_send_poll_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *msgbufs[AMG_MPI_SENDS];
    MPI_Request requests[AMG_MPI_SENDS];
    int codes[AMG_MPI_SENDS];
    int count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!amg_list_is_empty(&domain->sends.deferred))
        deferred_send_locked(domain);
    amg_mpi_send_kept_locked(domain);
    if (!amg_list_is_empty(&domain->longs.unsent))
        longs_send_locked(domain);
    count = sends_take_locked(domain, msgbufs, requests);
    if (count == 0)
        return;
    requests_test(count, requests, codes);
    for (int i = 0; i < count; i++) {
        msgbufs[i]->request = requests[i];
        if (requests[i] != MPI_REQUEST_NULL)
            sends_add_locked(domain, msgbufs[i]);
        else if (codes[i] == MPI_SUCCESS)
            msgbuf_left_locked(msgbufs[i], HG_SUCCESS);
        else
            msgbuf_left_locked(msgbufs[i],
                send_fail_locked(domain, (uint32_t)msgbufs[i]->rank, codes[i]));
    }
}

void amg_mpi_send_poll_all_locked(struct amg_mpi_domain *domain)
{
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_send_kept_locked(domain);
    count = domain->sends.count;
    for (unsigned i = 0; i < count; i += AMG_MPI_SENDS)
        amg_mpi_send_poll_locked(domain);
}

void amg_mpi_sends_lose_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_peer *peer)
{
    struct amg_pack *kept = peer->pack.kept;
    struct amg_list *lists[] = {
        &domain->longs.unsent, &domain->sends.in_flight};
    struct amg_link *next = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (kept != NULL) {
        amg_packer_take(&domain->packer, kept);
        msgbuf_left_locked(amg_container_of(kept, struct amg_mpi_msgbuf, pack),
            HG_HOSTUNREACH);
    }
    peer->pack.kept = &to_nowhere;
    for (unsigned i = 0; i < 2; i++)
        for (struct amg_link *link = amg_list_first(lists[i]); link != NULL;
             link = next) {
            struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);

            next = amg_list_next(lists[i], link);
            if (msgbuf->rank != (int)peer->rank)
                continue;
            amg_list_remove(link);
            domain->sends.count -= i;
            if (msgbuf->post.op != NULL)
                amg_mpi_op_end_locked(msgbuf->post.op, HG_HOSTUNREACH);
            if (i == 0)
                amg_mpi_msgbuf_put_locked(msgbuf);
        }
}

void amg_mpi_send_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_send_kept_locked(domain);
    amg_list_splice(&domain->sends.deferred, &domain->longs.unsent);
    while ((link = amg_list_pop(&domain->sends.deferred)) != NULL)
        amg_mpi_msgbuf_put_locked(amg_mpi_msgbuf_of_link(link));
    /* MPI may still read msgbufs in flight, which stay counted as in use. */
    amg_list_init(&domain->sends.in_flight);
    domain->sends.count = 0;
}
