/* SPDX-License-Identifier: BSD-3-Clause */
/* One put or get of ours through a window of its target.
 *
 *   knock      a visit is announced, and the entry read (mpi_stay.h,
 *              mpi_entry.h); one that is refused ends here, one that the entry
 *              cannot answer goes by messages
 *   move       pieces, a few at a time, by MPI_Rget or MPI_Rput
 *   sync       (a put) SYNC goes to the target, and comes back
 *   flush      (a put) MPI_Win_flush: the bytes are there
 *
 * The request of an Rput may end when its bytes have left, and MPI_Win_flush
 * blocks until the target calls MPI (measured: 280 ms behind one that slept
 * for 300 ms). So the flush comes when it returns at once: the target has just
 * answered, from within its progress, and nothing else is in motion to it.
 * While a trip wants that, no new piece to that target is posted. One SYNC and
 * one flush serve all trips that waited when it began. Where the medium is
 * passive, SYNC is left out.
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
#include "mpi_backend/mpi_stay.h"
#include "mpi_backend/mpi_sync.h"

enum trip_state {
    TRIP_PLANNED,  /* waits for others to the same peer */
    TRIP_KNOCKING, /* the entry is being read */
    TRIP_MOVING,   /* pieces are */
    TRIP_SYNCING,  /* the target is asked to make progress */
    TRIP_FLUSHING, /* it has, and other pieces have to end before the flush */
    TRIP_OVER,     /* is not on the list any more */
    TRIP_STATE_COUNT
};

static const unsigned state_edges[TRIP_STATE_COUNT] = {
    [TRIP_PLANNED] = 1u << TRIP_KNOCKING | 1u << TRIP_OVER,
    [TRIP_KNOCKING] = 1u << TRIP_MOVING | 1u << TRIP_OVER,
    [TRIP_MOVING] = 1u << TRIP_SYNCING | 1u << TRIP_FLUSHING | 1u << TRIP_OVER,
    [TRIP_SYNCING] = 1u << TRIP_FLUSHING,
    [TRIP_FLUSHING] = 1u << TRIP_OVER,
};

/* From the pool; on the list of trips from the knock on. */
struct amg_mpi_trip {
    struct amg_link link;
    struct amg_mpi_transfer *transfer; /* NULL: has ended */
    struct amg_mpi_stay *stay;         /* the visit */
    enum trip_state state;
    uint8_t context;        /* the target's */
    uint8_t origin_context; /* where the target answers to */
    uint32_t sync;          /* which SYNC of the lane has to be answered */
    bool has_asked;         /* it, or one after it, is this trip's */
    uint64_t flushes;       /* of the lane, when this began to want one */
    struct amg_mpi_key key;
    struct amg_mpi_pieces pieces;
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
    uint64_t max = errand->len / AMG_MPI_WINDOW_LEN_MIN + 2;
    uint64_t runs = amg_place_runs(errand->local, errand->len, max) +
                    amg_place_runs(&errand->remote->at, errand->len, max) - 1;

    return runs == 1 || runs < max;
}

/* Is that way the faster one for it? */
static bool errand_is_chosen(const struct amg_mpi_domain *domain,
    const struct amg_mpi_errand *errand, enum amg_mpi_way way)
{
    return amg_mpi_choice_is_window(&domain->choice,
        way == AMG_MPI_WAY_DYNAMIC ? AMG_MPI_MEMORY_USER
                                   : AMG_MPI_MEMORY_LIBRARY,
        errand->len);
}

struct amg_mpi_trip *amg_mpi_trip_plan(
    struct amg_mpi_domain *domain, const struct amg_mpi_errand *errand)
{
    const struct amg_place *there = &errand->remote->at;
    struct amg_mpi_rma *rma = domain->rma;
    struct amg_mpi_trip *trip = NULL;
    struct amg_mpi_key key;

