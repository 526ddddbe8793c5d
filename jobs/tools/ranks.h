/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a class in the report of amalgam_info. */
#ifndef TOOLS_RANKS_H
#define TOOLS_RANKS_H

#include "report.h"

/* The default transport. */
const char *ranks_transport(void);

/* Whether this build can open a class for all ranks of a job. */
bool ranks_has_job(void);
/* Called by all ranks: starts MPI, and opens a class by amalgam_init(). NULL:
 * the cause was logged. */
hg_class_t *ranks_open(const char *transport);
/* Closes the class, and ends MPI. False: amalgam_finalize() failed. */
bool ranks_close(hg_class_t *cls);

/* Called by all ranks of the class: fills in what the report has of ranks.
 * False: no memory at rank 0. */
bool ranks_learn(struct report *report);

#endif
