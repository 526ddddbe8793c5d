/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of a class: from an init string to the drivers that serve it. */
#ifndef AMG_INIT_PLAN_H
#define AMG_INIT_PLAN_H

#include "core/class.h"
#include "transport/providers.h"

/* What the faces ask for; all zero takes the defaults. */
struct amg_init {
    const char *info;    /* init string; NULL or "auto": the library chooses */
    struct amg_open how; /* info is filled in */
    /* Use the domains of this class, and neither `info` nor `how`; or NULL. */
    hg_class_t *lender;
    bool auto_sm;        /* shared memory beside the transport named */
    const char *sm_info; /* what follows its name then; NULL: nothing */
    bool no_overflow;
    bool no_bulk_eager;
    bool release_input_early;
    bool no_loopback;
    bool wants_stats;
    hg_checksum_level_t checksum_level;
    bool no_block; /* progress never sleeps */
    /* Who makes progress: these options, or NULL: the two words. */
    const struct amalgam_progress_options *progress_options;
    enum amalgam_progress progress;
    enum amalgam_wait wait;
    bool is_mercury; /* callbacks run in HG_Trigger() where all that is open */
};

/* The init string after defaults: "auto" is what the environment names, and so
 * is the way of bulk data where "mpi" leaves that open. */
const char *amg_init_plan_info(const char *info);

/* Which domains are to be opened for it. HG_INVALID_ARG: no init string;
 * HG_PROTONOSUPPORT: no such transport here, and the log lists those there are;
 * HG_OPNOTSUPPORTED. */
hg_return_t amg_init_plan(
    const struct amg_init *init, struct amg_class_plan *plan);

/* The drivers this process can open, with NULL after the last. That for MPI is
 * loaded only when `wanted`, an init string or NULL, names it. */
void amg_init_transports(const char *wanted,
    const struct amg_transport *ret_all[AMG_ROUTE_COUNT + 1]);

/* What libfabric can open, or NULL: its driver is not there. Loads it. */
const struct amg_providers *amg_init_providers(void);

/* Writes the init strings this process can open: "self, mpi, mpi+p2p". What
 * does not fit into `cap` bytes is left out. Returns `ret_text`. */
const char *amg_init_offer(char *ret_text, size_t cap);

#endif
