/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier of all ranks of a domain, whose wait may be interrupted and resumed.
 *
 * MPI cannot cancel a barrier that a rank has entered. So a barrier whose
 * caller stopped waiting stays pending, and the next call resumes it: all ranks
 * pass as many as they call. It uses the communicator of messages, on which
 * there are no other collective calls. */
#include "mpi_backend/mpi_barrier.h"

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_public.h"

void amg_mpi_barrier_init(struct amg_mpi_barrier *barrier)
{
    barrier->request = MPI_REQUEST_NULL;
    barrier->is_claimed = false;
}

static hg_return_t begin_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_barrier *barrier = &domain->barrier;
    int rc = MPI_SUCCESS;

    if (barrier->is_claimed) {
        AMG_LOG_ERROR("mpi", "another thread is in a barrier of this class, or "
                             "this one is, whose callback calls for another");
        return HG_BUSY;
    }
    if (barrier->request == MPI_REQUEST_NULL)
        rc = MPI_Ibarrier(domain->comm.messages, &barrier->request);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "MPI_Ibarrier");
    barrier->is_claimed = true;
    return HG_SUCCESS;
}

static hg_return_t look_locked(struct amg_mpi_domain *domain)
{
    int flag = 0;
    int rc = MPI_Test(&domain->barrier.request, &flag, MPI_STATUS_IGNORE);

    if (rc != MPI_SUCCESS) {
        domain->barrier.request = MPI_REQUEST_NULL;
        return amg_mpi_comm_error(rc, "a barrier");
    }
    return flag ? HG_SUCCESS : HG_AGAIN;
}

hg_return_t amg_mpi_barrier_begin(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    hg_return_t rc = HG_SUCCESS;

    if (!amg_mpi_comm_may_call(&domain->comm) || domain->is_dead) {
        AMG_LOG_ERROR("mpi", "this thread may not call MPI, or MPI has ended");
        return HG_OPNOTSUPPORTED;
    }
    amg_bias_take(domain->lock);
    rc = begin_locked(domain);
    amg_bias_give(domain->lock);
    return rc;
}

hg_return_t amg_mpi_barrier_look(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    hg_return_t rc = HG_NA_ERROR;

    amg_bias_take(domain->lock);
    if (!domain->is_dead)
        rc = look_locked(domain);
    amg_bias_give(domain->lock);
    return rc;
}

void amg_mpi_barrier_end(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    amg_bias_take(domain->lock);
    AMG_ASSERT(domain->barrier.is_claimed);
    domain->barrier.is_claimed = false;
    amg_bias_give(domain->lock);
}

bool amg_mpi_barrier_fini_locked(struct amg_mpi_domain *domain)
{
    if (domain->barrier.request == MPI_REQUEST_NULL ||
        look_locked(domain) != HG_AGAIN)
        return true;
    AMG_LOG_WARNING("mpi",
        "the class is closed with a barrier that timed out here, and to which "
        "other ranks never came: MPI keeps a communicator for it; all ranks "
        "have to call amalgam_barrier() equally often");
    return false;
}
