/* SPDX-License-Identifier: BSD-3-Clause */
/* A visit at an entry of another rank, shared by trips to the same memory.
 *
 * A knock and a leave cost 2.6 us, a quarter of a transfer of 64 KiB; so trips
 * that are under way at the same time share them. A visit is over when its last
 * trip is, and only JOINS_MAX trips may join: who exposes the memory waits for
 * visits before it goes away, and must not wait for ever. For the same reason a
 * long visit looks at the door again and again, and ends when it is closed. */
#include "mpi_backend/mpi_stay.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_piece.h"

enum {
    JOINS_MAX = 32,
    LOOK_LEN = 4 << 20, /* 0.4 ms at 10 GB/s; a look costs 1.3 us of it */
};

static const unsigned state_edges[AMG_MPI_STAY_STATE_COUNT] = {
    [AMG_MPI_STAY_KNOCKING] =
        1u << AMG_MPI_STAY_INSIDE | 1u << AMG_MPI_STAY_FAILED,
    [AMG_MPI_STAY_INSIDE] = 1u << AMG_MPI_STAY_LOOKING |
                            1u << AMG_MPI_STAY_LEAVING |
                            1u << AMG_MPI_STAY_FAILED,
    [AMG_MPI_STAY_LOOKING] = 1u << AMG_MPI_STAY_INSIDE,
};

static void stay_set_state(
    struct amg_mpi_stay *stay, enum amg_mpi_stay_state next)
{
    AMG_ASSERT((state_edges[stay->state] >> next & 1u) != 0);
    stay->state = next;
}

static MPI_Aint entry_at(const struct amg_mpi_stay *stay)
{
    return (MPI_Aint)amg_mpi_key_index(&stay->key) * AMG_MPI_ENTRY_LEN;
}

/* Nobody else may join. */
static void stay_shut(struct amg_mpi_stay *stay)
{
    if (amg_link_is_listed(&stay->open))
        amg_list_remove(&stay->open);
}

static struct amg_mpi_stay *stay_find(
    struct amg_mpi_lane *lane, const struct amg_mpi_key *key)
{
    struct amg_link *link = amg_list_first(&lane->stays);

    for (; link != NULL; link = amg_list_next(&lane->stays, link)) {
        struct amg_mpi_stay *stay = AMG_OBJECT(link, struct amg_mpi_stay, open);

        if (memcmp(&stay->key, key, sizeof(*key)) == 0)
            return stay;
    }
    return NULL;
}

struct amg_mpi_stay *amg_mpi_stay_join_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_lane *lane, int rank, const struct amg_mpi_key *key)
{
    struct amg_mpi_rma *rma = domain->rma;
    struct amg_mpi_stay *stay = stay_find(lane, key);
    int rc = MPI_SUCCESS;

    if (stay != NULL) {
        stay->refs++;
        if (++stay->joined == JOINS_MAX)
            stay_shut(stay);
        return stay;
    }
    stay = amg_pool_get(&rma->stay_pool);
    if (stay == NULL)
        return NULL;
    memset(stay, 0, sizeof(*stay));
    stay->rank = rank;
    stay->key = *key;
    stay->refs = 1;
    stay->joined = 1;
    stay->visit[AMG_MPI_ENTRY_DOOR] = amg_mpi_entry_visit(domain->comm.rank);
    rc = MPI_Rget_accumulate(stay->visit, AMG_MPI_ENTRY_WORDS, MPI_UINT64_T,
        stay->seen, AMG_MPI_ENTRY_WORDS, MPI_UINT64_T, rank, entry_at(stay),
        AMG_MPI_ENTRY_WORDS, MPI_UINT64_T, MPI_SUM, rma->windows->desk,
        &stay->request);
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(rc, "reading a key by a window");
        amg_pool_put(&rma->stay_pool, stay);
        return NULL;
    }
    amg_list_push(&rma->asked, &stay->link);
    amg_list_push(&lane->stays, &stay->open);
    return stay;
}

