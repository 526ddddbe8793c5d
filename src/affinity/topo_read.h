/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of the topology by hwloc; fails in builds without hwloc. */
#ifndef AMG_AFFINITY_TOPO_READ_H
#define AMG_AFFINITY_TOPO_READ_H

#include "mercury_core_types.h"
#include "affinity/machine.h"

enum amg_topo_source {
    AMG_TOPO_THIS,
    AMG_TOPO_XML,      /* of the file `text` */
    AMG_TOPO_SYNTHETIC /* as `text` describes it */
};

/* Fills in a machine of zeros, but for `pus`, which has room for AMG_CPUS_MAX.
 * On failure *ret_reason says why, in static words or those of the system.
 * HG_INVALID_ARG: hwloc does not take it; HG_OPNOTSUPPORTED: no hwloc;
 * HG_NOMEM. Keeps nothing. */
hg_return_t amg_topo_read(enum amg_topo_source source, const char *text,
    struct amg_machine *machine, const char **ret_reason);

#endif
