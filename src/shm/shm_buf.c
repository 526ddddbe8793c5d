/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of outgoing messages: msgbufs and blocks of the own segment, and heap
 * memory. A sent msgbuf or block is lent until the receiver returns the buffer.
 *
 * The user writes a message into a msgbuf or block. If a message in a msgbuf
 * cannot leave, the message moves to the heap, and leaves later in cells or in
 * a msgbuf. A message waits only for resources that are held as follows:
 *
 *   what      held by                          until
 *   msgbufs   writers; per context, up to 32   the post, which may wait for a
 *             messages of one-way calls        credit if the calls are one-way
 *             receivers: unread messages, and  the handler ends, which may take
 *             up to 16 per peer in handlers    minutes
 *   transit   receivers: unread messages       the receiver polls
 *   blocks    writers, receivers, and          no message waits for a block
 *             messages that wait
 *   cells     the ring of one receiver         the receiver polls
 *   credits   requests to one receiver         the receiver answers or releases
 *   slots     calls in flight, in their table  no wait: the post fails if full
 *   heap      messages that wait               they leave
 *
 * The message at the head of a queue waits for its credit, if it takes one, and
 * then for cells and a msgbuf. If no msgbuf is left, the message takes a msgbuf
 * of the transit stock: a poll of the receiver copies such a message out, and a
 * receiver that does not poll gets only part of the stock. Messages of the
 * library itself (credits, refusals, ACKs, transfers) take no credit and one
 * cell, and a retry sends them before replies and requests. So each wait ends
 * when the receiver polls or its handlers end, and the receiver can do both
 * without the messages that are queued here behind the waiting message.
 *
 * The pages of a msgbuf or block are allocated at its first use. To use few
 * pages, the buffer freed last is used next, and returned buffers are reclaimed
 * before a new buffer is touched. When no msgbuf is left, messages are written
 * to the heap. When no block is left, the caller sends the long arguments in
 * another way, so a receiver may keep blocks for any time. */
#include "shm/shm_send.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_peer.h"

/* Number of lent msgbufs or blocks to check before a fresh buffer is taken. */
enum { RECLAIM_MAX = 8 };

static inline struct amg_shm_buf *buf_pop_locked(
    const struct amg_shm_domain *domain, struct amg_shm_stock *stock)
{
    struct amg_link *link = stock->free;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (link == NULL)
        return NULL;
    stock->free = link->next;
    return amg_container_of(link, struct amg_shm_buf, post.link);
}

static void full_warn(struct amg_shm_domain *domain, int error)
{
    if (!domain->bufs.has_warned)
        AMG_LOG_WARNING("shm",
            "na+sm://%s: /dev/shm has no room for further messages (%s): "
            "messages of more than %d bytes wait until earlier ones are read; "
            "free some of /dev/shm",
            domain->region.name, strerror(error), AMG_SHM_RUN);
    domain->bufs.has_warned = true;
}

static struct amg_shm_buf *buf_fresh_locked(
    struct amg_shm_domain *domain, struct amg_shm_stock *stock)
{
    uint32_t index = stock->next;
    struct amg_shm_msgbuf *msgbuf = NULL;
    struct amg_shm_buf *buf = NULL;
    uint32_t cap = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(index <= stock->end);
    if (index == stock->end)
        return NULL;
    cap = amg_shm_region_find(&domain->region, index, &msgbuf);
    AMG_ASSERT(cap > 0);
    /* Msgbuf 0, of the transit stock, was reserved with the segment, so that
     * there is always a msgbuf. */
    if (index > 0 && !amg_shm_region_reserve(
                         &domain->region, msgbuf, sizeof(*msgbuf) + cap)) {
        if (index < AMG_SHM_MSGBUFS)
            full_warn(domain, errno);
        return NULL;
    }
    stock->next++;
    buf = &domain->bufs.all[index];
    buf->domain = domain;
    buf->stock = stock;
    buf->index = index;
    buf->msgbuf = msgbuf;
    buf->buf.data = msgbuf->bytes;
    buf->buf.cap = cap;
    return buf;
}

