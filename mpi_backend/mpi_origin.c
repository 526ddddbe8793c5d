/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulated put and get, on the side of who asked for them.
 *
 *   get, small   GET ------------->   <------------- GET_DATA (the bytes)
 *   get, large   GET ------------->   <============= pieces, receives posted
 *   put, small   PUT_NOW (bytes) ->   <------------- DONE
 *   put, large   PUT ------------->   <------------- PUT_GO
 *                pieces ==========>   <------------- DONE
 *   refused                           <------------- DONE (a code, 0 bytes)
 *   cancelled    STOP ------------>   <------------- DONE (so many bytes)
 *   exposer ends the exposure         <------------- HALT (of a put), DONE
 *
 * A transfer lives until the peer's last word on it, because until then the
 * peer may use its number and its tag; its operation may end before. That is
 * so when it was cancelled and MPI does not use the user's memory any more: a
 * put when its last piece has left, a get when its receives were taken back.
 * A get gives the peer GRACE_MS to say how much is on its way, before it takes
 * them back; pieces that come later are received into memory nobody reads.
 *
 * At most AMG_MPI_TRANSFERS to one peer are in motion; others wait in order. */
#include "mpi_backend/mpi_origin.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_mem.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_slab.h"
#include "mpi_backend/mpi_stream.h"

enum {
    GRACE_MS = 2000, /* far above a round trip, far below a person's patience */
};

/* Where a transfer stands, as the peer sees it. */
enum transfer_state {
    TRANSFER_QUEUED,    /* waits for others to the same peer */
    TRANSFER_UNSTARTED, /* its turn, but nothing was sent yet */
    TRANSFER_ASKED,     /* the first message is out */
    TRANSFER_MOVING,    /* a put whose peer has posted receives */
    TRANSFER_ANSWERED,  /* the peer has said its last word */
};

/* From the pool; in the table of transfers until it ends. */
struct amg_mpi_transfer {
    struct amg_link link; /* in the peer's queue, or on the moving list */
    struct amg_mpi_ep *ep;
    struct amg_op *op; /* NULL: ended before the peer's last word */
    enum transfer_state state;
    uint32_t cookie;
    uint8_t context; /* the target's */
    bool is_put;
    bool is_small;        /* moves inside of messages */
    bool is_cancelled;    /* by the poster */
    bool is_stopped;      /* no further piece is sent, and the peer knows */
    bool is_withdrawn;    /* a get that took its receives back */
    hg_return_t ret;      /* the peer's last word */
    uint64_t deadline_ns; /* of a cancelled get */
    void *scratch;        /* where late pieces go */
    struct amg_mpi_access access;
    struct amg_mpi_stream stream;
};

size_t amg_mpi_origin_transfer_len(void)
{
    return sizeof(struct amg_mpi_transfer);
}

static struct amg_mpi_transfer *transfer_of(struct amg_link *link)
{
    return AMG_OBJECT(link, struct amg_mpi_transfer, link);
}

static struct amg_flow_peer *queue_of(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer)
{
    return &domain->peers[transfer->stream.rank].bulk;
}

static void op_end_locked(
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    if (transfer->op == NULL)
        return;
    transfer->op->len = len;
    amg_mpi_op_end_locked(transfer->ep, transfer->op, ret);
    transfer->op = NULL;
}

static void transfer_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    amg_mpi_table_remove(&domain->transfers, transfer->cookie);
    amg_mem_free(transfer->scratch);
    amg_pool_put(&domain->transfer_pool, transfer);
}

static void transfer_list_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    if (!amg_link_is_listed(&transfer->link))
        amg_list_push(&domain->moving, &transfer->link);
}

/* The peer has said its last word, and nothing is in motion. */
static void transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len)
{
    struct amg_flow_peer *queue = queue_of(domain, transfer);
    struct amg_link *next = NULL;

    op_end_locked(transfer, ret, len);
    transfer_free_locked(domain, transfer);
    (void)amg_flow_give(queue, 1);
    next = amg_flow_next(&domain->bulk, queue);
    if (next == NULL)
        return;
    transfer_of(next)->state = TRANSFER_UNSTARTED;
    transfer_list_locked(domain, transfer_of(next));
}

