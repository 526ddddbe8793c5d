/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of this rank through windows of their targets.
 *
 *   ACQUIRING  an access is counted and the descriptor read
 *              (mpi_rma_access.c); refused transfers end here
 *   ACCESSING  fragments in flight, a few at a time, by MPI_Rget or MPI_Rput
 *   SYNCING    (put, not is_passive) SYNC is sent, and the target answers it
 *   FLUSHING   (put) after MPI_Win_flush the target's memory has the bytes
 *
 * The request of an Rput may end when its bytes have left, and MPI_Win_flush
 * blocks until the target calls MPI (measured: 280 ms for a target that slept
 * for 300 ms). So the flush is called only when it returns at once: the target
 * has just answered from within its progress, and nothing else is in flight to
 * that target. While a transfer waits for a flush, no new fragment to its
 * target is posted. One SYNC and one flush serve all transfers that waited when
 * the SYNC or flush began. If windows need no help of the target (is_passive),
 * SYNC is left out.
 *
 * MPI cannot cancel any of these steps. A cancelled transfer posts no new
 * fragments. Its operation normally ends when MPI has completed the posted
 * fragments (of a put: when the flush has returned). In the same step the
 * transfer releases its access, because the exposer may wait for the release,
 * and this program perhaps makes no further progress. A silent target would
 * delay the end of the operation. So a cancellable transfer moves its fragments
 * through bounce buffers, and its operation ends within AMG_MPI_GRACE_MS after
 * a cancel (mpi_transfer.c). Other transfers use the user's memory directly.
 *
 * The choice of window or messages is made before the post and never changes.
 *
 * SYNC asks another rank to make progress and to answer. One SYNC at a time is
 * enough between two contexts: the next SYNC serves all transfers that wait. A
 * transfer between other contexts sends a SYNC of its own, since the contexts
 * of the pending SYNC may not be polled. Then several SYNCs are pending, and
 * answers come in any order; an answer counts for all SYNCs of lower
 * numbers. */
#include "mpi_backend/mpi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_transfer.h"

static const unsigned state_edges[AMG_MPI_TRANSFER_STATE_COUNT] = {
    [AMG_MPI_TRANSFER_QUEUED] = 1u << AMG_MPI_TRANSFER_ACQUIRING,
    [AMG_MPI_TRANSFER_UNSTARTED] = 1u << AMG_MPI_TRANSFER_ACQUIRING,
    [AMG_MPI_TRANSFER_ACQUIRING] = 1u << AMG_MPI_TRANSFER_ACCESSING,
    [AMG_MPI_TRANSFER_ACCESSING] =
        1u << AMG_MPI_TRANSFER_SYNCING | 1u << AMG_MPI_TRANSFER_FLUSHING,
    [AMG_MPI_TRANSFER_SYNCING] = 1u << AMG_MPI_TRANSFER_FLUSHING,
};

static void op_set_state(
    struct amg_mpi_transfer *transfer, enum amg_mpi_transfer_state next)
{
    AMG_ASSERT((state_edges[transfer->state] >> next & 1u) != 0);
    transfer->state = next;
}

/* Whether the runs of both lists are long enough on average. */
static bool lists_are_fit(const struct amg_seg_iter *local,
    const struct amg_seg_iter *remote, uint64_t len)
{
    uint64_t max = len / AMG_MPI_WINDOW_LEN_MIN + 2;
    uint64_t runs = amg_seg_iter_runs(local, len, max) +
                    amg_seg_iter_runs(remote, len, max) - 1;

    return runs == 1 || runs < max;
}

/* Whether the key names a window, and windows are chosen for this length. */
static bool key_is_fit(const struct amg_mpi_domain *domain,
    const struct amg_mpi_key *key, uint64_t len)
{
    enum amg_mpi_way way = amg_mpi_key_way(key);

    return way != AMG_MPI_WAY_MESSAGES && way < AMG_MPI_WAY_COUNT &&
           amg_mpi_key_index(key) < AMG_MPI_DESCS &&
           amg_mpi_choice_is_window(&domain->choice,
               way == AMG_MPI_WAY_DYNAMIC ? AMG_MPI_MEMORY_USER
                                          : AMG_MPI_MEMORY_LIBRARY,
               len);
}

