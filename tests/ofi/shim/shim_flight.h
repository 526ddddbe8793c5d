/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts in flight: what they lend to the NIC must not change meanwhile. */
#ifndef TESTS_OFI_SHIM_SHIM_FLIGHT_H
#define TESTS_OFI_SHIM_SHIM_FLIGHT_H

#include "ofi/shim/shim_book.h"
#include "ofi/shim/shim_objects.h"

enum shim_way { SHIM_SEND, SHIM_RECV, SHIM_READ, SHIM_WRITE };

/* One post. Its address is the context that the real provider gets. */
struct shim_flight {
    struct fi_context2 context; /* the real provider's to use */
    struct shim_flight *next;   /* of the domain's */
    struct shim_ep *ep;
    enum shim_way way;
    void *user; /* the poster's context */
    unsigned char mark;
    bool is_cancelled;
    bool is_multi; /* takes many messages */
    unsigned count;
    struct iovec iov[SHIM_IOVS];
    struct shim_mr *mrs[SHIM_IOVS];
    uint64_t sum; /* of the bytes that leave */
    unsigned page_count;
    struct shim_page *pages[SHIM_IOVS];
};

/* A completion that is not handed out yet. */
struct shim_done {
    struct shim_done *next;
    struct shim_flight *flight;
    struct fi_cq_data_entry entry;
    int error; /* 0, or libfabric's positive code */
    uint64_t due;
    bool is_last; /* of its flight */
};

/* Looks at a post before it is made: the endpoint, the pieces of memory, the
 * context. The flight is not of the domain's yet. */
struct shim_flight *shim_flight_make(struct shim_ep *ep, enum shim_way way,
    const struct iovec *iov, void *const *descs, size_t count, void *context,
    const char *call);
/* May it be made now? */
bool shim_flight_is_refused(
    struct shim_ep *ep, fi_addr_t to, bool has_completion);
/* It is about to be made, or was not. */
void shim_flight_begin(struct shim_flight *flight);
void shim_flight_undo(struct shim_flight *flight);
/* Its last completion is handed out. */
void shim_flight_end(struct shim_flight *flight);
/* The endpoint is gone. */
void shim_flight_drop_all(struct shim_ep *ep);
/* The domain is. */
void shim_flight_forget_all(struct shim_domain *domain);

/* A completion of the real provider's; or made up, `real` NULL. */
void shim_cq_push(struct shim_cq *cq, struct shim_flight *flight,
    const struct fi_cq_data_entry *real, int error);

#endif
