/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the provider that an init string names, and what it can do. */
#ifndef AMG_OFI_BACKEND_OFI_SELECT_H
#define AMG_OFI_BACKEND_OFI_SELECT_H

#include "ofi_backend/ofi_domain.h"

/* Chooses by `how` (protocol, info, ip_subnet, addr_format, auth_key). The
 * result is the caller's, for freeinfo. HG_INVALID_ARG: no such host, port or
 * interface; HG_OPNOTSUPPORTED: no such provider here; the log says more. */
hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts);

/* A failed call of libfabric, in the log and as one of our codes. `what` says
 * what was tried; `code` may be negative or positive. */
hg_return_t amg_ofi_error(int code, const char *what);

#endif
