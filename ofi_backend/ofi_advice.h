/* SPDX-License-Identifier: BSD-3-Clause */
/* A sentence for each trap that is known, where it is found. */
#ifndef AMG_OFI_BACKEND_OFI_ADVICE_H
#define AMG_OFI_BACKEND_OFI_ADVICE_H

#include "ofi_backend/ofi_domain.h"

/* The user named the address of all interfaces, and `info` has the one that was
 * taken instead. */
void amg_ofi_advice_any(const char *wish, const struct fi_info *info);

/* A domain is open: is MPI at the same NIC? */
void amg_ofi_advice_mpi(const struct amg_ofi_domain *domain);

/* There is one peer more. */
void amg_ofi_advice_peers_locked(struct amg_ofi_domain *domain);

/* For tests: each is given again. */
void amg_ofi_advice_forget(void);

#endif
