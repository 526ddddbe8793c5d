/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs): their pool, and the messages in them.
 *
 * There are as many msgbufs as were ever in use at once: for posted receives,
 * messages being sent, received replies, and requests of peers that the user
 * has not released. Credits bound such requests for each peer. A msgbuf has 384
 * bytes, and room for the longest message of a posted receive: four times an
 * eager message. Pages that no message fills are never touched.
 *
 * Msgbufs are cut from blocks. The first block has enough for all credits of
 * one busy peer in both directions, at most CREDITS_RESERVED; its pages are
 * touched only when used. Later blocks are small, to waste little.
 *
 * Long msgbufs are allocated singly; LONGS_KEPT free ones stay allocated. */
#include "mpi_backend/mpi_msgbuf.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mpi_backend/mpi_peer.h"

enum {
    BUF_ALIGN = 64,         /* a cache line, on all supported machines */
    CREDITS_RESERVED = 128, /* credits that the first block serves, at most */
    MSGBUFS_SPARE = 32,     /* in the first block: messages without a credit */
    MSGBUFS_MORE = 8,       /* in each later block */
    LONGS_KEPT = 16,        /* free long msgbufs that stay allocated */
};

/* Header of a block, in front of its msgbufs. */
struct amg_mpi_block {
    struct amg_mpi_block *next;
    size_t cut_count; /* msgbufs that were ever handed out */
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

/* Cuts a msgbuf from the newest block: all other blocks are cut up. */
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
    struct amg_link *link = NULL;

    amg_bias_lock(domain->lock);
    if (hot != NULL)
        amg_mpi_msgbuf_put_locked(hot);
    while ((link = amg_list_pop(&domain->calls.late)) != NULL)
        amg_mpi_msgbuf_put_locked(amg_pack_whole_of(
            amg_container_of(link, struct amg_arrival, link)));
    amg_bias_unlock(domain->lock);
    while ((link = domain->msgbufs.free_long) != NULL) {
        domain->msgbufs.free_long = link->next;
        domain->msgbufs.count--;
        amg_mem_free(amg_mpi_msgbuf_of_link(link));
    }
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
