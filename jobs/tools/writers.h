/* SPDX-License-Identifier: BSD-3-Clause */
/* Writers of the report of amalgam_info. */
#ifndef TOOLS_WRITERS_H
#define TOOLS_WRITERS_H

#include "map.h"
#include "report.h"

/* Prints the facts of the build. */
void text_build(void);
/* Prints the facts of a class. */
void text_class(const struct report *report, const struct map *map);
/* Prints the machine, its ranks and threads, and the reasons of their
 * placement. */
void text_node(const struct report *report, const struct map *map);

/* Can this build write JSON? */
bool json_is_there(void);
/* Prints the report as one JSON document. False: no memory. */
bool json_write(const struct report *report);

/* Can this build write a topology? */
bool topology_is_there(void);
/* Writes the node as XML of hwloc, with its ranks and the threads of the
 * library. False: the file is as it was, and the cause was printed. */
bool topology_write(
    const struct report *report, const struct map *map, const char *path);

#endif
