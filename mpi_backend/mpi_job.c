/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a domain for other modules: peers, barrier, bootstrap of a node.
 *
 * MPI cannot cancel a barrier that a rank has entered. So a barrier whose
 * caller stopped waiting stays pending, and the next call resumes it: all ranks
 * pass as many as they call. It uses the communicator of messages, on which
 * there are no other collective calls. */
#include <limits.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/boot.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_public.h"

hg_return_t amg_mpi_peer_of_rank(
    struct amg_domain *base, int rank, struct amg_peer **ret_peer)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (!AMG_CONTRACT(rank >= 0 && rank < domain->comm.size))
        return HG_INVALID_ARG;
    *ret_peer = amg_mpi_peer_at(domain, (uint32_t)rank);
    return HG_SUCCESS;
}

int amg_mpi_rank_of_peer(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return (int)amg_mpi_rank_of(amg_mpi_domain_of(domain), peer);
}

int amg_mpi_size(const struct amg_domain *domain)
{
    return amg_mpi_domain_of(domain)->comm.size;
}

MPI_Comm amg_mpi_comm(const struct amg_domain *domain)
{
    return amg_mpi_domain_of(domain)->comm.data;
}

static bool may_call(const struct amg_mpi_domain *domain)
{
    if (amg_mpi_may_call(domain))
        return true;
    AMG_LOG_ERROR("mpi", "this thread may not call MPI, or MPI has ended");
    return false;
}

hg_return_t amg_mpi_calls_lock(const struct amg_domain *base)
{
    const struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (!may_call(domain))
        return HG_OPNOTSUPPORTED;
    amg_mpi_comm_lock(&domain->comm);
    return HG_SUCCESS;
}

void amg_mpi_calls_unlock(const struct amg_domain *base)
{
    amg_mpi_comm_unlock(&amg_mpi_domain_of(base)->comm);
}

static hg_return_t barrier_begin_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_barrier *barrier = &domain->barrier;
    int rc = MPI_SUCCESS;

    if (barrier->is_claimed) {
        AMG_LOG_ERROR("mpi",
            "another thread is in a barrier of this class, or this callback "
            "runs inside one");
        return HG_BUSY;
    }
    if (barrier->request == MPI_REQUEST_NULL)
        rc = MPI_Ibarrier(domain->comm.messages, &barrier->request);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "MPI_Ibarrier");
    barrier->is_claimed = true;
    return HG_SUCCESS;
}

static hg_return_t barrier_test_locked(struct amg_mpi_domain *domain)
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

    if (!may_call(domain))
        return HG_OPNOTSUPPORTED;
    amg_bias_lock(domain->lock);
    rc = barrier_begin_locked(domain);
    amg_bias_unlock(domain->lock);
    return rc;
}

hg_return_t amg_mpi_barrier_look(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    hg_return_t rc = HG_NA_ERROR;

    amg_bias_lock(domain->lock);
    AMG_ASSERT(domain->barrier.is_claimed);
    if (!domain->is_dead)
        rc = barrier_test_locked(domain);
    amg_bias_unlock(domain->lock);
    return rc;
}

void amg_mpi_barrier_end(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    amg_bias_lock(domain->lock);
    AMG_ASSERT(domain->barrier.is_claimed);
    domain->barrier.is_claimed = false;
    amg_bias_unlock(domain->lock);
}

/* Behind amg_node.impl. The domain's communicator outlives it. */
struct mpi_node {
    struct amg_boot boot;
    const struct amg_mpi_comm *comm;
    _Alignas(16) unsigned char cards[]; /* of all ranks of the node */
};

static const struct amg_mpi_comm *boot_comm(struct amg_boot *boot)
{
    return amg_container_of(boot, struct mpi_node, boot)->comm;
}

/* Takes the lock of MPI calls; returns the communicator of the node. */
static MPI_Comm boot_begin(struct amg_boot *boot)
{
    amg_mpi_comm_lock(boot_comm(boot));
    return boot_comm(boot)->node;
}

static hg_return_t boot_end(struct amg_boot *boot, int rc, const char *what)
{
    hg_return_t ret =
        rc == MPI_SUCCESS ? HG_SUCCESS : amg_mpi_comm_error(rc, what);

    amg_mpi_comm_unlock(boot_comm(boot));
    return ret;
}

