/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes: the names of the peer's memory. */
#include "ofi/shim/shim_flight.h"

/* Longer than any registration, and below all of our addresses. */
#define OFFSET_MAX (1ull << 40)

static struct fid_ep *ep_real(const struct shim_ep *ep)
{
    return (struct fid_ep *)(void *)ep->object.real;
}

static bool demands(uint64_t bit)
{
    return (shim_profile->mr_mode & bit) != 0;
}

/* Offset in the registration; aborts if the range is beyond it. */
static uint64_t offset_of(
    const struct shim_page *page, const struct fi_rma_iov *at, const char *call)
{
    uint64_t base = demands(FI_MR_VIRT_ADDR) ? page->base : 0;

    if (at->addr < base || at->addr - base > page->len ||
        at->len > page->len - (at->addr - base)) {
        if (base == 0 ? at->addr >= page->base : at->addr < page->len)
            shim_breach(call, "%#llx is %s; FI_MR_VIRT_ADDR is %sset",
                (unsigned long long)at->addr,
                base == 0 ? "a virtual address" : "an offset",
                base == 0 ? "not " : "");
        shim_breach(call,
            "%llu bytes at %#llx are not all within the %llu of their key",
            (unsigned long long)at->len, (unsigned long long)at->addr,
            (unsigned long long)page->len);
    }
    return at->addr - base;
}

/* Translates the range for the real provider. FI_ENOKEY, FI_EACCES: the
 * completion reports it. */
static int place_translate(struct shim_flight *flight,
    const struct fi_rma_iov *at, struct fi_rma_iov *ret_real, const char *call)
{
    uint64_t access =
        flight->way == SHIM_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
    struct shim_page *page = NULL;

    *ret_real = *at;
    if (!demands(FI_MR_PROV_KEY)) {
        if (at->addr >= OFFSET_MAX)
            shim_breach(call,
                "%#llx is a virtual address; FI_MR_VIRT_ADDR is not set",
                (unsigned long long)at->addr);
        return 0;
    }
    page = shim_book_use(at->key);
    if (page == NULL)
        return FI_ENOKEY;
    flight->pages[flight->page_count++] = page;
    if ((page->access & access) == 0)
        return FI_EACCES;
    ret_real->addr = offset_of(page, at, call);
    ret_real->key = page->real_key;
    return 0;
}

static void shape_check(const struct fi_msg_rma *msg, const char *call)
{
    uint64_t here = 0;
    uint64_t there = 0;

    if (msg->addr == FI_ADDR_UNSPEC)
        shim_breach(call, "there is no address");
    if (msg->rma_iov_count > shim_profile->rma_iov_max)
        shim_breach(call, "%zu pieces of the peer's memory; %zu are the limit",
            msg->rma_iov_count, shim_profile->rma_iov_max);
    for (size_t i = 0; i < msg->iov_count; i++)
        here += msg->msg_iov[i].iov_len;
    for (size_t i = 0; i < msg->rma_iov_count; i++)
        there += msg->rma_iov[i].len;
    if (here != there || here == 0)
        shim_breach(call, "%llu bytes here, and %llu there",
            (unsigned long long)here, (unsigned long long)there);
    if (here > shim_profile->message_max)
        shim_breach(call, "%llu bytes; %zu are the limit",
            (unsigned long long)here, shim_profile->message_max);
}

static ssize_t rma_post(struct shim_ep *ep, enum shim_way way,
    const struct fi_msg_rma *msg, uint64_t flags, const char *call)
{
    struct fi_rma_iov places[SHIM_IOVS];
    struct shim_flight *flight = NULL;
    struct fi_msg_rma real = *msg;
    ssize_t code = 0;
    int refusal = 0;

    shape_check(msg, call);
    flight = shim_flight_make(
        ep, way, msg->msg_iov, msg->desc, msg->iov_count, msg->context, call);
    if (shim_flight_is_refused(ep, msg->addr, true)) {
        shim_flight_undo(flight);
        return -FI_EAGAIN;
    }
    shim_flight_begin(flight);
    for (size_t i = 0; i < msg->rma_iov_count && refusal == 0; i++)
        refusal = place_translate(flight, &msg->rma_iov[i], &places[i], call);
    if (refusal != 0) {
        shim_cq_push(ep->cq, flight, NULL, refusal);
        return 0;
    }
    real.desc = NULL;
    real.rma_iov = places;
    real.context = &flight->context;
    code = way == SHIM_READ ? fi_readmsg(ep_real(ep), &real, flags)
                            : fi_writemsg(ep_real(ep), &real, flags);
    if (code != 0)
        shim_flight_undo(flight);
    return code;
}

ssize_t shim_rma_readmsg(
    struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "readmsg");
    ssize_t code = 0;

    shim_enter(ep->object.domain, "readmsg");
    code = rma_post(ep, SHIM_READ, msg, flags, "readmsg");
    shim_leave(ep->object.domain);
    return code;
}

ssize_t shim_rma_writemsg(
    struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "writemsg");
    ssize_t code = 0;

    shim_enter(ep->object.domain, "writemsg");
    code = rma_post(ep, SHIM_WRITE, msg, flags, "writemsg");
    shim_leave(ep->object.domain);
    return code;
}
