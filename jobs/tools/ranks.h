/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a class, as amalgam_info reports them. */
#ifndef TOOLS_RANKS_H
#define TOOLS_RANKS_H

#include "report.h"

/* The transport that is opened where the user names none. */
const char *ranks_transport(void);

/* Can this build open a class for all ranks of a job? */
bool ranks_has_job(void);
/* Starts MPI, and opens one as amalgam_init() does; by all ranks. NULL: the log
 * says why. */
hg_class_t *ranks_open(const char *transport);
/* Ends that, and MPI. False: not all ranks came to it in time. */
bool ranks_close(hg_class_t *cls);

/* By all ranks of the class; fills in that part of the report. False: no
 * memory at rank 0. */
bool ranks_learn(struct report *report);

#endif