/* Sends the first message. HG_NOMEM: nothing was sent. */
static hg_return_t transfer_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;
    struct amg_mpi_slab *slab = amg_mpi_slab_get_locked(domain);
    uint32_t body_len = sizeof(transfer->access);
    enum amg_mpi_kind kind = AMG_MPI_GET;
    hg_return_t rc = HG_SUCCESS;

    if (slab == NULL)
        return HG_NOMEM;
    memcpy(slab->data, &transfer->access, sizeof(transfer->access));
    if (transfer->is_put)
        kind = transfer->is_small ? AMG_MPI_PUT_NOW : AMG_MPI_PUT;
    if (kind == AMG_MPI_PUT_NOW) {
        memcpy(slab->data + body_len, stream->base, stream->len);
        body_len += (uint32_t)stream->len;
    }
    if (kind == AMG_MPI_GET && !transfer->is_small)
        amg_mpi_stream_move(stream, domain->comm.data);
    slab->op = NULL;
    slab->header.context = transfer->ep->base.context_id;
    slab->header.cookie = transfer->cookie;
    amg_mpi_send_address(
        slab, (uint32_t)stream->rank, transfer->context, kind, body_len);
    rc = amg_mpi_send_locked(slab);
    transfer->state = TRANSFER_ASKED;
    if (!transfer->is_small)
        transfer_list_locked(domain, transfer);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_mpi_slab_put_locked(slab);
    transfer->state = TRANSFER_ANSWERED;
    transfer->ret = rc;
    amg_mpi_stream_stop(stream, 0);
    transfer_list_locked(domain, transfer);
    return HG_SUCCESS;
}

/* The transfer is in its peer's queue, or begins. HG_NOMEM: neither. */
static hg_return_t transfer_post_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_flow_peer *queue = queue_of(domain, transfer);
    struct amg_mpi_stream *stream = &transfer->stream;
    hg_return_t rc = amg_mpi_table_add(&domain->transfers, transfer,
        (uint32_t)stream->rank, &transfer->cookie);

    if (rc != HG_SUCCESS)
        return rc;
    stream->tag = (int)(transfer->cookie & AMG_MPI_INDEX_MASK) +
                  (transfer->is_put ? domain->tags_half : 0);
    if (!amg_flow_take(&domain->bulk, queue)) {
        transfer->state = TRANSFER_QUEUED;
        amg_flow_wait(queue, &transfer->link);
        return HG_SUCCESS;
    }
    if (!amg_mpi_comm_may_call(&domain->comm)) {
        transfer->state = TRANSFER_UNSTARTED;
        transfer_list_locked(domain, transfer);
        return HG_SUCCESS;
    }
    rc = transfer_start_locked(domain, transfer);
    if (rc != HG_SUCCESS) {
        (void)amg_flow_give(queue, 1);
        amg_mpi_table_remove(&domain->transfers, transfer->cookie);
    }
    return rc;
}

/* Bytes that fit into the one message of a small transfer. */
static uint64_t small_len_max(const struct amg_mpi_domain *domain, bool is_put)
{
    return domain->message_len - sizeof(struct amg_mpi_header) -
           (is_put ? sizeof(struct amg_mpi_access) : 0);
}

static hg_return_t transfer_begin(struct amg_ep *base, struct amg_peer *peer,
    uint8_t context, void *local, const struct amg_remote *remote, uint64_t len,
    bool is_put, struct amg_op *op)
{
    struct amg_mpi_ep *ep = amg_mpi_ep_of(base);
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    struct amg_mpi_access access = {.segment = remote->segment,
        .piece_len = domain->piece_len,
        .offset = remote->offset,
        .len = len};
    struct amg_mpi_transfer *transfer = NULL;
    hg_return_t rc = amg_mpi_send_check(domain);

    if (rc == HG_SUCCESS)
        rc = amg_mpi_mem_key_read(&remote->key, &access);
    if (rc != HG_SUCCESS)
        return rc;
    if (!AMG_CONTRACT(len > 0))
        return HG_INVALID_ARG;
    transfer = amg_pool_get(&domain->transfer_pool);
    if (transfer == NULL)
        return HG_NOMEM;
    *transfer = (struct amg_mpi_transfer){.ep = ep,
        .op = op,
        .context = context,
        .is_put = is_put,
        .is_small = len <= small_len_max(domain, is_put),
        .access = access};
    amg_mpi_stream_init(&transfer->stream, local, len, domain->piece_len,
        is_put, (int)amg_mpi_rank_of(domain, peer), 0);
    op->len = 0;
    op->data = NULL;
    amg_mpi_op_set(op, AMG_MPI_OP_TRANSFER, transfer, ep);
    amg_lock_take(domain->lock);
    rc = transfer_post_locked(domain, transfer);
    amg_lock_give(domain->lock);
    if (rc != HG_SUCCESS)
        amg_pool_put(&domain->transfer_pool, transfer);
    return rc;
}

hg_return_t amg_mpi_origin_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const void *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    /* It is only read in this direction. */
    return transfer_begin(
        ep, peer, target_context, (void *)local, remote, len, true, op);
}

hg_return_t amg_mpi_origin_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, void *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    return transfer_begin(
        ep, peer, target_context, local, remote, len, false, op);
}

