/* SPDX-License-Identifier: BSD-3-Clause */
/* Teardown of a domain, its endpoints and exposed memory, with waits for peers.
 *
 * All waits for peers work the same way: each makes progress on the whole
 * domain, and releases the lock between two rounds. Messages received during a
 * wait are kept for the next polls. */
#include "mpi_backend/mpi_progress.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_long.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_transfer.h"

enum {
    IDLE_MAX = 256,  /* idle rounds before a back-off: about 0.1 ms */
    CLOSE_MS = 1000, /* the contract's bound for closing an endpoint */
    ANSWER_MS = 500, /* part of CLOSE_MS: wait for answers to cancelled gets */
    SKEW_MS = 500,   /* ranks begin to give up at most this far apart */
    RANKS_CAP = 32,  /* bytes of a text that names ranks */
};

/* A round of a wait: makes progress on the whole domain, and after IDLE_MAX
 * idle rounds also on other domains, where the peer may wait for this process;
 * releases the lock for a moment. `idle_rounds`, 0 at first, counts the rounds
 * that found nothing. */
static void domain_wait_locked(
    struct amg_mpi_domain *domain, unsigned *idle_rounds)
{
    bool may_call = amg_mpi_may_call(domain);
    unsigned count = may_call ? amg_mpi_progress_locked(domain) : 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    *idle_rounds = count > 0 ? 0 : *idle_rounds + 1;
    amg_bias_unlock(domain->lock);
    if (*idle_rounds > IDLE_MAX && domain->base.others != NULL)
        domain->base.others(&domain->base);
    if (!may_call || *idle_rounds > IDLE_MAX || domain->comm.must_yield)
        amg_back_off(*idle_rounds);
    amg_bias_lock(domain->lock);
}

/* A rank that still uses the memory, or an AMG_MPI_ACCESSOR_ constant. */
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
            "the handle again",
            timeout_ms);
        return;
    }
    if (rank >= 0)
        snprintf(ranks, sizeof(ranks), "rank %d", rank);
    AMG_LOG_WARNING("bulk",
        "transfers of %s still access the memory after %u ms, and the memory "
        "remains exposed to them; call HG_Bulk_free() again later, or raise "
        "AMALGAM_FREE_TIMEOUT_MS",
        ranks, timeout_ms);
}

/* The exposure of `mem` ends: makes its accesses stop as early as they can. */
static void accesses_halt_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_mem *mem)
{
    struct amg_link *link = amg_list_first(&mem->accesses);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (; link != NULL; link = amg_list_next(&mem->accesses, link)) {
        struct amg_mpi_access *access =
            amg_container_of(link, struct amg_mpi_access, mem_link);

        access->is_halted = true;
        /* The next poll tells the initiator; only posted fragments go on. */
        if (!access->is_put)
            amg_mpi_pipeline_stop(&access->pipeline, access->pipeline.posted);
    }
}

/* Waits until no access is left, or for `timeout_ms`. Returns the last result
 * of accessor_find_locked(). */
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
    accesses_halt_locked(domain, mem);
    do {
        domain_wait_locked(domain, &idle_rounds);
        rank = accessor_find_locked(domain, mem);
    } while (rank != AMG_MPI_ACCESSOR_NONE && amg_clock_ns() < deadline_ns);
    return rank;
}

hg_return_t amg_mpi_close_unreg(
    struct amg_domain *base, struct amg_mem *base_mem, unsigned timeout_ms)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_mem *mem =
        amg_container_of(base_mem, struct amg_mpi_mem, base);
    int rank = AMG_MPI_ACCESSOR_NONE;

    amg_bias_lock(domain->lock);
    if (!mem->is_closed) { /* from now on the key is invalid */
        mem->is_closed = true;
        amg_table_remove(&domain->mems.all, mem->key.cookie);
        /* amg_mpi_export_move_locked() closes the descriptor. */
        if (domain->exports != NULL && mem->key.desc != 0)
            amg_list_push(&domain->exports->leaving, &mem->leaving);
    }
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

