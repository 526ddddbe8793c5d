/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: received messages, and operations in flight.
 *
 * A poll that finds a message after one that found none returns at once: the
 * caller waited for it, and a second test costs 0.1 us. The next poll reposts
 * receives, while the answer is in flight. In a stream of messages, the loop
 * takes as many as the caller wants. For the same reason, a poll that ends an
 * operation leaves messages to the next one, and sends are tested only if
 * nothing else arrived, or if they are many. */
#include "mpi_backend/mpi_poll.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_disconnect.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_transfer.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_peer.h"

enum {
    PROBE_MASK = 63,  /* a probe costs 0.1 us, so one poll of 64 makes one */
    DOMAIN_MAX = 64,  /* messages of one endpoint, when all are polled */
    SLEEP_NS = 50000, /* between rounds that found nothing, after */
    IDLE_MAX = 256,   /* this many, which is about 0.1 ms */
};

/* Only its credits count. */
static void on_credit_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    (void)domain;
    amg_mpi_msgbuf_put_locked(message->msgbuf);
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
    [AMG_MPI_DISCONNECT] = {0, 0, amg_mpi_disconnect_on_one_locked},
    [AMG_MPI_DISCONNECT_ALL] = {sizeof(struct amg_mpi_disconnect_all),
        sizeof(struct amg_mpi_disconnect_all),
        amg_mpi_disconnect_on_all_locked},
};

static void message_take_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    const struct amg_mpi_header *header = &message->msgbuf->header;
    unsigned kind = message->kind;

    if (kind >= AMG_MPI_KIND_COUNT || message->len < kind_rows[kind].len_min ||
        message->len > kind_rows[kind].len_max) {
        amg_mpi_peer_fault(domain, message->rank, AMG_MPI_FAULT_FORM, kind,
            (long)message->len);
        amg_mpi_msgbuf_put_locked(message->msgbuf);
        return;
    }
    amg_mpi_peer_heard_locked(domain, message->rank);
    if (header->credits > 0)
        amg_mpi_msg_credit_locked(domain, message->rank, header->credits);
    kind_rows[kind].on_message(domain, message);
}

static unsigned ep_receive_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep, unsigned max)
{
    struct amg_mpi_message message;
    unsigned count = 0;

    if (ep->posted < AMG_MPI_RECEIVES)
        amg_mpi_receive_fill_locked(ep);
    while (
        count < max && amg_mpi_receive_next_locked(ep, count > 0, &message)) {
        message_take_locked(domain, &message);
        count++;
    }
    return count;
}

static unsigned unmatched_take_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_message message;
    struct amg_mpi_ep *backlog = NULL;
    unsigned count = 0;

    while (count < DOMAIN_MAX &&
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

    amg_mpi_batch_begin(&batch, domain);
    amg_mpi_transfers_test_locked(domain, &batch);
    amg_mpi_accesses_test_locked(domain, &batch);
    amg_mpi_batch_end(&batch);
    amg_mpi_transfers_move_locked(domain);
    amg_mpi_accesses_move_locked(domain);
}

static void domain_move_locked(struct amg_mpi_domain *domain)
{
    if (domain->send_count >= AMG_MPI_SENDS ||
        !amg_list_is_empty(&domain->deferred))
        amg_mpi_send_poll_locked(domain);
    if (!amg_list_is_empty(&domain->moving) ||
        !amg_list_is_empty(&domain->accesses))
        pipelines_move_locked(domain);
    if (!amg_list_is_empty(&domain->stalled))
        amg_mpi_accesses_retry_locked(domain);
    if (domain->rma != NULL)
        amg_mpi_rma_move_locked(domain);
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

    if (!amg_list_is_empty(&domain->orphans))
        amg_mpi_poll_orphans_locked(domain);
    domain_move_locked(domain);
    ep->has_skipped = !ep->has_skipped && !amg_list_is_empty(&ep->done);
    if (ep->has_skipped)
        return;
    count = ep_receive_locked(domain, ep, ep->was_idle ? 1 : max);
    is_due = (++domain->polls & PROBE_MASK) == 0;
    if (is_due) {
        count += unmatched_take_locked(domain);
        amg_mpi_peer_check_locked(domain);
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
    amg_bias_take(domain->lock);
    heard = domain->liveness.heard;
    if (!domain->is_dead)
        ep_progress_locked(domain, ep, max);
    if (domain->liveness.heard != heard)
        ret_events->has_moved = true;
    count = amg_list_take(&ret_events->done, &ep->done, max);
    count += amg_list_take(&ret_events->arrived, &ep->arrived, max);
    count += amg_list_take(&ret_events->arrived, &domain->calls.late, max);
    amg_bias_give(domain->lock);
    return count;
}

unsigned amg_mpi_poll_domain_locked(struct amg_mpi_domain *domain)
{
    unsigned count = 0;

    amg_mpi_poll_orphans_locked(domain);
    domain_move_locked(domain);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->eps[i] != NULL)
            count += ep_receive_locked(domain, domain->eps[i], DOMAIN_MAX);
    }
    count += unmatched_take_locked(domain);
    domain_move_locked(domain);
    amg_mpi_send_poll_locked(domain);
    (void)amg_calls_pay_one_locked(&domain->calls);
    return count;
}

void amg_mpi_poll_wait_locked(
    struct amg_mpi_domain *domain, unsigned *idle_rounds)
{
    bool may_call = amg_mpi_comm_may_call(&domain->comm) && !domain->is_dead;
    unsigned count = may_call ? amg_mpi_poll_domain_locked(domain) : 0;

    *idle_rounds = count > 0 ? 0 : *idle_rounds + 1;
    amg_bias_give(domain->lock);
    if (!may_call || *idle_rounds > IDLE_MAX || domain->comm.must_yield)
        amg_clock_sleep_ns(SLEEP_NS);
    amg_bias_take(domain->lock);
}

void amg_mpi_poll_unpost_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    struct amg_mpi_message message;

    while (amg_mpi_receive_unpost_locked(ep, &message)) {
        if (message.msgbuf != NULL)
            message_take_locked(domain, &message);
    }
}

void amg_mpi_poll_orphans_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&domain->orphans)) != NULL) {
        struct amg_mpi_ep *ep =
            amg_container_of(link, struct amg_mpi_ep, orphan);

        AMG_ASSERT(ep->posted > 0);
        amg_mpi_poll_unpost_locked(domain, ep);
        amg_mem_free(ep);
    }
}
