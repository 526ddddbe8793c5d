/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks that share a node with this one. */
#include "boot/node.h"

#include "base/mem.h"
#include "mpi_backend/mpi_boot.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_public.h"

/* Behind amg_node.medium. */
struct mpi_node {
    struct amg_mpi_boot boot;
    struct amg_mpi_comm comm; /* `data` is that of the node, the rest unused */
    void *cards;
};

static void node_free(struct mpi_node *mpi)
{
    if (mpi == NULL)
        return;
    amg_mem_free(mpi->cards);
    amg_mem_free(mpi);
}

static void node_close(struct amg_node *node)
{
    struct mpi_node *mpi = node->medium;

    MPI_Comm_free(&mpi->comm.data);
    node_free(mpi);
    node->medium = NULL;
}

/* How many nodes there are; 0: a rank has no memory, and says so here. */
static int nodes_count(
    MPI_Comm all, bool is_first, bool has_memory, uint32_t *ret_nodes)
{
    int mine[2] = {is_first, !has_memory};
    int sums[2] = {0, 0};
    int rc = MPI_Allreduce(mine, sums, 2, MPI_INT, MPI_SUM, all);

    *ret_nodes = rc == MPI_SUCCESS && sums[1] == 0 ? (uint32_t)sums[0] : 0;
    return rc;
}

static struct mpi_node *node_make(MPI_Comm node, size_t card_len)
{
    struct mpi_node *mpi = amg_mem_zalloc(sizeof(*mpi));

    if (mpi == NULL)
        return NULL;
    mpi->comm.data = node;
    MPI_Comm_rank(node, &mpi->comm.rank);
    MPI_Comm_size(node, &mpi->comm.size);
    mpi->comm.node_rank = mpi->comm.rank;
    mpi->comm.node_size = mpi->comm.size;
    amg_mpi_boot_init(&mpi->comm, &mpi->boot);
    mpi->cards = amg_mem_zalloc((size_t)mpi->comm.size * card_len);
    if (mpi->cards != NULL)
        return mpi;
    node_free(mpi);
    return NULL;
}

static hg_return_t node_open(
    struct amg_domain *domain, size_t card_len, struct amg_node *ret_node)
{
    const struct amg_mpi_comm *comm = &amg_mpi_domain_of(domain)->comm;
    struct mpi_node *mpi = NULL;
    MPI_Comm node = MPI_COMM_NULL;
    uint32_t nodes = 0;
    int rc = MPI_Comm_split_type(
        comm->data, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);

    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "finding the ranks of this node");
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    mpi = node_make(node, card_len);
    rc = nodes_count(comm->data, comm->node_rank == 0, mpi != NULL, &nodes);
    if (rc != MPI_SUCCESS || nodes == 0) {
        node_free(mpi);
        MPI_Comm_free(&node);
        return rc == MPI_SUCCESS ? HG_NOMEM
                                 : amg_mpi_comm_error(rc, "counting nodes");
    }
    *ret_node = (struct amg_node){
        .boot = &mpi->boot.base,
        .rank = (uint32_t)comm->rank,
        .size = (uint32_t)comm->size,
        .node_count = nodes,
        .cards = mpi->cards,
        .medium = mpi,
    };
    return HG_SUCCESS;
}

static hg_return_t node_peer(
    struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer)
{
    return amg_mpi_peer_of_rank(domain, (int)rank, ret_peer);
}

static const char *node_way(const struct amg_domain *domain)
{
    return amg_mpi_choice_name(&amg_mpi_domain_of(domain)->choice);
}

static const char *node_reason(const struct amg_domain *domain)
{
    return amg_mpi_domain_of(domain)->choice.reason;
}

const struct amg_node_ops amg_mpi_node = {
    .open = node_open,
    .peer = node_peer,
    .way = node_way,
    .reason = node_reason,
    .close = node_close,
};