struct amg_shm_buf *amg_shm_buf_heap_locked(
    struct amg_shm_domain *domain, uint32_t cap)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    /* Copies into cells read whole cells, beyond the end of a short message. */
    uint32_t room = cap < AMG_SHM_RUN ? AMG_SHM_RUN : cap;
    struct amg_link *link = domain->bufs.on_heap;
    struct amg_shm_buf *buf = NULL;

    AMG_ASSERT(cap <= domain->region.message_len);
    if (room == AMG_SHM_RUN && link != NULL) {
        domain->bufs.on_heap = link->next;
        return amg_container_of(link, struct amg_shm_buf, post.link);
    }
    buf = amg_mem_alloc(sizeof(*buf) + room);
    if (buf == NULL)
        return NULL;
    *buf = (struct amg_shm_buf){.domain = domain};
    buf->buf.data = buf + 1;
    buf->buf.cap = room;
    return buf;
}

/* Frees a lent msgbuf or block if its receiver has returned it. */
static bool buf_reclaim_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_peer *peer = buf->peer;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (atomic_load_explicit(&buf->msgbuf->is_lent, memory_order_acquire) != 0)
        return false;
    AMG_ASSERT(peer->msgbufs_lent > 0);
    amg_list_remove(&buf->post.link);
    amg_shm_buf_push_locked(buf);
    peer->msgbufs_lent--;
    amg_shm_peer_reap_locked(peer);
    return true;
}

/* Frees the returned buffers among the `max` buffers that were lent first. */
static bool bufs_reclaim_locked(
    struct amg_shm_domain *domain, struct amg_shm_stock *stock, unsigned max)
{
    struct amg_link *link = amg_list_first(&stock->lent);
    bool any = false;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (; link != NULL && max > 0; max--) {
        struct amg_link *next = amg_list_next(&stock->lent, link);

        if (buf_reclaim_locked(
                amg_container_of(link, struct amg_shm_buf, post.link)))
            any = true;
        link = next;
    }
    return any;
}

/* Finds a buf in a stock whose list `free` is empty; NULL: no buf is left. */
static struct amg_shm_buf *buf_find_locked(
    struct amg_shm_domain *domain, struct amg_shm_stock *stock)
{
    struct amg_shm_buf *buf = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (bufs_reclaim_locked(domain, stock, RECLAIM_MAX))
        return buf_pop_locked(domain, stock);
    buf = buf_fresh_locked(domain, stock);
    if (buf == NULL && bufs_reclaim_locked(domain, stock, AMG_SHM_MSGBUFS))
        buf = buf_pop_locked(domain, stock);
    return buf;
}

/* A buf with a msgbuf that a receiver may keep; NULL: none is free. */
static inline struct amg_shm_buf *buf_msgbuf_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_stock *stock = &domain->bufs.stocks[AMG_SHM_STOCK_MSGBUFS];
    struct amg_shm_buf *buf = buf_pop_locked(domain, stock);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    return AMG_LIKELY(buf != NULL) ? buf : buf_find_locked(domain, stock);
}

/* A transit msgbuf for a message that leaves to `peer` now. NULL: `peer` holds
 * at least as many transit msgbufs as are left: no peer may take all. */
static struct amg_shm_buf *transit_get_locked(
    struct amg_shm_domain *domain, const struct amg_shm_peer *peer)
{
    struct amg_shm_stock *stock = &domain->bufs.stocks[AMG_SHM_STOCK_TRANSIT];
    uint32_t left = AMG_SHM_TRANSIT;
    uint32_t of_peer = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    (void)bufs_reclaim_locked(domain, stock, AMG_SHM_TRANSIT);
    for (const struct amg_link *link = amg_list_first(&stock->lent);
         link != NULL; link = amg_list_next(&stock->lent, link)) {
        left--;
        of_peer +=
            amg_container_of(link, struct amg_shm_buf, post.link)->peer == peer;
    }
    AMG_ASSERT(of_peer + left <= AMG_SHM_TRANSIT);
    if (of_peer >= left)
        return NULL;
    return stock->free != NULL ? buf_pop_locked(domain, stock)
                               : buf_fresh_locked(domain, stock);
}

