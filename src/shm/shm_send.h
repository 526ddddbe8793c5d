/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing messages, and their buffers. */
#ifndef AMG_SHM_SHM_SEND_H
#define AMG_SHM_SHM_SEND_H

#include "base/mem.h"
#include "shm/shm_domain.h"

hg_return_t amg_shm_send_init(struct amg_shm_domain *domain, uint16_t credits);
void amg_shm_send_fini(struct amg_shm_domain *domain);

/* Header of a message to a context of a peer. */
struct amg_shm_msg_header {
    uint8_t kind;
    uint8_t origin_context;
    uint8_t target_context;
    uint32_t cookie;
};

/* Sends up to AMG_SHM_INLINE bytes, without a credit; without room, queues the
 * message on `control` of the link. HG_NOMEM; HG_HOSTUNREACH: the peer closed
 * or died; HG_NOENTRY: the peer has no such context. */
hg_return_t amg_shm_send_short_locked(struct amg_shm_peer *peer,
    const struct amg_shm_msg_header *header, const void *bytes, uint16_t len);

/* Sends the message of a buf from a queue, and takes the buf. False: no room,
 * and the buf stays the caller's. */
bool amg_shm_send_buf_locked(struct amg_shm_buf *buf);
/* Sends a request for the call engine: the slot `send` of amg_calls_ops. */
hg_return_t amg_shm_send_waiting_locked(
    struct amg_calls *calls, struct amg_post *post);
/* Lets the next poll of the operation's endpoint return the operation, and
 * wakes the owner of the endpoint. */
void amg_shm_send_end_locked(struct amg_op *op, hg_return_t ret);

/* Deferred messages (shm_deferred.c). */

/* Sends queued messages and owed credits, as far as there is room. */
void amg_shm_send_deferred_locked(struct amg_shm_domain *domain);

/* Asks the peers to wake this process when there is room for its messages.
 * Before the caller blocks, it must fence and retry the deferred messages. */
void amg_shm_send_ask_for_room_locked(struct amg_shm_domain *domain);

/* Whether polls retry a peer: a message to it waits, or a wakeup failed. */
bool amg_shm_send_is_blocked_locked(const struct amg_shm_domain *domain);

/* The peer closed or died: ends the messages that wait, and reclaims the
 * msgbufs and blocks lent to it. */
void amg_shm_send_peer_gone_locked(struct amg_shm_peer *peer);

/* Buffers of outgoing messages (shm_buf.c). */

hg_return_t amg_shm_bufs_init(struct amg_shm_domain *domain);
void amg_shm_bufs_fini(struct amg_shm_domain *domain);

static inline struct amg_shm_buf *amg_shm_buf_of(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_shm_buf, buf);
}

static inline void amg_shm_buf_push_locked(struct amg_shm_buf *buf)
{
    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    AMG_ASSERT(buf->msgbuf != NULL);
    buf->post.link.next = buf->stock->free;
    buf->stock->free = &buf->post.link;
}

static inline void amg_shm_buf_put_locked(struct amg_shm_buf *buf)
{
    AMG_ASSERT_HELD_BIAS(&buf->domain->lock);
    if (AMG_LIKELY(buf->msgbuf != NULL)) {
        amg_shm_buf_push_locked(buf);
    } else if (buf->buf.cap == AMG_SHM_RUN) {
        buf->post.link.next = buf->domain->bufs.on_heap;
        buf->domain->bufs.on_heap = &buf->post.link;
    } else {
        amg_mem_free(buf);
    }
}

/* Lends the msgbuf or block of `buf` to `peer`. */
static inline void amg_shm_buf_lend_locked(
    struct amg_shm_buf *buf, struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(buf->msgbuf != NULL);
    atomic_store_explicit(&buf->msgbuf->is_lent, 1, memory_order_relaxed);
    buf->peer = peer;
    peer->msgbufs_lent++;
    amg_list_push(&buf->stock->lent, &buf->post.link);
}

/* A buf on the heap for `cap` bytes; NULL: no memory. Bufs of AMG_SHM_RUN bytes
 * stay allocated, for later messages, when they are put back. */
struct amg_shm_buf *amg_shm_buf_heap_locked(
    struct amg_shm_domain *domain, uint32_t cap);
/* Moves the bytes of a heap buf, whose message leaves now, to a buf with a
 * msgbuf; NULL: no msgbuf is left for the peer. May free idle peers. */
struct amg_shm_buf *amg_shm_buf_to_msgbuf_locked(struct amg_shm_buf *buf);
/* The buf in which a message waits. For a msgbuf: a copy on the heap, and `buf`
 * stays the caller's. For a block or heap memory: `buf`. NULL: no memory. */
struct amg_shm_buf *amg_shm_buf_to_wait_locked(struct amg_shm_buf *buf);
/* Asks all receivers to wake this process when they return a msgbuf. */
void amg_shm_bufs_request_wake_locked(struct amg_shm_domain *domain);
/* The peer closed or died: reclaims the msgbufs and blocks lent to it. */
void amg_shm_bufs_reclaim_peer_locked(struct amg_shm_peer *peer);
/* Number of msgbufs and blocks that the peer has not returned. */
size_t amg_shm_buf_lent_locked(const struct amg_shm_peer *peer);
/* Number of msgbufs and blocks that are neither free nor lent. */
size_t amg_shm_buf_taken_locked(const struct amg_shm_domain *domain);

/* The slots of the contract. */
hg_return_t amg_shm_buf_get(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
hg_return_t amg_shm_buf_get_long(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf);
void amg_shm_buf_put(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_shm_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_shm_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
bool amg_shm_request_now(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_shm_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op);
bool amg_shm_reply_now(struct amg_ep *ep, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len);

#endif
