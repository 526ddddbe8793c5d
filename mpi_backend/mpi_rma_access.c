/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses to exposed memory of other ranks.
 *
 * Acquiring and releasing an access takes 2.6 us, a quarter of the time to move
 * 64 KiB, so concurrent transfers share an access. The exposer waits for
 * accesses to end before its memory goes away, and must not wait without limit.
 * So an access ends with its last transfer, only JOINS_MAX transfers may join,
 * and long transfers reread the access word, and stop when the word is closed.
 *
 * The last transfer releases its access at once, before the program learns that
 * the transfer has ended, since the program may then make no progress for long.
 * The release need not wait for other requests of the access: MPI executes the
 * accumulates of one rank on one word in order, so the addition comes before
 * the subtraction, and a check changes nothing. */
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    JOINS_MAX = 32,
    CHECK_LEN = 4 << 20, /* 0.4 ms at 10 GB/s; a check takes 1.3 us */
};

static const unsigned state_edges[AMG_MPI_RMA_ACCESS_STATE_COUNT] = {
    [AMG_MPI_RMA_ACCESS_ACQUIRING] = 1u << AMG_MPI_RMA_ACCESS_HELD |
                                     1u << AMG_MPI_RMA_ACCESS_RELEASING |
                                     1u << AMG_MPI_RMA_ACCESS_FAILED,
    [AMG_MPI_RMA_ACCESS_HELD] =
        1u << AMG_MPI_RMA_ACCESS_CHECKING | 1u << AMG_MPI_RMA_ACCESS_RELEASING,
    [AMG_MPI_RMA_ACCESS_CHECKING] =
        1u << AMG_MPI_RMA_ACCESS_HELD | 1u << AMG_MPI_RMA_ACCESS_RELEASING,
};

static void access_set_state(
    struct amg_mpi_rma_access *access, enum amg_mpi_rma_access_state next)
{
    AMG_ASSERT((state_edges[access->state] >> next & 1u) != 0);
    access->state = next;
}

struct amg_mpi_rma_peer *amg_mpi_rma_peer_locked(
    struct amg_mpi_domain *domain, int rank)
{
    struct amg_map *peers = &domain->rma->peers;
    struct amg_mpi_rma_peer *peer = amg_map_get(peers, (uint64_t)rank);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (peer != NULL)
        return peer;
    peer = amg_mem_zalloc(sizeof(*peer));
    if (peer != NULL)
        amg_list_init(&peer->accesses);
    if (peer != NULL &&
        amg_map_put(peers, (uint64_t)rank, peer) != HG_SUCCESS) {
        amg_mem_free(peer);
        peer = NULL;
    }
    return peer;
}

static MPI_Aint desc_at(const struct amg_mpi_rma_access *access)
{
    return (MPI_Aint)amg_mpi_key_index(&access->key) * AMG_MPI_DESC_LEN;
}

/* Lets no other transfer join. */
static void access_shut(struct amg_mpi_rma_access *access)
{
    if (amg_link_is_listed(&access->open))
        amg_list_remove(&access->open);
}

static struct amg_mpi_rma_access *access_find(
    struct amg_mpi_rma_peer *peer, const struct amg_mpi_key *key)
{
    struct amg_link *link = amg_list_first(&peer->accesses);

    for (; link != NULL; link = amg_list_next(&peer->accesses, link)) {
        struct amg_mpi_rma_access *access =
            amg_container_of(link, struct amg_mpi_rma_access, open);

        if (memcmp(&access->key, key, sizeof(*key)) == 0)
            return access;
    }
    return NULL;
}

hg_return_t amg_mpi_rma_access_join_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_peer *peer, int rank, const struct amg_mpi_key *key,
    struct amg_mpi_rma_access **ret_access)
{
    struct amg_mpi_rma *rma = domain->rma;
    struct amg_mpi_rma_access *access = access_find(peer, key);
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (access != NULL) {
        AMG_ASSERT(access->refs > 0); /* no transfer joins a shut access */
        access->refs++;
        if (++access->joined == JOINS_MAX)
            access_shut(access);
        *ret_access = access;
        return HG_SUCCESS;
    }
    access = amg_pool_get(&rma->access_pool);
    if (access == NULL)
        return HG_NOMEM;
    memset(access, 0, sizeof(*access));
    access->rank = rank;
    access->key = *key;
    access->refs = 1;
    access->joined = 1;
    access->leaving = MPI_REQUEST_NULL;
    access->add[AMG_MPI_DESC_ACCESS] = amg_mpi_desc_access(domain->comm.rank);
    rc = MPI_Rget_accumulate(access->add, AMG_MPI_DESC_WORDS, MPI_UINT64_T,
        access->seen, AMG_MPI_DESC_WORDS, MPI_UINT64_T, rank, desc_at(access),
        AMG_MPI_DESC_WORDS, MPI_UINT64_T, MPI_SUM, rma->windows->descs,
        &access->request);
    if (rc != MPI_SUCCESS) {
        amg_pool_put(&rma->access_pool, access);
        return amg_mpi_comm_error(rc, "reading a key by a window");
    }
    amg_list_push(&rma->pending, &access->link);
    amg_list_push(&peer->accesses, &access->open);
    *ret_access = access;
    return HG_SUCCESS;
}

