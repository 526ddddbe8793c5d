/* SPDX-License-Identifier: BSD-3-Clause */
/* Teardown of memory, endpoints and the domain, which peers may still use.
 *
 * All waits for peers are here and work the same way: each makes progress on
 * the whole domain, and releases the lock between two rounds. Messages received
 * meanwhile are kept for the next polls. */
#include "mpi_backend/mpi_close.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_disconnect.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_poll.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_transfer.h"

enum {
    CLOSE_MS = 1000,  /* the contract's bound for closing an endpoint */
    ANSWER_MS = 500,  /* part of it: for peers to answer a cancelled get */
    VERDICT_MS = 500, /* for rank 0 to report the missing ranks */
    WHO_CAP = 32,
};

/* A rank that still uses the memory, or one of AMG_MPI_ACCESSOR_. */
static int accessor_find_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_mem *mem)
{
    int rank = amg_mpi_access_rank_locked(mem);

    if (rank >= 0)
        return rank;
    return amg_mpi_export_accessor_locked(domain->exports, mem);
}

static void accessor_log(int rank, unsigned timeout_ms)
{
    char who[WHO_CAP] = "several ranks";

    if (rank == AMG_MPI_ACCESSOR_UNSEEN) {
        AMG_LOG_WARNING("bulk",
            "no thread that may call MPI made progress for %u ms, and only "
            "such a one can close the memory to other ranks; it stays exposed; "
            "make progress there, and free it again",
            timeout_ms);
        return;
    }
    if (rank >= 0)
        snprintf(who, sizeof(who), "rank %d", rank);
    AMG_LOG_WARNING("bulk",
        "%s still put to or get from the memory after %u ms; it stays exposed "
        "to what is in motion; free it again later, or raise "
        "AMALGAM_FREE_TIMEOUT_MS",
        who, timeout_ms);
}

hg_return_t amg_mpi_close_unreg(
    struct amg_domain *base, struct amg_mem *base_mem, unsigned timeout_ms)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_mem *mem =
        amg_container_of(base_mem, struct amg_mpi_mem, base);
    uint64_t deadline_ns = 0;
    unsigned idle_rounds = 0;
    int rank = AMG_MPI_ACCESSOR_NONE;

    amg_bias_take(domain->lock);
    amg_mpi_mem_close_locked(domain, mem);
    AMG_ASSERT(mem->is_closed);
    if (domain->exports != NULL && amg_mpi_comm_may_call(&domain->comm))
        amg_mpi_export_move_locked(domain->exports);
    rank = accessor_find_locked(domain, mem);
    if (rank != AMG_MPI_ACCESSOR_NONE) {
        deadline_ns = amg_clock_deadline_ns(timeout_ms);
        amg_mpi_accesses_halt_locked(mem);
    }
    while (rank != AMG_MPI_ACCESSOR_NONE) {
        amg_mpi_poll_wait_locked(domain, &idle_rounds);
        rank = accessor_find_locked(domain, mem);
        if (rank != AMG_MPI_ACCESSOR_NONE && amg_clock_ns() >= deadline_ns)
            break;
    }
    amg_bias_give(domain->lock);
    if (rank != AMG_MPI_ACCESSOR_NONE) {
        accessor_log(rank, timeout_ms);
        return HG_BUSY;
    }
    amg_mem_free(mem);
    return HG_SUCCESS;
}

/* Puts and gets of the endpoint end; waits until MPI leaves their memory. */
static void transfers_end_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    uint64_t now_ns = amg_clock_ns();
    uint64_t late_ns = now_ns + ANSWER_MS * AMG_NS_PER_MS;
    uint64_t end_ns = now_ns + CLOSE_MS * AMG_NS_PER_MS;
    bool is_late = false;
    unsigned idle_rounds = 0;

    while (amg_mpi_transfers_cancel_locked(domain, ep, is_late)) {
        amg_mpi_poll_wait_locked(domain, &idle_rounds);
        now_ns = amg_clock_ns();
        is_late = now_ns >= late_ns;
        if (now_ns < end_ns)
            continue;
        if (!amg_mpi_transfers_cancel_locked(domain, ep, true))
            return;
        AMG_LOG_WARNING("bulk",
            "a peer did not let a cancelled transfer end within %d ms; MPI may "
            "still use its memory",
            CLOSE_MS);
        amg_mpi_transfers_abandon_locked(domain, ep);
        return;
    }
}

/* Waits until no operation of this rank uses a window of another one. */
static void rma_end_locked(struct amg_mpi_domain *domain)
{
    uint64_t end_ns = amg_clock_ns() + CLOSE_MS * AMG_NS_PER_MS;
    unsigned idle_rounds = 0;

    while (!amg_mpi_rma_is_idle_locked(domain) && amg_clock_ns() < end_ns)
        amg_mpi_poll_wait_locked(domain, &idle_rounds);
}

/* Whether all ranks free their windows now. A rank that gave up on others does
 * not, even if rank 0 heard from all. */
static bool windows_barrier_locked(struct amg_mpi_domain *domain)
{
    struct amg_patience patience = {0, 0};
    unsigned idle_rounds = 0;

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
                "all %d ranks have ended their use of the class, but not all "
                "have closed it; we are waiting for them to free its windows",
                domain->comm.size);
        amg_mpi_poll_wait_locked(domain, &idle_rounds);
    }
    return true;
}

/* Refuses received requests that were not polled. */
static void arrivals_refuse_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&ep->arrived)) != NULL)
        amg_mpi_msg_refuse_locked(
            domain, amg_container_of(link, struct amg_arrival, link));
}

