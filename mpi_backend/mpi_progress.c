/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a domain, and its teardown, which waits for peers by progress.
 *
 * A poll that finds a message after a poll without any returns at once: the
 * caller waited for the message, and a second test costs 0.1 us. The next poll
 * reposts receives, while the answer is in flight. In a stream of messages, the
 * loop takes as many as the caller wants. For the same reason, a poll that ends
 * an operation leaves messages to the next poll, and sends are tested only if
 * nothing else arrived, or if there are many.
 *
 * All waits for peers work the same way: each makes progress on the whole
 * domain, and releases the lock between two rounds. Messages received then are
 * kept for the next polls. */
#include "mpi_backend/mpi_progress.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_long.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_transfer.h"

enum {
    PROBE_MASK = 63,  /* a probe costs 0.1 us, so one poll of 64 makes one */
    DOMAIN_MAX = 64,  /* messages of one endpoint, when all are polled */
    SLEEP_NS = 50000, /* between rounds that find nothing */
    IDLE_MAX = 256,   /* idle rounds before a sleep: about 0.1 ms */
    CLOSE_MS = 1000,  /* the contract's bound for closing an endpoint */
    ANSWER_MS = 500,  /* of CLOSE_MS: for peers to answer a cancelled get */
    RANKS_CAP = 32,
};

/* The peer returned the credits of so many one-way requests. */
static void credits_take_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_peer *peer, uint16_t credits)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (credits <= peer->calls.unanswered)
        domain->oneways -=
            credits < domain->oneways ? credits : domain->oneways;
    amg_calls_credit_locked(&domain->calls, &peer->calls, credits);
}

/* Handles CREDIT; message_take_locked() took the credits of the header. */
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

/* Cancels the endpoint's receives; requests received meanwhile are refused. */
static void ep_unpost_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    struct amg_mpi_message message;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (amg_mpi_receive_unpost_locked(ep, &message)) {
        if (message.msgbuf != NULL)
            message_take_locked(domain, &message);
    }
}

/* Frees the endpoints that threads without MPI have closed. */
static void orphans_free_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while ((link = amg_list_pop(&domain->orphans)) != NULL) {
        struct amg_mpi_ep *ep =
            amg_container_of(link, struct amg_mpi_ep, orphan);

        AMG_ASSERT(ep->posted > 0);
        ep_unpost_locked(domain, ep);
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
           amg_mpi_receive_next_locked(ep, count > 0, &message)) {
        message_take_locked(domain, &message);
        count++;
    }
    if (!amg_list_is_empty(&ep->longs))
        amg_mpi_longs_start_locked(domain, &ep->longs);
    if (!amg_mpi_longs_are_idle(domain))
        count += longs_take_locked(domain);
    return count;
}

static unsigned unmatched_take_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_message message;
    struct amg_mpi_ep *backlog = NULL;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (count < DOMAIN_MAX && amg_mpi_peer_reserve_locked(domain) &&
           amg_mpi_receive_unmatched_locked(domain, &message, &backlog)) {
        message_take_locked(domain, &message);
        count++;
    }
    if (backlog != NULL)
        count += ep_receive_locked(domain, backlog, DOMAIN_MAX);
    return count;
}

static void pipelines_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_batch batch;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_batch_begin(&batch, domain);
    amg_mpi_transfers_test_locked(domain, &batch);
    amg_mpi_accesses_test_locked(domain, &batch);
    amg_mpi_batch_end(&batch);
    amg_mpi_transfers_move_locked(domain);
    amg_mpi_accesses_move_locked(domain);
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
        !amg_list_is_empty(&domain->accesses.all))
        pipelines_move_locked(domain);
    if (!amg_list_is_empty(&domain->accesses.stalled))
        amg_mpi_accesses_retry_locked(domain);
    if (domain->rma != NULL)
        amg_mpi_rma_move_locked(domain);
}

