/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand: stand-ins for calls of libfabric, which its header makes
 * through tables of the provider; so they replace the driver's table. */
#include "fault/inject/inject.h"
#include "ofi_backend/ofi_call.h"

static const struct amg_ofi_call *next; /* the table before */
static struct amg_ofi_call table;

static int failing(enum inject_call call)
{
    return -inject_code(call, NULL);
}

static int fail_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
    int code = failing(INJECT_FI_GETINFO);

    return code != 0
               ? code
               : next->getinfo(version, node, service, flags, hints, ret_info);
}

static int fail_fabric(
    struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric)
{
    int code = failing(INJECT_FI_FABRIC);

    return code != 0 ? code : next->fabric(attr, ret_fabric);
}

static int fail_domain(struct fid_fabric *fabric, struct fi_info *info,
    struct fid_domain **ret_domain)
{
    int code = failing(INJECT_FI_DOMAIN);

    return code != 0 ? code : next->domain(fabric, info, ret_domain);
}

static int fail_endpoint(
    struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep)
{
    int code = failing(INJECT_FI_ENDPOINT);

    return code != 0 ? code : next->endpoint(domain, info, ret_ep);
}

static int fail_enable(struct fid_ep *ep)
{
    int code = failing(INJECT_FI_ENABLE);

    return code != 0 ? code : next->enable(ep);
}

static int fail_getname(struct fid_ep *ep, void *addr, size_t *len)
{
    int code = failing(INJECT_FI_GETNAME);

    return code != 0 ? code : next->getname(ep, addr, len);
}

static int fail_av_open(
    struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **ret_av)
{
    int code = failing(INJECT_FI_AV_OPEN);

    return code != 0 ? code : next->av_open(domain, attr, ret_av);
}

static int fail_av_insert(
    struct fid_av *av, const void *addr, fi_addr_t *ret_addr)
{
    int code = failing(INJECT_FI_AV_INSERT);

    return code != 0 ? code : next->av_insert(av, addr, ret_addr);
}

static int fail_cq_open(
    struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **ret_cq)
{
    int code = failing(INJECT_FI_CQ_OPEN);

    return code != 0 ? code : next->cq_open(domain, attr, ret_cq);
}

static int fail_cq_wait_fd(struct fid_cq *cq, int *ret_fd)
{
    int code = failing(INJECT_FI_CQ_WAIT_FD);

    return code != 0 ? code : next->cq_wait_fd(cq, ret_fd);
}

static ssize_t fail_recvmsg(
    struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    int code = failing(INJECT_FI_RECVMSG);

    return code != 0 ? code : next->recvmsg(ep, msg, flags);
}

static ssize_t fail_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    int code = failing(INJECT_FI_SEND);

    return code != 0 ? code : next->send(ep, bytes, len, desc, to, context);
}

static ssize_t fail_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    int code = failing(INJECT_FI_INJECT);

    return code != 0 ? code : next->inject(ep, bytes, len, to);
}

static ssize_t fail_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    int code = failing(INJECT_FI_READMSG);

    return code != 0 ? code : next->readmsg(ep, msg, flags);
}

static ssize_t fail_writemsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    int code = failing(INJECT_FI_WRITEMSG);

    return code != 0 ? code : next->writemsg(ep, msg, flags);
}

static int fail_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    int code = failing(INJECT_FI_MR_REG);

    return code != 0 ? code
                     : next->mr_reg(domain, bytes, len, access, key, ret_mr);
}

void inject_ofi_begin(void)
{
    next = amg_ofi_call;
    table = *next;
    table.getinfo = fail_getinfo;
    table.fabric = fail_fabric;
    table.domain = fail_domain;
    table.endpoint = fail_endpoint;
    table.enable = fail_enable;
    table.getname = fail_getname;
    table.av_open = fail_av_open;
    table.av_insert = fail_av_insert;
    table.cq_open = fail_cq_open;
    table.cq_wait_fd = fail_cq_wait_fd;
    table.recvmsg = fail_recvmsg;
    table.send = fail_send;
    table.inject = fail_inject;
    table.readmsg = fail_readmsg;
    table.writemsg = fail_writemsg;
    table.mr_reg = fail_mr_reg;
    amg_ofi_call_set(&table);
}