void amg_mpi_close_ep(struct amg_ep *base, struct amg_events *ret_events)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    bool may_call = amg_mpi_comm_may_call(&domain->comm) && !domain->is_dead;

    amg_bias_take(domain->lock);
    transfers_end_locked(domain, ep);
    AMG_ASSERT(domain->eps[ep->base.context_id] == ep);
    domain->eps[ep->base.context_id] = NULL;
    amg_mpi_msg_drop_locked(domain, ep);
    if (may_call)
        amg_mpi_poll_unpost_locked(domain, ep);
    if (!domain->is_dead)
        arrivals_refuse_locked(domain, ep);
    amg_list_splice(&ret_events->done, &ep->done);
    if (ep->posted > 0) {
        amg_list_push(&domain->orphans, &ep->orphan);
        ep = NULL;
    }
    amg_bias_give(domain->lock);
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
    amg_bias_take(domain->lock);
    if (!domain->disconnect.is_over)
        (void)amg_mpi_poll_domain_locked(domain);
    is_over = amg_mpi_disconnect_step_locked(domain);
    is_broken = domain->disconnect.is_broken;
    amg_bias_give(domain->lock);
    if (!is_over)
        return HG_AGAIN;
    return is_broken ? HG_TIMEOUT : HG_SUCCESS;
}

void amg_mpi_close_report(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (domain->is_dead)
        return;
    amg_bias_take(domain->lock);
    amg_mpi_disconnect_report_locked(domain);
    amg_bias_give(domain->lock);
}

/* Waits for rank 0, which alone knows the missing ranks and gives up at about
 * the same time. */
static void verdict_await_locked(struct amg_mpi_domain *domain)
{
    uint64_t end_ns = amg_clock_ns() + VERDICT_MS * AMG_NS_PER_MS;
    unsigned idle_rounds = 0;

    while (domain->comm.rank != 0 && !domain->disconnect.is_over &&
           amg_clock_ns() < end_ns)
        amg_mpi_poll_wait_locked(domain, &idle_rounds);
}

void amg_mpi_close_abandon(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (domain->is_dead)
        return;
    amg_bias_take(domain->lock);
    verdict_await_locked(domain);
    amg_mpi_disconnect_abandon_locked(domain);
    amg_bias_give(domain->lock);
}

/* Waits until the last messages have left; peers may need them. Most were
 * complete when posted, which a test shows without receiving anything. */
static void sends_end_locked(struct amg_mpi_domain *domain)
{
    uint64_t end_ns = amg_clock_ns() + CLOSE_MS * AMG_NS_PER_MS;
    unsigned idle_rounds = 0;

    amg_mpi_send_poll_all_locked(domain);
    while (!amg_list_is_empty(&domain->sends) && amg_clock_ns() < end_ns)
        amg_mpi_poll_wait_locked(domain, &idle_rounds);
    amg_mpi_send_abandon_locked(domain);
}

/* Ends all operations of the program. */
static void work_end_locked(struct amg_mpi_domain *domain)
{
    transfers_end_locked(domain, NULL);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_mpi_msg_drop_locked(domain, domain->eps[i]);
}

/* Refuses requests received for contexts that are still open. */
static void eps_refuse_locked(struct amg_mpi_domain *domain)
{
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            arrivals_refuse_locked(domain, domain->eps[i]);
}

static void eps_unpost_locked(struct amg_mpi_domain *domain)
{
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_mpi_poll_unpost_locked(domain, domain->eps[i]);
}

/* False: ranks never entered the program's barrier, and the communicator of
 * messages must stay allocated. */
static bool barrier_end_locked(struct amg_mpi_domain *domain)
{
    int flag = 0;

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

    amg_bias_take(domain->lock);
    is_over = domain->is_dead;
    if (!is_over) {
        work_end_locked(domain);
        (void)amg_mpi_poll_domain_locked(domain);
        eps_refuse_locked(domain);
        is_over = amg_mpi_disconnect_step_locked(domain);
    }
    if (!is_over && verdict == AMG_PATIENCE_TELL)
        amg_mpi_disconnect_report_locked(domain);
    if (!is_over && verdict == AMG_PATIENCE_OVER) {
        amg_mpi_disconnect_abandon_locked(domain);
        is_over = true;
    }
    amg_bias_give(domain->lock);
    return is_over;
}

void amg_mpi_close_domain(struct amg_mpi_domain *domain, bool frees_windows)
{
    bool is_whole = false;

    amg_bias_take(domain->lock);
    if (domain->is_dead) {
        amg_bias_give(domain->lock);
        return;
    }
    work_end_locked(domain);
    eps_unpost_locked(domain);
    rma_end_locked(domain);
    is_whole = frees_windows && windows_barrier_locked(domain);
    sends_end_locked(domain);
    (void)amg_mpi_poll_domain_locked(domain);
    eps_unpost_locked(domain);
    eps_refuse_locked(domain);
    amg_mpi_send_poll_all_locked(domain);
    amg_mpi_send_abandon_locked(domain);
    amg_mpi_accesses_drop_locked(domain);
    amg_mpi_transfers_drop_locked(domain);
    amg_mpi_rma_close_locked(domain, is_whole);
    if (!barrier_end_locked(domain))
        domain->comm.messages = MPI_COMM_NULL; /* stays allocated */
    domain->is_dead = true;
    amg_bias_give(domain->lock);
    if (domain->disconnect.is_broken)
        amg_mpi_comm_give_up();
    amg_mpi_comm_close(&domain->comm, is_whole);
}
