/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap of other drivers over MPI: the ranks of a job, and those of this
 * node. */
#include "mpi_backend/mpi_boot.h"

#include <limits.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "boot/node.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_bulk_select.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_public.h"

/* Returns the communicator, and takes the lock of MPI calls. */
static MPI_Comm call_begin(struct amg_boot *boot)
{
    const struct amg_mpi_boot *mpi = (const struct amg_mpi_boot *)(void *)boot;

    if (!mpi->has_turn)
        amg_mpi_comm_lock(mpi->comm);
    return mpi->comm->data;
}

static hg_return_t call_end(struct amg_boot *boot, int rc, const char *what)
{
    const struct amg_mpi_boot *mpi = (const struct amg_mpi_boot *)(void *)boot;
    hg_return_t ret =
        rc == MPI_SUCCESS ? HG_SUCCESS : amg_mpi_comm_error(rc, what);

    if (!mpi->has_turn)
        amg_mpi_comm_unlock(mpi->comm);
    return ret;
}

static hg_return_t boot_allgather(
    struct amg_boot *boot, const void *mine, size_t len, void *ret_all)
{
    int rc = MPI_SUCCESS;

    if (!AMG_CONTRACT(len <= INT_MAX))
        return HG_INVALID_ARG;
    rc = MPI_Allgather(mine, (int)len, MPI_BYTE, ret_all, (int)len, MPI_BYTE,
        call_begin(boot));
    return call_end(boot, rc, "MPI_Allgather");
}

static hg_return_t boot_bcast(
    struct amg_boot *boot, void *bytes, size_t len, uint32_t root)
{
    int rc = MPI_SUCCESS;

    if (!AMG_CONTRACT(len <= INT_MAX && root < boot->size))
        return HG_INVALID_ARG;
    rc = MPI_Bcast(bytes, (int)len, MPI_BYTE, (int)root, call_begin(boot));
    return call_end(boot, rc, "MPI_Bcast");
}

static hg_return_t boot_barrier(struct amg_boot *boot)
{
    int rc = MPI_Barrier(call_begin(boot));

    return call_end(boot, rc, "MPI_Barrier");
}

hg_return_t amg_mpi_boot_nonce(struct amg_mpi_boot *boot, uint64_t *ret_nonce)
{
    uint64_t nonce = 0;
    hg_return_t rc = HG_SUCCESS;

    if (boot->base.rank == 0 && getrandom(&nonce, sizeof(nonce),
                                    GRND_NONBLOCK) != (ssize_t)sizeof(nonce))
        nonce = amg_clock_ns();
    rc = boot_bcast(&boot->base, &nonce, sizeof(nonce), 0);
    if (rc == HG_SUCCESS)
        *ret_nonce = nonce;
    return rc;
}

static const struct amg_boot_ops boot_ops = {
    .allgather = boot_allgather,
    .bcast = boot_bcast,
    .barrier = boot_barrier,
};

void amg_mpi_boot_init(
    const struct amg_mpi_comm *comm, struct amg_mpi_boot *ret_boot)
{
    ret_boot->base.ops = &boot_ops;
    ret_boot->base.rank = (uint32_t)comm->rank;
    ret_boot->base.size = (uint32_t)comm->size;
    ret_boot->base.node_rank = (uint32_t)comm->node_rank;
    ret_boot->base.node_size = (uint32_t)comm->node_size;
    ret_boot->comm = comm;
    ret_boot->has_turn = false;
}

/* Behind amg_node.medium. */
struct mpi_node {
    struct amg_mpi_boot boot;
    struct amg_mpi_comm comm; /* `data` is the domain's of the node */
    MPI_Comm all;             /* the domain's */
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

    node_free(mpi);
    node->medium = NULL;
}

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