    memcpy(&key, errand->remote->key.bytes, sizeof(key));
    if (errand->len < AMG_MPI_WINDOW_LEN_MIN ||
        amg_mpi_key_way(&key) == AMG_MPI_WAY_MESSAGES ||
        amg_mpi_key_way(&key) >= AMG_MPI_WAY_COUNT ||
        amg_mpi_key_index(&key) >= AMG_MPI_ENTRIES ||
        !errand_is_chosen(domain, errand, amg_mpi_key_way(&key)) ||
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
    trip->stay = NULL;
    trip->state = TRIP_PLANNED;
    trip->key = key;
    amg_mpi_pieces_init(&trip->pieces, errand->local, there, errand->len);
    trip->pieces.rank = errand->rank;
    trip->pieces.way = amg_mpi_key_way(&key);
    trip->pieces.is_put = errand->is_put;
    trip->pieces.is_direct = errand->is_final;
    trip->pieces.window = rma->windows->ways[trip->pieces.way];
    return trip;
}

/* The trip ends, and with it its visit. */
static void trip_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    trip_set_state(trip, TRIP_OVER);
    if (amg_link_is_listed(&trip->link))
        amg_list_remove(&trip->link);
    amg_mpi_stay_drop_locked(domain, trip->stay);
    amg_pool_put(&domain->rma->trip_pool, trip);
}

/* The operation, the transfer and the trip end. */
static void trip_finish_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip, hg_return_t ret)
{
    struct amg_mpi_transfer *transfer = trip->transfer;

    if (transfer != NULL) {
        trip->transfer = NULL;
        transfer->trip = NULL;
        amg_mpi_transfer_finish_locked(
            domain, transfer, ret, trip->pieces.done);
    }
    trip_free_locked(domain, trip);
}

/* The trip ends, and its transfer is to be done by messages, from the start. */
static void trip_give_up_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_transfer *transfer = trip->transfer;

    trip->transfer = NULL;
    transfer->trip = NULL;
    transfer->state = AMG_MPI_TRANSFER_UNSTARTED;
    amg_mpi_transfer_list_locked(domain, transfer);
    trip_free_locked(domain, trip);
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

/* May it go on? What the entry says holds for all who stay there. */
static hg_return_t trip_judge(struct amg_mpi_trip *trip)
{
    hg_return_t rc = HG_SUCCESS;

    if (trip->transfer == NULL || trip->transfer->op == NULL)
        return HG_CANCELED; /* the list may be gone */
    if (trip->stay->state == AMG_MPI_STAY_FAILED)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_entry_judge(trip->stay->seen, &trip->key,
        trip->pieces.is_put ? AMG_MEM_WRITE : AMG_MEM_READ,
        trip->pieces.remote.segments, trip->pieces.remote.count);
    trip->pieces.origin = trip->stay->seen[AMG_MPI_ENTRY_ORIGIN];
    return rc;
}

static bool knock_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    hg_return_t rc = HG_SUCCESS;

    if (trip->stay->state == AMG_MPI_STAY_KNOCKING)
        return false;
    rc = trip_judge(trip);
    if (rc == HG_SUCCESS) {
        trip_set_state(trip, TRIP_MOVING);
        return true;
    }
    if (rc == HG_OPNOTSUPPORTED) {
        trip_give_up_locked(domain, trip);
    } else {
        if (rc != HG_CANCELED)
            refusal_log(trip, rc);
        trip_finish_locked(domain, trip, rc);
    }
    return false;
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

/* All that was posted has ended. False: the trip is gone. */
static bool pieces_over_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_pieces *pieces = &trip->pieces;

    if (pieces->ret == HG_SUCCESS &&
        (pieces->left > 0 || (pieces->is_put && !trip_is_wanted(trip))))
        pieces->ret = HG_CANCELED;
    if (!pieces->is_put || pieces->done == 0) {
        trip_finish_locked(domain, trip, pieces->ret);
        return false;
    }
    /* The user's memory is not used any more. */
    if (pieces->ret != HG_SUCCESS && trip->transfer != NULL)
        amg_mpi_transfer_op_end_locked(
            trip->transfer, pieces->ret, pieces->done);
    if (domain->choice.is_passive) {
        flush_want(trip);
        return true;
    }
    trip->sync = amg_mpi_sync_next(pieces->lane);
    trip->has_asked = false;
    trip_set_state(trip, TRIP_SYNCING);
    return true;
}

