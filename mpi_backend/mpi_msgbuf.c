/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs): their pool, and posted receives.
 *
 * There are as many msgbufs as were ever in use at once: for posted receives,
 * messages being sent, received replies, and requests of peers that the user
 * has not released. Credits bound such requests for each peer. A msgbuf is the
 * longest message, four times an eager one, and 320 bytes; memory that no
 * message filled is never touched.
 *
 * Msgbufs are cut from blocks. The first block has enough for all credits of
 * one busy peer in both directions; its pages are touched only when they are
 * used. Later blocks are small, to allocate little beyond the need.
 *
 * A msgbuf of a long message is an allocation of its own; LONGS_KEPT stay. */
#include "mpi_backend/mpi_msgbuf.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"

enum {
    BUF_ALIGN = 64,         /* a cache line, on all supported machines */
    CREDITS_RESERVED = 128, /* the first block reserves for at most so many */
    MSGBUFS_SPARE = 32, /* of the first block, for what credits do not bound */
    MSGBUFS_MORE = 8,   /* in each later block */
    LONGS_KEPT = 16,    /* free long msgbufs that stay allocated */
};

/* Header in front of the msgbufs. */
struct amg_mpi_block {
    struct amg_mpi_block *next;
    size_t cut_count; /* msgbufs that were handed out before */
    size_t count;
};

static size_t msgbuf_len(const struct amg_mpi_domain *domain)
{
    size_t len = sizeof(struct amg_mpi_msgbuf) + domain->room_len;

    return (len + BUF_ALIGN - 1) / BUF_ALIGN * BUF_ALIGN;
}

static hg_return_t block_make(struct amg_mpi_domain *domain, size_t count)
{
    struct amg_mpi_block *block = amg_mem_alloc_aligned(
        BUF_ALIGN, BUF_ALIGN + count * msgbuf_len(domain));

    if (block == NULL)
        return HG_NOMEM;
    block->next = domain->msgbufs.blocks;
    block->cut_count = 0;
    block->count = count;
    domain->msgbufs.blocks = block;
    return HG_SUCCESS;
}

/* The newest block is the only one with msgbufs left to cut. */
static struct amg_mpi_msgbuf *msgbuf_make(struct amg_mpi_domain *domain)
{
    struct amg_mpi_block *block = domain->msgbufs.blocks;
    struct amg_mpi_msgbuf *msgbuf = NULL;

    if (block->cut_count == block->count) {
        if (block_make(domain, MSGBUFS_MORE) != HG_SUCCESS)
            return NULL;
        block = domain->msgbufs.blocks;
    }
    AMG_ASSERT(block->cut_count < block->count);
    msgbuf = (void *)((unsigned char *)block + BUF_ALIGN +
                      block->cut_count * msgbuf_len(domain));
    block->cut_count++;
    *msgbuf = (struct amg_mpi_msgbuf){.domain = domain,
        .request = MPI_REQUEST_NULL,
        .buf = {.data = msgbuf->data,
            .cap = domain->room_len - (uint32_t)sizeof(msgbuf->header)}};
    domain->msgbufs.count++;
    return msgbuf;
}

/* Takes a free long msgbuf, or allocates one. NULL: no memory. */
struct amg_mpi_msgbuf *amg_mpi_msgbuf_get_long_locked(
    struct amg_mpi_domain *domain)
{
    struct amg_link *link = domain->msgbufs.free_long;
    struct amg_mpi_msgbuf *msgbuf = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (link != NULL) {
        domain->msgbufs.free_long = link->next;
        domain->msgbufs.long_count--;
        link->next = NULL;
        return amg_mpi_msgbuf_of_link(link);
    }
    msgbuf = amg_mem_alloc_aligned(
        BUF_ALIGN, (sizeof(*msgbuf) + AMG_MPI_LONG_CAP + BUF_ALIGN - 1) /
                       BUF_ALIGN * BUF_ALIGN);
    if (msgbuf == NULL)
        return NULL;
    *msgbuf = (struct amg_mpi_msgbuf){.domain = domain,
        .request = MPI_REQUEST_NULL,
        .is_long = true,
        .buf = {.data = msgbuf->data, .cap = AMG_MPI_LONG_CAP}};
    domain->msgbufs.count++;
    return msgbuf;
}

static void long_put_locked(struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_domain *domain = msgbuf->domain;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (domain->msgbufs.long_count == LONGS_KEPT) {
        domain->msgbufs.count--;
        amg_mem_free(msgbuf);
        return;
    }
    msgbuf->post.link.next = domain->msgbufs.free_long;
    domain->msgbufs.free_long = &msgbuf->post.link;
    domain->msgbufs.long_count++;
}

