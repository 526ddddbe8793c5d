/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering memory with the provider, by what it demands. */
#ifndef AMG_OFI_BACKEND_OFI_REG_H
#define AMG_OFI_BACKEND_OFI_REG_H

#include "ofi_backend/ofi_domain.h"

/* `access` are FI_SEND and its like. HG_NOMEM, HG_NA_ERROR, with a log line. */
hg_return_t amg_ofi_reg_locked(struct amg_ofi_domain *domain, const void *base,
    uint64_t len, uint64_t access, struct fid_mr **ret_mr);
/* NULL is fine. */
void amg_ofi_unreg_locked(struct fid_mr *mr);

/* What a post of own memory passes as its descriptor; NULL where none is
 * asked for. */
static inline void *amg_ofi_reg_desc(struct fid_mr *mr)
{
    return mr == NULL ? NULL : amg_ofi_call->mr_desc(mr);
}

#endif
