/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulated put and get, on the exposer's side.
 *
 * A small access is served when its message is read, and answered in the same
 * msgbuf. A large one becomes a visit, which lives until its last piece was
 * sent or received; see mpi_origin.c for the messages. Every word of a message
 * is checked before it is used: key, permission, bounds, lengths.
 *
 * When a put sent ahead is refused, its first pieces are in flight. Its visit
 * receives them into memory that is never read, shared by all such visits,
 * until the sender's STOP has their number; then DONE has the code.
 *
 * When memory is unregistered (halt), a get ends with the pieces in flight, and
 * DONE has their number. The sender of a put gets HALT: only it knows how many
 * pieces it has sent, and the receives stay posted until its STOP. */
#include "mpi_backend/mpi_target.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"
#include "mpi_backend/mpi_send.h"
#include "mpi_backend/mpi_buf.h"
#include "mpi_backend/mpi_stream.h"

/* From the pool; on the lists of its domain and of its memory. */
struct amg_mpi_visit {
    struct amg_link link;     /* domain->accesses */
    struct amg_link mem_link; /* mem->visits */
    uint32_t cookie;          /* the initiator's */
    uint8_t context;          /* receives the answers */
    bool is_put;
    bool is_halted;  /* the memory is being unregistered */
    bool is_told;    /* the initiator was informed; of a get: it was answered */
    bool is_stopped; /* the initiator has sent STOP */
    hg_return_t code; /* why it was refused */
    struct amg_mpi_stream stream;
};

size_t amg_mpi_target_visit_len(void)
{
    return sizeof(struct amg_mpi_visit);
}

static struct amg_mpi_visit *visit_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_mpi_visit, link);
}

static void visit_end_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_visit *visit)
{
    if (amg_link_is_listed(&visit->mem_link))
        amg_list_remove(&visit->mem_link);
    if (amg_link_is_listed(&visit->link))
        amg_list_remove(&visit->link);
    amg_mpi_stream_fini(&visit->stream, domain);
    amg_pool_put(&domain->access_pool, visit);
}

static void done_send_locked(struct amg_mpi_msgbuf *msgbuf, uint32_t rank,
    uint8_t context, uint32_t cookie, hg_return_t code, uint64_t len)
{
    struct amg_mpi_done done = {.code = (uint32_t)code, .len = len};

    memcpy(msgbuf->data, &done, sizeof(done));
    amg_mpi_send_control_locked(
        msgbuf, rank, context, AMG_MPI_DONE, cookie, sizeof(done));
}

/* False: no msgbuf; try again. */
static bool visit_answer_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_visit *visit, hg_return_t code, uint64_t len)
{
    struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_locked(domain);

    if (msgbuf == NULL)
        return false;
    done_send_locked(msgbuf, (uint32_t)visit->stream.rank, visit->context,
        visit->cookie, code, len);
    return true;
}

static unsigned kind_of(const struct amg_mpi_message *message)
{
    return message->msgbuf->header.kind & ~(unsigned)AMG_MPI_MAGIC_MASK;
}

static void access_blame_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, hg_return_t code)
{
    if (code != HG_SUCCESS && code != HG_NOMEM)
        amg_mpi_peer_fault(domain, message->rank, AMG_MPI_FAULT_ACCESS,
            kind_of(message), (long)code);
}

static void access_refuse_locked(
    const struct amg_mpi_message *message, hg_return_t code)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    done_send_locked(msgbuf, message->rank, msgbuf->header.context,
        msgbuf->header.cookie, code, 0);
}

/* A get whose answer fits into one message. */
static void small_get_locked(const struct amg_mpi_message *message,
    struct amg_seg_iter *place, uint64_t len)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    AMG_ASSERT(len <= msgbuf->buf.cap);
    amg_seg_iter_gather(msgbuf->data, place, len);
    amg_mpi_send_control_locked(msgbuf, message->rank, msgbuf->header.context,
        AMG_MPI_GET_DATA, msgbuf->header.cookie, (uint32_t)len);
}

/* Keeps a message until there is memory for the access that it is about. */
static void message_stall_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    msgbuf->rank = (int)message->rank;
    msgbuf->len = message->len;
    amg_list_push(&domain->stalled, &msgbuf->post.link);
}