static hg_return_t boot_allgather(
    struct amg_boot *boot, const void *mine, size_t len, void *ret_all)
{
    int rc = MPI_SUCCESS;

    if (!AMG_CONTRACT(len <= INT_MAX))
        return HG_INVALID_ARG;
    rc = MPI_Allgather(mine, (int)len, MPI_BYTE, ret_all, (int)len, MPI_BYTE,
        boot_begin(boot));
    return boot_end(boot, rc, "MPI_Allgather");
}

static hg_return_t boot_bcast(
    struct amg_boot *boot, void *bytes, size_t len, uint32_t root)
{
    int rc = MPI_SUCCESS;

    if (!AMG_CONTRACT(len <= INT_MAX && root < boot->size))
        return HG_INVALID_ARG;
    rc = MPI_Bcast(bytes, (int)len, MPI_BYTE, (int)root, boot_begin(boot));
    return boot_end(boot, rc, "MPI_Bcast");
}

static const struct amg_boot_ops boot_ops = {
    .allgather = boot_allgather,
    .bcast = boot_bcast,
};

/* Whether this rank's world has more than `size` processes. False if MPI was
 * started by sessions only. */
static bool world_is_larger(int size)
{
    int has_world = 0;
    int all = 0;

    return MPI_Initialized(&has_world) == MPI_SUCCESS && has_world &&
           MPI_Comm_size(MPI_COMM_WORLD, &all) == MPI_SUCCESS && all > size;
}

/* Number of nodes; 0: a rank has no memory. */
static int nodes_count(const struct amg_mpi_comm *comm, bool has_memory,
    uint32_t *ret_nodes, bool *ret_is_part)
{
    int mine[3] = {
        comm->node_rank == 0, !has_memory, world_is_larger(comm->size)};
    int sums[3] = {0, 0, 0};
    int rc = MPI_Allreduce(mine, sums, 3, MPI_INT, MPI_SUM, comm->data);

    *ret_nodes = rc == MPI_SUCCESS && sums[1] == 0 ? (uint32_t)sums[0] : 0;
    *ret_is_part = sums[2] > 0;
    return rc;
}

static hg_return_t node_open(
    struct amg_domain *domain, size_t card_len, struct amg_node *ret_node)
{
    const struct amg_mpi_comm *comm = &amg_mpi_domain_of(domain)->comm;
    struct mpi_node *mpi =
        amg_mem_zalloc(sizeof(*mpi) + (size_t)comm->node_size * card_len);
    uint32_t nodes = 0;
    bool is_part = false;
    int rc = MPI_SUCCESS;

    amg_mpi_comm_lock(comm);
    rc = nodes_count(comm, mpi != NULL, &nodes, &is_part);
    amg_mpi_comm_unlock(comm);
    if (rc != MPI_SUCCESS || nodes == 0) {
        amg_mem_free(mpi);
        return rc == MPI_SUCCESS ? HG_NOMEM
                                 : amg_mpi_comm_error(rc, "counting nodes");
    }
    mpi->boot = (struct amg_boot){.ops = &boot_ops,
        .rank = (uint32_t)comm->node_rank,
        .size = (uint32_t)comm->node_size};
    mpi->comm = comm;
    *ret_node = (struct amg_node){
        .boot = &mpi->boot,
        .rank = (uint32_t)comm->rank,
        .size = (uint32_t)comm->size,
        .node_count = nodes,
        .is_part = is_part,
        .cards = mpi->cards,
        .impl = mpi,
    };
    return HG_SUCCESS;
}

static void node_close(struct amg_node *node)
{
    amg_mem_free(node->impl);
    node->impl = NULL;
}

static hg_return_t node_peer(
    struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer)
{
    return amg_mpi_peer_of_rank(domain, (int)rank, ret_peer);
}

static uint32_t node_rank(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return (uint32_t)amg_mpi_rank_of_peer(domain, peer);
}

