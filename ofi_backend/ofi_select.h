/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the provider that an init string names. */
#ifndef AMG_OFI_BACKEND_OFI_SELECT_H
#define AMG_OFI_BACKEND_OFI_SELECT_H

#include "ofi_backend/ofi_domain.h"

/* Chooses by `how` (protocol, info, ip_subnet, addr_format, auth_key). The
 * result is the caller's, for freeinfo. HG_INVALID_ARG: no such host, port or
 * interface; HG_OPNOTSUPPORTED: no such provider here; the log says more. */
hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts);

/* All that libfabric has for this driver, for freeinfo; NULL: nothing. */
struct fi_info *amg_ofi_select_all(void);

#endif
