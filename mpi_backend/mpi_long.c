/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: requests and replies that are sent after an announcement.
 *
 * A request or reply that is longer than posted receives takes two messages:
 *
 *   sender                              receiver
 *   LONG: length, kind, context ------> allocates a msgbuf, posts its receive
 *   the message ----------------------> an arrival or a reply as any other
 *
 * Nothing acknowledges a long message: MPI tells the sender when its memory is
 * free, and credits come back as for short calls. The message is on the
 * communicator of bulk data, where no probe finds it.
 *
 * Long messages have no numbers: their order identifies them. A tag is a queue
 * of all requests, or of all replies, to a context. For each sender and tag,
 * the n-th announcement belongs to the n-th message, as MPI matches the n-th
 * send with the n-th posted receive, and both sides keep the order:
 *
 *   - a sender posts an announcement and its message under one lock. The
 *     announcements of one queue go to one context, so they share a tag of the
 *     communicator of messages. A message that MPI refuses is posted again by
 *     polls, and later long messages to that rank wait behind it, as the
 *     receiver awaits it
 *   - the receiver handles messages to a context in order: from posted
 *     receives, or, while the context is closed, from a probe. A context that
 *     opens posts no receive before the probed message has been received
 *   - announcements wait in lists, first in, first out: a request waits in the
 *     list `longs` of its endpoint for room and memory; a reply, and a request
 *     to a closed endpoint, wait in the domain's list `waiting` for memory. No
 *     message of a list `longs` is received before `waiting` is empty.
 *
 * Requests and replies have different tags, because a request may wait until
 * the program has answered other requests, whose handlers may need a reply.
 * After an announcement that breaks the protocol, the sender's order is lost:
 * messages that do not match their announcement are dropped. A receive has room
 * for LEN_MAX, as a message may exceed its announcement.
 *
 * Requests of a peer keep their order. From the announcement on, a long request
 * has a place in the list `behind` of its endpoint; later requests of the peer
 * to that endpoint wait there, until the earlier requests have come. A request
 * does not wait for requests of other peers or to other endpoints, since the
 * program may have to answer that request before those. Replies do not wait.
 *
 * The receiver bounds its memory. A peer may announce no more requests than it
 * has credits, and no more replies than this process waits for. The requests of
 * a context that are being received, or wait for their handler, have in sum at
 * most AMALGAM_MAX_PENDING_BYTES, unless there is only one such request.
 * Announcements of further requests wait here, in order, and MPI keeps the
 * requests: at the sender, or here if MPI sends eagerly. Replies and refused
 * requests need no room. Every announced message is received, because its send
 * may not end before that. Model: tests/models/mpi_long.pml. */
#include "mpi_backend/mpi_long.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    LEN_MAX = AMG_MPI_LONG_CAP + (int)sizeof(struct amg_mpi_header),
    DROP_MS = 500, /* time for MPI to end cancelled receives */
};

hg_return_t amg_mpi_long_get_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(ep->domain);
    struct amg_mpi_msgbuf *msgbuf = NULL;

    (void)peer;
    if (len > AMG_MPI_LONG_CAP)
        return HG_MSGSIZE;
    amg_bias_lock(domain->lock);
    msgbuf = amg_mpi_msgbuf_get_long_locked(domain);
    amg_bias_unlock(domain->lock);
    if (msgbuf == NULL)
        return HG_AGAIN;
    *ret_buf = &msgbuf->buf;
    return HG_SUCCESS;
}

/* A link in `behind` is an arrival (kept[0] is 0), or the place of an arrival
 * that is coming (kept[0] is 1). Core uses kept[0] once it has the arrival. */
static struct amg_arrival *place_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_arrival, link);
}

static struct amg_link *long_place(struct amg_mpi_msgbuf *msgbuf)
{
    return &msgbuf->arrival.arrival.link;
}

/* Gives the endpoint the arrivals of `from` before the peer's first place. */
static void behind_move_locked(
    struct amg_mpi_ep *ep, const struct amg_peer *from)
{
    struct amg_link *link = amg_list_first(&ep->behind);

    AMG_ASSERT_HELD_BIAS(amg_mpi_domain_of_ep(ep)->lock);
    AMG_ASSERT(from != NULL);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&ep->behind, link);

        if (place_of(link)->from == from) {
            if (place_of(link)->kept[0] != 0)
                return;
            amg_list_remove(link);
            amg_list_push(&ep->arrived, link);
        }
        link = next;
    }
}

/* Whether a long request of `from` is coming to this endpoint. */
static bool behind_has_locked(
    const struct amg_mpi_ep *ep, const struct amg_peer *from)
{
    struct amg_link *link = amg_list_first(&ep->behind);

    AMG_ASSERT_HELD_BIAS(amg_mpi_domain_of_ep(ep)->lock);
    for (; link != NULL; link = amg_list_next(&ep->behind, link))
        if (place_of(link)->from == from && place_of(link)->kept[0] != 0)
            return true;
    return false;
}