/* The transfer that this answer is for; NULL: for none that waits. */
static struct amg_mpi_transfer *answer_find_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_place *place = amg_mpi_table_find(
        &domain->transfers, message->slab->header.cookie, message->rank);
    struct amg_mpi_transfer *transfer = place == NULL ? NULL : place->object;

    if (transfer != NULL && (transfer->state == TRANSFER_ASKED ||
                                transfer->state == TRANSFER_MOVING))
        return transfer;
    return NULL;
}

static void answer_blame_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    amg_mpi_addr_blame(domain, message->rank, AMG_MPI_FAULT_ANSWER,
        message->slab->header.kind & ~AMG_MPI_MAGIC_MASK, (long)message->len);
}

void amg_mpi_origin_on_data_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    if (transfer == NULL || transfer->is_put || !transfer->is_small) {
        answer_blame_locked(domain, message);
    } else if (message->len != transfer->stream.len) {
        answer_blame_locked(domain, message);
        transfer_finish_locked(domain, transfer, HG_PROTOCOL_ERROR, 0);
    } else {
        if (transfer->op != NULL)
            memcpy(transfer->stream.base, message->slab->data, message->len);
        transfer_finish_locked(domain, transfer, HG_SUCCESS, message->len);
    }
    amg_mpi_slab_put_locked(message->slab);
}

void amg_mpi_origin_on_go_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    if (transfer == NULL || !transfer->is_put || transfer->is_small ||
        transfer->state != TRANSFER_ASKED)
        answer_blame_locked(domain, message);
    else
        transfer->state = TRANSFER_MOVING;
    amg_mpi_slab_put_locked(message->slab);
}

/* Pieces are on their way to a get that took its receives back. */
static void sink_open_locked(struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    op_end_locked(transfer, HG_CANCELED, stream->done);
    transfer->scratch = amg_mem_alloc(stream->piece_len);
    if (transfer->scratch == NULL)
        return; /* the next poll tries again */
    stream->base = transfer->scratch;
    stream->is_sink = true;
    stream->posted = stream->done;
    stream->limit = transfer->access.len;
}

void amg_mpi_origin_on_done_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);
    struct amg_mpi_stream *stream = NULL;
    struct amg_mpi_done done;

    memcpy(&done, message->slab->data, sizeof(done));
    if (transfer == NULL || done.code >= HG_RETURN_MAX ||
        !amg_mpi_stream_is_cut(&transfer->stream, done.len)) {
        answer_blame_locked(domain, message);
        amg_mpi_slab_put_locked(message->slab);
        return;
    }
    amg_mpi_slab_put_locked(message->slab);
    stream = &transfer->stream;
    transfer->ret = (hg_return_t)done.code;
    if (transfer->ret == HG_SUCCESS && done.len != stream->len)
        transfer->ret = HG_PROTOCOL_ERROR;
    transfer->state = TRANSFER_ANSWERED;
    if (transfer->is_small) {
        transfer_finish_locked(domain, transfer, transfer->ret, done.len);
        return;
    }
    transfer->access.len = done.len; /* what has arrived, or will */
    if (transfer->is_put)
        amg_mpi_stream_stop(stream, stream->posted);
    else if (!transfer->is_withdrawn)
        amg_mpi_stream_stop(stream, done.len);
    transfer_list_locked(domain, transfer);
}

/* Tells the peer that no piece follows; with `slab`, or one of the pool. */
static void stop_send_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_slab *slab)
{
    struct amg_mpi_stop stop;

    if (slab == NULL)
        slab = amg_mpi_slab_get_locked(domain);
    if (slab == NULL)
        return; /* is_stopped stays false, so the next poll tries again */
    if (transfer->is_put)
        amg_mpi_stream_stop(&transfer->stream, transfer->stream.posted);
    stop.len = transfer->stream.posted;
    memcpy(slab->data, &stop, sizeof(stop));
    amg_mpi_send_control_locked(slab, (uint32_t)transfer->stream.rank,
        transfer->context, AMG_MPI_STOP, transfer->cookie, sizeof(stop));
    transfer->is_stopped = true;
}

void amg_mpi_origin_on_halt_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_transfer *transfer = answer_find_locked(domain, message);

    if (transfer == NULL || !transfer->is_put || transfer->is_small ||
        transfer->is_stopped) {
        amg_mpi_slab_put_locked(message->slab); /* our word is on its way */
        return;
    }
    stop_send_locked(domain, transfer, message->slab);
}

/* A cancelled transfer: ends its operation as soon as MPI does not use the
 * user's memory, although the peer has not answered. */
