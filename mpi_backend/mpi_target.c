/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses of peers to memory of this rank, by messages.
 *
 * A small access is served when its message is read, and answered in the same
 * msgbuf. A large access is a struct amg_mpi_access until its last fragment was
 * sent or received; see mpi_transfer.c for the messages. Every word of a
 * message is checked before it is used: key, permission, bounds, lengths.
 *
 * When a put sent ahead is refused, its first fragments are in flight. The
 * access of that put receives these fragments into memory that is never read
 * (one buffer for all such accesses), up to the length in the sender's STOP.
 * Then DONE carries the error code.
 *
 * When memory is unregistered (halt), the access of a get posts no more
 * fragments, and DONE tells how many bytes move. The sender of a put gets HALT:
 * only the sender knows how many bytes it has sent, and the receives stay
 * posted until its STOP. */
#include "mpi_backend/mpi_transfer.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_send.h"

static struct amg_mpi_access *access_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_mpi_access, link);
}

static void access_end_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_access *access)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (amg_link_is_listed(&access->mem_link))
        amg_list_remove(&access->mem_link);
    if (amg_link_is_listed(&access->link))
        amg_list_remove(&access->link);
    amg_mpi_pipeline_fini(&access->pipeline, domain);
    amg_pool_put(&domain->accesses.pool, access);
}

static void done_send_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    uint8_t context, uint32_t cookie, hg_return_t code, uint64_t len)
{
    struct amg_mpi_done done = {.code = (uint32_t)code, .len = len};

    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    memcpy(msgbuf->data, &done, sizeof(done));
    amg_mpi_send_control_locked(
        msgbuf, rank, context, AMG_MPI_DONE, cookie, sizeof(done));
}

/* False: there is no msgbuf now; the next poll tries again. */
static bool access_answer_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_access *access, hg_return_t code, uint64_t len)
{
    struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_locked(domain);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (msgbuf == NULL)
        return false;
    done_send_locked(msgbuf, (uint32_t)access->pipeline.rank, access->context,
        access->cookie, code, len);
    return true;
}

static void access_refuse_locked(
    const struct amg_mpi_message *message, hg_return_t code)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    AMG_ASSERT_HELD_BIAS(message->msgbuf->domain->lock);
    done_send_locked(msgbuf, message->rank, msgbuf->header.context,
        msgbuf->header.cookie, code, 0);
}

/* A get whose answer fits into one message. */
static void small_get_locked(const struct amg_mpi_message *message,
    struct amg_seg_iter *at, uint64_t len)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    AMG_ASSERT_HELD_BIAS(message->msgbuf->domain->lock);
    AMG_ASSERT(len <= msgbuf->buf.cap);
    amg_seg_iter_gather(msgbuf->data, at, len);
    amg_mpi_send_control_locked(msgbuf, message->rank, msgbuf->header.context,
        AMG_MPI_GET_DATA, msgbuf->header.cookie, (uint32_t)len);
}

/* Keeps a message until there is memory for the access of the message. */
static void message_stall_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    msgbuf->rank = (int)message->rank;
    msgbuf->len = message->len;
    amg_list_push(&domain->accesses.stalled, &msgbuf->post.link);
}

/* Sends HALT or PUT_READY to the initiator of a put, if the put needs one. */
static void access_reply_locked(
    const struct amg_mpi_message *message, const struct amg_mpi_access *access)
{
    const struct amg_mpi_pipeline *pipeline = &access->pipeline;
    bool needs_go = message->kind == AMG_MPI_PUT ||
                    (message->kind == AMG_MPI_PUT_AHEAD &&
                        amg_mpi_pipeline_ahead(pipeline->len,
                            pipeline->fragment_len) < pipeline->len);

    AMG_ASSERT_HELD_BIAS(message->msgbuf->domain->lock);
    if (access->code != HG_SUCCESS)
        amg_mpi_send_control_locked(message->msgbuf, message->rank,
            access->context, AMG_MPI_HALT, access->cookie, 0);
    else if (needs_go)
        amg_mpi_send_control_locked(message->msgbuf, message->rank,
            access->context, AMG_MPI_PUT_READY, access->cookie, 0);
    else
        amg_mpi_msgbuf_put_locked(message->msgbuf);
}