/* Names silent ranks when a period is over; MPI does not report dead ranks. */
static void peers_check_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!amg_calls_watch_is_due_locked(&domain->calls))
        return;
    for (struct amg_mpi_peer *peer = domain->peers.met; peer != NULL;
         peer = peer->next)
        amg_calls_watch_locked(&domain->calls, &peer->calls, &peer->watched,
            peer->rank, amg_calls_waiting(&domain->transfers.all, peer->rank));
    amg_calls_watched_locked(&domain->calls);
    if (domain->liveness.lost > 0)
        AMG_LOG_WARNING("mpi",
            "%u further messages could not be sent to ranks that were reported "
            "before",
            domain->liveness.lost);
    domain->liveness.lost = 0;
}

static void wrong_thread_warn(void)
{
    static atomic_bool was_told;

    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_WARNING("mpi",
            "progress by a thread that may not call MPI moves nothing; make "
            "progress in the thread that started MPI, or start it with "
            "MPI_THREAD_MULTIPLE");
}

static void ep_progress_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep, unsigned max)
{
    unsigned count = 0;
    bool is_due = false; /* for the work of one poll in many */

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
        count += unmatched_take_locked(domain);
        amg_mpi_disconnect_move_locked(domain);
        peers_check_locked(domain);
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

/* Makes progress on the whole domain: all its endpoints, and unmatched
 * messages. The results wait for the next polls of the endpoints. Returns the
 * number of messages. */
static unsigned domain_poll_locked(struct amg_mpi_domain *domain)
{
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    orphans_free_locked(domain);
    domain_move_locked(domain);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->eps[i] != NULL)
            count += ep_receive_locked(domain, domain->eps[i], DOMAIN_MAX);
    }
    count += unmatched_take_locked(domain);
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
        (void)domain_poll_locked(domain);
    amg_bias_unlock(domain->lock);
}

/* A round of a wait: makes progress on the whole domain, and on other domains
 * if the peer may wait there; releases the lock for a moment. `idle_rounds`, 0
 * at first, counts the rounds that found nothing. */
static void domain_wait_locked(
    struct amg_mpi_domain *domain, unsigned *idle_rounds)
{
    bool may_call = amg_mpi_may_call(domain);
    unsigned count = may_call ? domain_poll_locked(domain) : 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    *idle_rounds = count > 0 ? 0 : *idle_rounds + 1;
    amg_bias_unlock(domain->lock);
    if (*idle_rounds > IDLE_MAX && domain->base.others != NULL)
        domain->base.others(&domain->base);
    if (!may_call || *idle_rounds > IDLE_MAX || domain->comm.must_yield)
        amg_clock_sleep_ns(SLEEP_NS);
    amg_bias_lock(domain->lock);
}

/* A rank that still uses the memory, or one of AMG_MPI_ACCESSOR_. */
static int accessor_find_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_mem *mem)
{
    struct amg_link *link = amg_list_first(&mem->accesses);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (link != NULL)
        return amg_container_of(link, struct amg_mpi_access, mem_link)
            ->pipeline.rank;
    if (domain->exports == NULL || mem->key.desc == 0)
        return AMG_MPI_ACCESSOR_NONE;
    return mem->has_left ? mem->accessor : AMG_MPI_ACCESSOR_UNSEEN;
}

static void accessor_log(int rank, unsigned timeout_ms)
{
    char ranks[RANKS_CAP] = "several ranks";

    if (rank == AMG_MPI_ACCESSOR_UNSEEN) {
        AMG_LOG_WARNING("bulk",
            "no thread that may call MPI made progress for %u ms, so the "
            "memory is still exposed; make progress in such a thread, and free "
            "it again",
            timeout_ms);
        return;
    }
    if (rank >= 0)
        snprintf(ranks, sizeof(ranks), "rank %d", rank);
    AMG_LOG_WARNING("bulk",
        "transfers of %s still access the memory after %u ms, and it remains "
        "exposed to them; free it again later, or raise "
        "AMALGAM_FREE_TIMEOUT_MS",
        ranks, timeout_ms);
}