/* Cancels puts and gets of `ep` (NULL: of all endpoints). Waits at most
 * CLOSE_MS until MPI no longer uses their memory. */
static void transfers_end_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    uint64_t now_ns = amg_clock_ns();
    uint64_t late_ns = now_ns + ANSWER_MS * AMG_NS_PER_MS;
    uint64_t end_ns = now_ns + CLOSE_MS * AMG_NS_PER_MS;
    bool is_late = false;
    unsigned idle_rounds = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (amg_mpi_transfers_cancel_locked(domain, ep, -1, is_late)) {
        domain_wait_locked(domain, &idle_rounds);
        now_ns = amg_clock_ns();
        is_late = now_ns >= late_ns;
        if (now_ns < end_ns)
            continue;
        if (!amg_mpi_transfers_cancel_locked(domain, ep, -1, true))
            return;
        AMG_LOG_WARNING("bulk",
            "a cancelled transfer did not end within %d ms, because its peer "
            "did not answer; MPI may still use the memory of that transfer",
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

/* Waits until all ranks are ready to free their windows. False: this rank keeps
 * its windows, because it gave up on other ranks, or MPI still uses them. */
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
        amg_mpi_receives_end_locked(domain, ep);
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

/* A step of this rank's closing. True: the disconnect is complete. */
static bool disconnect_step_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!tree->is_closing && !tree->is_over &&
        !amg_mpi_msg_is_pending_locked(domain) &&
        amg_mpi_rma_is_idle_locked(domain))
        amg_mpi_tree_close(tree, (uint32_t)domain->base.posted);
    amg_mpi_disconnect_move_locked(domain);
    if (amg_mpi_tree_is_answered(tree) && tree->missing.count > 0)
        amg_mpi_disconnect_log_locked(domain, false);
    return amg_mpi_tree_is_done(tree) &&
           (tree->is_broken || amg_list_is_empty(&domain->sends.in_flight));
}

/* Logs a peer that owes answers or credits, else a peer with transfers of this
 * rank. False: there is no such peer. */
static bool pending_peer_log_locked(struct amg_mpi_domain *domain)
{
    const struct amg_table_slot *slot =
        amg_calls_pending_locked(&domain->calls, &domain->asked);
    const struct amg_mpi_peer *peer = domain->peers.met;
    bool is_call = slot != NULL || domain->oneways > 0;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (slot != NULL)
        peer = amg_mpi_peer_of_locked(domain, slot->owner_or_next);
    for (; peer != NULL; peer = peer->next) {
        count = is_call ? peer->calls.unanswered
                        : amg_calls_waiting(&domain->transfers.all, peer->rank);
        if (count > 0)
            break;
    }
    if (peer != NULL)
        AMG_LOG_WARNING("cls",
            "rank %u has not %s %u %s of rank %d; every rank must make "
            "progress and trigger until all have closed",
            peer->rank, is_call ? "answered" : "ended", count,
            is_call ? "requests" : "transfers", domain->comm.rank);
    return peer != NULL;
}

/* Logs that rank 0 is silent; `is_over`: this rank gives up. Only rank 1 warns,
 * until rank 0 asks for the missing ranks: rank 0 then logs these ranks. */
static void wait_log(const struct amg_mpi_domain *domain, bool is_over)
{
    bool is_watch = domain->comm.rank == 1 && domain->disconnect.round == 0;

    AMG_LOG(is_over    ? HG_LOG_LEVEL_ERROR
            : is_watch ? HG_LOG_LEVEL_WARNING
                       : HG_LOG_LEVEL_INFO,
        "cls",
        "rank 0 has not said%s that all %d ranks close their class; rank 0, or "
        "a rank that it waits for, is missing; we %s them",
        is_over ? " in time" : " yet", domain->comm.size,
        is_over ? "go on without" : "are waiting for");
}

