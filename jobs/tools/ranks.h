/* SPDX-License-Identifier: BSD-3-Clause */
/* What amalgam_info says of the ranks of a class. */
#ifndef TOOLS_RANKS_H
#define TOOLS_RANKS_H

#include "mercury.h"

/* What is opened where the user names no transport. */
const char *ranks_transport(void);

/* The rank of this process, which is 0 where there are none. */
int ranks_own(hg_class_t *cls);

/* By all ranks of the class; rank 0 prints. */
void ranks_print(hg_class_t *cls);

#endif