static void cancelled_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    if (!transfer->is_stopped)
        stop_send_locked(domain, transfer, NULL);
    if (!transfer->is_stopped)
        return;
    if (!transfer->is_put && !transfer->is_withdrawn &&
        amg_clock_ns() >= transfer->deadline_ns) {
        transfer->is_withdrawn = true;
        amg_mpi_stream_stop(stream, stream->done);
        amg_mpi_stream_move(stream, domain->comm.data);
    }
    if (stream->count > 0 || (!transfer->is_put && !transfer->is_withdrawn))
        return;
    op_end_locked(transfer, HG_CANCELED, stream->done);
    amg_list_remove(&transfer->link); /* until the peer's last word */
}

/* The peer has answered: ends the transfer when nothing is in motion. */
static void answered_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    if (!transfer->is_small && stream->count > 0)
        return;
    if (transfer->is_withdrawn && stream->done < transfer->access.len) {
        if (!stream->is_sink)
            sink_open_locked(transfer);
        return;
    }
    if (!transfer->is_small && !amg_mpi_stream_is_over(stream))
        return;
    transfer_finish_locked(domain, transfer,
        stream->ret != HG_SUCCESS ? stream->ret : transfer->ret,
        transfer->is_put ? transfer->access.len : stream->done);
}

static void transfer_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer)
{
    struct amg_mpi_stream *stream = &transfer->stream;

    if (transfer->state == TRANSFER_UNSTARTED) {
        if (transfer_start_locked(domain, transfer) == HG_SUCCESS &&
            transfer->is_small && transfer->state == TRANSFER_ASKED)
            amg_list_remove(&transfer->link);
        return;
    }
    if (!transfer->is_small &&
        !(transfer->is_put && transfer->state == TRANSFER_ASKED))
        amg_mpi_stream_move(stream, domain->comm.data);
    if (transfer->state == TRANSFER_ANSWERED) {
        answered_move_locked(domain, transfer);
        return;
    }
    if (!transfer->is_put && stream->done >= stream->len) {
        transfer_finish_locked(domain, transfer, stream->ret, stream->done);
        return;
    }
    if (stream->ret == HG_NA_ERROR && !transfer->is_stopped)
        stop_send_locked(domain, transfer, NULL);
    if (transfer->is_cancelled)
        cancelled_move_locked(domain, transfer);
}

void amg_mpi_origin_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->moving);

    while (link != NULL) {
        /* One that ends may put another one last, but takes only itself off. */
        struct amg_link *next = amg_list_next(&domain->moving, link);

        transfer_move_locked(domain, transfer_of(link));
        link = next;
    }
}

void amg_mpi_origin_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op)
{
    struct amg_mpi_transfer *transfer = amg_mpi_op_ptr(op);

    if (transfer->is_cancelled || transfer->state == TRANSFER_ANSWERED)
        return;
    if (transfer->state == TRANSFER_QUEUED) {
        amg_flow_unwait(queue_of(domain, transfer), &transfer->link);
        op_end_locked(transfer, HG_CANCELED, 0);
        transfer_free_locked(domain, transfer);
    } else if (transfer->state == TRANSFER_UNSTARTED) {
        transfer_finish_locked(domain, transfer, HG_CANCELED, 0);
    } else if (transfer->is_small) {
        op_end_locked(transfer, HG_CANCELED, 0);
    } else {
        transfer->is_cancelled = true;
        transfer->deadline_ns = amg_clock_deadline_ns(GRACE_MS);
        if (!transfer->is_stopped)
            stop_send_locked(domain, transfer, NULL);
    }
}

bool amg_mpi_origin_drop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep, bool is_late)
{
    bool is_busy = false;

    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer == NULL || transfer->op == NULL ||
            (ep != NULL && transfer->ep != ep))
            continue;
        amg_mpi_origin_cancel_locked(domain, transfer->op);
        transfer = domain->transfers.places[i].object;
        if (transfer == NULL || transfer->op == NULL)
            continue;
        if (is_late)
            transfer->deadline_ns = 0;
        is_busy = true;
    }
    return is_busy;
}

void amg_mpi_origin_force_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep)
{
    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer != NULL && (ep == NULL || transfer->ep == ep))
            op_end_locked(transfer, HG_CANCELED, transfer->stream.done);
    }
}

unsigned amg_mpi_origin_forget_locked(struct amg_mpi_domain *domain)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < domain->transfers.cap; i++) {
        struct amg_mpi_transfer *transfer = domain->transfers.places[i].object;

        if (transfer == NULL)
            continue;
        op_end_locked(transfer, HG_CANCELED, transfer->stream.done);
        if (transfer->stream.count > 0)
            transfer->scratch = NULL; /* MPI may still write there */
        transfer_free_locked(domain, transfer);
        count++;
    }
    return count;
}
