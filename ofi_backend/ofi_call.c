/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the calls of libfabric, and libfabric's error codes as HG's. */
#include "ofi_backend/ofi_call.h"

#include "base/log.h"

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

static const struct amg_ofi_call call_libfabric = {
    .version = fi_version,
    .strerror = fi_strerror,
    .getinfo = fi_getinfo,
    .dupinfo = fi_dupinfo,
    .freeinfo = fi_freeinfo,
    .fabric = call_fabric,
    .domain = call_domain,
    .close = fi_close,
    .endpoint = call_endpoint,
    .ep_bind = fi_ep_bind,
    .enable = fi_enable,
    .getname = call_getname,
    .setopt = call_setopt,
    .av_open = call_av_open,
    .av_insert = call_av_insert,
    .av_remove = call_av_remove,
    .cq_open = call_cq_open,
    .cq_read = fi_cq_read,
    .cq_readerr = call_cq_readerr,
    .cq_wait_fd = call_cq_wait_fd,
    .cq_trywait = call_cq_trywait,
    .recvmsg = fi_recvmsg,
    .send = fi_send,
    .inject = fi_inject,
    .readmsg = fi_readmsg,
    .writemsg = fi_writemsg,
    .cancel = call_cancel,
    .mr_reg = call_mr_reg,
    .mr_bind = call_mr_bind,
    .mr_enable = fi_mr_enable,
    .mr_key = fi_mr_key,
    .mr_desc = fi_mr_desc,
};

const struct amg_ofi_call *amg_ofi_call = &call_libfabric;

void amg_ofi_call_set(const struct amg_ofi_call *call)
{
    amg_ofi_call = call == NULL ? &call_libfabric : call;
}

hg_return_t amg_ofi_error(int code, const char *what)
{
    int positive = code < 0 ? -code : code;

    AMG_LOG_ERROR("ofi", "%s: %s (libfabric code %d)", what,
        amg_ofi_call->strerror(positive), positive);
    switch (positive) {
    case FI_ENOMEM:
        return HG_NOMEM;
    case FI_ENODATA:
    case FI_ENOSYS:
        return HG_OPNOTSUPPORTED;
    case FI_EADDRINUSE:
        return HG_ADDRINUSE;
    case FI_EADDRNOTAVAIL:
        return HG_ADDRNOTAVAIL;
    case FI_EACCES:
    case FI_EPERM:
        return HG_PERMISSION;
    default:
        return HG_NA_ERROR;
    }
}