/* Begins an access; `mem` NULL: an access that is refused with `code`. */
static void access_begin_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message,
    const struct amg_mpi_bulk_request *request, struct amg_mpi_mem *mem,
    const struct amg_seg_iter *at, hg_return_t code)
{
    const struct amg_mpi_header *header = &message->msgbuf->header;
    struct amg_mpi_access *access = amg_pool_get(&domain->accesses.pool);
    int tag = (int)(header->cookie & AMG_TABLE_INDEX_MASK);
    bool is_put = message->kind != AMG_MPI_GET;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (access == NULL) { /* a put sent ahead must wait for memory */
        if (message->kind == AMG_MPI_PUT_AHEAD)
            message_stall_locked(domain, message);
        else
            access_refuse_locked(message, HG_NOMEM);
        return;
    }
    *access = (struct amg_mpi_access){
        .cookie = header->cookie, .context = header->context, .is_put = is_put};
    amg_mpi_pipeline_init(
        &access->pipeline, at, request->len, request->fragment_len, !is_put);
    access->pipeline.rank = (int)message->rank;
    access->pipeline.tag = tag + (is_put ? domain->transfers.tags_half : 0);
    if (code == HG_SUCCESS)
        code = amg_mpi_pipeline_ready(&access->pipeline, domain);
    if (code != HG_SUCCESS && message->kind != AMG_MPI_PUT_AHEAD) {
        amg_pool_put(&domain->accesses.pool, access);
        access_refuse_locked(message, code);
        return;
    }
    access->code = code;
    access->is_notified = code != HG_SUCCESS;
    amg_list_push(&domain->accesses.all, &access->link);
    if (code == HG_SUCCESS) {
        amg_list_push(&mem->accesses, &access->mem_link);
        amg_mpi_pipeline_post(&access->pipeline, domain);
    }
    access_reply_locked(message, access);
}

/* Allocates the memory that refused accesses receive into. False: not now. */
static bool sink_ready_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_pipeline *pipeline)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (pipeline->sink != NULL || pipeline->limit == 0)
        return true;
    if (domain->accesses.sink == NULL)
        domain->accesses.sink = amg_mem_alloc(AMG_MPI_AHEAD_MAX);
    if (domain->accesses.sink == NULL)
        return false;
    amg_mpi_pipeline_discard(pipeline, domain->accesses.sink, pipeline->limit);
    return true;
}

/* Whether the lengths, which the peer sent, are consistent. */
static bool access_is_sound(const struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message,
    const struct amg_mpi_bulk_request *request)
{
    uint32_t index = message->msgbuf->header.cookie & AMG_TABLE_INDEX_MASK;
    uint32_t bytes_len = message->len - (uint32_t)sizeof(*request);

    if (index >= (uint32_t)domain->transfers.tags_half ||
        request->fragment_len < AMG_MPI_FRAGMENT_MIN ||
        request->fragment_len > AMG_MPI_FRAGMENT_MAX)
        return false;
    if (message->kind == AMG_MPI_PUT_AHEAD &&
        request->len > AMG_MPI_AHEAD_MAX &&
        request->fragment_len > AMG_MPI_AHEAD_MAX)
        return false;
    return message->kind == AMG_MPI_PUT_NOW ? request->len == bytes_len
                                            : bytes_len == 0;
}

/* HG_SUCCESS: the access is allowed. HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW. */
static hg_return_t mem_check_locked(const struct amg_mpi_domain *domain,
    const struct amg_mpi_bulk_request *request, enum amg_mem_flags direction,
    struct amg_mpi_mem **ret_mem, struct amg_seg_iter *ret_at)
{
    struct amg_table_slot *slot =
        amg_table_find(&domain->mems.all, request->key.cookie, 0);
    struct amg_mpi_mem *mem = slot == NULL ? NULL : slot->object;
    struct amg_seg_iter asked;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (mem == NULL || memcmp(&mem->key, &request->key, sizeof(mem->key)) != 0)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    asked = (struct amg_seg_iter){
        mem->segments, mem->count, request->segment, request->offset};
    if (request->len == 0 || !amg_seg_iter_has(&asked, request->len))
        return HG_OVERFLOW;
    *ret_mem = mem;
    *ret_at = asked;
    return HG_SUCCESS;
}

