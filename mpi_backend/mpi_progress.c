/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a domain: its receives, the messages that come, and polls.
 *
 * A poll that finds a message after an idle poll returns at once, because the
 * caller waited for the message, and a second test costs 0.1 us. The next poll
 * reposts receives, while the answer is in flight. In a stream of messages, a
 * poll takes as many as the caller wants. A poll that finds an ended operation
 * also returns early, and leaves messages to the next poll. Sends are tested
 * only if no message arrived, if many are in flight, or in one of 64 polls.
 *
 * Messages to a context on `comm.messages` carry the context's tag; a ring of
 * receives from any rank takes them. MPI matches receives in posting order, so
 * polls test only the oldest receive: with 16 posted, a round trip takes 1.07
 * times as long as with a bare receive, or 1.39 times if polls test all 16.
 * After a message, more are likely: then one call tests several receives, as
 * each call takes MPI's lock. A message that completes before the message of an
 * older receive waits in the ring.
 *
 * A message to a context that is not open here matches no receive. A probe for
 * any tag finds such messages, and those to the control tag (the disconnect):
 * in one of 64 polls, and always if the whole domain progresses. Tags carry a
 * stamp of the domain, because MPI may give a new communicator the number of an
 * old one, whose late messages must match no receive. */
#include "mpi_backend/mpi_progress.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_long.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_transfer.h"

enum {
    PROBE_MASK = 63, /* a probe costs 0.1 us, so one poll of 64 makes one */
    DOMAIN_MAX = 64, /* messages taken per endpoint, when all are polled */
};

void amg_mpi_receive_fill_locked(struct amg_mpi_ep *ep)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    int tag = amg_mpi_tag(domain, ep->base.context_id);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!AMG_LIKELY(tag != domain->unmatched.tag))
        return; /* the probed message precedes messages not yet received */
    while (ep->posted < AMG_MPI_RECEIVES) {
        unsigned last = (ep->first + ep->posted) % AMG_MPI_RECEIVES;
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_locked(domain);
        int rc = MPI_SUCCESS;

        if (msgbuf == NULL)
            return;
        rc = MPI_Irecv(&msgbuf->header, (int)domain->room_len, MPI_BYTE,
            MPI_ANY_SOURCE, tag, domain->comm.messages, &ep->requests[last]);
        if (rc != MPI_SUCCESS) {
            amg_mpi_msgbuf_put_locked(msgbuf);
            (void)amg_mpi_comm_error(rc, "MPI_Irecv of a message");
            return;
        }
        AMG_ASSERT(ep->msgbufs[last] == NULL);
        ep->msgbufs[last] = msgbuf;
        ep->posted++;
    }
}

/* Removes the oldest receive, which is complete, from the ring. */
static struct amg_mpi_msgbuf *ring_take(struct amg_mpi_ep *ep)
{
    struct amg_mpi_msgbuf *msgbuf = ep->msgbufs[ep->first];

    AMG_ASSERT(ep->posted > 0 && msgbuf != NULL);
    ep->msgbufs[ep->first] = NULL;
    ep->first = (ep->first + 1) % AMG_MPI_RECEIVES;
    ep->posted--;
    return msgbuf;
}

/* Marks the receive at `slot` of the ring as complete. */
static void ring_note(
    struct amg_mpi_ep *ep, unsigned slot, const MPI_Status *status, int code)
{
    AMG_ASSERT(slot < AMG_MPI_RECEIVES);
    ep->requests[slot] = MPI_REQUEST_NULL;
    ep->statuses[slot] = *status;
    ep->codes[slot] = code;
}

static void ring_test(struct amg_mpi_ep *ep)
{
    MPI_Status status;
    int flag = 0;
    int rc = MPI_Test(&ep->requests[ep->first], &flag, &status);

    if (rc != MPI_SUCCESS || flag)
        ring_note(ep, ep->first, &status, rc);
}

