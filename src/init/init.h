/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing of classes and contexts (HG_Init and its forms). */
#ifndef AMG_INIT_INIT_H
#define AMG_INIT_INIT_H

#include "init/plan.h"
#include "mercury_types.h"
#include "na_types.h"

/* HG_PROTONOSUPPORT: no such transport here (the log lists the available ones);
 * HG_INVALID_ARG: no init string; or the error of the transport's open. */
hg_return_t amg_init_class(const struct amg_init *init, hg_class_t **ret_class);
/* The same without RPC: the class that an NA class consists of, and lends. */
hg_return_t amg_init_medium(
    const struct amg_init *init, hg_class_t **ret_class);
/* Reads the options of the network layer that apply to our transports.
 * HG_INVALID_ARG: an invalid option, which the log names. */
hg_return_t amg_init_read_na(
    const struct na_init_info_4_0 *na, struct amg_init *init);
/* The same for all options of HG_Init_opt2(); its strings stay the caller's. */
hg_return_t amg_init_read_info(
    const struct hg_init_info *info, struct amg_init *init);

/* Ends the class. With `serve`, open contexts make progress and run callbacks
 * until every rank has called this, and are destroyed then; without, an open
 * context is HG_BUSY. HG_BUSY leaves everything unchanged. Waits for the others
 * as amg_class_quiesce() does; returns HG_TIMEOUT if some process did not come,
 * and the class is closed nevertheless. A class that borrows its domains does
 * not wait without `serve`; with it, the lender cannot lend any more. */
hg_return_t amg_init_finalize(hg_class_t *cls, bool serve);

/* Owned by the user, from NA_Initialize() to NA_Finalize(). Constant. */
struct na_class {
    /* Owns the domains, and the addresses that NA calls create. It is the
     * lender of an HG class. */
    hg_class_t *medium;
};

/* The code for users of NA: the same number, or NA_IO_ERROR if NA has no such
 * code. */
static inline na_return_t amg_na_code(hg_return_t rc)
{
    return rc <= HG_HOSTFIREWALL ? (na_return_t)rc : NA_IO_ERROR;
}

#endif