static void held_add(atomic_uint_fast64_t *held, uint64_t len)
{
    if (held != NULL)
        atomic_fetch_add_explicit(held, len, memory_order_relaxed);
}

void amg_mpi_long_give_locked(const struct amg_mpi_message *message)
{
    struct amg_arrival *arrival = &message->arrival->arrival;
    struct amg_mpi_ep *ep = message->ep;

    AMG_ASSERT_HELD_BIAS(message->msgbuf->domain->lock);
    AMG_ASSERT(ep != NULL && !arrival->is_late);
    arrival->kept[0] = 0;
    if (message->msgbuf->is_long) {
        AMG_ASSERT(amg_link_is_listed(&arrival->link));
        arrival->is_long = true;
        message->msgbuf->tag = ep->base.context_id; /* for its release */
        held_add(ep->base.held, arrival->len);
        behind_move_locked(ep, arrival->from);
    } else if (behind_has_locked(ep, arrival->from)) {
        amg_list_push(&ep->behind, &arrival->link);
    } else {
        amg_list_push(&ep->arrived, &arrival->link);
    }
}

void amg_mpi_long_leave_locked(const struct amg_mpi_message *message)
{
    struct amg_arrival *arrival = &message->arrival->arrival;

    AMG_ASSERT_HELD_BIAS(message->msgbuf->domain->lock);
    if (message->ep == NULL || !amg_link_is_listed(&arrival->link))
        return;
    amg_list_remove(&arrival->link);
    behind_move_locked(message->ep, arrival->from);
}

static int long_tag(
    const struct amg_mpi_domain *domain, const struct amg_mpi_long *body)
{
    int queue =
        body->context + (body->kind == AMG_MPI_REPLY ? AMG_MPI_CONTEXTS : 0);

    AMG_ASSERT(queue < AMG_MPI_LONG_TAGS);
    return 2 * domain->transfers.tags_half + queue;
}

int amg_mpi_long_announce_locked(
    const struct amg_mpi_msgbuf *msgbuf, struct amg_mpi_msgbuf *announcement)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    struct amg_mpi_long body = {.len = msgbuf->len,
        .kind = (uint8_t)amg_mpi_kind_of(&msgbuf->header),
        .context = (uint8_t)(msgbuf->tag - domain->stamp)};

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(msgbuf->is_long && amg_mpi_long_is(msgbuf));
    announcement->post.op = NULL;
    announcement->rank = msgbuf->rank;
    announcement->tag = msgbuf->tag;
    announcement->len = (uint32_t)(sizeof(announcement->header) + sizeof(body));
    announcement->header = msgbuf->header;
    announcement->header.kind = AMG_MPI_MAGIC | AMG_MPI_LONG;
    memcpy(announcement->data, &body, sizeof(body));
    return long_tag(domain, &body);
}

/* The counter of pending bytes; NULL for a reply, or if the endpoint closed. */
static atomic_uint_fast64_t *long_held(const struct amg_mpi_msgbuf *msgbuf)
{
    const struct amg_ep *ep = msgbuf->post.ep;

    return ep == NULL || msgbuf->pack.head.kind == AMG_MPI_REPLY ? NULL
                                                                 : ep->held;
}

static void held_sub(atomic_uint_fast64_t *held, uint64_t len)
{
    if (held != NULL)
        atomic_fetch_sub_explicit(held, len, memory_order_relaxed);
}

/* Bytes of the arrival that the message becomes. */
static uint32_t long_body_len(const struct amg_mpi_msgbuf *msgbuf)
{
    return msgbuf->len - (uint32_t)sizeof(msgbuf->header);
}

static bool long_has_room(const struct amg_mpi_domain *domain,
    const struct amg_mpi_msgbuf *announcement)
{
    atomic_uint_fast64_t *held = long_held(announcement);
    uint64_t count = 0;

    if (held == NULL)
        return true;
    count = atomic_load_explicit(held, memory_order_relaxed);
    return count == 0 ||
           count + long_body_len(announcement) <= domain->longs.cap;
}

/* Counts a message that a peer has announced (`add` 1), or that has come or
 * never will (`add` -1). */
static void long_count_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_msgbuf *msgbuf, int add)
{
    struct amg_mpi_peer *peer =
        amg_mpi_peer_of_locked(domain, (uint32_t)msgbuf->rank);
    uint16_t *count = msgbuf->pack.head.kind == AMG_MPI_REPLY
                          ? &peer->long_replies
                          : &peer->long_requests;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(add > 0 || *count > 0);
    *count = (uint16_t)(*count + add);
}

/* Begins to receive the announced message, which takes the announcement's place
 * in `behind`. False: no memory, or MPI failed; nothing has changed. */
