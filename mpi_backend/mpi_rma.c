/* SPDX-License-Identifier: BSD-3-Clause */
/* The one-sided part of a domain: what it has when it has windows.
 *
 * Messages are two-sided in any case, and so is all bulk data that windows do
 * not lead to: memory that is short, in many pieces, or partly attached by
 * another handle, memory beyond the table of keys, and whatever a descriptor
 * says that the exposer's entry does not confirm. mpi_trip.c has the protocol
 * of one transfer, mpi_entry.h what guards the exposer's memory.
 *
 * What cannot be guarded: an exposer whose visitor is silent keeps its memory
 * exposed (HG_Bulk_free answers HG_BUSY, and names the rank). If the program
 * gives that memory back to the system nevertheless, a piece that the silent
 * rank had under way crashes the exposer, for MPI reads and writes there. */
#include "mpi_backend/mpi_rma.h"

#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_stay.h"
#include "mpi_backend/mpi_trip.h"

hg_return_t amg_mpi_rma_open(
    struct amg_mpi_domain *domain, const struct amg_area *area)
{
    struct amg_mpi_rma *rma = NULL;
    int mine = 0;
    int all = 0;
    int rc = MPI_SUCCESS;

    if (domain->comm.size > AMG_MPI_WINDOW_RANKS_MAX) {
        AMG_LOG_WARNING("mpi",
            "%d ranks are more than the %d that windows can count: bulk data "
            "moves by messages; name mpi+p2p to ask for that",
            domain->comm.size, AMG_MPI_WINDOW_RANKS_MAX);
        return HG_OPNOTSUPPORTED;
    }
    rma = amg_mem_zalloc(sizeof(*rma));
    mine = rma != NULL;
    rc = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, domain->comm.data);
    if (rc != MPI_SUCCESS || all == 0 ||
        amg_mpi_windows_open(&domain->comm, area, &rma->windows) !=
            HG_SUCCESS) {
        amg_mem_free(rma);
        return rc == MPI_SUCCESS && all != 0 ? HG_OPNOTSUPPORTED : HG_NOMEM;
    }
    amg_mpi_desk_init(&rma->desk, rma->windows, AMG_MPI_WINDOW_LEN_MIN);
    amg_list_init(&rma->trips);
    amg_list_init(&rma->asked);
    amg_pool_init(
        &rma->stay_pool, sizeof(struct amg_mpi_stay), sizeof(void *) * 2);
    amg_pool_init(&rma->trip_pool, amg_mpi_trip_len(), sizeof(void *) * 2);
    domain->rma = rma;
    return HG_SUCCESS;
}

void amg_mpi_rma_close_locked(struct amg_mpi_domain *domain, bool is_whole)
{
    struct amg_mpi_rma *rma = domain->rma;
    unsigned count = 0;

    if (rma == NULL)
        return;
    domain->rma = NULL;
    count = amg_mpi_trip_forget_locked(rma) + amg_mpi_stay_forget_locked(rma);
    amg_mpi_desk_fini(&rma->desk);
    if (!is_whole || count > 0)
        AMG_LOG_WARNING("mpi",
            "the windows of the class stay open until MPI_Finalize, because "
            "freeing them would wait for the rank that is missing");
    amg_mpi_windows_close(rma->windows, is_whole && count == 0);
    amg_map_fini(&rma->lanes, amg_mem_free);
    if (count > 0)
        return; /* MPI may still write into trips, so the pool is left to it */
    amg_pool_fini(&rma->stay_pool);
    amg_pool_fini(&rma->trip_pool);
    amg_mem_free(rma);
}

struct amg_mpi_lane *amg_mpi_rma_lane_locked(struct amg_mpi_rma *rma, int rank)
{
    struct amg_mpi_lane *lane = amg_map_get(&rma->lanes, (uint64_t)rank);

    if (lane != NULL)
        return lane;
    lane = amg_mem_zalloc(sizeof(*lane));
    if (lane != NULL)
        amg_list_init(&lane->stays);
    if (lane != NULL &&
        amg_map_put(&rma->lanes, (uint64_t)rank, lane) != HG_SUCCESS) {
        amg_mem_free(lane);
        lane = NULL;
    }
    return lane;
}

bool amg_mpi_rma_is_idle_locked(const struct amg_mpi_domain *domain)
{
    const struct amg_mpi_rma *rma = domain->rma;

    return rma == NULL ||
           (amg_list_is_empty(&rma->trips) && amg_list_is_empty(&rma->asked));
}

void amg_mpi_rma_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_rma *rma = domain->rma;

    if (!amg_list_is_empty(&rma->desk.leaving))
        amg_mpi_desk_move_locked(&rma->desk);
    if (!amg_list_is_empty(&rma->asked))
        amg_mpi_stay_move_locked(domain);
    if (!amg_list_is_empty(&rma->trips))
        amg_mpi_trip_move_locked(domain);
}
