/* SPDX-License-Identifier: BSD-3-Clause */
/* NA classes: classes without RPC that lend their transports. */
#ifndef AMG_INIT_NA_CLASS_H
#define AMG_INIT_NA_CLASS_H

#include "mercury_types.h"
#include "na_types.h"

/* Owned by the user, from NA_Initialize() to NA_Finalize(). Constant. */
struct na_class {
    /* Owns the domains, and the addresses that NA calls make. An HG class is
     * opened with it as its lender. */
    hg_class_t *medium;
};

/* The code for users of NA: the same number, or where NA has none of that
 * meaning, NA_IO_ERROR. */
static inline na_return_t amg_na_code(hg_return_t rc)
{
    return rc <= HG_HOSTFIREWALL ? (na_return_t)rc : NA_IO_ERROR;
}

#endif
