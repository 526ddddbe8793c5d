/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of topo_hwloc.c where the library is built without hwloc. */
#include "affinity/topo_read.h"

hg_return_t amg_topo_read(enum amg_topo_source source, const char *text,
    struct amg_machine *machine, const char **ret_reason)
{
    (void)source;
    (void)text;
    (void)machine;
    *ret_reason = "the library was built without hwloc (AMALGAM_HWLOC=OFF)";
    return HG_OPNOTSUPPORTED;
}