static void longs_free(struct amg_mpi_domain *domain)
{
    while (domain->msgbufs.free_long != NULL) {
        struct amg_mpi_msgbuf *msgbuf =
            amg_mpi_msgbuf_of_link(domain->msgbufs.free_long);

        domain->msgbufs.free_long = domain->msgbufs.free_long->next;
        domain->msgbufs.count--;
        amg_mem_free(msgbuf);
    }
}

hg_return_t amg_mpi_msgbuf_init(struct amg_mpi_domain *domain)
{
    unsigned credits = domain->calls.flow.limit;

    if (credits > CREDITS_RESERVED)
        credits = CREDITS_RESERVED;
    return block_make(domain, AMG_MPI_RECEIVES + 2 * credits + MSGBUFS_SPARE);
}

void amg_mpi_msgbuf_fini(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *hot = atomic_exchange_explicit(
        &domain->msgbufs.hot, NULL, memory_order_acquire);
    struct amg_link *late = NULL;

    amg_bias_lock(domain->lock);
    if (hot != NULL)
        amg_mpi_msgbuf_put_locked(hot);
    while ((late = amg_list_pop(&domain->calls.late)) != NULL)
        amg_mpi_msgbuf_put_locked(amg_pack_whole_of(
            amg_container_of(late, struct amg_arrival, link)));
    amg_bias_unlock(domain->lock);
    longs_free(domain);
    while (domain->msgbufs.free != NULL) {
        AMG_ASSERT(domain->msgbufs.count > 0);
        domain->msgbufs.free = domain->msgbufs.free->next;
        domain->msgbufs.count--;
    }
    if (domain->msgbufs.count > 0) {
        AMG_LOG_WARNING("mpi",
            "%zu messages were still in use when the class was closed; the "
            "memory of all messages is not freed",
            domain->msgbufs.count);
        return;
    }
    while (domain->msgbufs.blocks != NULL) {
        struct amg_mpi_block *block = domain->msgbufs.blocks;

        domain->msgbufs.blocks = block->next;
        amg_mem_free(block);
    }
}

struct amg_mpi_msgbuf *amg_mpi_msgbuf_get_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = domain->msgbufs.free;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (link == NULL)
        return msgbuf_make(domain);
    domain->msgbufs.free = link->next;
    link->next = NULL;
    return amg_mpi_msgbuf_of_link(link);
}

void amg_mpi_msgbuf_put_locked(struct amg_mpi_msgbuf *msgbuf)
{
    AMG_ASSERT_HELD_BIAS(msgbuf->domain->lock);
    AMG_ASSERT(msgbuf->domain->msgbufs.count > 0);
    if (!amg_pack_unshare(&msgbuf->others))
        return;
    msgbuf->post.op = NULL;
    if (!AMG_LIKELY(!msgbuf->is_long)) {
        long_put_locked(msgbuf);
        return;
    }
    msgbuf->post.link.next = msgbuf->domain->msgbufs.free;
    msgbuf->domain->msgbufs.free = &msgbuf->post.link;
}

/* All messages to a context carry its tag, and are taken by one ring of
 * receives from any rank. MPI matches receives in posting order, so a poll
 * tests only the oldest: with 16 posted, a round trip takes 1.07 times that of
 * a bare receive; testing all, 1.39 times. After a message more may have
 * arrived, so one call tests all receives, as each MPI call takes a lock. A
 * longer message may complete after the messages behind it, which then wait.
 *
 * A message to a context that is not open here matches no receive. Such
 * messages, and those to the control tag (the disconnect), are found by a probe
 * for any tag: in one of 64 polls, and always while the domain closes.
 *
 * The tag carries a stamp of the domain. MPI may give a new communicator the
 * number of an old one, whose late messages must match nothing. */

void amg_mpi_receive_fill_locked(struct amg_mpi_ep *ep)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);
    int tag = amg_mpi_tag(domain, ep->base.context_id);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (!AMG_LIKELY(tag != domain->unmatched.tag))
        return; /* the probed message goes before later ones */
    while (ep->posted < AMG_MPI_RECEIVES) {
        unsigned last = (ep->first + ep->posted) % AMG_MPI_RECEIVES;
        struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_locked(domain);
        int rc = MPI_SUCCESS;

        if (msgbuf == NULL)
            return;
        rc = MPI_Irecv(&msgbuf->header, (int)domain->room_len, MPI_BYTE,
            MPI_ANY_SOURCE, tag, domain->comm.messages, &ep->requests[last]);
        if (rc != MPI_SUCCESS) {
            amg_mpi_msgbuf_put_locked(msgbuf);
            (void)amg_mpi_comm_error(rc, "MPI_Irecv of a message");
            return;
        }
        AMG_ASSERT(ep->msgbufs[last] == NULL);
        ep->msgbufs[last] = msgbuf;
        ep->posted++;
    }
}

