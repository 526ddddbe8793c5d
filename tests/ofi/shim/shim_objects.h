/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of libfabric, as the shim hands them out and keeps them.
 *
 * Each is one of libfabric's public structs without any functions of its own,
 * so that a call past the table ends at once. They are never freed: a closed
 * one is known when it comes back. What belongs to a domain is guarded by its
 * user, who promised to call from one thread at a time; shim_enter() looks. */
#ifndef TESTS_OFI_SHIM_SHIM_OBJECTS_H
#define TESTS_OFI_SHIM_SHIM_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "ofi/shim/shim_breach.h"
#include "ofi_backend/ofi_call.h"

enum { SHIM_IOVS = 8 };

struct shim_domain;

/* What all of them have. */
struct shim_object {
    struct shim_object *next; /* of all that were ever made */
    const char *kind;         /* "domain" and the like */
    struct fid *real;
    struct shim_object *parent;
    struct shim_domain *domain; /* NULL: a fabric */
    unsigned children;          /* that are open */
    bool is_closed;
};

struct shim_fabric {
    struct fid_fabric public;
    struct shim_object object;
};

struct shim_domain {
    struct fid_domain public;
    struct shim_object object;
    /* The address of a thread's own byte; NULL: nobody is inside. Exchanged
     * by shim_enter() and shim_leave(). */
    _Atomic(const char *) inside;
    struct shim_flight *flights; /* posts whose completion is not out */
    struct shim_flight *past;    /* that the real provider may still name */
    unsigned depth;              /* of them, sends, reads and writes */
    unsigned receives;           /* buffers that the real provider has */
    unsigned *posts;             /* by address: refused ones */
    size_t posts_count;
    uint64_t next_key; /* of the real provider */
};

struct shim_av {
    struct fid_av public;
    struct shim_object object;
};

struct shim_cq {
    struct fid_cq public;
    struct shim_object object;
    bool can_wait;
    int wait_fd; /* an epoll of the real one and of */
    int alarm;   /* what rings for nothing; -1: none */
    uint64_t reads;
    struct shim_done *received; /* in order */
    struct shim_done *ended;    /* sends, reads and writes */
    struct shim_done *failed;   /* one that cq_readerr() is to take */
};

struct shim_ep {
    struct fid_ep public;
    struct shim_object object;
    struct shim_av *av;
    struct shim_cq *cq;
    size_t min_multi_recv;
    bool is_enabled;
};

struct shim_mr {
    struct fid_mr public;
    struct shim_object object;
    const unsigned char *base;
    size_t len;
    uint64_t access;
    uint64_t key;           /* asked for */
    struct shim_page *page; /* NULL: no key was handed out */
    struct shim_ep *ep;     /* bound to */
    bool is_enabled;
};

/* `public` is the one at the beginning of the object. */
void shim_object_init(struct fid *public, struct shim_object *object,
    const char *kind, struct fid *real, struct shim_object *parent);
/* An open object of `kind`, or the end. NULL kind: any. */
struct shim_object *shim_object_of(
    struct fid *fid, const char *kind, const char *call);
/* A registration by its descriptor; NULL: it is none and never was. */
struct shim_mr *shim_object_find_mr(const void *desc);
/* All are closed, or the end. */
void shim_object_check_all(void);
void *shim_alloc(size_t len);

/* SHIM_OF(ep, ep, "enable") is a struct shim_ep *, which is open. */
#define SHIM_OF(object, type, call)                                            \
    (shim_object_of(&(object)->fid, #type, call),                              \
        (struct shim_##type *)(void *)(object))

/* From the call's first look at the domain to its end. */
void shim_enter(struct shim_domain *domain, const char *call);
void shim_leave(struct shim_domain *domain);

/* The calls, by file. */
struct fi_info *shim_info_dup(const struct fi_info *info);
void shim_info_free(struct fi_info *info);
int shim_info_get(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
/* What the real provider said. */
struct fi_info *shim_info_real(const struct fi_info *info, const char *call);
void shim_info_check_all(void);

int shim_open_fabric(
    struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric);
int shim_open_domain(struct fid_fabric *fabric, struct fi_info *info,
    struct fid_domain **ret_domain);
int shim_open_av(
    struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **ret_av);
int shim_av_insert(struct fid_av *av, const void *addr, fi_addr_t *ret_addr);
int shim_av_remove(struct fid_av *av, fi_addr_t addr);
int shim_close(struct fid *fid);

int shim_ep_open(
    struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep);
int shim_ep_bind(struct fid_ep *ep, struct fid *fid, uint64_t flags);
int shim_ep_enable(struct fid_ep *ep);
int shim_ep_getname(struct fid_ep *ep, void *addr, size_t *len);
int shim_ep_setopt(
    struct fid_ep *ep, int option, const void *value, size_t len);

int shim_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr);
int shim_mr_bind(struct fid_mr *mr, struct fid *fid);
int shim_mr_enable(struct fid_mr *mr);
uint64_t shim_mr_key(struct fid_mr *mr);
void *shim_mr_desc(struct fid_mr *mr);
void shim_mr_closed(struct shim_mr *mr);
/* May `access` be made to these bytes by `desc`? Its registration, or NULL
 * where none is needed; if not, the end. */
struct shim_mr *shim_mr_check(const struct shim_ep *ep, const void *desc,
    const void *bytes, size_t len, uint64_t access, const char *call);

ssize_t shim_post_recvmsg(
    struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags);
ssize_t shim_post_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context);
ssize_t shim_post_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to);
ssize_t shim_post_cancel(struct fid_ep *ep, void *context);
ssize_t shim_rma_readmsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);
ssize_t shim_rma_writemsg(
    struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);

int shim_cq_open(
    struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **ret_cq);
ssize_t shim_cq_read(struct fid_cq *cq, void *entries, size_t count);
ssize_t shim_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry);
int shim_cq_wait_fd(struct fid_cq *cq, int *ret_fd);
int shim_cq_trywait(struct fid_fabric *fabric, struct fid_cq *cq);
void shim_cq_closed(struct shim_cq *cq);

#endif