/* No memory for a visit. A put sent ahead must wait for it. */
static void access_fail_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    if (kind_of(message) == AMG_MPI_PUT_AHEAD)
        message_stall_locked(domain, message);
    else
        access_refuse_locked(message, HG_NOMEM);
}

/* Sends the initiator of a put its first message, if any. */
static void visit_greet_locked(
    const struct amg_mpi_message *message, const struct amg_mpi_visit *visit)
{
    const struct amg_mpi_stream *stream = &visit->stream;
    unsigned kind = kind_of(message);
    bool needs_go =
        kind == AMG_MPI_PUT ||
        (kind == AMG_MPI_PUT_AHEAD &&
            amg_mpi_stream_ahead(stream->len, stream->piece_len) < stream->len);

    if (visit->code != HG_SUCCESS)
        amg_mpi_send_control_locked(message->msgbuf, message->rank,
            visit->context, AMG_MPI_HALT, visit->cookie, 0);
    else if (needs_go)
        amg_mpi_send_control_locked(message->msgbuf, message->rank,
            visit->context, AMG_MPI_PUT_GO, visit->cookie, 0);
    else
        amg_mpi_msgbuf_put_locked(message->msgbuf);
}

/* Without `mem` it was refused with `code`. */
static void visit_begin_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, const struct amg_mpi_access *access,
    struct amg_mpi_mem *mem, const struct amg_seg_iter *place, hg_return_t code)
{
    const struct amg_mpi_header *header = &message->msgbuf->header;
    struct amg_mpi_visit *visit = amg_pool_get(&domain->access_pool);
    int tag = (int)(header->cookie & AMG_TABLE_INDEX_MASK);
    bool is_put = kind_of(message) != AMG_MPI_GET;

    if (visit == NULL) {
        access_fail_locked(domain, message);
        return;
    }
    *visit = (struct amg_mpi_visit){
        .cookie = header->cookie, .context = header->context, .is_put = is_put};
    amg_mpi_stream_init(&visit->stream, place, access->len, access->piece_len,
        !is_put, (int)message->rank, tag + (is_put ? domain->tags_half : 0));
    if (code == HG_SUCCESS)
        code = amg_mpi_stream_ready(&visit->stream, domain);
    if (code != HG_SUCCESS && kind_of(message) != AMG_MPI_PUT_AHEAD) {
        amg_pool_put(&domain->access_pool, visit);
        access_refuse_locked(message, code);
        return;
    }
    visit->code = code;
    visit->is_told = code != HG_SUCCESS;
    amg_list_push(&domain->accesses, &visit->link);
    if (code == HG_SUCCESS) {
        amg_list_push(&mem->visits, &visit->mem_link);
        amg_mpi_stream_post(&visit->stream, domain);
    }
    visit_greet_locked(message, visit);
}

/* Allocates memory for a refused visit to receive into. False: try again. */
static bool sink_ready_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_stream *stream)
{
    if (stream->sink != NULL || stream->limit == 0)
        return true;
    if (domain->sink == NULL)
        domain->sink = amg_mem_alloc(AMG_MPI_AHEAD_MAX);
    if (domain->sink == NULL)
        return false;
    amg_mpi_stream_divert(stream, domain->sink, stream->limit);
    return true;
}

/* Whether the lengths, which the peer sent, are consistent. */
static bool access_is_sound(const struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, const struct amg_mpi_access *access)
{
    unsigned kind = kind_of(message);
    uint32_t index = message->msgbuf->header.cookie & AMG_TABLE_INDEX_MASK;
    uint32_t bytes_len = message->len - (uint32_t)sizeof(*access);

    if (index >= (uint32_t)domain->tags_half ||
        access->piece_len < AMG_MPI_PIECE_MIN ||
        access->piece_len > AMG_MPI_PIECE_MAX)
        return false;
    if (kind == AMG_MPI_PUT_AHEAD && access->len > AMG_MPI_AHEAD_MAX &&
        access->piece_len > AMG_MPI_AHEAD_MAX)
        return false;
    return kind == AMG_MPI_PUT_NOW ? access->len == bytes_len : bytes_len == 0;
}

