/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective disconnect of all ranks.
 *
 *   rank r                   rank 0
 *   BYE -------------------> notes r
 *                            (all noted, or it gives up)
 *         <----------------- ALL_BYE, with those that are missing
 *
 * A rank sends BYE when all its requests were answered, or their credits
 * returned, and it uses no window any more: so none of its messages is in
 * flight when ALL_BYE lets the others close.
 *
 * It is flat, because one rank must know the missing ranks to log them; 10,000
 * messages of 16 bytes take rank 0 a few milliseconds, once. It never blocks.
 * Both messages use the control tag, where the probe for strays finds them. */
#include "mpi_backend/mpi_end.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_buf.h"

enum {
    TELLS_PER_STEP = 64, /* so that rank 0 needs few msgbufs for many ranks */
    NAMES_CAP = AMG_MPI_NAMED_MAX * 12, /* 10 digits, a comma and a space */
};

hg_return_t amg_mpi_end_init(struct amg_mpi_domain *domain)
{
    if (domain->comm.rank != 0)
        return HG_SUCCESS;
    domain->end.came =
        amg_mem_zalloc(((size_t)domain->comm.size + CHAR_BIT - 1) / CHAR_BIT);
    return domain->end.came == NULL ? HG_NOMEM : HG_SUCCESS;
}

void amg_mpi_end_fini(struct amg_mpi_domain *domain)
{
    amg_mem_free(domain->end.came);
    domain->end.came = NULL;
}

static bool has_come(const struct amg_mpi_end *end, int rank)
{
    AMG_ASSERT(end->came != NULL && rank >= 0);
    return (end->came[rank / CHAR_BIT] & 1u << rank % CHAR_BIT) != 0;
}

static void come_note(struct amg_mpi_end *end, int rank)
{
    if (has_come(end, rank))
        return;
    end->came[rank / CHAR_BIT] |= (uint8_t)(1u << rank % CHAR_BIT);
    end->came_count++;
}

void amg_mpi_end_on_bye_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    if (domain->end.came == NULL)
        amg_mpi_peer_fault(domain, message->rank, AMG_MPI_FAULT_ANSWER,
            AMG_MPI_BYE, domain->comm.rank);
    else
        come_note(&domain->end, (int)message->rank);
    amg_mpi_msgbuf_put_locked(message->msgbuf);
}

/* `is_over`: this rank gives up. */
static void missing_log(
    const struct amg_mpi_all_bye *missing, int size, bool is_over)
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

void amg_mpi_end_on_all_bye_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_end *end = &domain->end;
    struct amg_mpi_all_bye missing;

    memcpy(&missing, message->msgbuf->data, sizeof(missing));
    amg_mpi_msgbuf_put_locked(message->msgbuf);
    if (message->rank != 0 || !end->has_said_bye) {
        amg_mpi_peer_fault(domain, message->rank, AMG_MPI_FAULT_ANSWER,
            AMG_MPI_ALL_BYE, (long)message->rank);
        return;
    }
    if (end->is_over)
        return;
    end->is_over = true;
    end->is_broken = missing.missing_count > 0;
    if (end->is_broken)
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

/* Sends ALL_BYE to up to `max` more of the ranks that sent BYE. */
static void tell_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_all_bye *missing, int max)
{
    struct amg_mpi_end *end = &domain->end;

    for (; end->told_count < domain->comm.size && max > 0; max--) {
        struct amg_mpi_msgbuf *msgbuf = NULL;

        if (end->told_count == 0 || !has_come(end, end->told_count)) {
            end->told_count++;
            continue;
        }
        msgbuf = amg_mpi_msgbuf_get_locked(domain);
        if (msgbuf == NULL)
            return;
        memcpy(msgbuf->data, missing, sizeof(*missing));
        control_send_locked(
            msgbuf, end->told_count, AMG_MPI_ALL_BYE, sizeof(*missing));
        end->told_count++;
    }
}