void amg_mpi_rma_access_moved_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_access *access, uint64_t len)
{
    static const uint64_t nothing;
    struct amg_mpi_rma *rma = domain->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(access->refs > 0);
    access->moved += len;
    if (access->moved < CHECK_LEN || access->state != AMG_MPI_RMA_ACCESS_HELD)
        return;
    access->moved = 0;
    if (MPI_Rget_accumulate(&nothing, 1, MPI_UINT64_T, &access->word, 1,
            MPI_UINT64_T, access->rank, desc_at(access), 1, MPI_UINT64_T,
            MPI_SUM, rma->windows->descs, &access->request) != MPI_SUCCESS)
        return; /* no error: the next check follows after CHECK_LEN bytes */
    access_set_state(access, AMG_MPI_RMA_ACCESS_CHECKING);
    amg_list_push(&rma->pending, &access->link);
}

/* Subtracts the access from the word. No caller could report a failure, and the
 * exposer would wait for ever, so this thread tries a few times. */
static void access_leave(
    struct amg_mpi_domain *domain, struct amg_mpi_rma_access *access)
{
    struct amg_mpi_rma *rma = domain->rma;
    int rc = amg_mpi_peer_is_dead(domain, access->rank) ? MPI_SUCCESS
                                                        : MPI_ERR_OTHER;

    AMG_ASSERT(access->refs == 0 && access->leaving == MPI_REQUEST_NULL);
    access->leave = -access->add[AMG_MPI_DESC_ACCESS];
    for (unsigned i = 0; i < AMG_MPI_TRIES && rc != MPI_SUCCESS; i++)
        rc = MPI_Raccumulate(&access->leave, 1, MPI_UINT64_T, access->rank,
            desc_at(access), 1, MPI_UINT64_T, MPI_SUM, rma->windows->descs,
            &access->leaving);
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(rc, "ending an access by a window");
        access->leaving = MPI_REQUEST_NULL;
    }
    if (access->state == AMG_MPI_RMA_ACCESS_HELD)
        amg_list_push(&rma->pending, &access->link);
    access_set_state(access, AMG_MPI_RMA_ACCESS_RELEASING);
}

void amg_mpi_rma_access_release_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_rma_access *access)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (access == NULL)
        return;
    AMG_ASSERT(access->refs > 0);
    if (--access->refs > 0)
        return;
    access_shut(access);
    if (access->state == AMG_MPI_RMA_ACCESS_FAILED)
        amg_pool_put(&domain->rma->access_pool, access);
    else
        access_leave(domain, access);
}

/* False: MPI has not completed the request. */
static bool request_end(MPI_Request *request, hg_return_t *ret)
{
    int flag = 0;
    int code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);

    if (code != MPI_SUCCESS) {
        *ret = amg_mpi_comm_error(code, "accessing memory by a window");
        *request = MPI_REQUEST_NULL;
    }
    return code != MPI_SUCCESS || flag;
}

static void access_move(
    struct amg_mpi_rma *rma, struct amg_mpi_rma_access *access)
{
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(access->state != AMG_MPI_RMA_ACCESS_HELD &&
               access->state != AMG_MPI_RMA_ACCESS_FAILED);
    if (!request_end(&access->request, &rc) ||
        (access->leaving != MPI_REQUEST_NULL &&
            !request_end(&access->leaving, &rc)))
        return;
    amg_list_remove(&access->link);
    if (access->state == AMG_MPI_RMA_ACCESS_RELEASING) {
        amg_pool_put(&rma->access_pool, access);
        return;
    }
    if (access->state == AMG_MPI_RMA_ACCESS_CHECKING) {
        access_set_state(access, AMG_MPI_RMA_ACCESS_HELD);
    } else {
        access_set_state(access, rc == HG_SUCCESS ? AMG_MPI_RMA_ACCESS_HELD
                                                  : AMG_MPI_RMA_ACCESS_FAILED);
        access->word = access->seen[AMG_MPI_DESC_ACCESS];
    }
    access->is_revoked =
        rc == HG_SUCCESS && amg_mpi_desc_tag(access->word) == 0;
    if (rc != HG_SUCCESS || access->is_revoked)
        access_shut(access); /* later transfers acquire a new access */
}

void amg_mpi_rma_access_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->rma->pending);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&domain->rma->pending, link);

        access_move(domain->rma,
            amg_container_of(link, struct amg_mpi_rma_access, link));
        link = next;
    }
}
