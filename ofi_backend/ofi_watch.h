/* SPDX-License-Identifier: BSD-3-Clause */
/* Watch over silent peers. */
#ifndef AMG_OFI_BACKEND_OFI_WATCH_H
#define AMG_OFI_BACKEND_OFI_WATCH_H

#include "ofi_backend/ofi_domain.h"

/* Nobody polled for a while, of which `away_ns` is not to be counted. */
void amg_ofi_watch_resume_locked(
    struct amg_ofi_domain *domain, uint64_t now_ns, uint64_t away_ns);
/* Some time has passed: looks at deadlines and at who is silent. */
void amg_ofi_watch_tick_locked(struct amg_ofi_domain *domain, uint64_t now_ns);

#endif
