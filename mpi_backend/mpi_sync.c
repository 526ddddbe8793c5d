/* SPDX-License-Identifier: BSD-3-Clause */
/* SYNC: other ranks are asked to make progress, and say when they have.
 *
 * One at a time is enough between two contexts: the next serves all that wait.
 * Who waits for other contexts asks for itself, since nobody may poll those of
 * the one that is out. Then several are, and their answers come in any order;
 * each proves that progress was made after all that have a lower number. */
#include "mpi_backend/mpi_sync.h"

#include <string.h>

#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_slab.h"

bool amg_mpi_sync_ask_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_lane *lane, int rank, uint8_t context,
    uint8_t origin_context)
{
    struct amg_mpi_sync sync = {.number = amg_mpi_sync_next(lane)};
    struct amg_mpi_slab *slab = NULL;

    if (lane->asked != lane->answered && lane->context == context &&
        lane->origin_context == origin_context)
        return false;
    slab = amg_mpi_slab_get_locked(domain);
    if (slab == NULL)
        return false;
    lane->asked++;
    lane->context = context;
    lane->origin_context = origin_context;
    memcpy(slab->data, &sync, sizeof(sync));
    slab->header.context = origin_context;
    amg_mpi_send_control_locked(
        slab, (uint32_t)rank, context, AMG_MPI_SYNC, 0, sizeof(sync));
    return true;
}

/* The target has made progress. */
static void answer_take_locked(struct amg_mpi_domain *domain, uint32_t rank,
    const struct amg_mpi_sync *sync)
{
    struct amg_mpi_lane *lane =
        domain->rma == NULL ? NULL : amg_map_get(&domain->rma->lanes, rank);

    if (lane == NULL || (int32_t)(lane->asked - sync->number) < 0)
        amg_mpi_addr_blame(
            domain, rank, AMG_MPI_FAULT_ANSWER, AMG_MPI_SYNC, sync->number);
    else if ((int32_t)(sync->number - lane->answered) > 0)
        lane->answered = sync->number;
}

void amg_mpi_sync_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_slab *slab = message->slab;
    struct amg_mpi_sync sync;

    memcpy(&sync, slab->data, sizeof(sync));
    if (sync.is_answer != 0) {
        answer_take_locked(domain, message->rank, &sync);
        amg_mpi_slab_put_locked(slab);
        return;
    }
    sync.is_answer = 1;
    memcpy(slab->data, &sync, sizeof(sync));
    amg_mpi_send_control_locked(slab, message->rank, slab->header.context,
        AMG_MPI_SYNC, 0, sizeof(sync));
}
