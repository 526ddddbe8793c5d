/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of outgoing messages, and arrivals.
 *
 * A message is written into a msgbuf of the own segment. A short one is copied
 * from there into a cell, and its msgbuf is free again. A long one stays: the
 * cell names the msgbuf, which is lent to the receiver until it returns it by
 * one store. A msgbuf takes memory from its first use on; so the one used last
 * is used next, and lent ones are checked before a fresh one is touched. When
 * no msgbuf is left, messages are written to the heap, and wait for one. */
#include "shm/shm_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "shm/shm_peer.h"

enum {
    BLOCK = 32,      /* arrivals cut from one allocation */
    RECLAIM_MAX = 8, /* msgbufs checked before a fresh one is taken */
};

struct amg_shm_block {
    struct amg_shm_block *next;
    struct amg_shm_arrival arrivals[BLOCK];
};

static bool block_add_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_block *block =
        amg_mem_alloc_aligned(AMG_SHM_LINE, sizeof(*block));

    if (block == NULL)
        return false;
    memset(block, 0, sizeof(*block));
    block->next = domain->blocks;
    domain->blocks = block;
    for (unsigned i = 0; i < BLOCK; i++) {
        block->arrivals[i].domain = domain;
        block->arrivals[i].next_free = domain->free_arrivals;
        domain->free_arrivals = &block->arrivals[i];
    }
    return true;
}

hg_return_t amg_shm_buf_init(struct amg_shm_domain *domain)
{
    amg_list_init(&domain->lent_bufs);
    domain->bufs = amg_mem_zalloc(AMG_SHM_MSGBUFS * sizeof(*domain->bufs));
    if (domain->bufs == NULL || !block_add_locked(domain))
        return HG_NOMEM;
    return HG_SUCCESS;
}

void amg_shm_buf_fini(struct amg_shm_domain *domain)
{
    while (domain->blocks != NULL) {
        struct amg_shm_block *next = domain->blocks->next;

        amg_mem_free(domain->blocks);
        domain->blocks = next;
    }
    domain->free_arrivals = NULL;
    amg_mem_free(domain->bufs);
    domain->bufs = NULL;
}

AMG_NOINLINE static struct amg_shm_buf *buf_fresh_locked(
    struct amg_shm_domain *domain)
{
    uint32_t index = domain->fresh_bufs;
    struct amg_shm_buf *buf = NULL;

    AMG_ASSERT(index <= AMG_SHM_MSGBUFS);
    /* The first one was reserved with the segment: there is at least one. */
    if (index == AMG_SHM_MSGBUFS ||
        (index > 0 && !amg_shm_region_reserve(&domain->region,
                          amg_shm_region_msgbuf(&domain->region, index),
                          domain->region.msgbuf_stride)))
        return NULL;
    domain->fresh_bufs++;
    buf = &domain->bufs[index];
    buf->domain = domain;
    buf->index = index;
    buf->msgbuf = amg_shm_region_msgbuf(&domain->region, index);
    buf->buf.data = buf->msgbuf->bytes;
    buf->buf.cap = domain->region.message_len;
    return buf;
}

static struct amg_shm_buf *buf_heap(struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf =
        amg_mem_alloc(sizeof(*buf) + domain->region.message_len);

    if (buf == NULL)
        return NULL;
    *buf = (struct amg_shm_buf){.domain = domain};
    buf->buf.data = buf + 1;
    buf->buf.cap = domain->region.message_len;
    return buf;
}

static void buf_push_locked(struct amg_shm_buf *buf)
{
    AMG_ASSERT(buf->msgbuf != NULL);
    buf->post.link.next = buf->domain->free_bufs;
    buf->domain->free_bufs = &buf->post.link;
}

static struct amg_shm_buf *buf_pop_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = domain->free_bufs;

    if (link == NULL)
        return NULL;
    domain->free_bufs = link->next;
    return amg_container_of(link, struct amg_shm_buf, post.link);
}

/* Frees a lent msgbuf if its receiver has returned it. */
static bool buf_reclaim_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_peer *peer = buf->peer;

    if (atomic_load_explicit(&buf->msgbuf->is_lent, memory_order_acquire) != 0)
        return false;
    AMG_ASSERT(peer->msgbufs_lent > 0);
    amg_list_remove(&buf->post.link);
    buf_push_locked(buf);
    peer->msgbufs_lent--;
    amg_shm_peer_reap_locked(peer);
    return true;
}

/* Frees those of the `max` oldest lent msgbufs that were returned. */
static bool bufs_reclaim_locked(struct amg_shm_domain *domain, unsigned max)
{
    struct amg_link *link = amg_list_first(&domain->lent_bufs);
    bool any = false;

    for (; link != NULL && max > 0; max--) {
        struct amg_link *next = amg_list_next(&domain->lent_bufs, link);

        if (buf_reclaim_locked(
                amg_container_of(link, struct amg_shm_buf, post.link)))
            any = true;
        link = next;
    }
    return any;
}

