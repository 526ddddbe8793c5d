/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (msgbufs), and bounce buffers of fragments.
 *
 * There are as many msgbufs as were ever in use at once: for posted receives,
 * messages being sent, received replies, and requests of peers that the user
 * has not released. Credits bound the last for each peer. A msgbuf is the
 * longest message, four times an eager one, and 192 bytes; memory that no
 * message filled is never touched.
 *
 * They are cut from blocks. The first one has enough for all credits of one
 * busy peer in both directions; its pages are touched only when they are used.
 * Later blocks are small, to allocate little beyond the need.
 *
 * A fragment in several runs passes through a bounce buffer. A pipeline needs
 * one bounce buffer, and is faster with a few. It takes the first one before
 * its first message to the peer, so that it never waits for other pipelines,
 * whose peers may wait for it; it gets more while the domain has few in use. So
 * there are at most BOUNCES_SHARED, and one for each transfer in flight, which
 * are bounded per peer. They are allocated when first needed. */
#include "mpi_backend/mpi_buf.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    BUF_ALIGN = 64,         /* a cache line, on all supported machines */
    CREDITS_RESERVED = 128, /* the first block reserves for at most so many */
    SLABS_SPARE = 32,    /* of the first block, for what credits do not bound */
    SLABS_MORE = 8,      /* in each later block */
    BOUNCES_SHARED = 64, /* 4 MiB: enough for 16 pipelines */
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
    block->next = domain->blocks;
    block->cut_count = 0;
    block->count = count;
    domain->blocks = block;
    return HG_SUCCESS;
}

/* The newest block is the only one with msgbufs left to cut. */
static struct amg_mpi_msgbuf *msgbuf_make(struct amg_mpi_domain *domain)
{
    struct amg_mpi_block *block = domain->blocks;
    struct amg_mpi_msgbuf *msgbuf = NULL;

    if (block->cut_count == block->count) {
        if (block_make(domain, SLABS_MORE) != HG_SUCCESS)
            return NULL;
        block = domain->blocks;
    }
    AMG_ASSERT(block->cut_count < block->count);
    msgbuf = (void *)((unsigned char *)block + BUF_ALIGN +
                      block->cut_count * msgbuf_len(domain));
    block->cut_count++;
    msgbuf->post.link = (struct amg_link){NULL, NULL};
    msgbuf->domain = domain;
    msgbuf->post.ep = NULL;
    msgbuf->post.op = NULL;
    msgbuf->request = MPI_REQUEST_NULL;
    msgbuf->post.wants_reply = false;
    msgbuf->header = (struct amg_mpi_header){.kind = 0};
    msgbuf->buf.data = msgbuf->data;
    msgbuf->buf.cap = domain->room_len - (uint32_t)sizeof(msgbuf->header);
    msgbuf->arrival.link = (struct amg_link){NULL, NULL};
    domain->msgbuf_count++;
    return msgbuf;
}

hg_return_t amg_mpi_msgbuf_init(struct amg_mpi_domain *domain)
{
    unsigned credits = domain->calls.flow.limit;

    if (credits > CREDITS_RESERVED)
        credits = CREDITS_RESERVED;
    return block_make(domain, AMG_MPI_RECEIVES + 2 * credits + SLABS_SPARE);
}

void amg_mpi_msgbuf_fini(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *hot =
        atomic_exchange_explicit(&domain->hot, NULL, memory_order_acquire);
    struct amg_link *late = NULL;

    if (hot != NULL)
        amg_mpi_msgbuf_put_locked(hot);
    while ((late = amg_list_pop(&domain->calls.late)) != NULL)
        amg_mpi_msgbuf_put_locked(
            amg_container_of(late, struct amg_mpi_msgbuf, arrival.link));
    while (domain->msgbufs != NULL) {
        AMG_ASSERT(domain->msgbuf_count > 0);
        domain->msgbufs = domain->msgbufs->next;
        domain->msgbuf_count--;
    }
    if (domain->msgbuf_count > 0) {
        AMG_LOG_WARNING("mpi",
            "%zu messages were still in use when the class was closed; the "
            "memory of all is not given back",
            domain->msgbuf_count);
        return;
    }
    while (domain->blocks != NULL) {
        struct amg_mpi_block *block = domain->blocks;

        domain->blocks = block->next;
        amg_mem_free(block);
    }
}

struct amg_mpi_msgbuf *amg_mpi_msgbuf_get_locked(struct amg_mpi_domain *domain)
{
    struct amg_link *link = domain->msgbufs;

    if (link == NULL)
        return msgbuf_make(domain);
    domain->msgbufs = link->next;
    link->next = NULL;
    return amg_container_of(link, struct amg_mpi_msgbuf, post.link);
}

void amg_mpi_msgbuf_put_locked(struct amg_mpi_msgbuf *msgbuf)
{
    AMG_ASSERT(msgbuf->domain->msgbuf_count > 0);
    msgbuf->post.op = NULL;
    msgbuf->post.link.next = msgbuf->domain->msgbufs;
    msgbuf->domain->msgbufs = &msgbuf->post.link;
}

struct amg_mpi_msgbuf *amg_mpi_msgbuf_get(struct amg_mpi_domain *domain)
{
    struct amg_mpi_msgbuf *msgbuf =
        atomic_exchange_explicit(&domain->hot, NULL, memory_order_acquire);

    if (msgbuf != NULL)
        return msgbuf;
    amg_bias_take(domain->lock);
    msgbuf = amg_mpi_msgbuf_get_locked(domain);
    amg_bias_give(domain->lock);
    return msgbuf;
}

void amg_mpi_msgbuf_put(struct amg_mpi_msgbuf *msgbuf)
{
    struct amg_mpi_domain *domain = msgbuf->domain;
    struct amg_mpi_msgbuf *none = NULL;

    if (atomic_compare_exchange_strong_explicit(&domain->hot, &none, msgbuf,
            memory_order_acq_rel, memory_order_relaxed))
        return;
    amg_bias_take(domain->lock);
    amg_mpi_msgbuf_put_locked(msgbuf);
    amg_bias_give(domain->lock);
}

void amg_mpi_bounces_init(struct amg_mpi_bounces *bounces)
{
    bounces->free = NULL;
    bounces->count = 0;
}

void amg_mpi_bounces_fini(struct amg_mpi_bounces *bounces)
{
    while (bounces->free != NULL) {
        struct amg_mpi_bounce *bounce = bounces->free;

        bounces->free = bounce->next;
        amg_mem_free(bounce);
    }
}

struct amg_mpi_bounce *amg_mpi_bounce_get(
    struct amg_mpi_bounces *bounces, bool is_needed)
{
    struct amg_mpi_bounce *bounce = bounces->free;

    if (bounce != NULL) {
        bounces->free = bounce->next;
        return bounce;
    }
    if (!is_needed && bounces->count >= BOUNCES_SHARED)
        return NULL;
    bounce =
        amg_mem_alloc_aligned(BUF_ALIGN, sizeof(*bounce) + AMG_MPI_BOUNCE_LEN);
    if (bounce != NULL)
        bounces->count++;
    return bounce;
}

void amg_mpi_bounce_put(
    struct amg_mpi_bounces *bounces, struct amg_mpi_bounce *bounce)
{
    AMG_ASSERT(bounces->count > 0);
    if (bounces->count > BOUNCES_SHARED) {
        bounces->count--;
        amg_mem_free(bounce);
        return;
    }
    bounce->next = bounces->free;
    bounces->free = bounce;
}
