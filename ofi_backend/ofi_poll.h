/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: what came in, what is under way, and peers that are silent. */
#ifndef AMG_OFI_BACKEND_OFI_POLL_H
#define AMG_OFI_BACKEND_OFI_POLL_H

#include "ofi_backend/ofi_domain.h"

/* The slots of the contract. */
bool amg_ofi_arm(struct amg_ep *base);
unsigned amg_ofi_poll(
    struct amg_ep *base, unsigned max, struct amg_news *ret_news);

/* The same for a whole domain, of which no endpoint needs to be open; what is
 * found stays on the lists of the endpoints. Returns how much it was. */
unsigned amg_ofi_poll_domain_locked(struct amg_ofi_domain *domain);

/* A message is in a posted buffer, or the buffer comes back. */
void amg_ofi_poll_on_received_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error);

#endif
