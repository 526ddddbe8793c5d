/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts in flight: their memory must not change meanwhile. */
#ifndef TESTS_OFI_SHIM_SHIM_FLIGHT_H
#define TESTS_OFI_SHIM_SHIM_FLIGHT_H

#include "ofi/shim/shim_book.h"
#include "ofi/shim/shim_objects.h"

enum shim_way { SHIM_SEND, SHIM_RECV, SHIM_READ, SHIM_WRITE };

/* A post. Its address is the context for the real provider. */
struct shim_flight {
    struct fi_context2 context; /* for the real provider's use */
    struct shim_flight *next;   /* on the domain's list */
    struct shim_ep *ep;
    enum shim_way way;
    void *user; /* the poster's context */
    unsigned char mark;
    bool is_cancelled;
    bool is_multi; /* takes many messages */
    unsigned count;
    struct iovec iov[SHIM_IOVS];
    struct shim_mr *mrs[SHIM_IOVS];
    uint64_t sum; /* checksum of outgoing bytes */
    unsigned page_count;
    struct shim_page *pages[SHIM_IOVS];
};

/* A completion that was not handed out yet. */
struct shim_done {
    struct shim_done *next;
    struct shim_flight *flight;
    struct fi_cq_data_entry entry;
    int error; /* 0, or libfabric's positive code */
    uint64_t due;
    bool is_last; /* of its post */
};

/* Checks a post before it is made: endpoint, segments of memory, context. It is
 * not on the domain's list yet. */
struct shim_flight *shim_flight_make(struct shim_ep *ep, enum shim_way way,
    const struct iovec *iov, void *const *descs, size_t count, void *context,
    const char *call);
/* Is it refused now? */
bool shim_flight_is_refused(
    struct shim_ep *ep, fi_addr_t to, bool has_completion);
/* The real post is about to be made, or has failed. */
void shim_flight_begin(struct shim_flight *flight);
void shim_flight_undo(struct shim_flight *flight);
/* Its last completion was handed out. */
void shim_flight_end(struct shim_flight *flight);
/* The endpoint is closed. */
void shim_flight_drop_all(struct shim_ep *ep);
/* The domain is closed. */
void shim_flight_forget_all(struct shim_domain *domain);

/* Adds a completion of the real provider, or, with `real` NULL, an invented
 * one. */
void shim_cq_push(struct shim_cq *cq, struct shim_flight *flight,
    const struct fi_cq_data_entry *real, int error);

#endif
