/* SPDX-License-Identifier: BSD-3-Clause */
/* One put or get of ours through a window of its target.
 *
 *   knock      one operation announces the visit and reads the entry
 *              (mpi_entry.h); one that is refused ends here, one that the entry
 *              cannot answer goes by messages
 *   move       pieces, a few at a time, by MPI_Rget or MPI_Rput
 *   sync       (a put) SYNC goes to the target, and comes back
 *   flush      (a put) MPI_Win_flush: the bytes are there
 *   leave      one operation takes the visit back; nobody waits for it
 *
 * The request of an Rput may end when its bytes have left, and MPI_Win_flush
 * blocks until the target calls MPI (measured: 280 ms behind one that slept
 * for 300 ms). So the flush comes when it returns at once: the target has just
 * answered, from within its progress, and nothing else is in motion to it.
 * While a trip wants that, no new piece to that target is posted; one flush
 * serves all that are synced. Where the medium is passive, SYNC is left out.
 *
 * MPI cannot cancel any of this. A transfer that may be cancelled moves its
 * pieces through memory of ours, so that its operation can end at once, and the
 * trip goes on alone, without new pieces; it leaves when MPI is through. One
 * that is final uses the user's memory directly. */
#include "mpi_backend/mpi_trip.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "mpi_backend/mpi_piece.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_slab.h"

enum { STRETCH_MIN = 16 * 1024 }; /* bytes; messages gather shorter ones */

enum trip_state {
    TRIP_PLANNED,  /* waits for others to the same peer */
    TRIP_KNOCKING, /* the entry is being read */
    TRIP_MOVING,   /* pieces are */
    TRIP_SYNCING,  /* the target was asked to make progress */
    TRIP_FLUSHING, /* it has, and other pieces have to end before the flush */
    TRIP_LEAVING,  /* the visit is being taken back */
    TRIP_STATE_COUNT
};

static const unsigned state_edges[TRIP_STATE_COUNT] = {
    [TRIP_PLANNED] = 1u << TRIP_KNOCKING,
    [TRIP_KNOCKING] = 1u << TRIP_MOVING | 1u << TRIP_LEAVING,
    [TRIP_MOVING] =
        1u << TRIP_SYNCING | 1u << TRIP_FLUSHING | 1u << TRIP_LEAVING,
    [TRIP_SYNCING] = 1u << TRIP_FLUSHING,
    [TRIP_FLUSHING] = 1u << TRIP_LEAVING,
};

/* From the pool; on the list of trips from the knock on. */
struct amg_mpi_trip {
    struct amg_link link;
    struct amg_mpi_transfer *transfer; /* NULL: has ended */
    enum trip_state state;
    bool is_asked;    /* SYNC was sent */
    bool is_synced;   /* and answered */
    uint64_t flushes; /* of the lane, when this began to want one */
    struct amg_mpi_key key;
    struct amg_mpi_pieces pieces;
    MPI_Request request;                 /* of the knock, or the leave */
    uint64_t visit[AMG_MPI_ENTRY_WORDS]; /* what is added */
    uint64_t seen[AMG_MPI_ENTRY_WORDS];
};

size_t amg_mpi_trip_len(void)
{
    return sizeof(struct amg_mpi_trip);
}

static void trip_set_state(struct amg_mpi_trip *trip, enum trip_state next)
{
    AMG_ASSERT((state_edges[trip->state] >> next & 1u) != 0);
    trip->state = next;
}

/* Are both lists in pieces that are long enough? */
static bool errand_is_fit(const struct amg_mpi_errand *errand)
{
    uint64_t max = errand->len / STRETCH_MIN + 2;
    uint64_t runs = amg_place_runs(errand->local, errand->len, max) +
                    amg_place_runs(&errand->remote->at, errand->len, max) - 1;

    return runs == 1 || runs < max;
}

struct amg_mpi_trip *amg_mpi_trip_plan(
    struct amg_mpi_domain *domain, const struct amg_mpi_errand *errand)
{
    const struct amg_place *there = &errand->remote->at;
    struct amg_mpi_rma *rma = domain->rma;
    struct amg_mpi_trip *trip = NULL;
    struct amg_mpi_key key;