/* The rank that still uses the memory at the deadline, or another of
 * AMG_MPI_ACCESSOR_. */
static int accesses_await_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_mem *mem, unsigned timeout_ms)
{
    uint64_t deadline_ns = 0;
    unsigned idle_rounds = 0;
    int rank = accessor_find_locked(domain, mem);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(mem->is_closed);
    if (rank == AMG_MPI_ACCESSOR_NONE)
        return rank;
    deadline_ns = amg_clock_deadline_ns(timeout_ms);
    amg_mpi_accesses_halt_locked(domain, mem);
    do {
        domain_wait_locked(domain, &idle_rounds);
        rank = accessor_find_locked(domain, mem);
    } while (rank != AMG_MPI_ACCESSOR_NONE && amg_clock_ns() < deadline_ns);
    return rank;
}

/* The key is dead from now on. */
static void mem_close_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_mem *mem)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (mem->is_closed)
        return;
    mem->is_closed = true;
    amg_table_remove(&domain->mems.all, mem->key.cookie);
    /* The next move closes its descriptor. */
    if (domain->exports != NULL && mem->key.desc != 0 &&
        !amg_link_is_listed(&mem->leaving))
        amg_list_push(&domain->exports->leaving, &mem->leaving);
}

hg_return_t amg_mpi_close_unreg(
    struct amg_domain *base, struct amg_mem *base_mem, unsigned timeout_ms)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_mem *mem =
        amg_container_of(base_mem, struct amg_mpi_mem, base);
    int rank = AMG_MPI_ACCESSOR_NONE;

    amg_bias_lock(domain->lock);
    mem_close_locked(domain, mem);
    if (domain->exports != NULL && amg_mpi_comm_may_call(&domain->comm))
        amg_mpi_export_move_locked(domain);
    rank = accesses_await_locked(domain, mem, timeout_ms);
    amg_bias_unlock(domain->lock);
    if (rank != AMG_MPI_ACCESSOR_NONE) {
        accessor_log(rank, timeout_ms);
        return HG_BUSY;
    }
    amg_mem_free(mem);
    return HG_SUCCESS;
}

/* Ends puts and gets of `ep` (NULL: all); waits until MPI leaves the memory. */
static void transfers_end_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    uint64_t now_ns = amg_clock_ns();
    uint64_t late_ns = now_ns + ANSWER_MS * AMG_NS_PER_MS;
    uint64_t end_ns = now_ns + CLOSE_MS * AMG_NS_PER_MS;
    bool is_late = false;
    unsigned idle_rounds = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (amg_mpi_transfers_cancel_locked(domain, ep, is_late)) {
        domain_wait_locked(domain, &idle_rounds);
        now_ns = amg_clock_ns();
        is_late = now_ns >= late_ns;
        if (now_ns < end_ns)
            continue;
        if (!amg_mpi_transfers_cancel_locked(domain, ep, true))
            return;
        AMG_LOG_WARNING("bulk",
            "a cancelled transfer did not end within %d ms, because its peer "
            "did not answer; MPI may still use its memory",
            CLOSE_MS);
        amg_mpi_transfers_abandon_locked(domain, ep);
        return;
    }
}

static void wait_until_locked(struct amg_mpi_domain *domain,
    bool (*is_over)(const struct amg_mpi_domain *domain), unsigned timeout_ms)
{
    uint64_t end_ns = amg_clock_ns() + timeout_ms * AMG_NS_PER_MS;
    unsigned idle_rounds = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (!is_over(domain) && amg_clock_ns() < end_ns)
        domain_wait_locked(domain, &idle_rounds);
}

/* Whether all ranks free their windows now. A rank that gave up on others does
 * not, even if rank 0 heard from all. */