/* Tests the oldest receive, and all behind it up to the end of the array. */
static void ring_test_more(struct amg_mpi_ep *ep)
{
    static const MPI_Status nobody = {.MPI_SOURCE = MPI_ANY_SOURCE};
    unsigned to_end = AMG_MPI_RECEIVES - ep->first;
    unsigned len = ep->posted < to_end ? ep->posted : to_end;
    MPI_Status statuses[AMG_MPI_RECEIVES];
    int indices[AMG_MPI_RECEIVES];
    int count = 0;
    int rc = amg_mpi_comm_test_some(
        (int)len, &ep->requests[ep->first], &count, indices, statuses);

    if (rc != MPI_SUCCESS)
        ring_note(ep, ep->first, &nobody, rc);
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        ring_note(ep, ep->first + (unsigned)indices[i], &statuses[i],
            statuses[i].MPI_ERROR);
}

/* The next complete message of the endpoint; false: none. `has_more`: a message
 * was just received, so further messages are likely. */
static bool receive_next_locked(
    struct amg_mpi_ep *ep, bool has_more, struct amg_mpi_message *ret_message)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (ep->posted > 0) {
        unsigned slot = ep->first;

        if (ep->requests[slot] != MPI_REQUEST_NULL) {
            if (has_more)
                ring_test_more(ep);
            else
                ring_test(ep);
        }
        if (ep->requests[slot] != MPI_REQUEST_NULL)
            return false;
        ret_message->ep = ep;
        if (amg_mpi_receive_read_locked(domain, ring_take(ep),
                &ep->statuses[slot], ep->codes[slot], ret_message))
            return true;
    }
    return false;
}

/* Cancels the oldest receive. True: no message came. */
static bool ring_cancel(struct amg_mpi_ep *ep)
{
    unsigned slot = ep->first;
    MPI_Status status;
    int flag = 0;
    int rc = MPI_SUCCESS;

    if (ep->requests[slot] == MPI_REQUEST_NULL)
        return false;
    MPI_Cancel(&ep->requests[slot]);
    rc = MPI_Wait(&ep->requests[slot], &status);
    ring_note(ep, slot, &status, rc);
    MPI_Test_cancelled(&status, &flag);
    return flag != 0;
}

/* Cancels the oldest posted receive. False: no receive is left. `ret_message`
 * has a msgbuf if a message came first. May wait in MPI for such a message. */
static bool receive_unpost_locked(
    struct amg_mpi_ep *ep, struct amg_mpi_message *ret_message)
{
    unsigned slot = ep->first;
    struct amg_mpi_msgbuf *msgbuf = NULL;
    bool is_cancelled = false;

    AMG_ASSERT_HELD_BIAS(amg_mpi_domain_of_ep(ep)->lock);
    ret_message->msgbuf = NULL;
    if (ep->posted == 0)
        return false;
    is_cancelled = ring_cancel(ep);
    msgbuf = ring_take(ep);
    if (is_cancelled) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return true;
    }
    ret_message->ep = NULL;
    if (!amg_mpi_receive_read_locked(amg_mpi_domain_of_ep(ep), msgbuf,
            &ep->statuses[slot], ep->codes[slot], ret_message))
        ret_message->msgbuf = NULL;
    return true;
}

/* The context of a tag of this domain; negative: not of this domain. */
static int context_of_tag(const struct amg_mpi_domain *domain, int tag)
{
    int context = tag - domain->stamp;

    return context >= 0 && context <= AMG_MPI_TAG_CONTROL ? context : -1;
}

/* Tests the unmatched message being received. False: incomplete, malformed, or
 * of a closed domain. */