struct amg_shm_buf *amg_shm_buf_to_msgbuf_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_buf *in_segment = NULL;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    AMG_ASSERT(buf->msgbuf == NULL);
    in_segment = buf_msgbuf_locked(buf->domain);
    if (in_segment == NULL)
        in_segment = transit_get_locked(buf->domain, buf->peer);
    if (in_segment == NULL)
        return NULL;
    AMG_ASSERT(buf->len <= in_segment->buf.cap);
    memcpy(in_segment->buf.data, buf->buf.data, buf->len);
    amg_shm_buf_put_locked(buf);
    return in_segment;
}

struct amg_shm_buf *amg_shm_buf_to_wait_locked(struct amg_shm_buf *buf)
{
    struct amg_shm_domain *domain = buf->domain;
    struct amg_shm_buf *copy = NULL;

    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    AMG_ASSERT(buf->len <= buf->buf.cap && buf->peer != NULL);
    if (buf->msgbuf == NULL ||
        buf->stock != &domain->bufs.stocks[AMG_SHM_STOCK_MSGBUFS])
        return buf;
    copy = amg_shm_buf_heap_locked(domain, buf->len);
    if (copy == NULL)
        return NULL;
    copy->post = buf->post;
    copy->len = buf->len;
    copy->kind = buf->kind;
    copy->origin_context = buf->origin_context;
    copy->target_context = buf->target_context;
    copy->peer = buf->peer;
    copy->to = buf->to;
    memcpy(copy->buf.data, buf->buf.data, buf->len);
    return copy;
}

static void stock_reclaim_locked(
    struct amg_shm_stock *stock, const struct amg_shm_peer *peer)
{
    struct amg_link *link = amg_list_first(&stock->lent);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&stock->lent, link);
        struct amg_shm_buf *buf =
            amg_container_of(link, struct amg_shm_buf, post.link);

        if (buf->peer == peer) {
            atomic_store_explicit(
                &buf->msgbuf->is_lent, 0, memory_order_relaxed);
            amg_list_remove(link);
            amg_shm_buf_push_locked(buf);
        }
        link = next;
    }
}

void amg_shm_bufs_reclaim_peer_locked(struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (unsigned i = 0; i < AMG_SHM_STOCKS; i++)
        stock_reclaim_locked(&peer->domain->bufs.stocks[i], peer);
    peer->msgbufs_lent = 0;
}

size_t amg_shm_buf_lent_locked(const struct amg_shm_peer *peer)
{
    size_t count = 0;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (unsigned i = 0; i < AMG_SHM_STOCKS && peer->msgbufs_lent > 0; i++) {
        const struct amg_list *lent = &peer->domain->bufs.stocks[i].lent;
        struct amg_link *link = amg_list_first(lent);

        for (; link != NULL; link = amg_list_next(lent, link)) {
            const struct amg_shm_buf *buf =
                amg_container_of(link, struct amg_shm_buf, post.link);

            count +=
                buf->peer == peer && atomic_load_explicit(&buf->msgbuf->is_lent,
                                         memory_order_relaxed) != 0;
        }
    }
    return count;
}

size_t amg_shm_buf_taken_locked(const struct amg_shm_domain *domain)
{
    size_t count = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < AMG_SHM_MSGBUFS + AMG_SHM_BLOCKS; i++)
        count += domain->bufs.all[i].stock != NULL;
    for (unsigned i = 0; i < AMG_SHM_STOCKS; i++) {
        const struct amg_link *free = domain->bufs.stocks[i].free;

        count -= amg_list_len(&domain->bufs.stocks[i].lent);
        for (; free != NULL; free = free->next)
            count--;
    }
    return count;
}

void amg_shm_bufs_request_wake_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (unsigned i = 0; i < AMG_SHM_STOCK_BLOCKS; i++) {
        const struct amg_list *lent = &domain->bufs.stocks[i].lent;
        struct amg_link *link = amg_list_first(lent);

        for (; link != NULL; link = amg_list_next(lent, link)) {
            struct amg_shm_buf *buf =
                amg_container_of(link, struct amg_shm_buf, post.link);
            uint32_t expected = 1;

            (void)atomic_compare_exchange_strong_explicit(&buf->msgbuf->is_lent,
                &expected, 2, memory_order_seq_cst, memory_order_relaxed);
        }
    }
}

