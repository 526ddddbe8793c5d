/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs on their way out.
 *
 * A small message has left when MPI_Isend returns, so it is tested at once,
 * and its slab is free again. Others wait on one list for the polls; those to
 * different ranks may finish in any order, so a poll tests several. */
#include "mpi_backend/mpi_send.h"

#include <stdatomic.h>

#include "base/log.h"
#include "mpi_backend/mpi_msg.h"
#include "mpi_backend/mpi_slab.h"

enum {
    TESTS_PER_POLL = 8, /* so that a poll stays below a microsecond */
};

hg_return_t amg_mpi_send_check(const struct amg_mpi_domain *domain)
{
    static atomic_bool was_told;

    if (domain->is_dead) {
        AMG_LOG_ERROR("mpi", "MPI_Finalize ended this class; close classes "
                             "before it");
        return HG_NA_ERROR;
    }
    if (domain->comm.who != AMG_MPI_WHO_MAIN_ONLY || amg_role.is_ours ||
        amg_mpi_comm_is_main())
        return HG_SUCCESS;
    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_ERROR("mpi",
            "MPI was started with MPI_THREAD_SINGLE, and this thread did not "
            "start it: its calls are refused; use MPI_Init_thread with "
            "MPI_THREAD_FUNNELED or higher");
    return HG_OPNOTSUPPORTED;
}

static void slab_left_locked(struct amg_mpi_slab *slab, hg_return_t ret)
{
    if (slab->op != NULL)
        amg_mpi_op_end_locked(slab->ep, slab->op, ret);
    if (ret != HG_SUCCESS)
        amg_mpi_msg_lost_locked(slab, ret);
    amg_mpi_slab_put_locked(slab);
}

/* True: it has left, and the slab is gone. */
static bool slab_test_locked(struct amg_mpi_slab *slab)
{
    int flag = 0;
    int rc = MPI_Test(&slab->request, &flag, MPI_STATUS_IGNORE);

    if (rc != MPI_SUCCESS) {
        slab_left_locked(slab, amg_mpi_comm_error(rc, "sending a message"));
        return true;
    }
    if (flag)
        slab_left_locked(slab, HG_SUCCESS);
    return flag != 0;
}

hg_return_t amg_mpi_send_locked(struct amg_mpi_slab *slab)
{
    struct amg_mpi_domain *domain = slab->domain;
    struct amg_flow_peer *calls = &domain->peers[slab->rank].calls;
    int flag = 0;
    int rc = MPI_SUCCESS;

    if (!amg_mpi_comm_may_call(&domain->comm)) {
        amg_list_push(&domain->deferred, &slab->link);
        return HG_SUCCESS;
    }
    slab->header.credits = amg_flow_take_owed(calls, UINT16_MAX);
    rc = MPI_Isend(&slab->header, (int)slab->len, MPI_BYTE, slab->rank,
        slab->tag, domain->comm.messages, &slab->request);
    if (rc == MPI_SUCCESS)
        rc = MPI_Test(&slab->request, &flag, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        amg_flow_owe_again(&domain->flow, calls, slab->header.credits);
        return amg_mpi_comm_error(rc, "MPI_Isend of a message");
    }
    if (flag)
        slab_left_locked(slab, HG_SUCCESS);
    else
        amg_list_push(&domain->sends, &slab->link);
    return HG_SUCCESS;
}

void amg_mpi_send_control_locked(struct amg_mpi_slab *slab, uint32_t rank,
    uint8_t context, enum amg_mpi_kind kind, uint32_t cookie, uint32_t body_len)
{
    slab->op = NULL;
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
        struct amg_mpi_slab *slab = AMG_OBJECT(link, struct amg_mpi_slab, link);
        hg_return_t rc = amg_mpi_send_locked(slab);

        if (rc != HG_SUCCESS)
            slab_left_locked(slab, rc);
    }
}

void amg_mpi_send_poll_locked(struct amg_mpi_domain *domain)
{
    if (!amg_list_is_empty(&domain->deferred))
        deferred_send_locked(domain);
    for (unsigned i = 0; i < TESTS_PER_POLL; i++) {
        struct amg_link *link = amg_list_pop(&domain->sends);

        if (link == NULL)
            return;
        if (!slab_test_locked(AMG_OBJECT(link, struct amg_mpi_slab, link)))
            amg_list_push(&domain->sends, link);
    }
}

static void list_detach_locked(
    struct amg_list *list, const struct amg_mpi_ep *ep)
{
    struct amg_link *link = amg_list_first(list);

    for (; link != NULL; link = amg_list_next(list, link)) {
        struct amg_mpi_slab *slab = AMG_OBJECT(link, struct amg_mpi_slab, link);

        if (slab->op == NULL || slab->ep != ep)
            continue;
        amg_mpi_op_end_locked(slab->ep, slab->op, HG_CANCELED);
        slab->op = NULL;
    }
}

void amg_mpi_send_detach_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    list_detach_locked(&domain->sends, ep);
    list_detach_locked(&domain->deferred, ep);
}

void amg_mpi_send_abandon_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&domain->deferred)) != NULL)
        amg_mpi_slab_put_locked(AMG_OBJECT(link, struct amg_mpi_slab, link));
    /* MPI may still read these slabs; they count as in use for ever. */
    amg_list_init(&domain->sends);
}