static bool unmatched_end_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_message *ret_message)
{
    struct amg_mpi_msgbuf *msgbuf = domain->unmatched.msgbuf;
    MPI_Status status = {.MPI_TAG = -1};
    int flag = 0;
    int rc = MPI_Test(&domain->unmatched.request, &flag, &status);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (rc == MPI_SUCCESS && !flag)
        return false;
    AMG_ASSERT(msgbuf != NULL);
    domain->unmatched.msgbuf = NULL;
    domain->unmatched.request = MPI_REQUEST_NULL;
    domain->unmatched.tag = -1;
    if (context_of_tag(domain, status.MPI_TAG) < 0) { /* of a closed domain */
        amg_mpi_msgbuf_put_locked(msgbuf);
        return false;
    }
    ret_message->ep = NULL;
    return amg_mpi_receive_read_locked(
        domain, msgbuf, &status, rc, ret_message);
}

/* Posts a receive for the message that a probe found. The receive ends late if
 * MPI needs progress of the sender. No other receive is posted to that tag, so
 * this receive matches. False: no memory, or MPI refused the receive; then the
 * message stays for the next probe. */
static bool unmatched_begin_locked(
    struct amg_mpi_domain *domain, const MPI_Status *found)
{
    struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_locked(domain);
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (msgbuf == NULL)
        return false;
    rc = MPI_Irecv(&msgbuf->header, (int)domain->room_len, MPI_BYTE,
        found->MPI_SOURCE, found->MPI_TAG, domain->comm.messages,
        &domain->unmatched.request);
    if (rc != MPI_SUCCESS) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        (void)amg_mpi_comm_error(rc, "MPI_Irecv of a message");
        return false;
    }
    domain->unmatched.msgbuf = msgbuf;
    domain->unmatched.tag = found->MPI_TAG;
    return true;
}

/* Probes for a message to a context that is not open here, or to the domain
 * itself. False: none is complete; or the probe found a message to the open
 * endpoint `*ret_backlog` (else NULL), to be received first. */
static bool receive_unmatched_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_message *ret_message, struct amg_mpi_ep **ret_backlog)
{
    MPI_Status status;
    int flag = 0;
    int context = -1;
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    *ret_backlog = NULL;
    if (domain->unmatched.msgbuf != NULL)
        return unmatched_end_locked(domain, ret_message);
    rc = MPI_Iprobe(
        MPI_ANY_SOURCE, MPI_ANY_TAG, domain->comm.messages, &flag, &status);
    if (rc != MPI_SUCCESS || !flag)
        return false;
    context = context_of_tag(domain, status.MPI_TAG);
    if (context >= 0 && context < (int)domain->max_contexts &&
        domain->eps[context] != NULL) {
        *ret_backlog = domain->eps[context];
        return false;
    }
    return unmatched_begin_locked(domain, &status) &&
           unmatched_end_locked(domain, ret_message);
}

/* Takes back the credits of `credits` one-way requests from the peer. */
static void credits_take_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_peer *peer, uint16_t credits)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (credits <= peer->calls.unanswered)
        domain->oneways -=
            credits < domain->oneways ? credits : domain->oneways;
    amg_calls_credit_locked(&domain->calls, &peer->calls, credits);
}

/* Handles CREDIT; message_take_locked() took the header's credits before. */
static void on_credit_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    uint32_t note = message->msgbuf->header.cookie;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    amg_calls_on_note_locked(
        &domain->calls, &domain->peers.all[message->rank]->calls, note);
}

