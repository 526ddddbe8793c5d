/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective disconnect of all ranks: messages and log lines of its protocol,
 * which is in mpi_disconnect_tree.c.
 *
 * A rank is closing when all its requests were answered, or their credits
 * returned, and it uses no window any more: so none of its messages is in
 * flight when DISCONNECT_ALL lets the others close.
 *
 * No function here blocks. All messages use the control tag, where the probe
 * for unmatched messages finds them, also while the class is still open.
 *
 * Only rank 0 can know the missing ranks: rank 0 asks for them when the wait
 * gets long, and logs the answer. A rank with unanswered requests logs the peer
 * that owes the answers, and rank 1 logs that rank 0 may be missing. */
#include "mpi_backend/mpi_msg.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"

enum {
    NAMES_CAP = AMG_MPI_NAMED_MAX * 12, /* 10 digits, a comma and a space */
    UNASKED_CAP = 80,
    SKEW_MS = 500, /* between the ranks' giving up */
};

/* `is_over`: this rank gives up. */
static void missing_log(
    const struct amg_mpi_missing *missing, int size, bool is_over)
{
    char names[NAMES_CAP] = "";
    char unasked[UNASKED_CAP] = "";
    uint32_t named =
        missing->count < AMG_MPI_NAMED_MAX ? missing->count : AMG_MPI_NAMED_MAX;
    size_t len = 0;

    AMG_ASSERT(missing->count > 0);
    for (uint32_t i = 0; i < named; i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%u",
            i == 0 ? "" : ", ", missing->ranks[i]);
    if (missing->unasked > 0)
        snprintf(unasked, sizeof(unasked),
            "; %u more ranks cannot be asked, as missing ones do not answer",
            missing->unasked);
    AMG_LOG(is_over ? HG_LOG_LEVEL_ERROR : HG_LOG_LEVEL_WARNING, "cls",
        "%u of %d ranks %s: rank %s%s%s; we %s", missing->count, size,
        is_over ? "did not close their class in time"
                : "have not closed their class",
        names, named < missing->count ? ", ..." : "", unasked,
        is_over ? "go on without them (AMALGAM_GIVE_UP_MS sets how long is "
                  "waited)"
                : "are waiting for them");
}

static void message_send_locked(
    struct amg_mpi_msgbuf *msgbuf, const struct amg_mpi_tree_message *message)
{
    bool has_body = message->kind == AMG_MPI_DISCONNECT_ALL ||
                    message->kind == AMG_MPI_DISCONNECT_MISSING;
    uint32_t len = has_body ? (uint32_t)sizeof(message->missing) : 0;

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    AMG_ASSERT(message->rank != (uint32_t)msgbuf->domain->comm.rank);
    memcpy(msgbuf->data, &message->missing, len);
    msgbuf->header.context = 0;
    amg_mpi_send_control_locked(msgbuf, message->rank, AMG_MPI_TAG_CONTROL,
        message->kind, message->round, len);
}

/* Without a msgbuf the rest is sent the next time. */
static void all_send_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *msgbuf = NULL;
    struct amg_mpi_tree_message message;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while ((msgbuf = amg_mpi_msgbuf_get_locked(domain)) != NULL &&
           amg_mpi_tree_next(&domain->disconnect, &message))
        message_send_locked(msgbuf, &message);
    if (msgbuf != NULL)
        amg_mpi_msgbuf_put_locked(msgbuf);
}

void amg_mpi_disconnect_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_tree *tree = &domain->disconnect;
    struct amg_mpi_tree_message received = {.rank = message->rank,
        .round = message->msgbuf->header.cookie,
        .kind = message->kind};
    bool was_over = tree->is_over;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (message->len > 0)
        memcpy(
            &received.missing, message->msgbuf->data, sizeof(received.missing));
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (!amg_mpi_tree_receive(tree, &received, amg_clock_ns()))
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
            message->kind, (long)message->rank);
    if (tree->is_broken && !was_over)
        missing_log(&tree->missing, domain->comm.size, true);
    all_send_locked(domain);
}

void amg_mpi_disconnect_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (tree->is_asking)
        amg_mpi_tree_look(tree, amg_clock_ns());
    if (tree->is_asking || tree->is_closing || tree->is_over ||
        tree->to_repeat != 0)
        all_send_locked(domain);
}

bool amg_mpi_disconnect_step_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!tree->is_closing && !tree->is_over &&
        !amg_mpi_msg_is_pending_locked(domain) &&
        amg_mpi_rma_is_idle_locked(domain))
        amg_mpi_tree_close(tree, (uint32_t)domain->base.posted);
    amg_mpi_disconnect_move_locked(domain);
    if (amg_mpi_tree_is_answered(tree) && tree->missing.count > 0)
        missing_log(&tree->missing, domain->comm.size, false);
    return amg_mpi_tree_is_done(tree) &&
           (tree->is_broken || amg_list_is_empty(&domain->sends.in_flight));
}

/* Logs a peer that owes answers or credits, else a peer with transfers of this
 * rank; false: there is none. */
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
            "rank %u has not %s %u %s of rank %d; it must make progress and "
            "trigger until all have closed",
            peer->rank, is_call ? "answered" : "ended", count,
            is_call ? "requests" : "transfers", domain->comm.rank);
    return peer != NULL;
}

/* Logs that rank 0 is silent; `is_over`: this rank gives up. Rank 1 warns until
 * rank 0 has asked, as from then on rank 0 logs the missing ranks. */
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

void amg_mpi_disconnect_report_locked(struct amg_mpi_domain *domain)
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

unsigned amg_mpi_disconnect_settle_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (tree->is_over)
        return 0;
    if (!tree->is_closing)
        (void)pending_peer_log_locked(domain);
    while (!tree->is_closing && !tree->is_over) /* of rank 0: two phases */
        amg_mpi_tree_close(tree, (uint32_t)domain->base.posted);
    if (domain->comm.rank == 0)
        amg_mpi_tree_ask(tree, amg_clock_ns());
    all_send_locked(domain);
    return amg_mpi_tree_answer_ms(tree) + SKEW_MS;
}

bool amg_mpi_disconnect_is_settled_locked(const struct amg_mpi_domain *domain)
{
    const struct amg_mpi_tree *tree = &domain->disconnect;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    return tree->is_over ||
           (domain->comm.rank == 0 && tree->is_asking && tree->asked == 0);
}

void amg_mpi_disconnect_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;
    bool was_over = tree->is_over;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!was_over)
        amg_mpi_tree_give_up(tree);
    if (!tree->is_broken)
        was_over = true; /* all ranks had closed */
    if (!was_over && domain->comm.rank == 0)
        missing_log(&tree->missing, domain->comm.size, true);
    else if (!was_over)
        wait_log(domain, true);
    all_send_locked(domain);
}
