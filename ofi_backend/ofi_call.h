/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the calls of libfabric; the driver calls libfabric only through it.
 *
 * While no domain is open, a test may replace the table by amg_ofi_call_set(),
 * to see or change every call. A slot calls the function of libfabric that has
 * fi_ before the slot's name; other slots have a comment. */
#ifndef AMG_OFI_BACKEND_OFI_CALL_H
#define AMG_OFI_BACKEND_OFI_CALL_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "mercury_core_types.h"

struct amg_ofi_call {
    uint32_t (*version)(void);
    const char *(*strerror)(int code);
    int (*getinfo)(uint32_t version, const char *node, const char *service,
        uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    void (*freeinfo)(struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric);
    int (*domain)(struct fid_fabric *fabric, struct fi_info *info,
        struct fid_domain **ret_domain);
    int (*close)(struct fid *fid);

    int (*endpoint)(struct fid_domain *domain, struct fi_info *info,
        struct fid_ep **ret_ep);
    int (*ep_bind)(struct fid_ep *ep, struct fid *fid, uint64_t flags);
    int (*enable)(struct fid_ep *ep);
    int (*getname)(struct fid_ep *ep, void *addr, size_t *len);
    int (*setopt)(struct fid_ep *ep, int option, const void *value, size_t len);

    int (*av_open)(struct fid_domain *domain, struct fi_av_attr *attr,
        struct fid_av **ret_av);
    int (*av_insert)(struct fid_av *av, const void *addr, fi_addr_t *ret_addr);
    int (*av_remove)(struct fid_av *av, fi_addr_t addr);

    int (*cq_open)(struct fid_domain *domain, struct fi_cq_attr *attr,
        struct fid_cq **ret_cq);
    ssize_t (*cq_read)(struct fid_cq *cq, void *entries, size_t count);
    ssize_t (*cq_readerr)(struct fid_cq *cq, struct fi_cq_err_entry *entry);
    /* fi_control() with FI_GETWAIT. */
    int (*cq_wait_fd)(struct fid_cq *cq, int *ret_fd);
    /* fi_trywait() of one queue. */
    int (*cq_trywait)(struct fid_fabric *fabric, struct fid_cq *cq);

    ssize_t (*recvmsg)(
        struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags);
    ssize_t (*send)(struct fid_ep *ep, const void *bytes, size_t len,
        void *desc, fi_addr_t to, void *context);
    ssize_t (*inject)(
        struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to);
    ssize_t (*readmsg)(
        struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);
    ssize_t (*writemsg)(
        struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);
    ssize_t (*cancel)(struct fid_ep *ep, void *context);

    int (*mr_reg)(struct fid_domain *domain, const void *bytes, size_t len,
        uint64_t access, uint64_t key, struct fid_mr **ret_mr);
    int (*mr_bind)(struct fid_mr *mr, struct fid *fid);
    int (*mr_enable)(struct fid_mr *mr);
    uint64_t (*mr_key)(struct fid_mr *mr);
    void *(*mr_desc)(struct fid_mr *mr);
};

/* Table in use. */
extern const struct amg_ofi_call *amg_ofi_call;

/* Replaces the table. No domain may be open. NULL: the calls of libfabric. */
void amg_ofi_call_set(const struct amg_ofi_call *call);

/* Logs a failed call of libfabric, and returns HG's code for libfabric's
 * `code`, which may be negative or positive. `what` names the action. */
hg_return_t amg_ofi_error(int code, const char *what);

#endif