bool amg_mpi_rma_op_plan(const struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len)
{
    const struct amg_seg_iter *there = &remote->at;
    struct amg_mpi_rma_op *op = &transfer->rma;
    const struct amg_mpi_key *key = &transfer->request.key;

    if (len < AMG_MPI_WINDOW_LEN_MIN || !key_is_fit(domain, key, len) ||
        transfer->rank == domain->comm.rank)
        return false;
    if (there->segment >= there->count ||
        there->into > there->segments[there->segment].len ||
        amg_seg_iter_left(there, len) < len ||
        !lists_are_fit(local, there, len))
        return false;
    *op = (struct amg_mpi_rma_op){.way = amg_mpi_key_way(key),
        .window = domain->rma->windows->ways[amg_mpi_key_way(key)],
        .is_direct = transfer->op->is_uncancellable,
        .local = *local,
        .remote = *there,
        .left = len,
        .ret = HG_SUCCESS};
    for (unsigned i = 0; i < AMG_MPI_FRAGMENTS; i++)
        op->fragments[i].request = MPI_REQUEST_NULL;
    return true;
}

static void refusal_log(const struct amg_mpi_transfer *transfer, hg_return_t rc)
{
    AMG_LOG_WARNING("bulk",
        "a %s of %llu bytes %s memory of rank %d is refused: the memory %s",
        transfer->is_put ? "put" : "get",
        (unsigned long long)transfer->rma.left,
        transfer->is_put ? "to" : "from", transfer->rank,
        rc == HG_NOENTRY      ? "was freed, or never exposed"
        : rc == HG_PERMISSION ? "is not exposed for that"
                              : "is not what its descriptor says");
}

/* Checks the transfer against the descriptor, which is the same for all
 * transfers that share the access. */
static hg_return_t op_check(struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;

    if (transfer->op == NULL)
        return HG_CANCELED; /* the segment list may be freed */
    if (op->access->state == AMG_MPI_RMA_ACCESS_FAILED)
        return HG_NA_ERROR;
    op->origin = op->access->seen[AMG_MPI_DESC_ORIGIN];
    return amg_mpi_desc_check(op->access->seen, &transfer->request.key,
        transfer->is_put ? AMG_MEM_WRITE : AMG_MEM_READ, op->remote.segments,
        op->remote.count);
}

/* Whether the operation has neither ended nor been cancelled. */
static bool op_is_wanted(const struct amg_mpi_transfer *transfer)
{
    return transfer->op != NULL && !transfer->is_cancelled;
}

/* Whether there is more to post, now or later. */
static bool op_goes_on(const struct amg_mpi_transfer *transfer)
{
    return transfer->rma.left > 0 && transfer->rma.ret == HG_SUCCESS &&
           op_is_wanted(transfer);
}

/* The next run that is contiguous on both sides, at most `max`. Attached
 * regions may be adjacent, and an operation must not cross into the next
 * region: remote segments of the dynamic window are not joined. */
static uint64_t run_take(struct amg_mpi_rma_op *op, uint64_t max,
    void **ret_local, uint64_t *ret_remote)
{
    struct amg_seg_iter there = op->remote;
    struct amg_seg_iter here = op->local;
    void *remote = NULL;
    uint64_t run =
        amg_seg_iter_take(&there, 1, &remote); /* skips empty segments */

    if (run == 0)
        return 0;
    there.into--;
    run = max;
    if (op->way == AMG_MPI_WAY_DYNAMIC &&
        run > there.segments[there.segment].len - there.into)
        run = there.segments[there.segment].len - there.into;
    run = amg_seg_iter_take(&there, run, &remote);
    run = amg_seg_iter_take(&here, run, ret_local);
    *ret_remote = (uintptr_t)remote;
    amg_seg_iter_skip(&op->remote, run);
    amg_seg_iter_skip(&op->local, run);
    return run;
}

/* Gets a bounce buffer, if the fragment needs one. False: none is free now. */
static bool bounce_take(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_op *op, struct amg_mpi_fragment *fragment)
{
    bool is_needed = op->in_flight == 0;

    fragment->bounce = NULL;
    if (op->is_direct)
        return true;
    fragment->bounce = amg_mpi_bounce_get(&domain->bounces, is_needed);
    if (fragment->bounce == NULL && is_needed)
        op->ret = HG_NOMEM;
    return fragment->bounce != NULL;
}