/* Logs what this rank waits for; rank 0 first asks which ranks are missing. */
static void disconnect_report_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (tree->is_over || pending_peer_log_locked(domain) || !tree->is_closing)
        return;
    if (domain->comm.rank == 0)
        amg_mpi_tree_ask(tree, amg_clock_ns());
    else
        wait_log(domain, false);
}

/* Begins to give up: rank 0 asks which ranks are missing, and other ranks wait
 * for the outcome. Returns the longest time that this rank waits, in ms. */
static unsigned disconnect_settle_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (tree->is_over)
        return 0;
    if (!tree->is_closing)
        (void)pending_peer_log_locked(domain);
    while (!tree->is_closing && !tree->is_over) /* a close may begin a phase */
        amg_mpi_tree_close(tree, (uint32_t)domain->base.posted);
    if (domain->comm.rank == 0)
        amg_mpi_tree_ask(tree, amg_clock_ns());
    amg_mpi_disconnect_move_locked(domain);
    return amg_mpi_tree_answer_ms(tree) + SKEW_MS;
}

static bool disconnect_is_settled_locked(const struct amg_mpi_domain *domain)
{
    const struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    return tree->is_over ||
           (domain->comm.rank == 0 && tree->is_asking && tree->asked == 0);
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
    is_over = disconnect_step_locked(domain);
    if (!is_over) {
        (void)amg_mpi_progress_locked(domain);
        is_over = disconnect_step_locked(domain);
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
    disconnect_report_locked(domain);
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

/* Ends the disconnect without the missing ranks, which rank 0 logs. */
static void disconnect_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;
    bool was_over = false;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    wait_until_locked(
        domain, disconnect_is_settled_locked, disconnect_settle_locked(domain));
    was_over = tree->is_over;
    if (!was_over)
        amg_mpi_tree_give_up(tree);
    if (!tree->is_broken)
        was_over = true; /* all ranks had closed */
    if (!was_over && domain->comm.rank == 0)
        amg_mpi_disconnect_log_locked(domain, true);
    else if (!was_over)
        wait_log(domain, true);
    amg_mpi_disconnect_move_locked(domain);
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

/* Ends the barriers of the opening and of the program. False: not all ranks
 * entered both, so the communicator of messages must stay allocated. */
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
        "a barrier timed out here, and other ranks did not enter the barrier "
        "before this class closed: MPI keeps a communicator for the barrier; "
        "all ranks have to call amalgam_barrier() equally often");
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
        (void)amg_mpi_progress_locked(domain);
        eps_each_locked(domain, arrivals_refuse_locked);
        is_over = disconnect_step_locked(domain);
    }
    if (!is_over && verdict == AMG_PATIENCE_TELL)
        disconnect_report_locked(domain);
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
    eps_each_locked(domain, amg_mpi_receives_end_locked);
    wait_until_locked(domain, amg_mpi_rma_is_idle_locked, CLOSE_MS);
    is_whole = frees_windows && windows_barrier_locked(domain);
    /* Peers may need the last messages. Most sends are complete when posted: a
     * test of the sends alone, without receives, often saves the wait. */
    amg_mpi_send_poll_all_locked(domain);
    wait_until_locked(domain, has_sent_all, CLOSE_MS);
    amg_mpi_send_abandon_locked(domain);
    (void)amg_mpi_progress_locked(domain);
    eps_each_locked(domain, amg_mpi_receives_end_locked);
    eps_each_locked(domain, arrivals_refuse_locked);
    amg_mpi_send_poll_all_locked(domain);
    amg_mpi_send_abandon_locked(domain);
    is_quiet = amg_mpi_longs_drop_locked(domain);
    is_quiet = amg_mpi_accesses_drop_locked(domain, -1) && is_quiet;
    is_quiet = amg_mpi_transfers_drop_locked(domain) && is_quiet;
    if (!is_quiet) /* late fragments must match no new communicator */
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
