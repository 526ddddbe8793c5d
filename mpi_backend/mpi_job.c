/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a domain for other modules: peers, barrier, bootstrap of a node.
 *
 * MPI cannot cancel a barrier that a rank has entered. So a barrier whose
 * caller stopped waiting stays pending, and the next call resumes this barrier
 * instead of entering another. Barriers use the communicator of messages, as
 * the barrier of opening does before them.
 *
 * The barrier of opening is for a class that calls other nodes by libfabric,
 * and so does not poll MPI any more once the class is open. MPI may have sent
 * only a part of a rank's messages of the last collective call (MPICH over
 * tcp;ofi_rxm sends the rest in the next call of MPI), and the receiver would
 * stay in amalgam_init(). So each rank enters a non-blocking barrier at the end
 * of opening, and tests it from time to time: once complete, the barrier shows
 * that all ranks are past the collective calls. MPI may hold back messages of
 * this barrier as well, so each rank then calls MPI JOINED_LOOKS times more. */
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/boot.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_meet.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_place.h"
#include "mpi_backend/mpi_public.h"

enum { JOINED_LOOKS = 16 };

hg_return_t amg_mpi_peer_of_rank(
    struct amg_domain *base, int rank, struct amg_peer **ret_peer)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    if (!AMG_CONTRACT_OF("amalgam_addr_rank",
            rank >= 0 && rank < domain->comm.size,
            "rank %d, but the class has the ranks 0 to %d", rank,
            (int)domain->comm.size - 1))
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
    AMG_LOG_ERROR("mpi", "this thread may not call MPI, or MPI has ended; call "
                         "in the thread that started MPI, before MPI_Finalize");
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

/* For errors of calls without a communicator, MPI calls the error handlers of
 * MPI_COMM_WORLD and MPI_COMM_SELF: the first before MPI-4, the second from
 * MPI-4 on. A process that has started MPI by sessions only has neither. */

enum { HANDLERS = 2 };

/* The program's error handlers: the first thread that puts the handlers aside
 * saves them, and the last thread that puts them back restores them. */
static struct {
    struct amg_lock lock; /* guards `users` and `theirs` */
    unsigned users;
    MPI_Errhandler theirs[HANDLERS];
} aside;

static MPI_Comm handler_comm(unsigned i)
{
    return i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF;
}

static bool has_world(void)
{
    int flag = 0;

    MPI_Initialized(&flag);
    return flag != 0;
}

void amg_mpi_handlers_put_aside(void)
{
    unsigned i = 0;

    if (!has_world())
        return;
    amg_lock_lock(&aside.lock);
    for (; aside.users == 0 && i < HANDLERS; i++) {
        MPI_Comm_get_errhandler(handler_comm(i), &aside.theirs[i]);
        MPI_Comm_set_errhandler(handler_comm(i), MPI_ERRORS_RETURN);
    }
    aside.users++;
    amg_lock_unlock(&aside.lock);
}

void amg_mpi_handlers_put_back(void)
{
    unsigned i = 0;

    if (!has_world())
        return;
    amg_lock_lock(&aside.lock);
    aside.users--;
    for (; aside.users == 0 && i < HANDLERS; i++) {
        MPI_Comm_set_errhandler(handler_comm(i), aside.theirs[i]);
        MPI_Errhandler_free(&aside.theirs[i]);
    }
    amg_lock_unlock(&aside.lock);
}

static hg_return_t barrier_begin_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_barrier *barrier = &domain->barrier;
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (barrier->is_claimed) {
        AMG_LOG_ERROR("mpi", "another thread is in a barrier of this class, or "
                             "this callback runs inside one");
        return HG_BUSY;
    }
    if (barrier->request == MPI_REQUEST_NULL)
        rc = MPI_Ibarrier(domain->comm.messages, &barrier->request);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "MPI_Ibarrier");
    barrier->is_claimed = true;
    return HG_SUCCESS;
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
    MPI_Request *request = &domain->barrier.request;
    hg_return_t rc = HG_NA_ERROR;
    int flag = 0;
    int code = MPI_SUCCESS;

    amg_bias_lock(domain->lock);
    AMG_ASSERT(domain->barrier.is_claimed);
    if (!domain->is_dead) {
        code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        rc = flag ? HG_SUCCESS : HG_AGAIN;
    }
    if (code != MPI_SUCCESS) {
        *request = MPI_REQUEST_NULL;
        rc = amg_mpi_comm_error(code, "a barrier");
    }
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