static bool windows_barrier_locked(struct amg_mpi_domain *domain)
{
    struct amg_patience patience = {0, 0};
    unsigned idle_rounds = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!domain->disconnect.is_over || domain->disconnect.is_broken ||
        !amg_mpi_rma_is_idle_locked(domain))
        return false;
    while (
        domain->rma != NULL && !amg_mpi_windows_barrier(domain->rma->windows)) {
        enum amg_patience_verdict verdict = amg_patience_look(&patience);

        if (verdict == AMG_PATIENCE_OVER)
            return false;
        if (verdict == AMG_PATIENCE_TELL)
            AMG_LOG_WARNING("mpi",
                "all %d ranks have disconnected, but not all have closed the "
                "class; we are waiting for them to free its windows",
                domain->comm.size);
        domain_wait_locked(domain, &idle_rounds);
    }
    return true;
}

/* Refuses received requests that were not polled. */
static void arrivals_refuse_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while ((link = amg_list_pop(&ep->arrived)) != NULL)
        amg_mpi_msg_refuse_locked(
            domain, amg_container_of(link, struct amg_arrival, link));
}

void amg_mpi_close_ep(struct amg_ep *base, struct amg_events *ret_events)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    bool may_call = amg_mpi_may_call(domain);

    amg_bias_lock(domain->lock);
    transfers_end_locked(domain, ep);
    AMG_ASSERT(domain->eps[ep->base.context_id] == ep);
    domain->eps[ep->base.context_id] = NULL;
    amg_mpi_msg_drop_locked(domain, ep);
    if (may_call)
        ep_unpost_locked(domain, ep);
    if (!domain->is_dead)
        arrivals_refuse_locked(domain, ep);
    amg_list_splice(&ret_events->done, &ep->done);
    if (ep->posted > 0) {
        amg_list_push(&domain->orphans, &ep->orphan);
        ep = NULL;
    }
    amg_bias_unlock(domain->lock);
    amg_mem_free(ep);
}

hg_return_t amg_mpi_close_quiesce(struct amg_domain *base)
{
    static atomic_bool was_told;
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    bool is_over = false;
    bool is_broken = false;

    if (domain->is_dead)
        return HG_SUCCESS;
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
            AMG_LOG_WARNING("mpi",
                "this thread may not call MPI, and so cannot close the class; "
                "close it in the thread that started MPI");
        return HG_AGAIN;
    }
    amg_bias_lock(domain->lock);
    is_over = amg_mpi_disconnect_step_locked(domain);
    if (!is_over) {
        (void)domain_poll_locked(domain);
        is_over = amg_mpi_disconnect_step_locked(domain);
    }
    is_broken = domain->disconnect.is_broken;
    amg_bias_unlock(domain->lock);
    if (!is_over)
        return HG_AGAIN;
    return is_broken ? HG_TIMEOUT : HG_SUCCESS;
}

void amg_mpi_close_report(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (domain->is_dead)
        return;
    amg_bias_lock(domain->lock);
    amg_mpi_disconnect_report_locked(domain);
    amg_bias_unlock(domain->lock);
}

bool amg_mpi_close_is_over(struct amg_mpi_domain *domain)
{
    bool is_over = false;

    amg_bias_lock(domain->lock);
    is_over = domain->disconnect.is_over || domain->is_dead;
    amg_bias_unlock(domain->lock);
    return is_over;
}

static void disconnect_abandon_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    wait_until_locked(domain, amg_mpi_disconnect_is_settled_locked,
        amg_mpi_disconnect_settle_locked(domain));
    amg_mpi_disconnect_abandon_locked(domain);
}

bool amg_mpi_close_abandon(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    bool is_owed = false;

    if (domain->is_dead)
        return false;
    amg_bias_lock(domain->lock);
    is_owed = amg_mpi_msg_is_pending_locked(domain);
    disconnect_abandon_locked(domain);
    amg_bias_unlock(domain->lock);
    return is_owed;
}

static bool has_sent_all(const struct amg_mpi_domain *domain)
{
    return amg_list_is_empty(&domain->sends.in_flight) &&
           amg_list_is_empty(&domain->longs.unsent) &&
           amg_packer_is_empty(&domain->packer);
}

