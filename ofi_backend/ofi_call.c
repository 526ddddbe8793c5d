/* SPDX-License-Identifier: BSD-3-Clause */
/* The one door to libfabric: every call of the driver goes through this table.
 */
#include "ofi_backend/ofi_call.h"

static int call_setopt(
    struct fid_ep *ep, int option, const void *value, size_t len)
{
    return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, option, value, len);
}

static int call_getname(struct fid_ep *ep, void *addr, size_t *len)
{
    return fi_getname(&ep->fid, addr, len);
}

static int call_domain(struct fid_fabric *fabric, struct fi_info *info,
    struct fid_domain **ret_domain)
{
    return fi_domain(fabric, info, ret_domain, NULL);
}

static int call_fabric(
    struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric)
{
    return fi_fabric(attr, ret_fabric, NULL);
}

static int call_endpoint(
    struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep)
{
    return fi_endpoint(domain, info, ret_ep, NULL);
}

static int call_av_open(
    struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **ret_av)
{
    return fi_av_open(domain, attr, ret_av, NULL);
}

static int call_av_insert(
    struct fid_av *av, const void *addr, fi_addr_t *ret_addr)
{
    return fi_av_insert(av, addr, 1, ret_addr, 0, NULL);
}

static int call_av_remove(struct fid_av *av, fi_addr_t addr)
{
    return fi_av_remove(av, &addr, 1, 0);
}

static int call_cq_open(
    struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **ret_cq)
{
    return fi_cq_open(domain, attr, ret_cq, NULL);
}

static ssize_t call_cq_read(struct fid_cq *cq, void *entries, size_t count)
{
    return fi_cq_read(cq, entries, count);
}

static ssize_t call_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry)
{
    return fi_cq_readerr(cq, entry, 0);
}

static int call_cq_wait_fd(struct fid_cq *cq, int *ret_fd)
{
    return fi_control(&cq->fid, FI_GETWAIT, ret_fd);
}

static int call_cq_trywait(struct fid_fabric *fabric, struct fid_cq *cq)
{
    struct fid *fids[] = {&cq->fid};

    return fi_trywait(fabric, fids, 1);
}

static ssize_t call_recvmsg(
    struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    return fi_recvmsg(ep, msg, flags);
}

static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    return fi_send(ep, bytes, len, desc, to, context);
}

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    return fi_inject(ep, bytes, len, to);
}

static ssize_t call_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return fi_readmsg(ep, msg, flags);
}

static ssize_t call_writemsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return fi_writemsg(ep, msg, flags);
}

static ssize_t call_cancel(struct fid_ep *ep, void *context)
{
    return fi_cancel(&ep->fid, context);
}

static int call_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    return fi_mr_reg(domain, bytes, len, access, 0, key, 0, ret_mr, NULL);
}

static int call_mr_bind(struct fid_mr *mr, struct fid *fid)
{
    return fi_mr_bind(mr, fid, 0);
}

static int call_mr_enable(struct fid_mr *mr)
{
    return fi_mr_enable(mr);
}

static uint64_t call_mr_key(struct fid_mr *mr)
{
    return fi_mr_key(mr);
}

static void *call_mr_desc(struct fid_mr *mr)
{
    return fi_mr_desc(mr);
}

static int call_close(struct fid *fid)
{
    return fi_close(fid);
}

static int call_enable(struct fid_ep *ep)
{
    return fi_enable(ep);
}

static int call_ep_bind(struct fid_ep *ep, struct fid *fid, uint64_t flags)
{
    return fi_ep_bind(ep, fid, flags);
}

static const struct amg_ofi_call call_libfabric = {
    .version = fi_version,
    .strerror = fi_strerror,
    .getinfo = fi_getinfo,
    .dupinfo = fi_dupinfo,
    .freeinfo = fi_freeinfo,
    .fabric = call_fabric,
    .domain = call_domain,
    .close = call_close,
    .endpoint = call_endpoint,
    .ep_bind = call_ep_bind,
    .enable = call_enable,
    .getname = call_getname,
    .setopt = call_setopt,
    .av_open = call_av_open,
    .av_insert = call_av_insert,
    .av_remove = call_av_remove,
    .cq_open = call_cq_open,
    .cq_read = call_cq_read,
    .cq_readerr = call_cq_readerr,
    .cq_wait_fd = call_cq_wait_fd,
    .cq_trywait = call_cq_trywait,
    .recvmsg = call_recvmsg,
    .send = call_send,
    .inject = call_inject,
    .readmsg = call_readmsg,
    .writemsg = call_writemsg,
    .cancel = call_cancel,
    .mr_reg = call_mr_reg,
    .mr_bind = call_mr_bind,
    .mr_enable = call_mr_enable,
    .mr_key = call_mr_key,
    .mr_desc = call_mr_desc,
};

const struct amg_ofi_call *amg_ofi_call = &call_libfabric;

void amg_ofi_call_set(const struct amg_ofi_call *call)
{
    amg_ofi_call = call == NULL ? &call_libfabric : call;
}