void amg_mpi_target_on_access_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    unsigned kind = kind_of(message);
    struct amg_mpi_access access;
    struct amg_mpi_mem *mem = NULL;
    struct amg_seg_iter place = {NULL, 0, 0, 0};
    hg_return_t code = HG_PROTOCOL_ERROR;
    bool is_sound = false;

    memcpy(&access, msgbuf->data, sizeof(access));
    is_sound = access_is_sound(domain, message, &access);
    if (is_sound)
        code = amg_mpi_mem_check_locked(domain, &access,
            kind == AMG_MPI_GET ? AMG_MEM_READ : AMG_MEM_WRITE, &mem, &place);
    access_blame_locked(domain, message, code);
    if (code != HG_SUCCESS && (kind != AMG_MPI_PUT_AHEAD || !is_sound)) {
        access_refuse_locked(message, code);
    } else if (kind == AMG_MPI_PUT_NOW) {
        amg_seg_iter_scatter(&place, msgbuf->data + sizeof(access), access.len);
        done_send_locked(msgbuf, message->rank, msgbuf->header.context,
            msgbuf->header.cookie, HG_SUCCESS, access.len);
    } else if (kind == AMG_MPI_GET && access.len <= domain->small_len) {
        small_get_locked(message, &place, access.len);
    } else {
        visit_begin_locked(domain, message, &access, mem, &place, code);
    }
}

static struct amg_mpi_visit *visit_find_locked(
    const struct amg_mpi_domain *domain, uint32_t rank, uint32_t cookie)
{
    struct amg_link *link = amg_list_first(&domain->accesses);

    for (; link != NULL; link = amg_list_next(&domain->accesses, link)) {
        struct amg_mpi_visit *visit = visit_of(link);

        if (visit->stream.rank == (int)rank && visit->cookie == cookie)
            return visit;
    }
    return NULL;
}

/* Answers how much of a get is in flight; all of it if its visit has ended. */
static void get_stop_locked(const struct amg_mpi_message *message,
    struct amg_mpi_visit *visit, uint64_t len)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;

    if (visit != NULL && (visit->is_put || visit->is_told)) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return;
    }
    if (visit != NULL) {
        len = visit->stream.posted;
        amg_mpi_stream_stop(&visit->stream, len);
        visit->is_told = true;
    }
    done_send_locked(msgbuf, message->rank, msgbuf->header.context,
        msgbuf->header.cookie, HG_CANCELED, len);
}

/* Whether the access that this message refers to waits for memory. */
static bool access_is_stalled_locked(
    const struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_link *link = amg_list_first(&domain->stalled);

    for (; link != NULL; link = amg_list_next(&domain->stalled, link)) {
        struct amg_mpi_msgbuf *msgbuf =
            amg_container_of(link, struct amg_mpi_msgbuf, post.link);

        if (msgbuf->header.kind == (AMG_MPI_MAGIC | AMG_MPI_PUT_AHEAD) &&
            msgbuf->rank == (int)message->rank &&
            msgbuf->header.cookie == message->msgbuf->header.cookie)
            return true;
    }
    return false;
}

void amg_mpi_target_on_stop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    struct amg_mpi_visit *visit =
        visit_find_locked(domain, message->rank, msgbuf->header.cookie);
    struct amg_mpi_stop stop;

    memcpy(&stop, msgbuf->data, sizeof(stop));
    if (!stop.is_put) {
        get_stop_locked(message, visit, stop.len);
        return;
    }
    if (visit == NULL && access_is_stalled_locked(domain, message)) {
        message_stall_locked(domain, message); /* behind the access */
        return;
    }
    if (visit != NULL && visit->is_put && !visit->is_stopped) {
        if (!amg_mpi_stream_is_cut(&visit->stream, stop.len))
            amg_mpi_peer_fault(domain, message->rank, AMG_MPI_FAULT_ANSWER,
                AMG_MPI_STOP, (long)stop.len);
        visit->is_stopped = true;
        amg_mpi_stream_stop(&visit->stream, stop.len);
    }
    amg_mpi_msgbuf_put_locked(msgbuf); /* else DONE is in flight */
}

void amg_mpi_target_retry_locked(struct amg_mpi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_splice(&all, &domain->stalled);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_mpi_msgbuf *msgbuf =
            amg_container_of(link, struct amg_mpi_msgbuf, post.link);
        const struct amg_mpi_message message = {.msgbuf = msgbuf,
            .rank = (uint32_t)msgbuf->rank,
            .len = msgbuf->len};

        if (kind_of(&message) == AMG_MPI_STOP)
            amg_mpi_target_on_stop_locked(domain, &message);
        else
            amg_mpi_target_on_access_locked(domain, &message);
    }
}

