/* SPDX-License-Identifier: BSD-3-Clause */
/* What amalgam_info learns of the ranks of a class. */
#ifndef TOOLS_RANKS_H
#define TOOLS_RANKS_H

#include "report.h"

/* What is opened where the user names no transport. */
const char *ranks_transport(void);

/* By all ranks of the class; fills in that part of the report. False: no
 * memory at rank 0. */
bool ranks_learn(struct report *report);

#endif