/* Length of the body of each kind, and its handler. */
static const struct kind_row {
    uint32_t len_min;
    uint32_t len_max;
    void (*on_message)(
        struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
} kind_rows[AMG_MPI_KIND_COUNT] = {
    [AMG_MPI_REQUEST] = {0, UINT32_MAX, amg_mpi_msg_on_request_locked},
    [AMG_MPI_ONEWAY] = {0, UINT32_MAX, amg_mpi_msg_on_request_locked},
    [AMG_MPI_REPLY] = {0, UINT32_MAX, amg_mpi_msg_on_reply_locked},
    [AMG_MPI_REFUSE] = {sizeof(struct amg_mpi_refuse),
        sizeof(struct amg_mpi_refuse), amg_mpi_msg_on_refuse_locked},
    [AMG_MPI_CREDIT] = {0, 0, on_credit_locked},
    [AMG_MPI_PACK] = {AMG_PACK_HEAD_LEN, UINT32_MAX,
        amg_mpi_msg_on_pack_locked},
    [AMG_MPI_LONG] = {sizeof(struct amg_mpi_long), sizeof(struct amg_mpi_long),
        amg_mpi_long_on_message_locked},
    [AMG_MPI_GET] = {sizeof(struct amg_mpi_bulk_request), UINT32_MAX,
        amg_mpi_access_on_request_locked},
    [AMG_MPI_PUT] = {sizeof(struct amg_mpi_bulk_request), UINT32_MAX,
        amg_mpi_access_on_request_locked},
    [AMG_MPI_PUT_AHEAD] = {sizeof(struct amg_mpi_bulk_request), UINT32_MAX,
        amg_mpi_access_on_request_locked},
    [AMG_MPI_PUT_NOW] = {sizeof(struct amg_mpi_bulk_request), UINT32_MAX,
        amg_mpi_access_on_request_locked},
    [AMG_MPI_GET_DATA] = {1, UINT32_MAX, amg_mpi_transfer_on_data_locked},
    [AMG_MPI_PUT_READY] = {0, 0, amg_mpi_transfer_on_ready_locked},
    [AMG_MPI_DONE] = {sizeof(struct amg_mpi_done), sizeof(struct amg_mpi_done),
        amg_mpi_transfer_on_done_locked},
    [AMG_MPI_STOP] = {sizeof(struct amg_mpi_stop), sizeof(struct amg_mpi_stop),
        amg_mpi_access_on_stop_locked},
    [AMG_MPI_HALT] = {0, 0, amg_mpi_transfer_on_halt_locked},
    [AMG_MPI_SYNC] = {sizeof(struct amg_mpi_sync), sizeof(struct amg_mpi_sync),
        amg_mpi_sync_on_message_locked},
    [AMG_MPI_DISCONNECT] = {0, 0, amg_mpi_disconnect_on_message_locked},
    [AMG_MPI_DISCONNECT_ALL] = {sizeof(struct amg_mpi_missing),
        sizeof(struct amg_mpi_missing), amg_mpi_disconnect_on_message_locked},
    [AMG_MPI_DISCONNECT_AGAIN] = {0, 0, amg_mpi_disconnect_on_message_locked},
    [AMG_MPI_DISCONNECT_ASK] = {0, 0, amg_mpi_disconnect_on_message_locked},
    [AMG_MPI_DISCONNECT_MISSING] = {sizeof(struct amg_mpi_missing),
        sizeof(struct amg_mpi_missing), amg_mpi_disconnect_on_message_locked},
};

static void message_take_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    const struct amg_mpi_header *header = &message->msgbuf->header;
    struct amg_mpi_peer *peer = NULL;
    unsigned kind = message->kind;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(message->rank < (uint32_t)domain->comm.size);
    if (kind >= AMG_MPI_KIND_COUNT || message->len < kind_rows[kind].len_min ||
        message->len > kind_rows[kind].len_max) {
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_FORM, kind,
            (long)message->len);
        amg_mpi_msgbuf_put_locked(message->msgbuf);
        return;
    }
    peer = amg_mpi_peer_get_locked(domain, message->rank);
    if (peer == NULL) { /* no memory while an endpoint closes */
        amg_mpi_msgbuf_put_locked(message->msgbuf);
        return;
    }
    peer->watched.is_heard = true;
    domain->liveness.heard++;
    if (header->credits > 0)
        credits_take_locked(domain, peer, header->credits);
    kind_rows[kind].on_message(domain, message);
}

/* Takes the long messages that are complete. */
AMG_NOINLINE static unsigned longs_take_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_message message;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (amg_mpi_long_next_locked(domain, &message)) {
        message_take_locked(domain, &message);
        count++;
    }
    return count;
}

