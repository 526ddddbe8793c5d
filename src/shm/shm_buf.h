/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of outgoing messages: msgbufs and blocks of the own segment, lent to
 * a receiver until it returns them, or the heap.
 *
 * A message owns a msgbuf while the user writes it, and again from the moment
 * when it leaves; a message that has to wait moves to the heap. So messages
 * wait only for what their receivers hold:
 *
 *   what      held by                          until
 *   msgbufs   writers, and 32 streams of a     the post; a stream may wait for
 *             context                          a credit
 *             receivers: unread messages, and  a handler ends, which may take
 *             16 kept ones of a peer           minutes
 *   transit   receivers: unread messages       the receiver polls
 *   blocks    as msgbufs, and requests that    nobody waits for a block
 *             wait for a credit
 *   cells     the ring of one receiver         the receiver polls
 *   credits   requests to one receiver         it answers or releases them
 *   slots     calls, in their table            the table grows, or a post fails
 *   heap      messages that wait               they leave
 *
 * The message at the head of a queue has a credit, and waits for cells and a
 * msgbuf. If no msgbuf is left the message takes one of the transit stock: a
 * receiver copies messages there when it polls, and a receiver that does not
 * poll leaves part of the stock to others. Messages of the library itself
 * (credits, refusals, ACKs, transfers) take no credit and one cell, and leave
 * before replies and requests. So each wait ends when a receiver polls or its
 * handlers end, and for that no receiver needs a message of this process that
 * waits behind another one. */
#ifndef AMG_SHM_SHM_BUF_H
#define AMG_SHM_SHM_BUF_H

#include "base/assert.h"
#include "base/mem.h"
#include "shm/shm_domain.h"

hg_return_t amg_shm_bufs_init(struct amg_shm_domain *domain);
void amg_shm_bufs_fini(struct amg_shm_domain *domain);

static inline struct amg_shm_buf *amg_shm_buf_of(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_shm_buf, buf);
}

static inline struct amg_shm_buf *amg_shm_buf_of_post(struct amg_post *post)
{
    return amg_container_of(post, struct amg_shm_buf, post);
}

/* A buf of a stock whose list `free` is empty; NULL: none. */
struct amg_shm_buf *amg_shm_buf_find_locked(
    struct amg_shm_domain *domain, struct amg_shm_stock *stock);
/* A buf on the heap for `cap` bytes; NULL: no memory. Freed bufs of AMG_SHM_RUN
 * bytes are kept for later messages. */
struct amg_shm_buf *amg_shm_buf_heap_locked(
    struct amg_shm_domain *domain, uint32_t cap);

static inline void amg_shm_buf_push_locked(struct amg_shm_buf *buf)
{
    AMG_ASSERT(buf->msgbuf != NULL);
    buf->post.link.next = buf->stock->free;
    buf->stock->free = &buf->post.link;
}

static inline struct amg_shm_buf *amg_shm_buf_pop_locked(
    struct amg_shm_stock *stock)
{
    struct amg_link *link = stock->free;

    if (link == NULL)
        return NULL;
    stock->free = link->next;
    return amg_container_of(link, struct amg_shm_buf, post.link);
}

/* A buf with a msgbuf that a receiver may keep; NULL: none is free. */
static inline struct amg_shm_buf *amg_shm_buf_msgbuf_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_stock *stock = &domain->bufs.stocks[AMG_SHM_STOCK_MSGBUFS];
    struct amg_shm_buf *buf = amg_shm_buf_pop_locked(stock);

    return AMG_LIKELY(buf != NULL) ? buf
                                   : amg_shm_buf_find_locked(domain, stock);
}

/* A buffer, with a msgbuf if one is free; NULL: no memory. */
static inline struct amg_shm_buf *amg_shm_buf_get_locked(
    struct amg_shm_domain *domain)
{
    struct amg_shm_buf *buf = amg_shm_buf_msgbuf_locked(domain);

    return AMG_LIKELY(buf != NULL)
               ? buf
               : amg_shm_buf_heap_locked(domain, domain->region.message_len);
}

static inline void amg_shm_buf_put_locked(struct amg_shm_buf *buf)
{
    if (AMG_LIKELY(buf->msgbuf != NULL)) {
        amg_shm_buf_push_locked(buf);
    } else if (buf->buf.cap == AMG_SHM_RUN) {
        buf->post.link.next = buf->domain->bufs.on_heap;
        buf->domain->bufs.on_heap = &buf->post.link;
    } else {
        amg_mem_free(buf);
    }
}

/* Moves the bytes of a heap buf, which leaves now, to a buf with a msgbuf;
 * NULL: no msgbuf is left for the peer. */
struct amg_shm_buf *amg_shm_buf_to_msgbuf_locked(struct amg_shm_buf *buf);
/* The buf in which an addressed message waits: `buf`, or a copy on the heap,
 * and `buf` stays the caller's. NULL: no memory. */
struct amg_shm_buf *amg_shm_buf_to_wait_locked(struct amg_shm_buf *buf);
/* Lends the msgbuf or block of `buf` to `peer`. */
void amg_shm_buf_lend_locked(
    struct amg_shm_buf *buf, struct amg_shm_peer *peer);
/* Reclaims the msgbufs and blocks lent to a peer that closed or died. */
void amg_shm_buf_reclaim_peer_locked(struct amg_shm_peer *peer);
/* Number of msgbufs and blocks that the peer has not returned. */
size_t amg_shm_buf_lent_locked(const struct amg_shm_peer *peer);
/* Number of msgbufs and blocks that are neither free nor lent. */
size_t amg_shm_buf_taken_locked(const struct amg_shm_domain *domain);
/* Asks all receivers to wake this process when they return a msgbuf. */
void amg_shm_bufs_request_wake_locked(struct amg_shm_domain *domain);

/* The slots of the contract. */
hg_return_t amg_shm_buf_get(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
hg_return_t amg_shm_buf_get_long(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf);
void amg_shm_buf_put(struct amg_ep *ep, struct amg_buf *buf);

#endif