static uint32_t joining_look_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_joining *joining = &domain->joining;
    int rc = MPI_SUCCESS;
    int flag = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!joining->has_begun) {
        rc = MPI_Ibarrier(domain->comm.messages, &joining->request);
        joining->has_begun = true;
        joining->looks = JOINED_LOOKS;
    }
    if (rc == MPI_SUCCESS && joining->request != MPI_REQUEST_NULL) {
        rc = MPI_Test(&joining->request, &flag, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS)
            return flag ? joining->looks : AMG_JOINED_NOT_YET;
    }
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(rc, "the barrier at the end of opening");
        joining->request = MPI_REQUEST_NULL;
        return joining->looks;
    }
    if (joining->looks == 0)
        return 0;
    /* The probe only lets MPI make progress. */
    MPI_Iprobe(MPI_ANY_SOURCE, 0, domain->comm.data, &flag, MPI_STATUS_IGNORE);
    return --joining->looks;
}

static uint32_t node_joined(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    uint32_t looks = 0;

    if (!amg_mpi_comm_may_call(&domain->comm))
        return AMG_JOINED_NOT_YET;
    amg_bias_lock(domain->lock);
    if (!domain->is_dead)
        looks = joining_look_locked(domain);
    amg_bias_unlock(domain->lock);
    return looks;
}

static const struct amg_mpi_comm *boot_comm(struct amg_boot *boot)
{
    return &amg_container_of(boot, struct amg_mpi_domain, job.boot)->comm;
}

/* Takes the lock of MPI calls, which boot_end() releases. */
static const struct amg_mpi_comm *boot_begin(struct amg_boot *boot)
{
    amg_mpi_comm_lock(boot_comm(boot));
    return boot_comm(boot);
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
    int rc =
        amg_mpi_place_allgather(boot_begin(boot)->place, mine, len, ret_all);
    return boot_end(boot, rc, "gathering on a node");
}

static hg_return_t boot_bcast(
    struct amg_boot *boot, void *bytes, size_t len, uint32_t root)
{
    int rc = MPI_SUCCESS;

    AMG_ASSERT(root < boot->size);
    rc = amg_mpi_place_bcast(boot_begin(boot)->place, bytes, len, (int)root);
    return boot_end(boot, rc, "distributing on a node");
}

static const struct amg_boot_ops boot_ops = {
    .allgather = boot_allgather,
    .bcast = boot_bcast,
};

static void node_open(struct amg_domain *base, struct amg_node *ret_node)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    const struct amg_mpi_comm *comm = &domain->comm;

    AMG_ASSERT(domain->job.cards != NULL);
    domain->job.boot = (struct amg_boot){.ops = &boot_ops,
        .rank = (uint32_t)comm->node_rank,
        .size = (uint32_t)comm->node_size};
    *ret_node = (struct amg_node){
        .boot = &domain->job.boot,
        .rank = (uint32_t)comm->rank,
        .first = comm->node_first,
        .size = (uint32_t)comm->size,
        .node_count = comm->facts.nodes,
        .node_size = amg_mpi_facts_node_size(&comm->facts),
        .message_len = domain->job.wanted_len,
        .credits = domain->job.wanted_credits,
        .is_part = comm->facts.is_part != 0,
        .cards = domain->job.cards,
    };
}

static void node_close(struct amg_node *node)
{
    struct amg_mpi_domain *domain =
        amg_container_of(node->boot, struct amg_mpi_domain, job.boot);

    amg_mem_free(domain->job.cards);
    domain->job.cards = NULL;
    amg_mpi_place_leave(domain->comm.place);
    domain->comm.place = NULL;
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

static hg_return_t node_largest(
    const struct amg_node *node, uint64_t *words, uint32_t count)
{
    const struct amg_mpi_comm *comm = boot_begin(node->boot);
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Iallreduce(MPI_IN_PLACE, words, (int)count, MPI_UINT64_T,
        MPI_MAX, comm->data, &request);

    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    return boot_end(node->boot, rc, "agreeing on a number");
}

static hg_return_t node_collect(const struct amg_node *node, const void *record,
    uint32_t len, void *ret_all)
{
    int rc = amg_mpi_meet_collect(boot_begin(node->boot), record, len, ret_all);

    return boot_end(node->boot, rc, "exchanging addresses between nodes");
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
    .joined = node_joined,
    .way = node_way,
    .reason = node_reason,
    .close = node_close,
};
