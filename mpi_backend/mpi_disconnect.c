/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective disconnect of all ranks.
 *
 *   rank r                   rank 0
 *   DISCONNECT ------------> notes r
 *                            (all noted, or it gives up)
 *         <----------------- DISCONNECT_ALL, with those that are missing
 *
 * A rank sends DISCONNECT when all its requests were answered, or their credits
 * returned, and it uses no window any more: so none of its messages is in
 * flight when DISCONNECT_ALL lets the others close.
 *
 * It is flat, because one rank must know the missing ranks to log them; 10,000
 * messages of 16 bytes take rank 0 a few milliseconds, once. It never blocks.
 * Both messages use the control tag, where the probe for unmatched messages
 * finds them.
 */
#include "mpi_backend/mpi_msg.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_msgbuf.h"

enum {
    RESULTS_PER_STEP = 64, /* so that rank 0 needs few msgbufs for many ranks */
    NAMES_CAP = AMG_MPI_NAMED_MAX * 12, /* 10 digits, a comma and a space */
};

/* Rank 0 notes that `rank` has sent DISCONNECT, or it itself needs no peer. */
static void ready_note(struct amg_mpi_domain *domain, uint32_t rank)
{
    AMG_ASSERT(domain->comm.rank == 0);
    domain->disconnect.ready_count += !domain->peers[rank].is_ready;
    domain->peers[rank].is_ready = true;
}

void amg_mpi_disconnect_on_one_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    if (domain->comm.rank != 0)
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
            AMG_MPI_DISCONNECT, domain->comm.rank);
    else
        ready_note(domain, message->rank);
    amg_mpi_msgbuf_put_locked(message->msgbuf);
}

/* `is_over`: this rank gives up. */
static void missing_log(
    const struct amg_mpi_disconnect_all *missing, int size, bool is_over)
{
    char names[NAMES_CAP] = "";
    uint32_t named = missing->missing_count < AMG_MPI_NAMED_MAX
                         ? missing->missing_count
                         : AMG_MPI_NAMED_MAX;
    size_t len = 0;

    for (uint32_t i = 0; i < named; i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%u",
            i == 0 ? "" : ", ", missing->missing[i]);
    AMG_LOG(is_over ? AMG_LOG_LEVEL_ERROR : AMG_LOG_LEVEL_WARNING, "cls",
        "%u of %d ranks %s: rank %s%s; we %s", missing->missing_count, size,
        is_over ? "did not close their class in time"
                : "have not closed their class",
        names, named < missing->missing_count ? ", ..." : "",
        is_over ? "go on without them (AMALGAM_GIVE_UP_MS sets how long is "
                  "waited)"
                : "are waiting for them");
}

void amg_mpi_disconnect_on_all_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_disconnect *disconnect = &domain->disconnect;
    struct amg_mpi_disconnect_all missing;

    memcpy(&missing, message->msgbuf->data, sizeof(missing));
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (message->rank != 0 || !disconnect->is_sent) {
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
            AMG_MPI_DISCONNECT_ALL, (long)message->rank);
        return;
    }
    if (disconnect->is_over)
        return;
    disconnect->is_over = true;
    disconnect->is_broken = missing.missing_count > 0;
    if (disconnect->is_broken)
        missing_log(&missing, domain->comm.size, true);
}

static void control_send_locked(struct amg_mpi_msgbuf *msgbuf, int rank,
    enum amg_mpi_kind kind, uint32_t len)
{
    AMG_ASSERT(rank != msgbuf->domain->comm.rank);
    msgbuf->post.op = NULL;
    msgbuf->header.context = 0;
    msgbuf->header.cookie = 0;
    amg_mpi_send_address(msgbuf, (uint32_t)rank, 0, kind, len);
    msgbuf->tag = amg_mpi_tag(msgbuf->domain, AMG_MPI_TAG_CONTROL);
    if (amg_mpi_send_locked(msgbuf) != HG_SUCCESS)
        amg_mpi_msgbuf_put_locked(msgbuf);
}

/* Sends DISCONNECT_ALL to up to `max` more of the ranks that sent DISCONNECT.
 */
static void result_send_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_disconnect_all *missing, int max)
{
    struct amg_mpi_disconnect *disconnect = &domain->disconnect;

    for (; disconnect->notified_count < domain->comm.size && max > 0; max--) {
        struct amg_mpi_msgbuf *msgbuf = NULL;

        if (disconnect->notified_count == 0 ||
            !domain->peers[disconnect->notified_count].is_ready) {
            disconnect->notified_count++;
            continue;
        }
        msgbuf = amg_mpi_msgbuf_get_locked(domain);
        if (msgbuf == NULL)
            return;
        memcpy(msgbuf->data, missing, sizeof(*missing));
        control_send_locked(msgbuf, disconnect->notified_count,
            AMG_MPI_DISCONNECT_ALL, sizeof(*missing));
        disconnect->notified_count++;
    }
}

