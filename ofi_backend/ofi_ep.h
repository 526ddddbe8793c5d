/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of libfabric that a domain is made of, and what it receives. */
#ifndef AMG_OFI_BACKEND_OFI_EP_H
#define AMG_OFI_BACKEND_OFI_EP_H

#include "ofi_backend/ofi_domain.h"

/* Opens all of them for domain->info, and knows where it is reached then.
 * HG_ADDRINUSE: the port is taken; HG_ADDRNOTAVAIL: the host is none of this
 * machine's; HG_NA_ERROR, HG_NOMEM; the log says more. Half of it may be open
 * after an error. */
hg_return_t amg_ofi_ep_open(struct amg_ofi_domain *domain,
    const struct amg_open *how, uint8_t *ret_addr, uint16_t *ret_len);
/* Receives from now on. HG_NOMEM, HG_NA_ERROR. */
hg_return_t amg_ofi_ep_listen_locked(struct amg_ofi_domain *domain);
/* Fine after a failed open. */
void amg_ofi_ep_close(struct amg_ofi_domain *domain);
/* The memory of what was received, once the endpoint is closed. */
void amg_ofi_ep_fini(struct amg_ofi_domain *domain);

/* A message of `len` bytes is in the buffer. */
void amg_ofi_ep_note_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, const void *at, size_t len);
/* The provider will not choose it any more. */
void amg_ofi_ep_release_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive);
/* A message failed in the buffer. It was cut off to fit at `at`; NULL: not. */
void amg_ofi_ep_cut_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_receive *receive, const void *at);
/* Posts those again that the provider gave back, where all has come. */
void amg_ofi_ep_refill_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_receive *receive);
void amg_ofi_ep_refill_all_locked(struct amg_ofi_domain *domain);

#endif