static int fragment_begin(const struct amg_mpi_transfer *transfer,
    struct amg_mpi_fragment *fragment, uint64_t remote)
{
    const struct amg_mpi_rma_op *op = &transfer->rma;
    void *at =
        fragment->bounce != NULL ? fragment->bounce->bytes : fragment->user;
    MPI_Aint there = (MPI_Aint)(remote - op->origin);
    int len = (int)fragment->len;

    if (!transfer->is_put)
        return MPI_Rget(at, len, MPI_BYTE, transfer->rank, there, len, MPI_BYTE,
            op->window, &fragment->request);
    if (fragment->bounce != NULL)
        memcpy(at, fragment->user, fragment->len);
    return MPI_Rput(at, len, MPI_BYTE, transfer->rank, there, len, MPI_BYTE,
        op->window, &fragment->request);
}

/* Posts the next fragment, if possible. */
static void fragment_post_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_fragment *fragment)
{
    struct amg_mpi_rma_op *op = &transfer->rma;
    uint64_t max = domain->transfers.fragment_len;
    uint64_t remote = 0;
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!bounce_take(domain, op, fragment))
        return;
    if (fragment->bounce != NULL && max > AMG_MPI_BOUNCE_LEN)
        max = AMG_MPI_BOUNCE_LEN;
    max = max < op->left ? max : op->left;
    fragment->len = run_take(op, max, &fragment->user, &remote);
    AMG_ASSERT(fragment->len > 0);
    rc = fragment_begin(transfer, fragment, remote);
    if (rc != MPI_SUCCESS) {
        op->ret = amg_mpi_comm_error(rc, "posting a fragment to a window");
        fragment->request = MPI_REQUEST_NULL;
        if (fragment->bounce != NULL)
            amg_mpi_bounce_put(&domain->bounces, fragment->bounce);
        return;
    }
    op->left -= fragment->len;
    op->in_flight++;
    op->peer->in_flight++;
}

static void fragment_end_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_fragment *fragment)
{
    struct amg_mpi_rma_op *op = &transfer->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(op->in_flight > 0 && op->peer->in_flight > 0);
    if (fragment->bounce != NULL) {
        if (!transfer->is_put && transfer->op != NULL && op->ret == HG_SUCCESS)
            memcpy(fragment->user, fragment->bounce->bytes, fragment->len);
        amg_mpi_bounce_put(&domain->bounces, fragment->bounce);
    }
    fragment->is_done = false;
    amg_mpi_peer_heard_locked(domain, (uint32_t)transfer->rank);
    op->done += fragment->len;
    op->in_flight--;
    op->peer->in_flight--;
}

/* Processes completed fragments, and posts more. After the operation has ended,
 * no bounce buffer is copied to the user's memory. */
static void fragments_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (unsigned i = 0; i < AMG_MPI_FRAGMENTS; i++) {
        struct amg_mpi_fragment *fragment = &op->fragments[i];

        if (fragment->is_done)
            fragment_end_locked(domain, transfer, fragment);
        /* A flush waits until nothing is in flight to the peer. */
        if (fragment->request == MPI_REQUEST_NULL && op_goes_on(transfer) &&
            op->peer->flush_waits == 0)
            fragment_post_locked(domain, transfer, fragment);
    }
}

static bool acquiring_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (transfer->rma.access->state == AMG_MPI_RMA_ACCESS_ACQUIRING)
        return false;
    rc = op_check(transfer);
    if (rc == HG_SUCCESS) {
        op_set_state(transfer, AMG_MPI_TRANSFER_ACCESSING);
        return true;
    }
    if (rc != HG_CANCELED && rc != HG_NA_ERROR)
        refusal_log(transfer, rc);
    amg_mpi_transfer_finish_locked(domain, transfer, rc, 0);
    return false;
}

/* Makes the transfer, and new fragments to the peer, wait for a flush. */
static void flush_want(struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;

    op_set_state(transfer, AMG_MPI_TRANSFER_FLUSHING);
    op->peer->flush_waits++;
    op->flushes = op->peer->flushes[op->way];
}

/* Ends the transfer (false), or goes on to SYNC or the flush (true). */
static bool fragments_over_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(op->in_flight == 0);
    if (op->ret == HG_SUCCESS &&
        (op->left > 0 || (transfer->is_put && !op_is_wanted(transfer))))
        op->ret = HG_CANCELED;
    if (!transfer->is_put || op->done == 0) {
        amg_mpi_transfer_finish_locked(domain, transfer, op->ret, op->done);
        return false;
    }
    if (op->ret != HG_SUCCESS)
        amg_mpi_transfer_hurry(transfer);
    if (domain->choice.is_passive) {
        flush_want(transfer);
        return true;
    }
    op->sync = op->peer->asked + 1;
    op->has_asked = false;
    op_set_state(transfer, AMG_MPI_TRANSFER_SYNCING);
    return true;
}

