/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing of classes and contexts (HG_Init and its forms). */
#ifndef AMG_INIT_INIT_H
#define AMG_INIT_INIT_H

#include "init/plan.h"
#include "mercury_types.h"
#include "na_types.h"

/* HG_PROTONOSUPPORT: no such transport here (the log lists those there are);
 * HG_INVALID_ARG: no init string; or what the transport's open returned. */
hg_return_t amg_init_class(const struct amg_init *init, hg_class_t **ret_class);
/* The same without RPC: what an NA class is made of, and lends. */
hg_return_t amg_init_medium(
    const struct amg_init *init, hg_class_t **ret_class);
/* Reads the options of the network layer that apply to our transports.
 * HG_INVALID_ARG: one makes no sense; the log says which. */
hg_return_t amg_init_read_na(
    const struct na_init_info_4_0 *na, struct amg_init *init);
/* The same of all that HG_Init_opt2() takes; its strings stay the caller's. */
hg_return_t amg_init_read_info(
    const struct hg_init_info *info, struct amg_init *init);

/* Ends the class. With `serve`, open contexts make progress and run callbacks
 * until every rank has come here, and are destroyed then; without, a context
 * still open is HG_BUSY. HG_BUSY leaves all as it was. Waits for the others as
 * amg_class_quiesce() does; returns HG_TIMEOUT when somebody was given up, and
 * the class is closed all the same. A class that borrows its domains
 * waits for nobody without `serve`; with it, the lender lends no more. */
hg_return_t amg_init_finalize(hg_class_t *cls, bool serve);

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