void amg_mpi_access_on_request_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    struct amg_mpi_bulk_request request;
    struct amg_mpi_mem *mem = NULL;
    struct amg_seg_iter at = {NULL, 0, 0, 0};
    hg_return_t code = HG_PROTOCOL_ERROR;
    bool is_sound = false;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    memcpy(&request, msgbuf->data, sizeof(request));
    is_sound = access_is_sound(domain, message, &request);
    if (is_sound)
        code = mem_check_locked(domain, &request,
            message->kind == AMG_MPI_GET ? AMG_MEM_READ : AMG_MEM_WRITE, &mem,
            &at);
    if (code != HG_SUCCESS && code != HG_NOMEM)
        amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ACCESS,
            message->kind, (long)code);
    if (code != HG_SUCCESS &&
        (message->kind != AMG_MPI_PUT_AHEAD || !is_sound)) {
        access_refuse_locked(message, code);
    } else if (message->kind == AMG_MPI_PUT_NOW) {
        amg_seg_iter_scatter(&at, msgbuf->data + sizeof(request), request.len);
        done_send_locked(msgbuf, message->rank, msgbuf->header.context,
            msgbuf->header.cookie, HG_SUCCESS, request.len);
    } else if (message->kind == AMG_MPI_GET &&
               request.len <= domain->transfers.small_len) {
        small_get_locked(message, &at, request.len);
    } else if (amg_mpi_peer_is_dead(domain, (int)message->rank)) {
        access_refuse_locked(message, HG_HOSTUNREACH);
    } else {
        access_begin_locked(domain, message, &request, mem, &at, code);
    }
}

static struct amg_mpi_access *access_find_locked(
    const struct amg_mpi_domain *domain, uint32_t rank, uint32_t cookie)
{
    struct amg_link *link = amg_list_first(&domain->accesses.all);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (; link != NULL; link = amg_list_next(&domain->accesses.all, link)) {
        struct amg_mpi_access *access = access_of(link);

        if (access->pipeline.rank == (int)rank && access->cookie == cookie)
            return access;
    }
    return NULL;
}

/* Answers STOP of a get: bytes posted, or `len` if the access has ended. */
static void get_stop_locked(const struct amg_mpi_message *message,
    struct amg_mpi_access *access, uint64_t len)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    AMG_ASSERT_HELD_BIAS(message->msgbuf->domain->lock);
    if (access != NULL && (access->is_put || access->is_notified)) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return;
    }
    if (access != NULL) {
        len = access->pipeline.posted;
        amg_mpi_pipeline_stop(&access->pipeline, len);
        access->is_notified = true;
    }
    done_send_locked(msgbuf, message->rank, msgbuf->header.context,
        msgbuf->header.cookie, HG_CANCELED, len);
}

/* Whether the access that this message refers to waits for memory. */
static bool access_is_stalled_locked(
    const struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_link *link = amg_list_first(&domain->accesses.stalled);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (; link != NULL;
         link = amg_list_next(&domain->accesses.stalled, link)) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);

        if (msgbuf->header.kind == (AMG_MPI_MAGIC | AMG_MPI_PUT_AHEAD) &&
            msgbuf->rank == (int)message->rank &&
            msgbuf->header.cookie == message->msgbuf->header.cookie)
            return true;
    }
    return false;
}

void amg_mpi_access_on_stop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    struct amg_mpi_access *access =
        access_find_locked(domain, message->rank, msgbuf->header.cookie);
    struct amg_mpi_stop stop;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    memcpy(&stop, msgbuf->data, sizeof(stop));
    if (!stop.is_put) {
        get_stop_locked(message, access, stop.len);
        return;
    }
    if (access == NULL && access_is_stalled_locked(domain, message)) {
        message_stall_locked(domain, message); /* behind its request */
        return;
    }
    if (access != NULL && access->is_put && !access->is_stopped) {
        if (!amg_mpi_pipeline_is_cut(&access->pipeline, stop.len))
            amg_mpi_peer_violation(domain, message->rank, AMG_VIOLATION_ANSWER,
                AMG_MPI_STOP, (long)stop.len);
        access->is_stopped = true;
        amg_mpi_pipeline_stop(&access->pipeline, stop.len);
    }
    amg_mpi_msgbuf_put_locked(msgbuf); /* without an access, DONE was sent */
}

/* Retries accesses that waited for memory, and later messages about them. */
static void accesses_retry_locked(struct amg_mpi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_list_init(&all);
    amg_list_splice(&all, &domain->accesses.stalled);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);
        const struct amg_mpi_message message = {.msgbuf = msgbuf,
            .rank = (uint32_t)msgbuf->rank,
            .len = msgbuf->len,
            .kind = amg_mpi_kind_of(&msgbuf->header)};

        if (message.kind == AMG_MPI_STOP)
            amg_mpi_access_on_stop_locked(domain, &message);
        else
            amg_mpi_access_on_request_locked(domain, &message);
    }
}

/* Informs the initiator when the memory is unregistered, or a fragment could
 * not be moved. */