    memcpy(&key, errand->remote->key.bytes, sizeof(key));
    if (amg_mpi_key_way(&key) == AMG_MPI_WAY_MESSAGES ||
        amg_mpi_key_way(&key) >= AMG_MPI_WAY_COUNT ||
        amg_mpi_key_index(&key) >= AMG_MPI_ENTRIES ||
        errand->len < rma->len_min[amg_mpi_key_way(&key)] ||
        errand->rank == domain->comm.rank)
        return NULL;
    if (there->segment >= there->count ||
        there->into > there->segments[there->segment].len ||
        amg_place_left(there, errand->len) < errand->len ||
        !errand_is_fit(errand))
        return NULL;
    trip = amg_pool_get(&rma->trip_pool);
    if (trip == NULL)
        return NULL;
    trip->link = (struct amg_link){NULL, NULL};
    trip->transfer = NULL;
    trip->state = TRIP_PLANNED;
    trip->is_asked = false;
    trip->is_synced = false;
    trip->key = key;
    trip->request = MPI_REQUEST_NULL;
    memset(trip->visit, 0, sizeof(trip->visit));
    amg_mpi_pieces_init(&trip->pieces, errand->local, there, errand->len);
    trip->pieces.rank = errand->rank;
    trip->pieces.way = amg_mpi_key_way(&key);
    trip->pieces.is_put = errand->is_put;
    trip->pieces.is_direct = errand->is_final;
    return trip;
}

/* The operation and the transfer end; the trip may go on. */
static void trip_finish_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip, hg_return_t ret)
{
    struct amg_mpi_transfer *transfer = trip->transfer;

    if (transfer == NULL)
        return;
    trip->transfer = NULL;
    transfer->trip = NULL;
    amg_mpi_transfer_finish_locked(domain, transfer, ret, trip->pieces.done);
}

static void trip_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    if (amg_link_is_listed(&trip->link))
        amg_list_remove(&trip->link);
    amg_pool_put(&domain->rma->trip_pool, trip);
}

static MPI_Aint entry_at(const struct amg_mpi_trip *trip)
{
    return (MPI_Aint)amg_mpi_key_index(&trip->key) * AMG_MPI_ENTRY_LEN;
}

bool amg_mpi_trip_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma *rma = domain->rma;
    struct amg_mpi_trip *trip = transfer->trip;
    int rc = MPI_ERR_OTHER;

    trip->pieces.lane = amg_mpi_rma_lane_locked(rma, trip->pieces.rank);
    trip->visit[AMG_MPI_ENTRY_DOOR] = amg_mpi_entry_visit(domain->comm.rank);
    if (trip->pieces.lane != NULL) {
        rc = MPI_Rget_accumulate(trip->visit, AMG_MPI_ENTRY_WORDS, MPI_UINT64_T,
            trip->seen, AMG_MPI_ENTRY_WORDS, MPI_UINT64_T, trip->pieces.rank,
            entry_at(trip), AMG_MPI_ENTRY_WORDS, MPI_UINT64_T, MPI_SUM,
            rma->windows->desk, &trip->request);
        if (rc != MPI_SUCCESS)
            (void)amg_mpi_comm_error(rc, "reading a key by a window");
    }
    if (rc != MPI_SUCCESS) {
        transfer->trip = NULL;
        trip_free_locked(domain, trip);
        return false;
    }
    trip->transfer = transfer;
    transfer->state = AMG_MPI_TRANSFER_AWAY;
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    trip_set_state(trip, TRIP_KNOCKING);
    amg_list_push(&rma->trips, &trip->link);
    return true;
}

/* Takes the visit back. */
static void trip_leave(struct amg_mpi_rma *rma, struct amg_mpi_trip *trip)
{
    int rc = MPI_SUCCESS;

    trip->visit[AMG_MPI_ENTRY_DOOR] = -trip->visit[AMG_MPI_ENTRY_DOOR];
    rc = MPI_Raccumulate(&trip->visit[AMG_MPI_ENTRY_DOOR], 1, MPI_UINT64_T,
        trip->pieces.rank, entry_at(trip), 1, MPI_UINT64_T, MPI_SUM,
        rma->windows->desk, &trip->request);
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(rc, "ending an access by a window");
        trip->request = MPI_REQUEST_NULL;
    }
    trip_set_state(trip, TRIP_LEAVING);
}

/* The transfer is to be done by messages; the trip leaves. */
static void trip_give_up_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_transfer *transfer = trip->transfer;

    trip->transfer = NULL;
    transfer->trip = NULL;
    transfer->state = AMG_MPI_TRANSFER_UNSTARTED;
    amg_mpi_transfer_list_locked(domain, transfer);
}