static void bye_say_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *msgbuf = NULL;

    if (domain->end.came != NULL) {
        domain->end.has_said_bye = true;
        come_note(&domain->end, 0);
        return;
    }
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return; /* the next step tries again */
    domain->end.has_said_bye = true;
    control_send_locked(msgbuf, 0, AMG_MPI_BYE, 0);
}

bool amg_mpi_end_step_locked(struct amg_mpi_domain *domain)
{
    static const struct amg_mpi_all_bye nobody;
    struct amg_mpi_end *end = &domain->end;

    if (!end->has_said_bye && amg_mpi_msg_debtor_locked(domain) < 0 &&
        amg_mpi_rma_is_idle_locked(domain))
        bye_say_locked(domain);
    if (end->is_over || end->came == NULL)
        return end->is_over;
    AMG_ASSERT(end->came_count <= domain->comm.size);
    if (end->came_count < domain->comm.size)
        return false;
    if (amg_list_is_empty(&domain->sends))
        tell_locked(domain, &nobody, TELLS_PER_STEP);
    end->is_over = end->told_count == domain->comm.size &&
                   amg_list_is_empty(&domain->sends);
    return end->is_over;
}

/* Logs the rank that this one must wait for before its BYE; false: none. */
static bool debtor_log_locked(const struct amg_mpi_domain *domain)
{
    int rank = amg_mpi_msg_debtor_locked(domain);

    if (rank >= 0)
        AMG_LOG_WARNING("cls",
            "rank %d has not answered %u requests of rank %d; it must make "
            "progress and trigger until all have closed",
            rank, domain->peers[rank].calls.unanswered, domain->comm.rank);
    return rank >= 0;
}

/* The ranks that have not sent BYE; only rank 0 can know them. */
static void missing_find(
    const struct amg_mpi_domain *domain, struct amg_mpi_all_bye *ret_missing)
{
    ret_missing->missing_count = 0;
    for (int rank = 0; rank < domain->comm.size && domain->end.came != NULL;
         rank++) {
        if (has_come(&domain->end, rank))
            continue;
        if (ret_missing->missing_count < AMG_MPI_NAMED_MAX)
            ret_missing->missing[ret_missing->missing_count] = (uint32_t)rank;
        ret_missing->missing_count++;
    }
}

/* Logs the missing ranks, as far as this rank knows them. `is_over`: as
 * above. */
static void end_log(const struct amg_mpi_domain *domain,
    const struct amg_mpi_all_bye *missing, bool is_over)
{
    if (domain->end.came == NULL)
        AMG_LOG(is_over ? AMG_LOG_LEVEL_ERROR : AMG_LOG_LEVEL_WARNING, "cls",
            "rank 0 has not said%s that all %d ranks close their class; it, or "
            "one that it waits for, is missing; we %s them",
            is_over ? " in time" : " yet", domain->comm.size,
            is_over ? "go on without" : "are waiting for");
    else if (is_over || missing->missing_count > 0)
        missing_log(missing, domain->comm.size, is_over);
}

void amg_mpi_end_report_locked(const struct amg_mpi_domain *domain)
{
    const struct amg_mpi_end *end = &domain->end;
    struct amg_mpi_all_bye missing;

    if (end->is_over || debtor_log_locked(domain) || !end->has_said_bye)
        return;
    missing_find(domain, &missing);
    end_log(domain, &missing, false);
}

void amg_mpi_end_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_end *end = &domain->end;
    struct amg_mpi_all_bye missing;

    if (end->is_over)
        return;
    end->is_over = true;
    end->is_broken = true;
    if (!end->has_said_bye) {
        (void)debtor_log_locked(domain);
        bye_say_locked(domain);
    }
    missing_find(domain, &missing);
    end_log(domain, &missing, true);
    if (end->came != NULL)
        tell_locked(domain, &missing, domain->comm.size);
}