bool amg_mpi_receive_read_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_msgbuf *msgbuf, const MPI_Status *status, int error,
    struct amg_mpi_message *ret_message)
{
    int len = 0;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    if (error == MPI_SUCCESS)
        MPI_Get_count(status, MPI_BYTE, &len);
    if (error != MPI_SUCCESS || len < (int)sizeof(msgbuf->header) ||
        (msgbuf->header.kind & AMG_MPI_MAGIC_MASK) != AMG_MPI_MAGIC) {
        if (status->MPI_SOURCE >= 0 && status->MPI_SOURCE < domain->comm.size)
            amg_mpi_peer_violation(domain, (uint32_t)status->MPI_SOURCE,
                AMG_VIOLATION_FORM, 0, len);
        amg_mpi_msgbuf_put_locked(msgbuf);
        return false;
    }
    ret_message->msgbuf = msgbuf;
    ret_message->header = &msgbuf->header;
    ret_message->body = msgbuf->data;
    ret_message->arrival = &msgbuf->arrival;
    ret_message->rank = (uint32_t)status->MPI_SOURCE;
    ret_message->len = (uint32_t)len - (uint32_t)sizeof(msgbuf->header);
    ret_message->kind = amg_mpi_kind_of(&msgbuf->header);
    return true;
}

/* Removes the oldest receive, which is complete, from the ring. */
static struct amg_mpi_msgbuf *ring_take(struct amg_mpi_ep *ep)
{
    struct amg_mpi_msgbuf *msgbuf = ep->msgbufs[ep->first];

    AMG_ASSERT(ep->posted > 0 && msgbuf != NULL);
    ep->msgbufs[ep->first] = NULL;
    ep->first = (ep->first + 1) % AMG_MPI_RECEIVES;
    ep->posted--;
    return msgbuf;
}

/* Marks the receive at `slot` of the ring as complete. */
static void ring_note(
    struct amg_mpi_ep *ep, unsigned slot, const MPI_Status *status, int code)
{
    AMG_ASSERT(slot < AMG_MPI_RECEIVES);
    ep->requests[slot] = MPI_REQUEST_NULL;
    ep->statuses[slot] = *status;
    ep->codes[slot] = code;
}

static void ring_test(struct amg_mpi_ep *ep)
{
    MPI_Status status;
    int flag = 0;
    int rc = MPI_Test(&ep->requests[ep->first], &flag, &status);

    if (rc != MPI_SUCCESS || flag)
        ring_note(ep, ep->first, &status, rc);
}

/* Tests the oldest receive, and all behind it up to the end of the ring. */
static void ring_test_more(struct amg_mpi_ep *ep)
{
    static const MPI_Status nobody = {.MPI_SOURCE = MPI_ANY_SOURCE};
    unsigned to_end = AMG_MPI_RECEIVES - ep->first;
    unsigned len = ep->posted < to_end ? ep->posted : to_end;
    MPI_Status statuses[AMG_MPI_RECEIVES];
    int indices[AMG_MPI_RECEIVES];
    int count = 0;
    int rc = amg_mpi_comm_test_some(
        (int)len, &ep->requests[ep->first], &count, indices, statuses);

    if (rc != MPI_SUCCESS)
        ring_note(ep, ep->first, &nobody, rc);
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        ring_note(ep, ep->first + (unsigned)indices[i], &statuses[i],
            statuses[i].MPI_ERROR);
}

bool amg_mpi_receive_next_locked(
    struct amg_mpi_ep *ep, bool has_more, struct amg_mpi_message *ret_message)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(domain->lock);
    while (ep->posted > 0) {
        unsigned slot = ep->first;

        if (ep->requests[slot] != MPI_REQUEST_NULL) {
            if (has_more)
                ring_test_more(ep);
            else
                ring_test(ep);
        }
        if (ep->requests[slot] != MPI_REQUEST_NULL)
            return false;
        ret_message->ep = ep;
        if (amg_mpi_receive_read_locked(domain, ring_take(ep),
                &ep->statuses[slot], ep->codes[slot], ret_message))
            return true;
    }
    return false;
}