void amg_mpi_receives_end_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    struct amg_mpi_message message;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (receive_unpost_locked(ep, &message)) {
        if (message.msgbuf != NULL)
            message_take_locked(domain, &message);
    }
}

/* Frees the endpoints closed by threads that may not call MPI. */
static void orphans_free_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while ((link = amg_list_pop(&domain->orphans)) != NULL) {
        struct amg_mpi_ep *ep =
            amg_container_of(link, struct amg_mpi_ep, orphan);

        AMG_ASSERT(ep->posted > 0);
        amg_mpi_receives_end_locked(domain, ep);
        amg_mem_free(ep);
    }
}

static unsigned ep_receive_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep, unsigned max)
{
    struct amg_mpi_message message;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (ep->posted < AMG_MPI_RECEIVES)
        amg_mpi_receive_fill_locked(ep);
    while (count < max && amg_mpi_peer_reserve_locked(domain) &&
           receive_next_locked(ep, count > 0, &message)) {
        message_take_locked(domain, &message);
        count++;
    }
    if (!amg_list_is_empty(&ep->longs))
        amg_mpi_longs_start_locked(domain, &ep->longs);
    if (!amg_mpi_longs_are_idle(domain))
        count += longs_take_locked(domain);
    return count;
}

static unsigned unmatched_each_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_message message;
    struct amg_mpi_ep *backlog = NULL;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (count < DOMAIN_MAX && amg_mpi_peer_reserve_locked(domain) &&
           receive_unmatched_locked(domain, &message, &backlog)) {
        message_take_locked(domain, &message);
        count++;
    }
    if (backlog != NULL)
        count += ep_receive_locked(domain, backlog, DOMAIN_MAX);
    else if (domain->disconnect.is_asking) /* all that came was handled */
        amg_mpi_tree_look(&domain->disconnect, amg_clock_ns());
    return count;
}

static void domain_move_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_packer_turn(&domain->packer);
    if (!amg_packer_is_empty(&domain->packer))
        amg_mpi_send_kept_locked(domain);
    if (domain->sends.count >= AMG_MPI_SENDS ||
        !amg_list_is_empty(&domain->sends.deferred))
        amg_mpi_send_poll_locked(domain);
    if (!amg_list_is_empty(&domain->transfers.moving) ||
        !amg_list_is_empty(&domain->accesses.all) ||
        !amg_list_is_empty(&domain->accesses.stalled))
        amg_mpi_bulk_move_locked(domain);
    if (domain->rma != NULL)
        amg_mpi_rma_move_locked(domain);
}

/* Logs silent ranks when a period is over: MPI does not report dead ranks. */
static void peers_check_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!amg_calls_watch_is_due_locked(&domain->calls, &domain->base))
        return;
    for (struct amg_mpi_peer *peer = domain->peers.met; peer != NULL;
         peer = peer->next)
        if (!peer->is_dead)
            amg_calls_watch_locked(&domain->calls, &peer->calls, &peer->watched,
                peer->rank,
                amg_calls_waiting(&domain->transfers.all, peer->rank));
    amg_calls_watched_locked(&domain->calls);
    if (domain->liveness.lost > 0)
        AMG_LOG_WARNING("mpi",
            "%u further messages could not be sent to ranks that were reported "
            "before",
            domain->liveness.lost);
    domain->liveness.lost = 0;
}

/* Polls end the operations, in a thread that may call MPI. Without memory for
 * the peer, nothing was posted to the rank before. */
void amg_mpi_progress_lost(struct amg_domain *base, struct amg_peer *to)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_peer *peer = NULL;

    amg_bias_lock(domain->lock);
    peer = amg_mpi_peer_get_locked(domain, amg_mpi_rank_of(domain, to));
    if (peer != NULL)
        peer->is_dead = domain->peers.has_dead = true;
    amg_bias_unlock(domain->lock);
}

