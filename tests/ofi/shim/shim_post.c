/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts of messages. */
#include <string.h>

#include "ofi/shim/shim_flight.h"

enum { INJECTED_MARK = 0xdb };

static struct fid_ep *ep_real(const struct shim_ep *ep)
{
    return (struct fid_ep *)(void *)ep->object.real;
}

static void address_check(fi_addr_t to, const char *call)
{
    if (to == FI_ADDR_UNSPEC)
        shim_breach(call, "there is no address");
}

static ssize_t recv_post(
    struct shim_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    struct shim_flight *flight = NULL;
    struct fi_msg real = *msg;
    ssize_t code = 0;

    if ((flags & FI_MULTI_RECV) != 0 && ep->min_multi_recv == 0)
        shim_breach("recvmsg", "FI_OPT_MIN_MULTI_RECV was not set before");
    if ((flags & FI_MULTI_RECV) != 0 && shim_profile->is_single)
        shim_breach("recvmsg", "a buffer takes one message");
    flight = shim_flight_make(ep, SHIM_RECV, msg->msg_iov, msg->desc,
        msg->iov_count, msg->context, "recvmsg");
    if (shim_flight_is_refused(ep, FI_ADDR_UNSPEC, false)) {
        shim_flight_undo(flight);
        return -FI_EAGAIN;
    }
    real.desc = NULL;
    real.context = &flight->context;
    flight->is_multi = (flags & FI_MULTI_RECV) != 0;
    shim_flight_begin(flight);
    code = fi_recvmsg(ep_real(ep), &real, flags);
    if (code != 0)
        shim_flight_undo(flight);
    else
        ep->object.domain->receives++;
    return code;
}

ssize_t shim_post_recvmsg(
    struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "recvmsg");
    ssize_t code = 0;

    shim_enter(ep->object.domain, "recvmsg");
    code = recv_post(ep, msg, flags);
    shim_leave(ep->object.domain);
    return code;
}

static ssize_t send_post(struct shim_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, len};
    struct shim_flight *flight = NULL;
    ssize_t code = 0;

    address_check(to, "send");
    if (len > shim_profile->message_max)
        shim_breach("send", "%zu bytes; a message has at most %zu", len,
            shim_profile->message_max);
    flight = shim_flight_make(ep, SHIM_SEND, &iov, &desc, 1, context, "send");
    if (shim_flight_is_refused(ep, to, true)) {
        shim_flight_undo(flight);
        return -FI_EAGAIN;
    }
    shim_flight_begin(flight);
    code = fi_send(ep_real(ep), bytes, len, NULL, to, &flight->context);
    if (code != 0)
        shim_flight_undo(flight);
    return code;
}

ssize_t shim_post_send(struct fid_ep *fid, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "send");
    ssize_t code = 0;

    shim_enter(ep->object.domain, "send");
    code = send_post(ep, bytes, len, desc, to, context);
    shim_leave(ep->object.domain);
    return code;
}

ssize_t shim_post_inject(
    struct fid_ep *fid, const void *bytes, size_t len, fi_addr_t to)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "inject");
    ssize_t code = -FI_EAGAIN;

    shim_enter(ep->object.domain, "inject");
    address_check(to, "inject");
    if (!ep->is_enabled)
        shim_breach("inject", "the endpoint is not enabled");
    if (len > shim_profile->inject_len)
        shim_breach("inject", "%zu bytes; %zu are the limit", len,
            shim_profile->inject_len);
    if (!shim_flight_is_refused(ep, to, false))
        code = fi_inject(ep_real(ep), bytes, len, to);
    /* The bytes belong to the poster again, which must not expect them
     * unchanged. */
    if (code == 0)
        memset((void *)(uintptr_t)bytes, INJECTED_MARK, len);
    shim_leave(ep->object.domain);
    return code;
}

ssize_t shim_post_cancel(struct fid_ep *fid, void *context)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "cancel");
    struct shim_flight *flight = NULL;

    shim_enter(ep->object.domain, "cancel");
    flight = ep->object.domain->flights;
    while (flight != NULL && flight->user != context)
        flight = flight->next;
    if (flight == NULL)
        shim_breach("cancel", "the context %p is not in flight", context);
    flight->is_cancelled = true;
    (void)fi_cancel(&ep_real(ep)->fid, &flight->context);
    shim_leave(ep->object.domain);
    return 0;
}