/* Informs the initiator when the memory is unregistered, or a piece could not
 * be sent. */
static void visit_tell_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_visit *visit)
{
    struct amg_mpi_stream *stream = &visit->stream;
    struct amg_mpi_msgbuf *msgbuf = NULL;

    if (!visit->is_put) {
        amg_mpi_stream_stop(stream, stream->posted);
        visit->is_told = visit_answer_locked(domain, visit,
            stream->ret != HG_SUCCESS ? stream->ret : HG_CANCELED,
            stream->posted);
        return;
    }
    if (visit->is_stopped) {
        visit->is_told = true;
        return;
    }
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    if (msgbuf == NULL)
        return;
    visit->is_told = true;
    amg_mpi_send_control_locked(msgbuf, (uint32_t)stream->rank, visit->context,
        AMG_MPI_HALT, visit->cookie, 0);
}

/* The last message of a put. False: no msgbuf; try again. */
static bool put_answer_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_visit *visit)
{
    const struct amg_mpi_stream *stream = &visit->stream;
    hg_return_t code = stream->done == stream->len ? HG_SUCCESS : HG_CANCELED;
    uint64_t len = stream->done;

    if (stream->ret != HG_SUCCESS)
        code = stream->ret;
    if (visit->code != HG_SUCCESS)
        code = visit->code;
    if (visit->code != HG_SUCCESS || !amg_mpi_stream_is_cut(stream, len))
        len = 0;
    return visit_answer_locked(domain, visit, code, len);
}

static void visit_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_visit *visit)
{
    struct amg_mpi_stream *stream = &visit->stream;

    if (visit->code != HG_SUCCESS && !sink_ready_locked(domain, stream))
        return;
    amg_mpi_stream_post(stream, domain);
    if (!visit->is_told && (visit->is_halted || stream->ret == HG_NA_ERROR))
        visit_tell_locked(domain, visit);
    if (!amg_mpi_stream_is_over(stream))
        return;
    if (visit->is_put ? !put_answer_locked(domain, visit)
                      : stream->limit < stream->len && !visit->is_told)
        return;
    visit_end_locked(domain, visit);
}

void amg_mpi_target_look_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_look *look)
{
    struct amg_link *link = amg_list_first(&domain->accesses);

    for (; link != NULL; link = amg_list_next(&domain->accesses, link))
        amg_mpi_look_add(look, &visit_of(link)->stream);
}

void amg_mpi_target_move_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->accesses);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(&domain->accesses, link);

        visit_move_locked(domain, visit_of(link));
        link = next;
    }
}

void amg_mpi_target_halt_locked(struct amg_mpi_mem *mem)
{
    struct amg_link *link = amg_list_first(&mem->visits);

    for (; link != NULL; link = amg_list_next(&mem->visits, link)) {
        struct amg_mpi_visit *visit =
            amg_container_of(link, struct amg_mpi_visit, mem_link);

        visit->is_halted = true;
        /* The poll informs the initiator; only posted pieces continue. */
        if (!visit->is_put)
            amg_mpi_stream_stop(&visit->stream, visit->stream.posted);
    }
}

int amg_mpi_target_accessor_locked(const struct amg_mpi_mem *mem)
{
    struct amg_link *link = amg_list_first(&mem->visits);

    if (link == NULL)
        return -1;
    return amg_container_of(link, struct amg_mpi_visit, mem_link)->stream.rank;
}

unsigned amg_mpi_target_forget_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = NULL;
    unsigned count = 0;

    while ((link = amg_list_pop(&domain->stalled)) != NULL)
        amg_mpi_msgbuf_put_locked(
            amg_container_of(link, struct amg_mpi_msgbuf, post.link));
    while ((link = amg_list_pop(&domain->accesses)) != NULL) {
        struct amg_mpi_visit *visit = visit_of(link);

        amg_mpi_stream_stop(&visit->stream, 0);
        amg_mpi_stream_move(&visit->stream, domain);
        if (visit->stream.count > 0 && visit->stream.sink != NULL)
            domain->sink = NULL; /* MPI may still write there */
        else if (visit->stream.count > 0)
            AMG_LOG_WARNING("bulk",
                "a transfer with rank %d was in motion when the class was "
                "closed; MPI may still use its memory",
                visit->stream.rank);
        visit_end_locked(domain, visit);
        count++;
    }
    return count;
}
