/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing messages.
 *
 * They wait on one list until a poll tests them. A small message is complete
 * when MPI_Isend returns, but testing it then would be one more call for each,
 * and each takes MPI's lock: polls test several at once, when there are enough,
 * or when no message arrived. Sends to different ranks may complete in any
 * order. */
#include "mpi_backend/mpi_send.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_buf.h"

hg_return_t amg_mpi_send_check(const struct amg_mpi_domain *domain)
{
    static atomic_bool was_told;

    if (domain->is_dead) {
        AMG_LOG_ERROR("mpi", "MPI_Finalize ended this class; close classes "
                             "before it");
        return HG_NA_ERROR;
    }
    if (domain->comm.who != AMG_MPI_WHO_MAIN_ONLY ||
        amg_role.is_library_thread || amg_mpi_comm_is_main())
        return HG_SUCCESS;
    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_ERROR("mpi",
            "MPI was started with MPI_THREAD_SINGLE, and this thread did not "
            "start it: its calls are refused; use MPI_Init_thread with "
            "MPI_THREAD_FUNNELED or higher");
    return HG_OPNOTSUPPORTED;
}

/* MPI could not send this message: no reply will end its call, and no release
 * give its credit back. The msgbuf stays the caller's. */
static void msgbuf_lost_locked(struct amg_mpi_msgbuf *msgbuf, hg_return_t ret)
{
    unsigned kind = msgbuf->header.kind & ~(unsigned)AMG_MPI_MAGIC_MASK;

    if (kind == AMG_MPI_REQUEST || kind == AMG_MPI_ONEWAY)
        amg_calls_unsent_locked(
            &msgbuf->domain->calls, &msgbuf->post, (uint32_t)msgbuf->rank, ret);
}

static void msgbuf_left_locked(struct amg_mpi_msgbuf *msgbuf, hg_return_t ret)
{
    if (msgbuf->post.op != NULL)
        amg_mpi_op_end_locked(msgbuf->post.op, ret);
    if (ret != HG_SUCCESS)
        msgbuf_lost_locked(msgbuf, ret);
    amg_mpi_msgbuf_put_locked(msgbuf);
}

static void sends_add_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_msgbuf *msgbuf)
{
    amg_list_push(&domain->sends, &msgbuf->post.link);
    domain->send_count++;
}

hg_return_t amg_mpi_send_locked(struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    struct amg_flow_peer *calls = &domain->peers[msgbuf->rank].calls;
    int rc = MPI_SUCCESS;

    AMG_ASSERT(msgbuf->rank >= 0 && msgbuf->rank < domain->comm.size);
    AMG_ASSERT(msgbuf->len >= sizeof(msgbuf->header) &&
               msgbuf->len <= domain->room_len);
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        amg_list_push(&domain->deferred, &msgbuf->post.link);
        return HG_SUCCESS;
    }
    msgbuf->header.credits = amg_flow_take_owed(calls, UINT16_MAX);
    rc = MPI_Isend(&msgbuf->header, (int)msgbuf->len, MPI_BYTE, msgbuf->rank,
        msgbuf->tag, domain->comm.messages, &msgbuf->request);
    if (rc != MPI_SUCCESS) {
        amg_flow_owe_again(&domain->calls.flow, calls, msgbuf->header.credits);
        return amg_mpi_peer_lost(domain, (uint32_t)msgbuf->rank, rc);
    }
    sends_add_locked(domain, msgbuf);
    return HG_SUCCESS;
}

void amg_mpi_send_control_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    uint8_t context, enum amg_mpi_kind kind, uint32_t cookie, uint32_t body_len)
{
    msgbuf->post.op = NULL;
    msgbuf->header.cookie = cookie;
    amg_mpi_send_address(msgbuf, rank, context, kind, body_len);
    if (amg_mpi_send_locked(msgbuf) != HG_SUCCESS)
        amg_mpi_msgbuf_put_locked(msgbuf);
}

static void deferred_send_locked(struct amg_mpi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_splice(&all, &domain->deferred);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_mpi_msgbuf *msgbuf =
            amg_container_of(link, struct amg_mpi_msgbuf, post.link);
        hg_return_t rc = amg_mpi_send_locked(msgbuf);

        if (rc != HG_SUCCESS)
            msgbuf_left_locked(msgbuf, rc);
    }
}

/* Removes the oldest ones from the list; returns how many. */
static int sends_take_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_msgbuf *ret_msgbufs[AMG_MPI_SENDS],
    MPI_Request ret_requests[AMG_MPI_SENDS])
{
    int count = 0;

    while (count < AMG_MPI_SENDS && domain->send_count > 0) {
        struct amg_mpi_msgbuf *msgbuf = amg_container_of(
            amg_list_pop(&domain->sends), struct amg_mpi_msgbuf, post.link);

        AMG_ASSERT(msgbuf->request != MPI_REQUEST_NULL);
        domain->send_count--;
        ret_msgbufs[count] = msgbuf;
        ret_requests[count] = msgbuf->request;
        count++;
    }
    return count;
}

/* Tests all of them: ret_codes[i] is valid if requests[i] has become
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

    if (!amg_list_is_empty(&domain->deferred))
        deferred_send_locked(domain);
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
            msgbuf_left_locked(
                msgbufs[i], amg_mpi_peer_lost(
                                domain, (uint32_t)msgbufs[i]->rank, codes[i]));
    }
}

void amg_mpi_send_poll_all_locked(struct amg_mpi_domain *domain)
{
    unsigned count = domain->send_count;

    for (unsigned i = 0; i < count; i += AMG_MPI_SENDS)
        amg_mpi_send_poll_locked(domain);
}

void amg_mpi_send_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&domain->deferred)) != NULL)
        amg_mpi_msgbuf_put_locked(
            amg_container_of(link, struct amg_mpi_msgbuf, post.link));
    /* MPI may still read these msgbufs; they count as in use for ever. */
    amg_list_init(&domain->sends);
    domain->send_count = 0;
}