static void access_notify_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_access *access)
{
    struct amg_mpi_pipeline *pipeline = &access->pipeline;
    struct amg_mpi_msgbuf *msgbuf = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!access->is_put) {
        amg_mpi_pipeline_stop(pipeline, pipeline->posted);
        access->is_notified = access_answer_locked(domain, access,
            pipeline->ret != HG_SUCCESS ? pipeline->ret : HG_CANCELED,
            pipeline->posted);
        return;
    }
    if (access->is_stopped) {
        access->is_notified = true;
        return;
    }
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return;
    access->is_notified = true;
    amg_mpi_send_control_locked(msgbuf, (uint32_t)pipeline->rank,
        access->context, AMG_MPI_HALT, access->cookie, 0);
}

/* Sends the last message of a put. False: no msgbuf; the next poll retries. */
static bool put_answer_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_access *access)
{
    const struct amg_mpi_pipeline *pipeline = &access->pipeline;
    hg_return_t code =
        pipeline->done == pipeline->len ? HG_SUCCESS : HG_CANCELED;
    uint64_t len = pipeline->done;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(access->is_put && amg_mpi_pipeline_is_over(pipeline));
    if (pipeline->ret != HG_SUCCESS)
        code = pipeline->ret;
    if (access->code != HG_SUCCESS)
        code = access->code;
    if (access->code != HG_SUCCESS || !amg_mpi_pipeline_is_cut(pipeline, len))
        len = 0;
    return access_answer_locked(domain, access, code, len);
}

static void access_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_access *access)
{
    struct amg_mpi_pipeline *pipeline = &access->pipeline;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (access->code != HG_SUCCESS && !sink_ready_locked(domain, pipeline))
        return;
    amg_mpi_pipeline_post(pipeline, domain);
    if (!access->is_notified &&
        (access->is_halted || pipeline->ret == HG_NA_ERROR))
        access_notify_locked(domain, access);
    if (!amg_mpi_pipeline_is_over(pipeline))
        return;
    if (access->is_put
            ? !put_answer_locked(domain, access)
            : pipeline->limit < pipeline->len && !access->is_notified)
        return;
    access_end_locked(domain, access);
}

void amg_mpi_bulk_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_list *moving = &domain->transfers.moving;
    struct amg_list *all = &domain->accesses.all;
    struct amg_link *next = NULL;
    struct amg_link *link = NULL;
    struct amg_mpi_batch batch;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_batch_begin(&batch, domain);
    link = amg_list_first(moving);
    for (; link != NULL; link = amg_list_next(moving, link))
        if (!amg_mpi_transfer_of(link)->is_rma)
            amg_mpi_batch_add(&batch, &amg_mpi_transfer_of(link)->pipeline);
    link = amg_list_first(all);
    for (; link != NULL; link = amg_list_next(all, link))
        amg_mpi_batch_add(&batch, &access_of(link)->pipeline);
    amg_mpi_batch_end(&batch);
    /* A transfer that ends may append a queued transfer to `moving`. */
    for (link = amg_list_first(moving); link != NULL; link = next) {
        next = amg_list_next(moving, link);
        amg_mpi_transfer_move_locked(domain, amg_mpi_transfer_of(link));
    }
    for (link = amg_list_first(all); link != NULL; link = next) {
        next = amg_list_next(all, link);
        access_move_locked(domain, access_of(link));
    }
    if (!amg_list_is_empty(&domain->accesses.stalled))
        accesses_retry_locked(domain);
}

bool amg_mpi_accesses_drop_locked(struct amg_mpi_domain *domain, int rank)
{
    bool was_quiet = amg_list_is_empty(&domain->accesses.stalled) &&
                     amg_list_is_empty(&domain->accesses.all);
    struct amg_link *link = NULL;
    struct amg_link *next = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (rank < 0 && (link = amg_list_pop(&domain->accesses.stalled)) != NULL)
        amg_mpi_msgbuf_put_locked(amg_mpi_msgbuf_of_link(link));
    for (link = amg_list_first(&domain->accesses.all); link != NULL;
         link = next) {
        struct amg_mpi_access *access = access_of(link);

        next = amg_list_next(&domain->accesses.all, link);
        if (rank >= 0 && access->pipeline.rank != rank)
            continue;
        amg_mpi_pipeline_stop(&access->pipeline, 0);
        amg_mpi_pipeline_move(&access->pipeline, domain);
        if (rank >= 0 && access->is_put && access->pipeline.count > 0)
            continue;
        if (access->pipeline.count > 0 && access->pipeline.sink != NULL)
            domain->accesses.sink = NULL; /* MPI may still write there */
        else if (access->pipeline.count > 0)
            AMG_LOG_WARNING("bulk",
                "a transfer with rank %d was in flight when %s; MPI may still "
                "use the memory of that transfer",
                access->pipeline.rank,
                rank >= 0 ? "the rank died" : "the class was closed");
        access_end_locked(domain, access);
    }
    return was_quiet;
}
