/* SPDX-License-Identifier: BSD-3-Clause */
/* The slots of the contract, for a process that may be a child of the one that
 * opened the domain.
 *
 * Nothing of libfabric may be used after a fork(): connections and queues are
 * the parent's, pinned pages may be missing, and a lock may be held by a thread
 * that is not there. So in a child no slot takes the lock or calls libfabric:
 * what begins anything is refused, and what ends anything does nothing, which
 * leaves the parent's objects alone. */
#include "ofi_backend/ofi_guard.h"

#include "base/fork.h"
#include "base/log.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_close.h"
#include "ofi_backend/ofi_mem.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_poll.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_slab.h"
#include "ofi_backend/ofi_wait.h"

static void child_tell(const struct amg_ofi_domain *domain)
{
    static atomic_bool was_told;

    if (!atomic_exchange_explicit(&was_told, true, memory_order_relaxed))
        AMG_LOG_ERROR("cls",
            "ofi+%s: this process was forked from the one that opened the "
            "class, and cannot use it; open a class after the fork, or start "
            "the child by exec, and mind that RDMAV_FORK_SAFE or CXI_FORK_SAFE "
            "may be needed for the parent's sake",
            domain->facts.stack);
}

bool amg_ofi_guard_is_child(const struct amg_domain *base)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    if (amg_fork_count() == domain->forks)
        return false;
    child_tell(domain);
    return true;
}

/* NOTE(not by its endpoint): that may be closed when a slab is given back. */
static bool slab_is_foreign(const struct amg_ofi_slab *slab)
{
    return amg_ofi_guard_is_child(&slab->domain->base);
}

hg_return_t amg_ofi_guard_quiesce(struct amg_domain *domain)
{
    return amg_ofi_guard_is_child(domain) ? HG_SUCCESS
                                          : amg_ofi_close_quiesce(domain);
}

void amg_ofi_guard_close_domain(struct amg_domain *domain)
{
    if (!amg_ofi_guard_is_child(domain))
        amg_ofi_close_domain(domain);
}

void amg_ofi_guard_close_ep(struct amg_ep *ep, struct amg_news *ret_news)
{
    if (!amg_ofi_guard_is_child(ep->domain))
        amg_ofi_close_ep(ep, ret_news);
}

bool amg_ofi_guard_arm(struct amg_ep *ep)
{
    return amg_ofi_guard_is_child(ep->domain) || amg_ofi_wait_arm(ep);
}

unsigned amg_ofi_guard_poll(
    struct amg_ep *ep, unsigned max, struct amg_news *ret_news)
{
    return amg_ofi_guard_is_child(ep->domain) ? 0
                                              : amg_ofi_poll(ep, max, ret_news);
}

void amg_ofi_guard_drop(struct amg_domain *domain, struct amg_peer *peer)
{
    if (!amg_ofi_guard_is_child(domain))
        amg_ofi_addr_drop(domain, peer);
}

hg_return_t amg_ofi_guard_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer)
{
    return amg_ofi_guard_is_child(domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_addr_parse(domain, text, ret_peer);
}

hg_return_t amg_ofi_guard_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    return amg_ofi_guard_is_child(ep->domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_msg_get_buf(ep, peer, ret_buf);
}

void amg_ofi_guard_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    if (!slab_is_foreign(amg_ofi_slab_of_buf(buf)))
        amg_ofi_msg_put_buf(ep, buf);
}

hg_return_t amg_ofi_guard_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    return amg_ofi_guard_is_child(ep->domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_msg_send_request(
                     ep, peer, target_context, buf, len, wants_reply, op);
}

hg_return_t amg_ofi_guard_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    return amg_ofi_guard_is_child(ep->domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_msg_send_reply(ep, arrival, buf, len, op);
}

void amg_ofi_guard_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (!slab_is_foreign(amg_ofi_slab_of_arrival(arrival)))
        amg_ofi_msg_release(ep, arrival);
}

void amg_ofi_guard_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    if (op->data != NULL && !slab_is_foreign(amg_ofi_op_ptr(op)))
        amg_ofi_msg_release_reply(ep, op);
}

hg_return_t amg_ofi_guard_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    return amg_ofi_guard_is_child(domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_mem_reg(domain, segments, count, flags, ret_mem);
}

hg_return_t amg_ofi_guard_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms)
{
    return amg_ofi_guard_is_child(domain)
               ? HG_SUCCESS
               : amg_ofi_mem_unreg(domain, mem, timeout_ms);
}

hg_return_t amg_ofi_guard_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op)
{
    return amg_ofi_guard_is_child(ep->domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_rma_put(
                     ep, peer, target_context, local, remote, len, op);
}

hg_return_t amg_ofi_guard_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op)
{
    return amg_ofi_guard_is_child(ep->domain)
               ? HG_OPNOTSUPPORTED
               : amg_ofi_rma_get(
                     ep, peer, target_context, local, remote, len, op);
}