static bool accessing_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;
    uint64_t done = op->done;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    fragments_move_locked(domain, transfer);
    if (op->in_flight > 0 || op_goes_on(transfer))
        amg_mpi_rma_access_moved_locked(domain, op->access, op->done - done);
    if (op->access->is_revoked && op->left > 0 && op->ret == HG_SUCCESS)
        op->ret = HG_CANCELED;
    return op->in_flight == 0 && !op_goes_on(transfer) &&
           fragments_over_locked(domain, transfer);
}

/* Sends the next SYNC for `transfer`. False: a SYNC between the same contexts
 * is pending, or there is no buffer; the next poll tries again. */
static bool sync_send_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_peer *peer = transfer->rma.peer;
    struct amg_mpi_sync sync = {.number = peer->asked + 1};
    struct amg_mpi_msgbuf *msgbuf = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (peer->asked != peer->answered && peer->context == transfer->context &&
        peer->origin_context == transfer->origin_context)
        return false;
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return false;
    peer->asked++;
    peer->context = transfer->context;
    peer->origin_context = transfer->origin_context;
    memcpy(msgbuf->data, &sync, sizeof(sync));
    msgbuf->header.context = transfer->origin_context;
    amg_mpi_send_control_locked(msgbuf, (uint32_t)transfer->rank,
        transfer->context, AMG_MPI_SYNC, 0, sizeof(sync));
    return true;
}

/* Asks the target to make progress, and waits for its answer. */
static bool syncing_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if ((int32_t)(op->peer->answered - op->sync) >= 0) {
        flush_want(transfer);
        return true;
    }
    if (!op->has_asked)
        op->has_asked = sync_send_locked(domain, transfer);
    return false;
}

static bool flushing_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;
    uint64_t *flushes = &op->peer->flushes[op->way];

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (amg_mpi_peer_is_dead(domain, transfer->rank)) {
        op->ret = HG_HOSTUNREACH; /* a flush would not return */
    } else if (*flushes == op->flushes) {
        int rc = MPI_SUCCESS;

        if (op->peer->in_flight > 0)
            return false;
        rc = MPI_Win_flush(transfer->rank, op->window);
        if (rc == MPI_SUCCESS)
            (*flushes)++; /* for other transfers that wait, too */
        else
            op->ret = amg_mpi_comm_error(rc, "flushing a window");
    }
    AMG_ASSERT(op->peer->flush_waits > 0);
    op->peer->flush_waits--;
    amg_mpi_transfer_finish_locked(domain, transfer, op->ret, op->done);
    return false;
}

/* Handles the answer to a SYNC: the target has made progress. */
static void answer_take_locked(struct amg_mpi_domain *domain, uint32_t rank,
    const struct amg_mpi_sync *sync)
{
    struct amg_mpi_rma_peer *peer =
        domain->rma == NULL ? NULL : amg_map_get(&domain->rma->peers, rank);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (peer == NULL || (int32_t)(peer->asked - sync->number) < 0)
        amg_mpi_peer_violation(
            domain, rank, AMG_VIOLATION_ANSWER, AMG_MPI_SYNC, sync->number);
    else if ((int32_t)(sync->number - peer->answered) > 0)
        peer->answered = sync->number;
}

void amg_mpi_sync_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    struct amg_mpi_sync sync;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    memcpy(&sync, msgbuf->data, sizeof(sync));
    if (sync.is_answer != 0) {
        answer_take_locked(domain, message->rank, &sync);
        amg_mpi_msgbuf_put_locked(msgbuf);
        return;
    }
    sync.is_answer = 1;
    memcpy(msgbuf->data, &sync, sizeof(sync));
    amg_mpi_send_control_locked(msgbuf, message->rank, msgbuf->header.context,
        AMG_MPI_SYNC, 0, sizeof(sync));
}

