/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective disconnect of all ranks: messages and log lines of its protocol,
 * which is in mpi_disconnect_tree.c.
 *
 * A rank is closing when its calls were answered, the credits of its one-way
 * calls have returned, and it uses no window any more. So only messages of
 * cancelled calls are in flight when DISCONNECT_ALL lets the ranks close.
 *
 * No function here blocks. All messages use the control tag, where the probe
 * for unmatched messages finds them, also while the class is still open.
 *
 * Only rank 0 can know the missing ranks: when the wait gets long, rank 0 asks
 * which ranks are missing, and logs the answer. A rank with unanswered calls
 * logs the peer that owes answers; rank 1 logs that rank 0 may be missing. */
#include "mpi_backend/mpi_msg.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"

enum {
    NAMES_CAP = AMG_MPI_NAMED_MAX * 12, /* 10 digits, ',' and ' ' each */
    UNASKED_CAP = 80, /* bytes of the text about unasked ranks */
};

void amg_mpi_disconnect_log_locked(
    const struct amg_mpi_domain *domain, bool is_over)
{
    const struct amg_mpi_missing *missing = &domain->disconnect.missing;
    char names[NAMES_CAP] = "";
    char unasked[UNASKED_CAP] = "";
    uint32_t named =
        missing->count < AMG_MPI_NAMED_MAX ? missing->count : AMG_MPI_NAMED_MAX;
    size_t len = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(missing->count > 0);
    for (uint32_t i = 0; i < named; i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%u",
            i == 0 ? "" : ", ", missing->ranks[i]);
    if (missing->unasked > 0)
        snprintf(unasked, sizeof(unasked),
            "; %u more ranks cannot be asked, as missing ranks do not answer",
            missing->unasked);
    AMG_LOG(is_over ? HG_LOG_LEVEL_ERROR : HG_LOG_LEVEL_WARNING, "cls",
        "%u of %d ranks %s: rank %s%s%s; we %s", missing->count,
        domain->comm.size,
        is_over ? "did not close their class in time"
                : "have not closed their class",
        names, named < missing->count ? ", ..." : "", unasked,
        is_over ? "go on without them (AMALGAM_GIVE_UP_MS sets how long ranks "
                  "wait)"
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

void amg_mpi_disconnect_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_tree *tree = &domain->disconnect;
    struct amg_mpi_msgbuf *msgbuf = NULL;
    struct amg_mpi_tree_message message;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!tree->is_asking && !tree->is_closing && !tree->is_over &&
        tree->to_repeat == 0)
        return;
    /* Without a free msgbuf, the next call sends the rest. */
    while ((msgbuf = amg_mpi_msgbuf_get_locked(domain)) != NULL &&
           amg_mpi_tree_next(tree, &message))
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
        amg_mpi_disconnect_log_locked(domain, true);
    amg_mpi_disconnect_move_locked(domain);
}
