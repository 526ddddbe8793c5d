/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the fake provider whose network is this process, and its
 * events. */
#ifndef TESTS_FAULT_FUZZ_OFI_FAKE_NET_H
#define TESTS_FAULT_FUZZ_OFI_FAKE_NET_H

#include "base/list.h"
#include "fuzz.h"
#include "ofi_backend/ofi_call.h"
#include "ofi_fake.h"

enum {
    OFI_FAKE_ADDRS = 1024,
    OFI_FAKE_RECEIVES = 16,
    OFI_FAKE_IOVS = 4,
    OFI_FAKE_INJECT = 64,
};

/* A posted buffer. */
struct ofi_fake_receive {
    uint8_t *base;
    size_t len;
    size_t used;
    void *context;
};

/* Any object of libfabric, with the fields of each kind. */
struct object {
    union {
        struct fid fid;
        struct fid_fabric fabric;
        struct fid_domain domain;
        struct fid_av av;
        struct fid_cq cq;
        struct fid_ep ep;
        struct fid_mr mr;
    };
    /* av */
    uint16_t ports[OFI_FAKE_ADDRS];
    /* cq */
    struct object *of_ep;
    struct amg_list done;
    /* ep */
    struct amg_link link;
    struct object *of_av;
    struct object *of_cq;
    uint16_t port;
    size_t min_left;
    struct ofi_fake_receive receives[OFI_FAKE_RECEIVES];
    unsigned receive_first;
    unsigned receive_count;
    struct amg_list inbox;
    unsigned inbox_count;
    struct amg_list accesses;
    /* mr; `link`, too */
    uint8_t *base;
    size_t len;
    uint64_t access;
    uint64_t key;
};

extern struct amg_list ofi_fake_eps;
extern struct amg_list ofi_fake_mrs;

static inline struct object *object_of(const void *fid)
{
    return (struct object *)(uintptr_t)fid;
}

ssize_t ofi_fake_cq_read(struct fid_cq *cq, void *entries, size_t count);
ssize_t ofi_fake_cq_readerr(
    struct fid_cq *cq, struct fi_cq_err_entry *ret_entry);
ssize_t ofi_fake_recvmsg(
    struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags);
ssize_t ofi_fake_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context);
ssize_t ofi_fake_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to);
ssize_t ofi_fake_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);
ssize_t ofi_fake_writemsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);

#endif