static void eps_each_locked(struct amg_mpi_domain *domain,
    void (*fn)(struct amg_mpi_domain *domain, struct amg_mpi_ep *ep))
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            fn(domain, domain->eps[i]);
}

/* Ends all operations of the program. */
static void work_end_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    transfers_end_locked(domain, NULL);
    eps_each_locked(domain, amg_mpi_msg_drop_locked);
}

static bool has_joined(const struct amg_mpi_domain *domain)
{
    int flag = 0;

    return MPI_Request_get_status(domain->joining.request, &flag,
               MPI_STATUS_IGNORE) != MPI_SUCCESS ||
           flag;
}

/* False: ranks never entered a barrier, and the communicator of messages must
 * stay allocated. */
static bool barrier_end_locked(struct amg_mpi_domain *domain)
{
    int flag = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    wait_until_locked(domain, has_joined, CLOSE_MS);
    if (MPI_Test(&domain->joining.request, &flag, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS &&
        !flag)
        return false;
    if (MPI_Test(&domain->barrier.request, &flag, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS ||
        flag)
        return true;
    AMG_LOG_WARNING("mpi",
        "the class is closed with a barrier that timed out here, and that "
        "other ranks never entered: MPI keeps a communicator for it; all ranks "
        "have to call amalgam_barrier() equally often");
    return false;
}

bool amg_mpi_close_leave(
    struct amg_mpi_domain *domain, enum amg_patience_verdict verdict)
{
    bool is_over = false;

    amg_bias_lock(domain->lock);
    is_over = domain->is_dead;
    if (!is_over) {
        work_end_locked(domain);
        (void)domain_poll_locked(domain);
        eps_each_locked(domain, arrivals_refuse_locked);
        is_over = amg_mpi_disconnect_step_locked(domain);
    }
    if (!is_over && verdict == AMG_PATIENCE_TELL)
        amg_mpi_disconnect_report_locked(domain);
    if (!is_over && verdict == AMG_PATIENCE_OVER) {
        disconnect_abandon_locked(domain);
        is_over = true;
    }
    amg_bias_unlock(domain->lock);
    return is_over;
}

void amg_mpi_close_domain(struct amg_mpi_domain *domain, bool frees_windows)
{
    bool is_whole = false;
    bool is_quiet = false;

    amg_bias_lock(domain->lock);
    if (domain->is_dead) {
        amg_bias_unlock(domain->lock);
        return;
    }
    work_end_locked(domain);
    eps_each_locked(domain, ep_unpost_locked);
    wait_until_locked(domain, amg_mpi_rma_is_idle_locked, CLOSE_MS);
    is_whole = frees_windows && windows_barrier_locked(domain);
    /* Peers may need the last messages. Most were complete when posted, which a
     * test shows without receiving anything. */
    amg_mpi_send_poll_all_locked(domain);
    wait_until_locked(domain, has_sent_all, CLOSE_MS);
    amg_mpi_send_abandon_locked(domain);
    (void)domain_poll_locked(domain);
    eps_each_locked(domain, ep_unpost_locked);
    eps_each_locked(domain, arrivals_refuse_locked);
    amg_mpi_send_poll_all_locked(domain);
    amg_mpi_send_abandon_locked(domain);
    is_quiet = amg_mpi_longs_drop_locked(domain);
    is_quiet = amg_mpi_accesses_drop_locked(domain) && is_quiet;
    is_quiet = amg_mpi_transfers_drop_locked(domain) && is_quiet;
    if (!is_quiet) /* late fragments must match no later communicator */
        domain->comm.data = MPI_COMM_NULL; /* stays allocated */
    amg_mpi_rma_close_locked(domain, is_whole);
    if (!barrier_end_locked(domain))
        domain->comm.messages = MPI_COMM_NULL; /* stays allocated */
    domain->is_dead = true;
    amg_bias_unlock(domain->lock);
    if (domain->disconnect.is_broken)
        amg_mpi_comm_give_up();
    amg_mpi_comm_close(&domain->comm, is_whole);
}
