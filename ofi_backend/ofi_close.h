/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of endpoints and domains. */
#ifndef AMG_OFI_BACKEND_OFI_CLOSE_H
#define AMG_OFI_BACKEND_OFI_CLOSE_H

#include "ofi_backend/ofi_domain.h"

/* The slots of the contract. */
void amg_ofi_close_ep(struct amg_ep *base, struct amg_news *ret_news);
hg_return_t amg_ofi_close_quiesce(struct amg_domain *base);
void amg_ofi_close_report(struct amg_domain *base);
void amg_ofi_close_abandon(struct amg_domain *base);
void amg_ofi_close_domain(struct amg_domain *base);

/* Frees a domain, which may be half made; nothing of it is in use. */
void amg_ofi_close_free(struct amg_ofi_domain *domain);

#endif
