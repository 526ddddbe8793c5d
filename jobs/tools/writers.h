/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms in which amalgam_info puts what it knows. */
#ifndef TOOLS_WRITERS_H
#define TOOLS_WRITERS_H

#include "map.h"
#include "report.h"

/* On stdout: what holds without a class. */
void text_build(void);
/* On stdout: what holds for one. */
void text_class(const struct report *report, const struct map *map);
/* On stdout: the machine, who is where, and why. */
void text_node(const struct report *report, const struct map *map);

/* Can this build do it? */
bool json_is_there(void);
/* On stdout: all as one JSON document. False: no memory. */
bool json_write(const struct report *report);

/* Can this build do it? */
bool topology_is_there(void);
/* Writes the node as XML of hwloc, with its ranks and the threads of the
 * library, into a file, which has its old content or is not there where this
 * fails. False: stderr says why. */
bool topology_write(
    const struct report *report, const struct map *map, const char *path);

#endif
