/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of a class: from an init string to the drivers that serve it. */
#ifndef AMG_INIT_PLAN_H
#define AMG_INIT_PLAN_H

#include "core/class.h"
#include "transport/providers.h"

/* Parameters of an open; all zero selects the defaults. */
struct amg_init {
    const char *info;    /* init string; NULL or "auto": the library chooses */
    struct amg_open how; /* info is filled in */
    /* Use the domains of this class, and ignore `info` and `how`; or NULL. */
    hg_class_t *lender;
    bool auto_sm;        /* shared memory beside the named transport */
    const char *sm_info; /* its init string after the name; NULL: none */
    bool no_overflow;
    bool no_bulk_eager;
    bool release_input_early;
    bool no_loopback;
    bool wants_stats;
    hg_checksum_level_t checksum_level;
    bool no_block; /* progress never blocks */
    /* Which threads make progress: these options, or NULL: the two flags. */
    const struct amalgam_progress_options *progress_options;
    enum amalgam_progress progress;
    enum amalgam_wait wait;
    bool is_mercury; /* callbacks run in HG_Trigger() by default */
};

/* The init string after defaults: "auto" is replaced by the environment's, and
 * so is the path of bulk data if "mpi" leaves it open. */
const char *amg_init_plan_info(const char *info);

/* Plans the domains to open for an init string. HG_INVALID_ARG: no init string;
 * HG_PROTONOSUPPORT: no such transport here, and the log lists the available
 * ones; HG_OPNOTSUPPORTED. */
hg_return_t amg_init_plan(
    const struct amg_init *init, struct amg_class_plan *plan);

/* The drivers this process can open, NULL-terminated. Loads that for MPI only
 * if `wanted`, an init string or NULL, names it. */
void amg_init_transports(const char *wanted,
    const struct amg_transport *ret_all[AMG_ROUTE_COUNT + 1]);

/* Providers that libfabric can open, or NULL: no driver. Loads it. */
const struct amg_providers *amg_init_providers(void);

/* Writes the init strings this process can open: "self, mpi, mpi+p2p". Omits
 * those that do not fit into `cap` bytes. Returns `ret_text`. */
const char *amg_init_offer(char *ret_text, size_t cap);

#endif