static bool long_receive_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_msgbuf *announcement)
{
    struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_long_locked(domain);
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (msgbuf == NULL)
        return false;
    msgbuf->post.ep = announcement->post.ep;
    msgbuf->post.cookie = announcement->post.cookie;
    msgbuf->pack.head.kind = announcement->pack.head.kind;
    msgbuf->rank = announcement->rank;
    msgbuf->tag = announcement->tag;
    msgbuf->len = announcement->len;
    rc = MPI_Irecv(&msgbuf->header, LEN_MAX, MPI_BYTE, msgbuf->rank,
        msgbuf->tag, domain->comm.data, &msgbuf->request);
    if (rc != MPI_SUCCESS) {
        (void)amg_mpi_comm_error(rc, "MPI_Irecv of a long message");
        amg_mpi_msgbuf_put_locked(msgbuf);
        return false;
    }
    AMG_ASSERT(!amg_link_is_listed(long_place(announcement)) ||
               announcement->arrival.arrival.kept[0] != 0);
    msgbuf->arrival.arrival.from = announcement->arrival.arrival.from;
    msgbuf->arrival.arrival.kept[0] = 1;
    long_place(msgbuf)->next = NULL;
    if (amg_link_is_listed(long_place(announcement))) {
        amg_list_insert(long_place(announcement), long_place(msgbuf));
        amg_list_remove(long_place(announcement));
    }
    held_add(long_held(msgbuf), long_body_len(msgbuf));
    amg_list_push(&domain->longs.coming, &msgbuf->post.link);
    return true;
}

void amg_mpi_longs_start_locked(
    struct amg_mpi_domain *domain, struct amg_list *waiting)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (waiting != &domain->longs.waiting &&
        !amg_list_is_empty(&domain->longs.waiting))
        return;
    while ((link = amg_list_first(waiting)) != NULL) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);

        if (!long_has_room(domain, msgbuf) ||
            !long_receive_locked(domain, msgbuf))
            return;
        amg_list_remove(link);
        amg_mpi_msgbuf_put_locked(msgbuf);
    }
}

/* False: the announcement breaks the protocol, which was logged. */
static bool announcement_check_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_message *message, const struct amg_mpi_long *body)
{
    struct amg_mpi_peer *peer = amg_mpi_peer_of_locked(domain, message->rank);
    enum amg_violation what = AMG_VIOLATION_FORM;
    bool is_right =
        body->len > domain->room_len && body->len <= LEN_MAX &&
        (body->kind == AMG_MPI_REQUEST || body->kind == AMG_MPI_ONEWAY ||
            body->kind == AMG_MPI_REPLY) &&
        (message->ep == NULL || body->context == message->ep->base.context_id);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (is_right && body->kind == AMG_MPI_REPLY) {
        what = AMG_VIOLATION_ANSWER;
        is_right = peer->long_replies < peer->calls.unanswered &&
                   amg_calls_find_locked(&domain->calls,
                       message->header->cookie, message->rank) != NULL;
    } else if (is_right) {
        what = AMG_VIOLATION_LIMIT;
        is_right = amg_flow_is_within(&domain->calls.flow, &peer->calls,
            (uint32_t)peer->open + peer->long_requests + 1u);
    }
    if (!is_right)
        amg_mpi_peer_violation(
            domain, message->rank, what, AMG_MPI_LONG, (long)body->len);
    return is_right;
}

void amg_mpi_long_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message)
{
    struct amg_mpi_msgbuf *msgbuf = message->msgbuf;
    struct amg_list *waiting = &domain->longs.waiting;
    struct amg_mpi_long body;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    memcpy(&body, message->body, sizeof(body));
    if (!announcement_check_locked(domain, message, &body)) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return;
    }
    msgbuf->post.ep = message->ep == NULL ? NULL : &message->ep->base;
    msgbuf->post.cookie = message->header->cookie;
    msgbuf->pack.head.kind = body.kind;
    msgbuf->rank = (int)message->rank;
    msgbuf->tag = long_tag(domain, &body);
    msgbuf->len = body.len;
    long_count_locked(domain, msgbuf, 1);
    long_place(msgbuf)->next = NULL;
    if (long_held(msgbuf) != NULL) {
        waiting = &message->ep->longs;
        msgbuf->arrival.arrival.from = amg_mpi_peer_at(domain, message->rank);
        msgbuf->arrival.arrival.kept[0] = 1;
        amg_list_push(&message->ep->behind, long_place(msgbuf));
    }
    amg_list_push(waiting, &msgbuf->post.link);
    amg_mpi_longs_start_locked(domain, waiting);
}