static void refusal_log(const struct amg_mpi_trip *trip, hg_return_t rc)
{
    AMG_LOG_WARNING("bulk",
        "a %s of %llu bytes %s memory of rank %d is refused: it %s",
        trip->pieces.is_put ? "put" : "get",
        (unsigned long long)trip->pieces.left,
        trip->pieces.is_put ? "to" : "from", trip->pieces.rank,
        rc == HG_NOENTRY ? "was freed, or never exposed"
                         : "is not exposed for that");
}

static void knock_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    hg_return_t rc = HG_SUCCESS;
    bool is_cancelled = trip->transfer == NULL || trip->transfer->op == NULL;

    if (!amg_mpi_request_is_done(&trip->request, &rc))
        return;
    if (is_cancelled)
        rc = HG_CANCELED; /* the list may be gone */
    else if (rc == HG_SUCCESS)
        rc = amg_mpi_entry_judge(trip->seen, &trip->key,
            trip->pieces.is_put ? AMG_MEM_WRITE : AMG_MEM_READ,
            trip->pieces.remote.segments, trip->pieces.remote.count);
    if (rc == HG_SUCCESS) {
        trip->pieces.origin = trip->seen[AMG_MPI_ENTRY_ORIGIN];
        trip_set_state(trip, TRIP_MOVING);
        return;
    }
    if (rc == HG_NA_ERROR) { /* whether the visit counts is not known */
        trip_give_up_locked(domain, trip);
        trip_set_state(trip, TRIP_LEAVING);
        return;
    }
    if (rc == HG_OPNOTSUPPORTED) {
        trip_give_up_locked(domain, trip);
    } else {
        if (rc != HG_CANCELED)
            refusal_log(trip, rc);
        trip_finish_locked(domain, trip, rc);
    }
    trip_leave(domain->rma, trip);
}

/* Does anybody still wait for what it moves? */
static bool trip_is_wanted(const struct amg_mpi_trip *trip)
{
    return trip->transfer != NULL && trip->transfer->op != NULL &&
           !trip->transfer->is_cancelled;
}

/* From now on its lane posts nothing, until there was a flush. */
static void flush_want(struct amg_mpi_trip *trip)
{
    struct amg_mpi_pieces *pieces = &trip->pieces;

    trip_set_state(trip, TRIP_FLUSHING);
    pieces->lane->wishes++;
    trip->flushes = pieces->lane->flushes[pieces->way];
}

/* All that was posted has ended. */
static void pieces_over_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_pieces *pieces = &trip->pieces;

    if (pieces->ret == HG_SUCCESS &&
        (pieces->left > 0 || (pieces->is_put && !trip_is_wanted(trip))))
        pieces->ret = HG_CANCELED;
    if (!pieces->is_put || pieces->done == 0) {
        trip_finish_locked(domain, trip, pieces->ret);
        trip_leave(domain->rma, trip);
        return;
    }
    /* The user's memory is not used any more. */
    if (pieces->ret != HG_SUCCESS && trip->transfer != NULL)
        amg_mpi_transfer_op_end_locked(
            trip->transfer, pieces->ret, pieces->done);
    if (domain->rma->is_passive || trip->transfer == NULL)
        flush_want(trip);
    else
        trip_set_state(trip, TRIP_SYNCING);
}

static void pieces_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    bool is_wanted = trip_is_wanted(trip);

    amg_mpi_pieces_move_locked(domain, &trip->pieces, is_wanted);
    if (amg_mpi_pieces_are_over(&trip->pieces, is_wanted))
        pieces_over_locked(domain, trip);
}

/* Asks the target to make progress, and waits for its word. */
static void sync_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_transfer *transfer = trip->transfer;
    struct amg_mpi_slab *slab = NULL;
    struct amg_mpi_sync sync = {.is_answer = 0};

    if (trip->is_synced || transfer == NULL) {
        flush_want(trip);
        return;
    }
    if (trip->is_asked)
        return;
    slab = amg_mpi_slab_get_locked(domain);
    if (slab == NULL)
        return; /* the next poll tries again */
    trip->is_asked = true;
    memcpy(slab->data, &sync, sizeof(sync));
    slab->header.context = transfer->origin_context;
    amg_mpi_send_control_locked(slab, (uint32_t)trip->pieces.rank,
        transfer->context, AMG_MPI_SYNC, transfer->cookie, sizeof(sync));
}