static void notice_send_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *msgbuf = NULL;

    if (domain->comm.rank == 0) {
        domain->disconnect.is_sent = true;
        ready_note(domain, 0);
        return;
    }
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return; /* the next step tries again */
    domain->disconnect.is_sent = true;
    control_send_locked(msgbuf, 0, AMG_MPI_DISCONNECT, 0);
}

bool amg_mpi_disconnect_step_locked(struct amg_mpi_domain *domain)
{
    static const struct amg_mpi_disconnect_all nobody;
    struct amg_mpi_disconnect *disconnect = &domain->disconnect;

    if (!disconnect->is_sent && amg_mpi_msg_pending_peer_locked(domain) < 0 &&
        amg_mpi_rma_is_idle_locked(domain))
        notice_send_locked(domain);
    if (disconnect->is_over || domain->comm.rank != 0)
        return disconnect->is_over;
    AMG_ASSERT(disconnect->ready_count <= domain->comm.size);
    if (disconnect->ready_count < domain->comm.size)
        return false;
    if (amg_list_is_empty(&domain->sends))
        result_send_locked(domain, &nobody, RESULTS_PER_STEP);
    disconnect->is_over = disconnect->notified_count == domain->comm.size &&
                          amg_list_is_empty(&domain->sends);
    return disconnect->is_over;
}

/* Logs the rank that this one must wait for before its DISCONNECT; false: none.
 */
static bool pending_peer_log_locked(const struct amg_mpi_domain *domain)
{
    int rank = amg_mpi_msg_pending_peer_locked(domain);

    if (rank >= 0)
        AMG_LOG_WARNING("cls",
            "rank %d has not answered %u requests of rank %d; it must make "
            "progress and trigger until all have closed",
            rank, domain->peers[rank].calls.unanswered, domain->comm.rank);
    return rank >= 0;
}

/* The ranks that have not sent DISCONNECT; only rank 0 can know them. */
static void missing_find(const struct amg_mpi_domain *domain,
    struct amg_mpi_disconnect_all *ret_missing)
{
    ret_missing->missing_count = 0;
    for (int rank = 0; rank < domain->comm.size && domain->comm.rank == 0;
         rank++) {
        if (domain->peers[rank].is_ready)
            continue;
        if (ret_missing->missing_count < AMG_MPI_NAMED_MAX)
            ret_missing->missing[ret_missing->missing_count] = (uint32_t)rank;
        ret_missing->missing_count++;
    }
}

/* Logs the missing ranks, as far as this rank knows them. `is_over`: as
 * above. */
static void end_log(const struct amg_mpi_domain *domain,
    const struct amg_mpi_disconnect_all *missing, bool is_over)
{
    if (domain->comm.rank != 0)
        AMG_LOG(is_over ? AMG_LOG_LEVEL_ERROR : AMG_LOG_LEVEL_WARNING, "cls",
            "rank 0 has not said%s that all %d ranks close their class; it, or "
            "one that it waits for, is missing; we %s them",
            is_over ? " in time" : " yet", domain->comm.size,
            is_over ? "go on without" : "are waiting for");
    else if (is_over || missing->missing_count > 0)
        missing_log(missing, domain->comm.size, is_over);
}

void amg_mpi_disconnect_report_locked(const struct amg_mpi_domain *domain)
{
    const struct amg_mpi_disconnect *disconnect = &domain->disconnect;
    struct amg_mpi_disconnect_all missing;

    if (disconnect->is_over || pending_peer_log_locked(domain) ||
        !disconnect->is_sent)
        return;
    missing_find(domain, &missing);
    end_log(domain, &missing, false);
}

void amg_mpi_disconnect_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_disconnect *disconnect = &domain->disconnect;
    struct amg_mpi_disconnect_all missing;

    if (disconnect->is_over)
        return;
    disconnect->is_over = true;
    disconnect->is_broken = true;
    if (!disconnect->is_sent) {
        (void)pending_peer_log_locked(domain);
        notice_send_locked(domain);
    }
    missing_find(domain, &missing);
    end_log(domain, &missing, true);
    if (domain->comm.rank == 0)
        result_send_locked(domain, &missing, domain->comm.size);
}