static struct mpi_node *node_make(
    const struct amg_mpi_comm *comm, size_t card_len)
{
    struct mpi_node *mpi = amg_mem_zalloc(sizeof(*mpi));

    if (mpi == NULL)
        return NULL;
    mpi->all = comm->data;
    mpi->comm.data = comm->node;
    mpi->comm.who = comm->who;
    mpi->comm.rank = mpi->comm.node_rank = comm->node_rank;
    mpi->comm.size = mpi->comm.node_size = comm->node_size;
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
    struct mpi_node *mpi = node_make(comm, card_len);
    uint32_t nodes = 0;
    bool is_part = false;
    int rc = MPI_SUCCESS;

    amg_mpi_comm_lock(comm);
    rc = nodes_count(comm, mpi != NULL, &nodes, &is_part);
    amg_mpi_comm_unlock(comm);
    if (rc != MPI_SUCCESS || nodes == 0) {
        node_free(mpi);
        return rc == MPI_SUCCESS ? HG_NOMEM
                                 : amg_mpi_comm_error(rc, "counting nodes");
    }
    *ret_node = (struct amg_node){
        .boot = &mpi->boot.base,
        .rank = (uint32_t)comm->rank,
        .size = (uint32_t)comm->size,
        .node_count = nodes,
        .is_part = is_part,
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

static uint32_t node_rank(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    return (uint32_t)amg_mpi_rank_of_peer(domain, peer);
}

static hg_return_t largest_agree(
    const struct mpi_node *mpi, uint64_t *words, uint32_t count)
{
    int rc = MPI_Allreduce(
        MPI_IN_PLACE, words, (int)count, MPI_UINT64_T, MPI_MAX, mpi->all);

    return rc == MPI_SUCCESS ? HG_SUCCESS
                             : amg_mpi_comm_error(rc, "agreeing on a number");
}

static hg_return_t node_largest(
    const struct amg_node *node, uint64_t *words, uint32_t count)
{
    const struct mpi_node *mpi = node->medium;
    hg_return_t rc = HG_SUCCESS;

    amg_mpi_comm_lock(&mpi->comm);
    rc = largest_agree(mpi, words, count);
    amg_mpi_comm_unlock(&mpi->comm);
    return rc;
}

/* Record exchange between the first ranks of all nodes. */
struct exchange {
    MPI_Comm firsts;
    MPI_Datatype record;
    int *counts; /* of each node, */
    int *starts; /* and their offsets */
    char *mine;  /* those of this node */
};

static bool exchange_make(
    const struct amg_node *node, uint32_t len, struct exchange *exchange)
{
    exchange->counts = amg_mem_zalloc(node->node_count * sizeof(int));
    exchange->starts = amg_mem_zalloc(node->node_count * sizeof(int));
    exchange->mine = amg_mem_alloc((size_t)node->boot->size * len);
    return exchange->counts != NULL && exchange->starts != NULL &&
           exchange->mine != NULL;
}

static void exchange_end(struct exchange *exchange)
{
    if (exchange->firsts != MPI_COMM_NULL)
        MPI_Comm_free(&exchange->firsts);
    if (exchange->record != MPI_DATATYPE_NULL)
        MPI_Type_free(&exchange->record);
    amg_mem_free(exchange->counts);
    amg_mem_free(exchange->starts);
    amg_mem_free(exchange->mine);
}

/* Gathers the records of all nodes; called by the first ranks. */
static int exchange_run(
    const struct amg_node *node, struct exchange *exchange, void *ret_all)
{
    int count = (int)node->boot->size;
    int rc = MPI_Allgather(
        &count, 1, MPI_INT, exchange->counts, 1, MPI_INT, exchange->firsts);

    for (uint32_t i = 1; rc == MPI_SUCCESS && i < node->node_count; i++)
        exchange->starts[i] = exchange->starts[i - 1] + exchange->counts[i - 1];
    if (rc != MPI_SUCCESS)
        return rc;
    return MPI_Allgatherv(exchange->mine, count, exchange->record, ret_all,
        exchange->counts, exchange->starts, exchange->record, exchange->firsts);
}

static hg_return_t node_collect(const struct amg_node *node, const void *record,
    uint32_t len, void *ret_all)
{
    const struct mpi_node *mpi = node->medium;
    bool is_first = mpi->comm.rank == 0;
    struct exchange exchange = {
        .firsts = MPI_COMM_NULL, .record = MPI_DATATYPE_NULL};
    uint64_t lacks_memory =
        is_first && !exchange_make(node, len, &exchange) ? 1 : 0;
    hg_return_t rc = HG_SUCCESS;
    int code = MPI_SUCCESS;

    amg_mpi_comm_lock(&mpi->comm);
    rc = largest_agree(mpi, &lacks_memory, 1);
    if (rc == HG_SUCCESS && lacks_memory != 0)
        rc = HG_NOMEM;
    if (rc != HG_SUCCESS)
        goto out;
    code = MPI_Comm_split(mpi->all, is_first ? 0 : MPI_UNDEFINED,
        (int)node->rank, &exchange.firsts);
    if (code == MPI_SUCCESS)
        code = MPI_Type_contiguous((int)len, MPI_BYTE, &exchange.record);
    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(&exchange.record);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(record, 1, exchange.record, exchange.mine, 1,
            exchange.record, 0, mpi->comm.data);
    if (code == MPI_SUCCESS && is_first)
        code = exchange_run(node, &exchange, ret_all);
    if (code != MPI_SUCCESS)
        rc = amg_mpi_comm_error(code, "exchanging addresses between nodes");

out:
    exchange_end(&exchange);
    amg_mpi_comm_unlock(&mpi->comm);
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