/* Ends the operations to ranks that have died since the last call. */
static void peers_lose_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!domain->peers.has_dead)
        return;
    domain->peers.has_dead = false;
    for (struct amg_mpi_peer *peer = domain->peers.met; peer != NULL;
         peer = peer->next) {
        if (!peer->is_dead || amg_flow_is_closed(&peer->bulk))
            continue;
        domain->oneways -=
            amg_calls_lose_locked(&domain->calls, &peer->calls, peer->rank);
        amg_flow_close(&peer->bulk);
        amg_mpi_sends_lose_locked(domain, peer);
        (void)amg_mpi_transfers_cancel_locked(
            domain, NULL, (int)peer->rank, false);
        (void)amg_mpi_accesses_drop_locked(domain, (int)peer->rank);
        for (struct amg_link *link = amg_list_first(&domain->longs.coming);
             link != NULL; link = amg_list_next(&domain->longs.coming, link))
            if (amg_mpi_msgbuf_of_link(link)->rank == (int)peer->rank)
                MPI_Cancel(&amg_mpi_msgbuf_of_link(link)->request);
    }
}

static void wrong_thread_warn(void)
{
    static atomic_bool was_told;

    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_WARNING("mpi",
            "progress by a thread that may not call MPI moves nothing; make "
            "progress in the thread that started MPI, or start MPI with "
            "MPI_THREAD_MULTIPLE");
}

static void ep_progress_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep, unsigned max)
{
    unsigned count = 0;
    bool is_due = false; /* for the work of every 64th poll */

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!amg_list_is_empty(&domain->orphans))
        orphans_free_locked(domain);
    domain_move_locked(domain);
    ep->has_skipped = !ep->has_skipped && !amg_list_is_empty(&ep->done);
    if (ep->has_skipped)
        return;
    count = ep_receive_locked(domain, ep, ep->was_idle ? 1 : max);
    is_due = (++domain->polls & PROBE_MASK) == 0;
    if (is_due) {
        count += unmatched_each_locked(domain);
        amg_mpi_disconnect_move_locked(domain);
        peers_check_locked(domain);
        peers_lose_locked(domain);
    }
    if (is_due || count == 0)
        amg_mpi_send_poll_locked(domain);
    if (count == 0)
        (void)amg_calls_pay_one_locked(&domain->calls);
    ep->was_idle = count == 0;
}

unsigned amg_mpi_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    unsigned heard = 0;
    unsigned count = 0;

    if (!amg_mpi_comm_may_call(&domain->comm)) {
        if (!amg_role.is_library_thread)
            wrong_thread_warn();
        return 0;
    }
    amg_bias_lock(domain->lock);
    heard = domain->liveness.heard;
    if (!domain->is_dead)
        ep_progress_locked(domain, ep, max);
    if (domain->liveness.heard != heard)
        ret_events->has_moved = true;
    count = amg_list_take(&ret_events->done, &ep->done, max);
    count += amg_list_take(&ret_events->arrived, &ep->arrived, max);
    count += amg_list_take(&ret_events->arrived, &domain->calls.late, max);
    amg_bias_unlock(domain->lock);
    return count;
}

unsigned amg_mpi_progress_locked(struct amg_mpi_domain *domain)
{
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    orphans_free_locked(domain);
    domain_move_locked(domain);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->eps[i] != NULL)
            count += ep_receive_locked(domain, domain->eps[i], DOMAIN_MAX);
    }
    count += unmatched_each_locked(domain);
    peers_lose_locked(domain);
    amg_mpi_disconnect_move_locked(domain);
    domain_move_locked(domain);
    amg_mpi_send_poll_locked(domain);
    (void)amg_calls_pay_one_locked(&domain->calls);
    return count;
}

void amg_mpi_progress_domain(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    amg_bias_lock(domain->lock);
    if (amg_mpi_may_call(domain))
        (void)amg_mpi_progress_locked(domain);
    amg_bias_unlock(domain->lock);
}