hg_return_t amg_mpi_rma_op_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_rma_op *op = &transfer->rma;
    hg_return_t rc = HG_NOMEM;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->is_rma && op->access == NULL);
    /* The watch for silence looks only at ranks with a struct amg_mpi_peer. */
    if (amg_mpi_peer_get_locked(domain, (uint32_t)transfer->rank) != NULL)
        op->peer = amg_mpi_rma_peer_locked(domain, transfer->rank);
    if (op->peer != NULL)
        rc = amg_mpi_rma_access_join_locked(domain, op->peer, transfer->rank,
            &transfer->request.key, &op->access);
    if (rc != HG_SUCCESS)
        return rc;
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    op_set_state(transfer, AMG_MPI_TRANSFER_ACQUIRING);
    amg_list_push(&domain->rma->ops, &transfer->link);
    if (op->access->state != AMG_MPI_RMA_ACCESS_ACQUIRING &&
        op_check(transfer) == HG_SUCCESS) {
        op_set_state(transfer, AMG_MPI_TRANSFER_ACCESSING);
        fragments_move_locked(domain, transfer);
    }
    return HG_SUCCESS;
}

/* Fragments in flight that MPI_Testany() tests together: each call makes MPI
 * progress, and takes 0.1 us even if it finds nothing. If more fragments are in
 * flight, more batches follow: those of one silent rank may fill the first. */
struct batch {
    MPI_Request requests[AMG_MPI_FRAGMENTS_TEST];
    struct amg_mpi_fragment *fragments[AMG_MPI_FRAGMENTS_TEST];
    struct amg_mpi_rma_op *owners[AMG_MPI_FRAGMENTS_TEST];
    int count;
};

/* Marks the fragments that have ended. */
static void batch_end(struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        int flag = 0;
        int at = MPI_UNDEFINED;
        int rc = MPI_Testany(
            batch->count, batch->requests, &at, &flag, MPI_STATUS_IGNORE);

        if (rc == MPI_SUCCESS && !flag)
            return;
        if (at == MPI_UNDEFINED)
            return;
        if (rc != MPI_SUCCESS)
            batch->owners[at]->ret =
                amg_mpi_comm_error(rc, "moving data by a window");
        batch->requests[at] = MPI_REQUEST_NULL;
        batch->fragments[at]->request = MPI_REQUEST_NULL;
        batch->fragments[at]->is_done = true;
    }
}

static void batch_add(struct batch *batch, struct amg_mpi_rma_op *op)
{
    for (unsigned i = 0; i < AMG_MPI_FRAGMENTS; i++) {
        struct amg_mpi_fragment *fragment = &op->fragments[i];

        if (fragment->request == MPI_REQUEST_NULL)
            continue;
        if (batch->count == AMG_MPI_FRAGMENTS_TEST) {
            batch_end(batch);
            batch->count = 0;
        }
        batch->requests[batch->count] = fragment->request;
        batch->fragments[batch->count] = fragment;
        batch->owners[batch->count] = op;
        batch->count++;
    }
}

static void fragments_test(const struct amg_mpi_rma *rma)
{
    struct amg_link *link = amg_list_first(&rma->ops);
    struct batch batch;

    batch.count = 0;
    for (; link != NULL; link = amg_list_next(&rma->ops, link))
        if (amg_mpi_transfer_of(link)->state == AMG_MPI_TRANSFER_ACCESSING)
            batch_add(&batch, &amg_mpi_transfer_of(link)->rma);
    batch_end(&batch);
}

/* Each function takes one step. True: another step may follow; false: the
 * transfer waits, or was freed. */
static bool (*const state_moves[AMG_MPI_TRANSFER_STATE_COUNT])(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer) = {
    [AMG_MPI_TRANSFER_ACQUIRING] = acquiring_move_locked,
    [AMG_MPI_TRANSFER_ACCESSING] = accessing_move_locked,
    [AMG_MPI_TRANSFER_SYNCING] = syncing_move_locked,
    [AMG_MPI_TRANSFER_FLUSHING] = flushing_move_locked,
};

/* Ends the operation of a cancelled transfer at its deadline, if MPI does not
 * use the user's memory any more. */
static void op_hurry_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    const struct amg_mpi_rma_op *op = &transfer->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(transfer->is_rma && op->access != NULL);
    if (transfer->is_cancelled && transfer->op != NULL &&
        (op->in_flight == 0 || !op->is_direct ||
            amg_mpi_peer_is_dead(domain, transfer->rank)) &&
        amg_clock_ns() >= transfer->deadline_ns)
        amg_mpi_transfer_op_end_locked(domain, transfer,
            op->ret != HG_SUCCESS ? op->ret : HG_CANCELED, op->done);
}

