/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of libfabric that the shim hands out. Each is one of libfabric's
 * public structs without functions, so that a call that bypasses the table
 * crashes at once. They are never freed, so that the shim recognises a closed
 * one. The user guards the objects of a domain, having promised to call from
 * one thread at a time; shim_enter() checks that. */
#ifndef TESTS_OFI_SHIM_SHIM_OBJECTS_H
#define TESTS_OFI_SHIM_SHIM_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "ofi/shim/shim_breach.h"
#include "ofi_backend/ofi_call.h"

enum { SHIM_IOVS = 8 };

struct shim_domain;

/* Common part of all objects. */
struct shim_object {
    struct shim_object *next; /* on the list of all that were ever made */
    const char *kind;         /* "domain" and the like */
    struct fid *real;
    struct shim_object *parent;
    struct shim_domain *domain; /* NULL: a fabric */
    unsigned children;          /* open ones */
    bool is_closed;
};

struct shim_fabric {
    struct fid_fabric public;
    struct shim_object object;
};

struct shim_domain {
    struct fid_domain public;
    struct shim_object object;
    /* Address of a byte of the calling thread; NULL: no thread is inside.
     * Exchanged by shim_enter() and shim_leave(). */
    _Atomic(const char *) inside;
    struct shim_flight *flights; /* posts without a completion yet */
    struct shim_flight *past;    /* that the real provider may still complete */
    unsigned depth;              /* sends, reads and writes among `flights` */
    unsigned receives;           /* buffers that the real provider has */
    unsigned *posts;             /* refused ones, by peer address */
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
    int alarm;   /* `alarm`, which makes it ready for nothing; -1: none */
    uint64_t reads;
    struct shim_done *received; /* in order of arrival */
    struct shim_done *ended;    /* sends, reads and writes */
    struct shim_done *failed;   /* the error that cq_readerr() reads next */
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
    uint64_t key;           /* requested by the user */
    struct shim_page *page; /* NULL: no key was handed out */
    struct shim_ep *ep;     /* bound to */
    bool is_enabled;
};

/* `public` is at the beginning of the object. */
void shim_object_init(struct fid *public, struct shim_object *object,
    const char *kind, struct fid *real, struct shim_object *parent);
/* An open object of `kind` (NULL: any); aborts if it is none. */
struct shim_object *shim_object_of(
    struct fid *fid, const char *kind, const char *call);
/* A registration by its descriptor; NULL: it never was one. */
struct shim_mr *shim_object_find_mr(const void *desc);
/* Aborts if one is not closed. */
void shim_object_check_all(void);
void *shim_alloc(size_t len);

/* SHIM_OF(ep, ep, "enable") is a struct shim_ep *, which is open. */
#define SHIM_OF(object, type, call)                                            \
    (shim_object_of(&(object)->fid, #type, call),                              \
        (struct shim_##type *)(void *)(object))

/* Enclose a call's use of the domain. */
void shim_enter(struct shim_domain *domain, const char *call);
void shim_leave(struct shim_domain *domain);

/* The calls, by the file that implements them. */
struct fi_info *shim_info_dup(const struct fi_info *info);
void shim_info_free(struct fi_info *info);
int shim_info_get(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
/* The real provider's info. */
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
/* The registration by which `desc` allows `access` to these bytes, or NULL if
 * none is needed; aborts if the access is not allowed. */
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
