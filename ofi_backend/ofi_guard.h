/* SPDX-License-Identifier: BSD-3-Clause */
/* The slots of the contract, for a process that may be a child of the one that
 * opened the domain. */
#ifndef AMG_OFI_BACKEND_OFI_GUARD_H
#define AMG_OFI_BACKEND_OFI_GUARD_H

#include "ofi_backend/ofi_domain.h"

/* Is this process a child of the one that opened the domain? The first time it
 * is, the log says what that means. */
bool amg_ofi_guard_is_child(const struct amg_domain *domain);

hg_return_t amg_ofi_guard_quiesce(struct amg_domain *domain);
void amg_ofi_guard_close_domain(struct amg_domain *domain);
void amg_ofi_guard_close_ep(struct amg_ep *ep, struct amg_news *ret_news);
bool amg_ofi_guard_arm(struct amg_ep *ep);
unsigned amg_ofi_guard_poll(
    struct amg_ep *ep, unsigned max, struct amg_news *ret_news);
void amg_ofi_guard_drop(struct amg_domain *domain, struct amg_peer *peer);
hg_return_t amg_ofi_guard_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer);
hg_return_t amg_ofi_guard_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
void amg_ofi_guard_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_ofi_guard_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op);
hg_return_t amg_ofi_guard_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
void amg_ofi_guard_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_ofi_guard_release_reply(struct amg_ep *ep, struct amg_op *op);
hg_return_t amg_ofi_guard_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
hg_return_t amg_ofi_guard_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
hg_return_t amg_ofi_guard_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_ofi_guard_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

#endif