static void flush_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_pieces *pieces = &trip->pieces;
    uint64_t *flushes = &pieces->lane->flushes[pieces->way];
    int rc = MPI_SUCCESS;

    if (*flushes == trip->flushes) {
        if (pieces->lane->in_motion > 0)
            return;
        rc = MPI_Win_flush(
            pieces->rank, domain->rma->windows->ways[pieces->way]);
        if (rc != MPI_SUCCESS)
            pieces->ret = amg_mpi_comm_error(rc, "flushing a window");
        (*flushes)++;
    }
    pieces->lane->wishes--;
    trip_finish_locked(domain, trip, pieces->ret);
    trip_leave(domain->rma, trip);
}

static void leave_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    hg_return_t rc = HG_SUCCESS;

    if (trip->request == MPI_REQUEST_NULL ||
        amg_mpi_request_is_done(&trip->request, &rc))
        trip_free_locked(domain, trip);
}

void amg_mpi_trip_move_locked(struct amg_mpi_domain *domain)
{
    static void (*const moves[TRIP_STATE_COUNT])(
        struct amg_mpi_domain * domain, struct amg_mpi_trip * trip) = {
        [TRIP_KNOCKING] = knock_move_locked,
        [TRIP_MOVING] = pieces_move_locked,
        [TRIP_SYNCING] = sync_move_locked,
        [TRIP_FLUSHING] = flush_move_locked,
        [TRIP_LEAVING] = leave_move_locked,
    };
    struct amg_link *link = amg_list_first(&domain->rma->trips);

    while (link != NULL) {
        struct amg_mpi_trip *trip = AMG_OBJECT(link, struct amg_mpi_trip, link);
        enum trip_state state = trip->state;
        /* One that ends may put another one last, but takes only itself off. */
        struct amg_link *next = amg_list_next(&domain->rma->trips, link);

        moves[state](domain, trip);
        if (state != TRIP_LEAVING && trip->state != state)
            next = link; /* there may be more to do at once */
        link = next;
    }
}

void amg_mpi_trip_cancel_locked(struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_trip *trip = transfer->trip;

    transfer->is_cancelled = true;
    if (trip->pieces.in_motion == 0 || !trip->pieces.is_direct)
        amg_mpi_transfer_op_end_locked(
            transfer, HG_CANCELED, trip->pieces.done);
}

void amg_mpi_trip_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_trip *trip = transfer->trip;

    if (trip == NULL)
        return;
    transfer->trip = NULL;
    trip->transfer = NULL;
    if (trip->state == TRIP_PLANNED)
        trip_free_locked(domain, trip);
}

unsigned amg_mpi_trip_forget_locked(struct amg_mpi_rma *rma)
{
    struct amg_link *link = NULL;
    unsigned count = 0;

    while ((link = amg_list_pop(&rma->trips)) != NULL) {
        struct amg_mpi_trip *trip = AMG_OBJECT(link, struct amg_mpi_trip, link);

        AMG_LOG_WARNING("bulk",
            "rank %d did not let a %s by a window end; MPI keeps its memory",
            trip->pieces.rank, trip->pieces.is_put ? "put" : "get");
        count++;
    }
    return count;
}

/* The target has made progress. */
static void answer_take_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_table_place *place = amg_table_find(
        &domain->transfers, message->slab->header.cookie, message->rank);
    struct amg_mpi_transfer *transfer = place == NULL ? NULL : place->object;

    if (transfer != NULL && transfer->trip != NULL && transfer->trip->is_asked)
        transfer->trip->is_synced = true;
    else
        amg_mpi_addr_blame(domain, message->rank, AMG_MPI_FAULT_ANSWER,
            AMG_MPI_SYNC, (long)message->slab->header.cookie);
}

void amg_mpi_trip_on_sync_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_slab *slab = message->slab;

    struct amg_mpi_sync sync;

    memcpy(&sync, slab->data, sizeof(sync));
    if (sync.is_answer != 0) {
        answer_take_locked(domain, message);
        amg_mpi_slab_put_locked(slab);
        return;
    }
    sync.is_answer = 1;
    memcpy(slab->data, &sync, sizeof(sync));
    amg_mpi_send_control_locked(slab, message->rank, slab->header.context,
        AMG_MPI_SYNC, slab->header.cookie, sizeof(sync));
}