static hg_return_t largest_agree(
    const struct amg_mpi_comm *comm, uint64_t *words, uint32_t count)
{
    int rc = MPI_Allreduce(
        MPI_IN_PLACE, words, (int)count, MPI_UINT64_T, MPI_MAX, comm->data);

    return rc == MPI_SUCCESS ? HG_SUCCESS
                             : amg_mpi_comm_error(rc, "agreeing on a number");
}

static hg_return_t node_largest(
    const struct amg_node *node, uint64_t *words, uint32_t count)
{
    const struct amg_mpi_comm *comm = boot_comm(node->boot);
    hg_return_t rc = HG_SUCCESS;

    amg_mpi_comm_lock(comm);
    rc = largest_agree(comm, words, count);
    amg_mpi_comm_unlock(comm);
    return rc;
}

/* Record exchange between the first ranks of all nodes. */
struct exchange {
    MPI_Comm firsts;
    MPI_Datatype record;
    int *counts; /* of each node, and behind these their offsets */
    char *mine;  /* those of this node */
};

static bool exchange_make(
    const struct amg_node *node, uint32_t len, struct exchange *exchange)
{
    exchange->counts = amg_mem_zalloc(2 * node->node_count * sizeof(int));
    exchange->mine = amg_mem_alloc((size_t)node->boot->size * len);
    return exchange->counts != NULL && exchange->mine != NULL;
}

static void exchange_end(struct exchange *exchange)
{
    if (exchange->firsts != MPI_COMM_NULL)
        MPI_Comm_free(&exchange->firsts);
    if (exchange->record != MPI_DATATYPE_NULL)
        MPI_Type_free(&exchange->record);
    amg_mem_free(exchange->counts);
    amg_mem_free(exchange->mine);
}

/* Gathers the records of all nodes; called by the first ranks. */
static int exchange_run(
    const struct amg_node *node, struct exchange *exchange, void *ret_all)
{
    int count = (int)node->boot->size;
    int *starts = exchange->counts + node->node_count;
    int rc = MPI_Allgather(
        &count, 1, MPI_INT, exchange->counts, 1, MPI_INT, exchange->firsts);

    for (uint32_t i = 1; rc == MPI_SUCCESS && i < node->node_count; i++)
        starts[i] = starts[i - 1] + exchange->counts[i - 1];
    if (rc != MPI_SUCCESS)
        return rc;
    return MPI_Allgatherv(exchange->mine, count, exchange->record, ret_all,
        exchange->counts, starts, exchange->record, exchange->firsts);
}

static hg_return_t node_collect(const struct amg_node *node, const void *record,
    uint32_t len, void *ret_all)
{
    const struct amg_mpi_comm *comm = boot_comm(node->boot);
    bool is_first = comm->node_rank == 0;
    struct exchange exchange = {
        .firsts = MPI_COMM_NULL, .record = MPI_DATATYPE_NULL};
    uint64_t lacks_memory =
        is_first && !exchange_make(node, len, &exchange) ? 1 : 0;
    hg_return_t rc = HG_SUCCESS;
    int code = MPI_SUCCESS;

    amg_mpi_comm_lock(comm);
    rc = largest_agree(comm, &lacks_memory, 1);
    if (rc == HG_SUCCESS && lacks_memory != 0)
        rc = HG_NOMEM;
    if (rc != HG_SUCCESS)
        goto out;
    code = MPI_Comm_split(comm->data, is_first ? 0 : MPI_UNDEFINED,
        (int)node->rank, &exchange.firsts);
    if (code == MPI_SUCCESS)
        code = MPI_Type_contiguous((int)len, MPI_BYTE, &exchange.record);
    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(&exchange.record);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(record, 1, exchange.record, exchange.mine, 1,
            exchange.record, 0, comm->node);
    if (code == MPI_SUCCESS && is_first)
        code = exchange_run(node, &exchange, ret_all);
    if (code != MPI_SUCCESS)
        rc = amg_mpi_comm_error(code, "exchanging addresses between nodes");

out:
    exchange_end(&exchange);
    amg_mpi_comm_unlock(comm);
    return rc;
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
    .rank = node_rank,
    .largest = node_largest,
    .collect = node_collect,
    .way = node_way,
    .reason = node_reason,
    .close = node_close,
};