/* Whether the received message is the announced message. */
static bool long_is_sound(
    const struct amg_mpi_msgbuf *msgbuf, const struct amg_mpi_message *message)
{
    return message->len == long_body_len(msgbuf) &&
           message->kind == msgbuf->pack.head.kind &&
           message->header->cookie == msgbuf->post.cookie;
}

/* Takes a message whose receive has ended. False: the message is dropped. */
static bool long_take_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_msgbuf *msgbuf, const MPI_Status *status, int error,
    struct amg_mpi_message *ret_message)
{
    const struct amg_peer *from = msgbuf->arrival.arrival.from;
    struct amg_link *place = long_place(msgbuf);
    struct amg_link *before = place->next == NULL ? NULL : place->prev;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (before != NULL) /* the read may free the msgbuf */
        amg_list_remove(place);
    amg_list_remove(&msgbuf->post.link);
    msgbuf->request = MPI_REQUEST_NULL;
    long_count_locked(domain, msgbuf, -1);
    held_sub(long_held(msgbuf), long_body_len(msgbuf));
    ret_message->ep =
        msgbuf->post.ep == NULL ? NULL : amg_mpi_ep_of(msgbuf->post.ep);
    if (amg_mpi_receive_read_locked(
            domain, msgbuf, status, error, ret_message)) {
        if (long_is_sound(msgbuf, ret_message)) {
            if (before != NULL)
                amg_list_insert(before, place);
            return true;
        }
        amg_mpi_peer_violation(domain, ret_message->rank, AMG_VIOLATION_FORM,
            AMG_MPI_LONG, (long)ret_message->len);
        amg_mpi_msgbuf_put_locked(msgbuf);
    }
    if (before != NULL)
        behind_move_locked(ret_message->ep, from);
    return false;
}

bool amg_mpi_long_next_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_message *ret_message)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    amg_mpi_longs_start_locked(domain, &domain->longs.waiting);
    link = amg_list_first(&domain->longs.coming);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&domain->longs.coming, link);
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);
        MPI_Status status = {.MPI_SOURCE = msgbuf->rank};
        int flag = 0;
        int rc = MPI_Test(&msgbuf->request, &flag, &status);

        if ((rc != MPI_SUCCESS || flag) &&
            long_take_locked(domain, msgbuf, &status, rc, ret_message))
            return true;
        link = next;
    }
    return false;
}

void amg_mpi_longs_detach_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep)
{
    struct amg_list *coming = &domain->longs.coming;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while ((link = amg_list_pop(&ep->behind)) != NULL)
        if (place_of(link)->kept[0] == 0)
            amg_list_push(&ep->arrived, link);
    amg_list_splice(&domain->longs.waiting, &ep->longs);
    link = amg_list_first(&domain->longs.waiting);
    for (; link != NULL; link = amg_list_next(&domain->longs.waiting, link))
        if (amg_mpi_msgbuf_of_link(link)->post.ep == &ep->base)
            amg_mpi_msgbuf_of_link(link)->post.ep = NULL;
    link = amg_list_first(coming);
    for (; link != NULL; link = amg_list_next(coming, link)) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);

        if (msgbuf->post.ep == &ep->base) {
            held_sub(long_held(msgbuf), long_body_len(msgbuf));
            msgbuf->post.ep = NULL;
        }
    }
}

/* False: MPI has not ended the receive in time. */
static bool long_cancel(struct amg_mpi_msgbuf *msgbuf, uint64_t end_ns)
{
    int flag = 0;

    MPI_Cancel(&msgbuf->request);
    do {
        if (MPI_Test(&msgbuf->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return true;
    } while (!flag && amg_clock_ns() < end_ns);
    return flag != 0;
}

bool amg_mpi_longs_drop_locked(struct amg_mpi_domain *domain)
{
    const struct amg_table *calls = &domain->calls.table;
    uint64_t end_ns = amg_clock_deadline_ns(DROP_MS);
    bool is_quiet = amg_mpi_longs_are_idle(domain);
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    for (uint32_t i = 0; i < calls->cap; i++) /* a call may get a long reply */
        is_quiet = is_quiet && calls->slots[i].object == NULL;
    while ((link = amg_list_pop(&domain->longs.waiting)) != NULL) {
        long_count_locked(domain, amg_mpi_msgbuf_of_link(link), -1);
        amg_mpi_msgbuf_put_locked(amg_mpi_msgbuf_of_link(link));
    }
    while ((link = amg_list_pop(&domain->longs.coming)) != NULL) {
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_of_link(link);

        long_count_locked(domain, msgbuf, -1);
        if (long_cancel(msgbuf, end_ns))
            amg_mpi_msgbuf_put_locked(msgbuf);
        else /* the msgbuf stays counted as in use */
            AMG_LOG_WARNING("mpi",
                "a long message of rank %d had not come when the class was "
                "closed; MPI may still use its memory",
                msgbuf->rank);
    }
    return is_quiet;
}
