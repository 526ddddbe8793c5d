/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers (slabs), and their way out. */
#ifndef AMG_OFI_BACKEND_OFI_SEND_H
#define AMG_OFI_BACKEND_OFI_SEND_H

#include "ofi_backend/ofi_domain.h"

static inline struct amg_ofi_slab *amg_ofi_slab_of_buf(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_ofi_slab, buf);
}

static inline struct amg_ofi_slab *amg_ofi_slab_of_arrival(
    const struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_ofi_slab, arrival);
}

/* HG_NOMEM, or what registering returned. */
hg_return_t amg_ofi_slab_init(struct amg_ofi_domain *domain);
void amg_ofi_slab_fini(struct amg_ofi_domain *domain);

/* NULL: no memory. */
struct amg_ofi_slab *amg_ofi_slab_get_locked(struct amg_ofi_domain *domain);
/* Ends its reference to the peer, too. */
void amg_ofi_slab_put_locked(struct amg_ofi_slab *slab);

/* Fills in all of the head but its cookie: a message of `body_len` bytes to
 * context `target`. Takes a reference to the peer for the slab. */
void amg_ofi_send_address(struct amg_ofi_slab *slab, struct amg_peer *peer,
    uint8_t context, uint8_t target, enum amg_ofi_kind kind, uint32_t body_len);

/* Sends, now or when the peer is known and the provider has room. Takes the
 * slab, and ends its operation when it has left, or cannot. */
void amg_ofi_send_locked(struct amg_ofi_slab *slab);

/* A message of our own; without memory for it, it is not sent. False then. */
bool amg_ofi_send_control_locked(struct amg_peer *peer,
    struct amg_ofi_header header, const void *body, uint32_t body_len);

/* The same for what the peer waits for: how it was done, or why not. It must
 * not wait for ever: where there is no memory to tell, all that is under way
 * with it is given up at the next poll, and it learns that when it asks why
 * this process is silent. */
void amg_ofi_send_answer_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target, enum amg_ofi_kind kind, uint32_t cookie, hg_return_t ret);

/* Posts one slab: 0, or libfabric's code, and then it is the caller's. */
ssize_t amg_ofi_send_post_locked(struct amg_ofi_slab *slab);

/* Nobody is told any more when what `ep` sends has left. */
void amg_ofi_send_detach_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_ep *ep);
/* The peer is gone: the operations of what is in motion to it end. */
void amg_ofi_send_lost_locked(const struct amg_peer *peer);
/* Libfabric's endpoint is closed: nothing is in motion any more. */
void amg_ofi_send_abandon_locked(struct amg_ofi_domain *domain);

#endif