static void ops_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->rma->ops);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    fragments_test(domain->rma);
    while (link != NULL) {
        struct amg_mpi_transfer *transfer = amg_mpi_transfer_of(link);
        /* A transfer that ends removes only itself. */
        struct amg_link *next = amg_list_next(&domain->rma->ops, link);

        op_hurry_locked(domain, transfer);
        while (state_moves[transfer->state](domain, transfer))
            ;
        link = next;
    }
}

void amg_mpi_rma_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_mpi_rma *rma = domain->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!amg_list_is_empty(&rma->exports.leaving))
        amg_mpi_export_move_locked(domain);
    if (!amg_list_is_empty(&rma->pending))
        amg_mpi_rma_access_move_locked(domain);
    if (!amg_list_is_empty(&rma->ops))
        ops_move_locked(domain);
}

bool amg_mpi_rma_is_idle_locked(const struct amg_mpi_domain *domain)
{
    const struct amg_mpi_rma *rma = domain->rma;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    return rma == NULL ||
           (amg_list_is_empty(&rma->ops) && amg_list_is_empty(&rma->pending));
}

hg_return_t amg_mpi_rma_open(
    struct amg_mpi_domain *domain, const struct amg_area *area, bool is_asked)
{
    struct amg_mpi_rma *rma = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(domain->rma == NULL);
    if (domain->comm.size > AMG_MPI_WINDOW_RANKS_MAX) {
        AMG_LOG_WARNING("mpi",
            "%d ranks are more than the %d that windows can count: bulk data "
            "moves by messages; choose mpi+p2p in place of mpi+rma",
            domain->comm.size, AMG_MPI_WINDOW_RANKS_MAX);
        return HG_OPNOTSUPPORTED;
    }
    rma = amg_mem_zalloc(sizeof(*rma));
    rc = amg_mpi_windows_open(
        &domain->comm, area, is_asked, rma == NULL ? NULL : &rma->windows);
    if (rc != HG_SUCCESS) {
        amg_mem_free(rma);
        return rc;
    }
    rma->windows->number = domain->peers.nonce;
    rma->exports.windows = rma->windows;
    amg_list_init(&rma->exports.leaving);
    amg_list_init(&rma->ops);
    amg_list_init(&rma->pending);
    amg_pool_init(&rma->access_pool, sizeof(struct amg_mpi_rma_access),
        sizeof(void *) * 2);
    domain->rma = rma;
    domain->exports = &rma->exports;
    return HG_SUCCESS;
}

/* At close: logs and counts the transfers and accesses still with MPI, which
 * stay allocated. */
static unsigned work_forget(
    struct amg_mpi_domain *domain, struct amg_mpi_rma *rma)
{
    struct amg_link *link = NULL;
    unsigned count = 0;

    for (; (link = amg_list_pop(&rma->ops)) != NULL; count++) {
        AMG_LOG_WARNING("bulk",
            "a %s through a window of rank %d did not end; MPI may still use "
            "the memory of this transfer",
            amg_mpi_transfer_of(link)->is_put ? "put" : "get",
            amg_mpi_transfer_of(link)->rank);
        amg_pool_put(&domain->transfers.pool, amg_mpi_transfer_of(link));
    }
    for (; (link = amg_list_pop(&rma->pending)) != NULL; count++)
        AMG_LOG_WARNING("bulk",
            "an access to memory of rank %d through a window did not end; MPI "
            "may still use the memory of this access",
            amg_container_of(link, struct amg_mpi_rma_access, link)->rank);
    return count;
}

void amg_mpi_rma_close_locked(struct amg_mpi_domain *domain, bool is_whole)
{
    struct amg_mpi_rma *rma = domain->rma;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (rma == NULL)
        return;
    domain->rma = NULL;
    domain->exports = NULL;
    count = work_forget(domain, rma);
    amg_mpi_regions_fini(&rma->windows->regions);
    if (domain->disconnect.is_broken || count > 0)
        AMG_LOG_WARNING("mpi",
            "the windows of the class stay open until MPI_Finalize, because "
            "a rank is missing, or MPI has not ended all their operations");
    amg_mpi_windows_close(rma->windows, is_whole && count == 0);
    amg_map_fini(&rma->peers, amg_mem_free);
    if (count > 0)
        return; /* MPI may still write into accesses: keep them allocated */
    amg_pool_fini(&rma->access_pool);
    amg_mem_free(rma);
}
