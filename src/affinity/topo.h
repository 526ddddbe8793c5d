/* SPDX-License-Identifier: BSD-3-Clause */
/* Topology of the machine, loaded once. */
#ifndef AMG_AFFINITY_TOPO_H
#define AMG_AFFINITY_TOPO_H

#include "affinity/machine.h"
#include "mercury_core_types.h"

/* The machine this process runs on, loaded at the first call and kept for later
 * calls (variables like HWLOC_XMLFILE and HWLOC_SYNTHETIC apply). Never NULL:
 * without hwloc, or if hwloc fails, warns once with the reason, and returns a
 * flat machine: each cpu is a core, and the cpus that the process is bound to
 * are allowed. The first call takes milliseconds. Any thread. */
const struct amg_machine *amg_topo_this(void);

enum amg_topo_source {
    AMG_TOPO_THIS,
    AMG_TOPO_XML,      /* `text` is the name of an XML file */
    AMG_TOPO_SYNTHETIC /* `text` is a description */
};

/* Fills in `machine`, which is zero but for `pus` with room for AMG_CPUS_MAX.
 * On failure *ret_reason says why: a static string, or a result of strerror().
 * HG_INVALID_ARG: hwloc refuses `text`, fails, or finds no hardware thread;
 * HG_OPNOTSUPPORTED: built without hwloc; HG_NOMEM: hwloc does not start. */
hg_return_t amg_topo_read(enum amg_topo_source source, const char *text,
    struct amg_machine *machine, const char **ret_reason);

#endif