/* Cancels the oldest receive. True: no message came. */
static bool ring_cancel(struct amg_mpi_ep *ep)
{
    unsigned slot = ep->first;
    MPI_Status status;
    int flag = 0;
    int rc = MPI_SUCCESS;

    if (ep->requests[slot] == MPI_REQUEST_NULL)
        return false;
    MPI_Cancel(&ep->requests[slot]);
    rc = MPI_Wait(&ep->requests[slot], &status);
    ring_note(ep, slot, &status, rc);
    MPI_Test_cancelled(&status, &flag);
    return flag != 0;
}

bool amg_mpi_receive_unpost_locked(
    struct amg_mpi_ep *ep, struct amg_mpi_message *ret_message)
{
    unsigned slot = ep->first;
    struct amg_mpi_msgbuf *msgbuf = NULL;
    bool is_cancelled = false;

    AMG_ASSERT_HELD_BIAS(amg_mpi_domain_of_ep(ep)->lock);
    ret_message->msgbuf = NULL;
    if (ep->posted == 0)
        return false;
    is_cancelled = ring_cancel(ep);
    msgbuf = ring_take(ep);
    if (is_cancelled) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        return true;
    }
    ret_message->ep = NULL;
    if (!amg_mpi_receive_read_locked(amg_mpi_domain_of_ep(ep), msgbuf,
            &ep->statuses[slot], ep->codes[slot], ret_message))
        ret_message->msgbuf = NULL;
    return true;
}

/* The context of a tag of this domain; negative: not of this domain. */
static int context_of_tag(const struct amg_mpi_domain *domain, int tag)
{
    int context = tag - domain->stamp;

    return context >= 0 && context <= AMG_MPI_TAG_CONTROL ? context : -1;
}

/* Tests the unmatched message being received. False: not complete, or not of
 * this driver. */
static bool unmatched_take(
    struct amg_mpi_domain *domain, struct amg_mpi_message *ret_message)
{
    struct amg_mpi_msgbuf *msgbuf = domain->unmatched.msgbuf;
    MPI_Status status = {.MPI_TAG = -1};
    int flag = 0;
    int rc = MPI_Test(&domain->unmatched.request, &flag, &status);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    AMG_ASSERT(msgbuf != NULL);
    domain->unmatched.msgbuf = NULL;
    domain->unmatched.request = MPI_REQUEST_NULL;
    domain->unmatched.tag = -1;
    if (context_of_tag(domain, status.MPI_TAG) < 0) { /* of a closed domain */
        amg_mpi_msgbuf_put_locked(msgbuf);
        return false;
    }
    ret_message->ep = NULL;
    return amg_mpi_receive_read_locked(
        domain, msgbuf, &status, rc, ret_message);
}

/* Starts to receive the message that the probe found; a long message may take a
 * while, if its sender must make progress. No other receive is posted to that
 * tag, so this receive matches; if MPI refuses, the message stays for the next
 * probe. */
static bool unmatched_begin(
    struct amg_mpi_domain *domain, const MPI_Status *found)
{
    struct amg_mpi_msgbuf *msgbuf = amg_mpi_msgbuf_get_locked(domain);
    int rc = MPI_SUCCESS;

    if (msgbuf == NULL)
        return false;
    rc = MPI_Irecv(&msgbuf->header, (int)domain->room_len, MPI_BYTE,
        found->MPI_SOURCE, found->MPI_TAG, domain->comm.messages,
        &domain->unmatched.request);
    if (rc != MPI_SUCCESS) {
        amg_mpi_msgbuf_put_locked(msgbuf);
        (void)amg_mpi_comm_error(rc, "MPI_Irecv of a message");
        return false;
    }
    domain->unmatched.msgbuf = msgbuf;
    domain->unmatched.tag = found->MPI_TAG;
    return true;
}

bool amg_mpi_receive_unmatched_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_message *ret_message, struct amg_mpi_ep **ret_backlog)
{
    MPI_Status status;
    int flag = 0;
    int context = -1;
    int rc = MPI_SUCCESS;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    *ret_backlog = NULL;
    if (domain->unmatched.msgbuf != NULL)
        return unmatched_take(domain, ret_message);
    rc = MPI_Iprobe(
        MPI_ANY_SOURCE, MPI_ANY_TAG, domain->comm.messages, &flag, &status);
    if (rc != MPI_SUCCESS || !flag)
        return false;
    context = context_of_tag(domain, status.MPI_TAG);
    if (context >= 0 && context < (int)domain->max_contexts &&
        domain->eps[context] != NULL) {
        *ret_backlog = domain->eps[context];
        return false;
    }
    return unmatched_begin(domain, &status) &&
           unmatched_take(domain, ret_message);
}