static bool pieces_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    bool is_wanted = trip_is_wanted(trip);
    uint64_t done = trip->pieces.done;

    amg_mpi_pieces_move_locked(domain, &trip->pieces, is_wanted);
    amg_mpi_stay_moved_locked(domain, trip->stay, trip->pieces.done - done);
    if (trip->stay->is_unwanted && trip->pieces.left > 0 &&
        trip->pieces.ret == HG_SUCCESS)
        trip->pieces.ret = HG_CANCELED;
    return amg_mpi_pieces_are_over(&trip->pieces, is_wanted) &&
           pieces_over_locked(domain, trip);
}

/* Asks the target to make progress, and waits for its word. */
static bool sync_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_lane *lane = trip->pieces.lane;

    if (amg_mpi_sync_is_answered(lane, trip->sync)) {
        flush_want(trip);
        return true;
    }
    if (!trip->has_asked)
        trip->has_asked = amg_mpi_sync_ask_locked(domain, lane,
            trip->pieces.rank, trip->context, trip->origin_context);
    return false;
}

static bool flush_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip)
{
    struct amg_mpi_pieces *pieces = &trip->pieces;
    uint64_t *flushes = &pieces->lane->flushes[pieces->way];
    hg_return_t rc = HG_SUCCESS;

    if (*flushes == trip->flushes) {
        if (pieces->lane->in_motion > 0)
            return false;
        rc = amg_mpi_pieces_flush(pieces);
        (*flushes)++;
    }
    pieces->lane->wishes--;
    if (rc != HG_SUCCESS)
        pieces->ret = rc;
    trip_finish_locked(domain, trip, pieces->ret);
    return false;
}

bool amg_mpi_trip_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_trip *trip = transfer->trip;
    struct amg_mpi_lane *lane =
        amg_mpi_rma_lane_locked(domain->rma, trip->pieces.rank);

    if (lane != NULL)
        trip->stay = amg_mpi_stay_join_locked(
            domain, lane, trip->pieces.rank, &trip->key);
    if (trip->stay == NULL) {
        transfer->trip = NULL;
        trip_free_locked(domain, trip);
        return false;
    }
    trip->pieces.lane = lane;
    trip->transfer = transfer;
    trip->context = transfer->context;
    trip->origin_context = transfer->origin_context;
    transfer->state = AMG_MPI_TRANSFER_AWAY;
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    trip_set_state(trip, TRIP_KNOCKING);
    amg_list_push(&domain->rma->trips, &trip->link);
    if (trip->stay->state != AMG_MPI_STAY_KNOCKING &&
        trip_judge(trip) == HG_SUCCESS) {
        trip_set_state(trip, TRIP_MOVING);
        amg_mpi_pieces_move_locked(domain, &trip->pieces, true);
    }
    return true;
}

/* Each takes one step. True: there may be another one; false: it waits, or is
 * gone. */
static bool (*const state_moves[TRIP_STATE_COUNT])(
    struct amg_mpi_domain *domain, struct amg_mpi_trip *trip) = {
    [TRIP_KNOCKING] = knock_move_locked,
    [TRIP_MOVING] = pieces_move_locked,
    [TRIP_SYNCING] = sync_move_locked,
    [TRIP_FLUSHING] = flush_move_locked,
};

/* Marks the pieces that MPI has finished. */
static void trips_look(const struct amg_mpi_rma *rma)
{
    struct amg_link *link = amg_list_first(&rma->trips);
    struct amg_mpi_pieces_look look;

    look.count = 0;
    for (; link != NULL; link = amg_list_next(&rma->trips, link)) {
        struct amg_mpi_trip *trip = AMG_OBJECT(link, struct amg_mpi_trip, link);

        if (trip->state == TRIP_MOVING)
            amg_mpi_pieces_look_add(&look, &trip->pieces);
    }
    amg_mpi_pieces_look_end(&look);
}

void amg_mpi_trip_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->rma->trips);

    trips_look(domain->rma);
    while (link != NULL) {
        struct amg_mpi_trip *trip = AMG_OBJECT(link, struct amg_mpi_trip, link);
        /* One that ends takes only itself off. */
        struct amg_link *next = amg_list_next(&domain->rma->trips, link);

        while (state_moves[trip->state](domain, trip))
            ;
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
