/* SPDX-License-Identifier: BSD-3-Clause */
/* Topology, in a build without hwloc. */
#include "writers.h"

bool topology_is_there(void)
{
    return false;
}

bool topology_write(
    const struct report *report, const struct map *map, const char *path)
{
    (void)report;
    (void)map;
    (void)path;
    return false;
}
