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
 * give its credit back. The slab stays the caller's. */
static void slab_lost_locked(struct amg_mpi_slab *slab, hg_return_t ret)
{
    unsigned kind = slab->header.kind & ~(unsigned)AMG_MPI_MAGIC_MASK;

    if (kind == AMG_MPI_REQUEST || kind == AMG_MPI_ONEWAY)
        amg_calls_unsent_locked(
            &slab->domain->calls, &slab->post, (uint32_t)slab->rank, ret);
}

static void slab_left_locked(struct amg_mpi_slab *slab, hg_return_t ret)
{
    if (slab->post.op != NULL)
        amg_mpi_op_end_locked(slab->post.op, ret);
    if (ret != HG_SUCCESS)
        slab_lost_locked(slab, ret);
    amg_mpi_slab_put_locked(slab);
}

static void sends_add_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_slab *slab)
{
    amg_list_push(&domain->sends, &slab->post.link);
    domain->send_count++;
}

hg_return_t amg_mpi_send_locked(struct amg_mpi_slab *slab)
{
    struct amg_mpi_domain *domain = slab->domain;
    struct amg_flow_peer *calls = &domain->peers[slab->rank].calls;
    int rc = MPI_SUCCESS;

    AMG_ASSERT(slab->rank >= 0 && slab->rank < domain->comm.size);
    AMG_ASSERT(
        slab->len >= sizeof(slab->header) && slab->len <= domain->room_len);
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        amg_list_push(&domain->deferred, &slab->post.link);
        return HG_SUCCESS;
    }
    slab->header.credits = amg_flow_take_owed(calls, UINT16_MAX);
    rc = MPI_Isend(&slab->header, (int)slab->len, MPI_BYTE, slab->rank,
        slab->tag, domain->comm.messages, &slab->request);
    if (rc != MPI_SUCCESS) {
        amg_flow_owe_again(&domain->calls.flow, calls, slab->header.credits);
        return amg_mpi_peer_lost(domain, (uint32_t)slab->rank, rc);
    }
    sends_add_locked(domain, slab);
    return HG_SUCCESS;
}

void amg_mpi_send_control_locked(struct amg_mpi_slab *slab, uint32_t rank,
    uint8_t context, enum amg_mpi_kind kind, uint32_t cookie, uint32_t body_len)
{
    slab->post.op = NULL;
    slab->header.cookie = cookie;
    amg_mpi_send_address(slab, rank, context, kind, body_len);
    if (amg_mpi_send_locked(slab) != HG_SUCCESS)
        amg_mpi_slab_put_locked(slab);
}

static void deferred_send_locked(struct amg_mpi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_splice(&all, &domain->deferred);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_mpi_slab *slab =
            amg_container_of(link, struct amg_mpi_slab, post.link);
        hg_return_t rc = amg_mpi_send_locked(slab);

        if (rc != HG_SUCCESS)
            slab_left_locked(slab, rc);
    }
}

/* Removes the oldest ones from the list; returns how many. */
static int sends_take_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_slab *ret_slabs[AMG_MPI_SENDS],
    MPI_Request ret_requests[AMG_MPI_SENDS])
{
    int count = 0;

    while (count < AMG_MPI_SENDS && domain->send_count > 0) {
        struct amg_mpi_slab *slab = amg_container_of(
            amg_list_pop(&domain->sends), struct amg_mpi_slab, post.link);

        AMG_ASSERT(slab->request != MPI_REQUEST_NULL);
        domain->send_count--;
        ret_slabs[count] = slab;
        ret_requests[count] = slab->request;
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
    struct amg_mpi_slab *slabs[AMG_MPI_SENDS];
    MPI_Request requests[AMG_MPI_SENDS];
    int codes[AMG_MPI_SENDS];
    int count = 0;

    if (!amg_list_is_empty(&domain->deferred))
        deferred_send_locked(domain);
    count = sends_take_locked(domain, slabs, requests);
    if (count == 0)
        return;
    requests_test(count, requests, codes);
    for (int i = 0; i < count; i++) {
        slabs[i]->request = requests[i];
        if (requests[i] != MPI_REQUEST_NULL)
            sends_add_locked(domain, slabs[i]);
        else if (codes[i] == MPI_SUCCESS)
            slab_left_locked(slabs[i], HG_SUCCESS);
        else
            slab_left_locked(slabs[i],
                amg_mpi_peer_lost(domain, (uint32_t)slabs[i]->rank, codes[i]));
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
        amg_mpi_slab_put_locked(
            amg_container_of(link, struct amg_mpi_slab, post.link));
    /* MPI may still read these slabs; they count as in use for ever. */
    amg_list_init(&domain->sends);
    domain->send_count = 0;
}