void amg_mpi_stay_moved_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_stay *stay, uint64_t len)
{
    static const uint64_t nothing;
    struct amg_mpi_rma *rma = domain->rma;

    stay->moved += len;
    if (stay->moved < LOOK_LEN || stay->state != AMG_MPI_STAY_INSIDE)
        return;
    stay->moved = 0;
    if (MPI_Rget_accumulate(&nothing, 1, MPI_UINT64_T, &stay->door, 1,
            MPI_UINT64_T, stay->rank, entry_at(stay), 1, MPI_UINT64_T, MPI_SUM,
            rma->windows->desk, &stay->request) != MPI_SUCCESS)
        return; /* it was only a courtesy */
    stay_set_state(stay, AMG_MPI_STAY_LOOKING);
    amg_list_push(&rma->asked, &stay->link);
}

/* Takes the visit back. */
static void stay_leave(struct amg_mpi_rma *rma, struct amg_mpi_stay *stay)
{
    int rc = MPI_SUCCESS;

    stay->visit[AMG_MPI_ENTRY_DOOR] = -stay->visit[AMG_MPI_ENTRY_DOOR];
    rc = MPI_Raccumulate(&stay->visit[AMG_MPI_ENTRY_DOOR], 1, MPI_UINT64_T,
        stay->rank, entry_at(stay), 1, MPI_UINT64_T, MPI_SUM,
        rma->windows->desk, &stay->request);
    if (rc == MPI_SUCCESS) {
        stay_set_state(stay, AMG_MPI_STAY_LEAVING);
        amg_list_push(&rma->asked, &stay->link);
        return;
    }
    (void)amg_mpi_comm_error(rc, "ending an access by a window");
    stay_set_state(stay, AMG_MPI_STAY_FAILED);
}

/* After each change: what nobody uses any more goes on to its end. */
static void stay_settle(struct amg_mpi_rma *rma, struct amg_mpi_stay *stay)
{
    if (stay->refs > 0)
        return;
    stay_shut(stay);
    if (stay->state == AMG_MPI_STAY_INSIDE)
        stay_leave(rma, stay);
    if (stay->state == AMG_MPI_STAY_FAILED)
        amg_pool_put(&rma->stay_pool, stay);
}

void amg_mpi_stay_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_stay *stay)
{
    if (stay == NULL)
        return;
    AMG_ASSERT(stay->refs > 0);
    stay->refs--;
    stay_settle(domain->rma, stay);
}

static void stay_move(struct amg_mpi_rma *rma, struct amg_mpi_stay *stay)
{
    hg_return_t rc = HG_SUCCESS;

    if (!amg_mpi_request_is_done(&stay->request, &rc))
        return;
    amg_list_remove(&stay->link);
    if (stay->state == AMG_MPI_STAY_LEAVING) {
        amg_pool_put(&rma->stay_pool, stay);
        return;
    }
    if (stay->state == AMG_MPI_STAY_LOOKING) {
        stay_set_state(stay, AMG_MPI_STAY_INSIDE);
    } else {
        stay_set_state(
            stay, rc == HG_SUCCESS ? AMG_MPI_STAY_INSIDE : AMG_MPI_STAY_FAILED);
        stay->door = stay->seen[AMG_MPI_ENTRY_DOOR];
    }
    stay->is_unwanted = rc == HG_SUCCESS && amg_mpi_entry_tag(stay->door) == 0;
    if (rc != HG_SUCCESS || stay->is_unwanted)
        stay_shut(stay); /* who comes later asks again */
    stay_settle(rma, stay);
}

void amg_mpi_stay_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->rma->asked);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(&domain->rma->asked, link);

        stay_move(domain->rma, AMG_OBJECT(link, struct amg_mpi_stay, link));
        link = next;
    }
}

unsigned amg_mpi_stay_forget_locked(struct amg_mpi_rma *rma)
{
    struct amg_link *link = NULL;
    unsigned count = 0;

    while ((link = amg_list_pop(&rma->asked)) != NULL) {
        AMG_LOG_WARNING("bulk",
            "rank %d did not let an access by a window end; MPI keeps its "
            "memory",
            AMG_OBJECT(link, struct amg_mpi_stay, link)->rank);
        count++;
    }
    return count;
}
