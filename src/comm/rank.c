/* SPDX-License-Identifier: BSD-3-Clause */
/* From rank to address, and back. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/log.h"
#include "core/addr.h"
#include "mpi_backend/mpi_public.h"

/* The class's MPI domain, or NULL with a line in the log. */
static struct amg_domain *class_domain(const hg_class_t *cls)
{
    struct amg_domain *domain = cls->domains[AMG_ROUTE_MPI];

    if (domain == NULL)
        AMG_LOG_ERROR("addr", "this class is not over MPI: it has no ranks");
    return domain;
}

static int own_rank(struct amg_domain *domain)
{
    return amg_mpi_rank_of_peer(domain, domain->transport->addr.self(domain));
}

hg_return_t amalgam_addr_rank(hg_class_t *hg_class, int rank, hg_addr_t *addr)
{
    struct amg_domain *domain = NULL;
    struct amg_peer *peer = NULL;
    struct hg_addr value;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(hg_class != NULL && addr != NULL))
        return HG_INVALID_ARG;
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_peer_of_rank(domain, rank, &peer);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_addr_init(hg_class, AMG_ROUTE_MPI, peer, &value);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_addr_create(&value, addr);
    amg_addr_fini(&value);
    return rc;
}

hg_return_t amalgam_addr_get_rank(
    hg_class_t *hg_class, hg_addr_t addr, int *rank)
{
    struct amg_domain *domain = NULL;
    struct amg_peer *peer = NULL;

    if (!AMG_CONTRACT(hg_class != NULL && addr != HG_ADDR_NULL && rank != NULL))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(addr->cls == hg_class && addr->peer != NULL))
        return HG_INVALID_ARG;
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    peer = amg_addr_main_peer(addr);
    if (peer == NULL) {
        AMG_LOG_ERROR("addr", "this address is of no rank of the class");
        return HG_ADDRNOTAVAIL;
    }
    *rank = amg_mpi_rank_of_peer(domain, peer);
    domain->transport->addr.drop(domain, peer);
    return HG_SUCCESS;
}

/* The same process in the class's communicator; MPI_UNDEFINED: not in it. */
static hg_return_t rank_translate(
    struct amg_domain *domain, MPI_Comm comm, int rank, int *ret_rank)
{
    MPI_Group theirs = MPI_GROUP_NULL;
    MPI_Group ours = MPI_GROUP_NULL;
    hg_return_t rc = HG_NA_ERROR;
    int is_inter = 0;
    int size = 0;
    int err = MPI_Comm_test_inter(comm, &is_inter);

    if (err == MPI_SUCCESS)
        err = is_inter ? MPI_Comm_remote_group(comm, &theirs)
                       : MPI_Comm_group(comm, &theirs);
    if (err != MPI_SUCCESS)
        goto out;
    err = MPI_Comm_group(amg_mpi_comm(domain), &ours);
    if (err != MPI_SUCCESS)
        goto free_theirs;
    MPI_Group_size(theirs, &size);
    rc = HG_INVALID_ARG;
    if (rank < 0 || rank >= size) {
        AMG_LOG_ERROR("addr", "rank %d of a communicator of %d", rank, size);
        goto free_ours;
    }
    err = MPI_Group_translate_ranks(theirs, 1, &rank, ours, ret_rank);
    rc = err == MPI_SUCCESS ? HG_SUCCESS : HG_NA_ERROR;

free_ours:
    MPI_Group_free(&ours);
free_theirs:
    MPI_Group_free(&theirs);
out:
    if (err != MPI_SUCCESS)
        AMG_LOG_ERROR("addr", "MPI cannot give the group: error %d", err);
    return rc;
}

hg_return_t amalgam_addr_comm_rank(
    hg_class_t *hg_class, MPI_Comm comm, int rank, hg_addr_t *addr)
{
    struct amg_domain *domain = NULL;
    int ours = MPI_UNDEFINED;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(
            hg_class != NULL && comm != MPI_COMM_NULL && addr != NULL))
        return HG_INVALID_ARG;
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_turn_begin(domain);
    if (rc != HG_SUCCESS)
        return rc;
    rc = rank_translate(domain, comm, rank, &ours);
    amg_mpi_turn_end(domain);
    if (rc != HG_SUCCESS)
        return rc;
    if (ours == MPI_UNDEFINED) {
        AMG_LOG_ERROR("addr",
            "rank %d of that communicator is not among the %d ranks of this "
            "class",
            rank, amg_mpi_size(domain));
        return HG_ADDRNOTAVAIL;
    }
    return amalgam_addr_rank(hg_class, ours, addr);
}

hg_return_t amalgam_class_ranks(hg_class_t *hg_class, int *rank, int *size)
{
    struct amg_domain *domain = NULL;

    if (!AMG_CONTRACT(hg_class != NULL))
        return HG_INVALID_ARG;
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    if (rank != NULL)
        *rank = own_rank(domain);
    if (size != NULL)
        *size = amg_mpi_size(domain);
    return HG_SUCCESS;
}
