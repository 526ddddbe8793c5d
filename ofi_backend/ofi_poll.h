/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: received messages, operations in flight, and silent peers. */
#ifndef AMG_OFI_BACKEND_OFI_POLL_H
#define AMG_OFI_BACKEND_OFI_POLL_H

#include "ofi_backend/ofi_domain.h"

/* The slots of the contract. */
bool amg_ofi_arm(struct amg_ep *base);
unsigned amg_ofi_poll(
    struct amg_ep *base, unsigned max, struct amg_news *ret_news);

/* The same for a whole domain, without any open endpoint; completions and
 * arrivals stay on the lists of the endpoints. Returns their number. */
unsigned amg_ofi_poll_domain_locked(struct amg_ofi_domain *domain);

/* A posted buffer has a message, or comes back. */
void amg_ofi_poll_on_received_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error);

#endif
