/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint of a domain: registered memory (ofi_block.c); messages that come
 * (ofi_receive.c); progress (ofi_poll.c); waiting (ofi_wait.c). */
#ifndef AMG_OFI_BACKEND_OFI_EP_H
#define AMG_OFI_BACKEND_OFI_EP_H

#include "ofi_backend/ofi_domain.h"

/* Memory for messages; registered, if the provider needs that. */
struct amg_ofi_block {
    struct amg_ofi_block *next;
    struct fid_mr *mr;    /* NULL: not needed */
    size_t used_count;    /* msgbufs made of the block */
    size_t count;         /* msgbufs that fit into the block */
    unsigned char *bytes; /* aligned to cache lines */
};

/* `access`: bits such as FI_SEND. HG_NOMEM, or a code of amg_ofi_error(). */
hg_return_t amg_ofi_reg_locked(struct amg_ofi_domain *domain, const void *base,
    uint64_t len, uint64_t access, struct fid_mr **ret_mr);
/* NULL: does nothing. */
void amg_ofi_unreg_locked(struct amg_ofi_domain *domain, struct fid_mr *mr);

/* libfabric's descriptor (desc) of our memory, for a post; NULL: not needed. */
static inline void *amg_ofi_reg_desc(struct fid_mr *mr)
{
    return mr == NULL ? NULL : amg_ofi_call->mr_desc(mr);
}

/* A block of `len` bytes. HG_NOMEM, or the error of registering. */
hg_return_t amg_ofi_block_make_locked(struct amg_ofi_domain *domain, size_t len,
    uint64_t access, struct amg_ofi_block **ret_block);
void amg_ofi_block_free_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_block *block);
/* No message is in flight: deregisters the block and all blocks that follow. */
void amg_ofi_blocks_unreg_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_block *block);

/* Posts the receive buffers. HG_NOMEM, or a code of amg_ofi_error(). */
hg_return_t amg_ofi_receive_begin_locked(struct amg_ofi_domain *domain);
/* Posts again the buffers that the provider released; see ofi_receive.c. */
void amg_ofi_receive_again_locked(struct amg_ofi_domain *domain);

/* The slots of the contract. */
bool amg_ofi_arm(struct amg_ep *base);
unsigned amg_ofi_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events);

/* Polls the queue for all endpoints, also if none is open; ended operations and
 * arrivals stay on their lists. Returns the number of completions. */
unsigned amg_ofi_poll_domain_locked(struct amg_ofi_domain *domain);

/* A posted operation has ended without an error. */
static inline void amg_ofi_poll_on_completion_locked(
    struct amg_ofi_domain *domain, const struct fi_cq_data_entry *entry)
{
    struct amg_ofi_work *work = entry->op_context; /* `context` comes first */

    if (work != NULL)
        work->done(domain, work, entry, 0);
}

/* Creates the descriptors, if the provider's queue has a descriptor. An
 * endpoint without descriptors must be polled. */
void amg_ofi_wait_init(struct amg_ofi_ep *ep);
void amg_ofi_wait_fini(struct amg_ofi_ep *ep);

/* A slot of the contract. */
int amg_ofi_wait_fd(const struct amg_ep *base);

/* A thread is about to block on the endpoint, which has a descriptor. False:
 * the thread must poll: the queue is not empty, or cannot wake the thread. */
bool amg_ofi_wait_arm_locked(struct amg_ofi_ep *ep);

/* An entry was added to a list of `ep`: wakes the thread blocked on `ep`. */
void amg_ofi_wait_wake_locked(struct amg_ofi_ep *ep);
/* A post may need a poll soon: shortens the timers of blocked contexts. */
void amg_ofi_wait_shorten_locked(struct amg_ofi_domain *domain);
/* Each tick: takes the queue's descriptor out of the epolls of contexts that
 * have not blocked for 0.2 s, and unmutes a descriptor muted for a second. */
void amg_ofi_wait_tick_locked(struct amg_ofi_domain *domain);
/* A poll or close tells that no thread blocks on the endpoint any more. */
void amg_ofi_wait_disarm_locked(struct amg_ofi_ep *ep);

#endif
