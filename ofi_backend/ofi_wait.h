/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptor that a context blocks on, and its wake-ups. */
#ifndef AMG_OFI_BACKEND_OFI_WAIT_H
#define AMG_OFI_BACKEND_OFI_WAIT_H

#include "ofi_backend/ofi_domain.h"

/* Creates the descriptors, if the provider has one for its queue. Without them
 * the endpoint must be polled. */
void amg_ofi_wait_init(struct amg_ofi_ep *ep);
void amg_ofi_wait_fini(struct amg_ofi_ep *ep);

/* The slot of the contract. */
int amg_ofi_wait_fd(const struct amg_ep *base);

/* The endpoint, which has a descriptor, is about to block. */
void amg_ofi_wait_arm_locked(struct amg_ofi_ep *ep);

/* An entry was added to a list of `ep`: wakes a blocked thread. */
void amg_ofi_wait_wake_locked(struct amg_ofi_ep *ep);
/* A deadline was set by a post: wakes one context whose wait would end after
 * it. */
void amg_ofi_wait_busy_locked(struct amg_ofi_domain *domain);
/* After some time: disarms contexts that have not blocked since. */
void amg_ofi_wait_tick_locked(struct amg_ofi_domain *domain);
/* The descriptor of the queue is readable though the queue is empty: ignores it
 * for a second. */
void amg_ofi_wait_mute_locked(struct amg_ofi_domain *domain);
/* By a poll: no thread blocks any more. */
void amg_ofi_wait_end_locked(struct amg_ofi_ep *ep);

#endif