static struct amg_shm_buf *buf_msgbuf_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf = buf_pop_locked(domain);

    if (AMG_LIKELY(buf != NULL))
        return buf;
    if (bufs_reclaim_locked(domain, RECLAIM_MAX))
        return buf_pop_locked(domain);
    buf = buf_fresh_locked(domain);
    if (buf == NULL && bufs_reclaim_locked(domain, AMG_SHM_MSGBUFS))
        buf = buf_pop_locked(domain);
    return buf;
}

struct amg_shm_buf *amg_shm_buf_get_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf = buf_msgbuf_locked(domain);

    return AMG_LIKELY(buf != NULL) ? buf : buf_heap(domain);
}

void amg_shm_buf_put_locked(struct amg_shm_buf *buf)
{
    if (AMG_LIKELY(buf->msgbuf != NULL))
        buf_push_locked(buf);
    else
        amg_mem_free(buf);
}

struct amg_shm_buf *amg_shm_buf_to_msgbuf_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_buf *in_segment = NULL;

    if (buf->msgbuf != NULL)
        return buf;
    in_segment = buf_msgbuf_locked(buf->domain);
    if (in_segment == NULL)
        return NULL;
    AMG_ASSERT(buf->len <= in_segment->buf.cap);
    memcpy(in_segment->buf.data, buf->buf.data, buf->len);
    amg_mem_free(buf);
    return in_segment;
}

void amg_shm_buf_lend_locked(struct amg_shm_buf *buf, struct amg_shm_peer *peer)
{
    AMG_ASSERT(buf->msgbuf != NULL);
    atomic_store_explicit(&buf->msgbuf->is_lent, 1, memory_order_relaxed);
    buf->peer = peer;
    peer->msgbufs_lent++;
    amg_list_push(&buf->domain->lent_bufs, &buf->post.link);
}

void amg_shm_buf_reclaim_peer_locked(struct amg_shm_peer *peer)
{
    struct amg_list *out = &peer->domain->lent_bufs;
    struct amg_link *link = amg_list_first(out);

    while (link != NULL) {
        struct amg_link *next = amg_list_next(out, link);
        struct amg_shm_buf *buf =
            amg_container_of(link, struct amg_shm_buf, post.link);

        if (buf->peer == peer) {
            atomic_store_explicit(
                &buf->msgbuf->is_lent, 0, memory_order_relaxed);
            amg_list_remove(link);
            buf_push_locked(buf);
        }
        link = next;
    }
    peer->msgbufs_lent = 0;
}

struct amg_shm_arrival *amg_shm_arrival_get_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_arrival *arrival = NULL;

    if (domain->free_arrivals == NULL && !block_add_locked(domain))
        return NULL;
    arrival = domain->free_arrivals;
    domain->free_arrivals = arrival->next_free;
    arrival->msgbuf = NULL;
    arrival->copy = NULL;
    return arrival;
}

void amg_shm_msgbuf_return(
    struct amg_shm_peer *peer, struct amg_shm_msgbuf *msgbuf)
{
    if (atomic_exchange_explicit(&msgbuf->is_lent, 0, memory_order_seq_cst) ==
        2)
        amg_shm_link_raise_all(peer);
}

void amg_shm_buf_request_wake_locked(struct amg_shm_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->lent_bufs);

    for (; link != NULL; link = amg_list_next(&domain->lent_bufs, link)) {
        struct amg_shm_buf *buf =
            amg_container_of(link, struct amg_shm_buf, post.link);
        uint32_t expected = 1;

        (void)atomic_compare_exchange_strong_explicit(&buf->msgbuf->is_lent,
            &expected, 2, memory_order_seq_cst, memory_order_relaxed);
    }
}

void amg_shm_arrival_put_locked(struct amg_shm_arrival *arrival)
{
    struct amg_shm_peer *peer = amg_shm_peer_of(arrival->base.from);

    if (arrival->msgbuf != NULL) {
        AMG_ASSERT(arrival->copy == NULL && peer->msgbufs_held > 0);
        amg_shm_msgbuf_return(peer, arrival->msgbuf);
        peer->msgbufs_held--;
    } else if (arrival->copy != NULL) {
        amg_mem_free(arrival->copy);
    }
    arrival->next_free = arrival->domain->free_arrivals;
    arrival->domain->free_arrivals = arrival;
    amg_shm_peer_unref_locked(peer);
}

hg_return_t amg_shm_buf_get(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);
    struct amg_shm_buf *buf = NULL;

    (void)peer;
    amg_bias_take(&domain->lock);
    buf = amg_shm_buf_get_locked(domain);
    amg_bias_give(&domain->lock);
    if (buf == NULL)
        return HG_NOMEM;
    *ret_buf = &buf->buf;
    return HG_SUCCESS;
}

void amg_shm_buf_put(struct amg_ep *ep, struct amg_buf *buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);

    amg_bias_take(&domain->lock);
    amg_shm_buf_put_locked(amg_shm_buf_of(buf));
    amg_bias_give(&domain->lock);
}
