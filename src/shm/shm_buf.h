/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of outgoing messages, and arrivals. */
#ifndef AMG_SHM_SHM_BUF_H
#define AMG_SHM_SHM_BUF_H

#include "shm/shm_domain.h"

enum {
    /* Slabs of one peer that arrivals may point into at once; further messages
     * are copied, so that a receiver that keeps arrivals does not exhaust the
     * sender's msgbufs. 64 such receivers would exhaust it. */
    AMG_SHM_HELD_MAX = 16,
};

hg_return_t amg_shm_buf_init(struct amg_shm_domain *domain);
void amg_shm_buf_fini(struct amg_shm_domain *domain);

/* A buffer, with a msgbuf if one is free; NULL: no memory. */
struct amg_shm_buf *amg_shm_buf_get_locked(struct amg_shm_domain *domain);
void amg_shm_buf_put_locked(struct amg_shm_buf *buf);
/* Moves the bytes of a heap buf to one with a msgbuf; NULL: none is free. */
struct amg_shm_buf *amg_shm_buf_settle_locked(struct amg_shm_buf *buf);
/* Hands the msgbuf of `buf` to `peer`, which will return it. */
void amg_shm_buf_out_locked(struct amg_shm_buf *buf, struct amg_shm_peer *peer);
/* Returns a msgbuf of `peer` whose bytes were read. */
void amg_shm_msgbuf_return(
    struct amg_shm_peer *peer, struct amg_shm_msgbuf *msgbuf);
/* Asks the next receiver that returns a msgbuf to wake this process. */
void amg_shm_buf_want_locked(struct amg_shm_domain *domain);
/* The peer is gone: reclaims the msgbufs that it has. */
void amg_shm_buf_gone_locked(struct amg_shm_peer *peer);

/* An arrival without bytes; NULL: no memory. */
struct amg_shm_arrival *amg_shm_arrival_get_locked(
    struct amg_shm_domain *domain);
/* Frees it, its reference to the peer, and its bytes. */
void amg_shm_arrival_put_locked(struct amg_shm_arrival *arrival);

static inline struct amg_shm_buf *amg_shm_buf_of(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_shm_buf, buf);
}

static inline struct amg_shm_buf *amg_shm_buf_of_post(struct amg_post *post)
{
    return amg_container_of(post, struct amg_shm_buf, post);
}

static inline struct amg_shm_arrival *amg_shm_arrival_of(
    const struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_shm_arrival, base);
}

/* The slots of the contract. */
hg_return_t amg_shm_buf_get(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
void amg_shm_buf_put(struct amg_ep *ep, struct amg_buf *buf);

#endif
