/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptor that a context sleeps on, and its wake-ups. */
#ifndef AMG_OFI_BACKEND_OFI_WAIT_H
#define AMG_OFI_BACKEND_OFI_WAIT_H

#include "ofi_backend/ofi_domain.h"

/* Makes the descriptors, if the provider has one for its queue. Without any of
 * them the endpoint is one that has to be polled. */
void amg_ofi_wait_init(struct amg_ofi_ep *ep);
void amg_ofi_wait_fini(struct amg_ofi_ep *ep);

/* The slot of the contract. */
int amg_ofi_wait_fd(const struct amg_ep *base);

/* The endpoint, which has a descriptor, is about to sleep. */
void amg_ofi_wait_arm_locked(struct amg_ofi_ep *ep);

/* Something was put on a list of `ep`: wakes who sleeps there. */
void amg_ofi_wait_wake_locked(struct amg_ofi_ep *ep);
/* Something was posted that nobody may have to be told of: wakes one context
 * that sleeps so long that it would come too late. */
void amg_ofi_wait_busy_locked(struct amg_ofi_domain *domain);
/* Some time has passed: who has not slept meanwhile is not told of news. */
void amg_ofi_wait_tick_locked(struct amg_ofi_domain *domain);
/* The queue's descriptor tells of news when there are none: leaves it alone for
 * a second. */
void amg_ofi_wait_mute_locked(struct amg_ofi_domain *domain);
/* By a poll: nobody sleeps any more. */
void amg_ofi_wait_end_locked(struct amg_ofi_ep *ep);

#endif
