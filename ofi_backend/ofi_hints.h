/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of a provider. */
#ifndef AMG_OFI_BACKEND_OFI_HINTS_H
#define AMG_OFI_BACKEND_OFI_HINTS_H

#include "ofi_backend/ofi_call.h"
#include "ofi_backend/ofi_auth.h"
#include "transport/transport.h"

/* How much is asked for; each asks for less than the one before. */
enum amg_ofi_hints_level {
    AMG_OFI_HINTS_ALL,    /* short queues, the least locks, no threads */
    AMG_OFI_HINTS_QUEUES, /* queues as long as the provider likes */
    AMG_OFI_HINTS_LEAST,  /* also its own locks and threads */
    AMG_OFI_HINTS_LEVELS
};

/* Of the providers `stack`, or any (NULL). The result is the caller's, for
 * freeinfo. HG_NOMEM. */
hg_return_t amg_ofi_hints_make(const struct amg_open *how, const char *stack,
    const struct amg_ofi_auth *key, enum amg_ofi_hints_level level,
    struct fi_info **ret_hints);

/* The version of the interface to ask for: what the headers, the library that
 * is loaded, and this code all know. HG_OPNOTSUPPORTED: it is too old; the log
 * says so. */
hg_return_t amg_ofi_hints_version(uint32_t *ret_version);

#endif