/* amg_shm_buf_get() without the lock's bias, or with no msgbuf in `free`. */
AMG_NOINLINE static hg_return_t buf_get(
    struct amg_shm_domain *domain, struct amg_buf **ret_buf)
{
    struct amg_shm_buf *buf = NULL;

    amg_bias_lock(&domain->lock);
    buf = buf_msgbuf_locked(domain);
    if (buf == NULL)
        buf = amg_shm_buf_heap_locked(domain, domain->region.message_len);
    amg_bias_unlock(&domain->lock);
    if (buf == NULL)
        return HG_NOMEM;
    *ret_buf = &buf->buf;
    return HG_SUCCESS;
}

hg_return_t amg_shm_buf_get(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);
    struct amg_shm_buf *buf = NULL;

    (void)peer;
    if (!amg_bias_lock_own(&domain->lock))
        return buf_get(domain, ret_buf);
    buf = buf_pop_locked(domain, &domain->bufs.stocks[AMG_SHM_STOCK_MSGBUFS]);
    amg_bias_unlock_own(&domain->lock);
    if (!AMG_LIKELY(buf != NULL))
        return buf_get(domain, ret_buf);
    *ret_buf = &buf->buf;
    return HG_SUCCESS;
}

hg_return_t amg_shm_buf_get_long(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);
    struct amg_shm_buf *buf = NULL;

    (void)peer;
    if (len > amg_shm_block_cap(AMG_SHM_BLOCK_KINDS - 1))
        return HG_MSGSIZE;
    amg_bias_lock(&domain->lock);
    for (unsigned kind = 0; kind < AMG_SHM_BLOCK_KINDS && buf == NULL; kind++) {
        struct amg_shm_stock *stock =
            &domain->bufs.stocks[AMG_SHM_STOCK_BLOCKS + kind];

        if (len > amg_shm_block_cap(kind))
            continue;
        buf = buf_pop_locked(domain, stock);
        if (buf == NULL)
            buf = buf_find_locked(domain, stock);
    }
    amg_bias_unlock(&domain->lock);
    if (buf == NULL)
        return HG_AGAIN;
    *ret_buf = &buf->buf;
    return HG_SUCCESS;
}

void amg_shm_buf_put(struct amg_ep *ep, struct amg_buf *buf)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);

    amg_bias_lock(&domain->lock);
    amg_shm_buf_put_locked(amg_shm_buf_of(buf));
    amg_bias_unlock(&domain->lock);
}

static void stock_init(
    struct amg_shm_stock *stock, uint32_t first, uint32_t count)
{
    AMG_ASSERT(count > 0 && stock->free == NULL);
    amg_list_init(&stock->lent);
    stock->next = first;
    stock->end = first + count;
}

hg_return_t amg_shm_bufs_init(struct amg_shm_domain *domain)
{
    struct amg_shm_stock *stocks = domain->bufs.stocks;
    uint32_t next = AMG_SHM_MSGBUFS;

    stock_init(&stocks[AMG_SHM_STOCK_TRANSIT], 0, AMG_SHM_TRANSIT);
    stock_init(&stocks[AMG_SHM_STOCK_MSGBUFS], AMG_SHM_TRANSIT,
        AMG_SHM_MSGBUFS - AMG_SHM_TRANSIT);
    for (unsigned kind = 0; kind < AMG_SHM_BLOCK_KINDS; kind++) {
        uint32_t count = amg_shm_block_count(kind);

        stock_init(&stocks[AMG_SHM_STOCK_BLOCKS + kind], next, count);
        next += count;
    }
    AMG_ASSERT(next == AMG_SHM_MSGBUFS + AMG_SHM_BLOCKS);
    domain->bufs.all = amg_mem_zalloc(next * sizeof(*domain->bufs.all));
    return domain->bufs.all == NULL ? HG_NOMEM : HG_SUCCESS;
}

void amg_shm_bufs_fini(struct amg_shm_domain *domain)
{
    while (domain->bufs.on_heap != NULL) {
        struct amg_link *link = domain->bufs.on_heap;

        domain->bufs.on_heap = link->next;
        amg_mem_free(amg_container_of(link, struct amg_shm_buf, post.link));
    }
    amg_mem_free(domain->bufs.all);
}
