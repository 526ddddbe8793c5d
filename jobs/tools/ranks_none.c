/* SPDX-License-Identifier: BSD-3-Clause */
/* What amalgam_info says of ranks in a build without MPI. */
#include <stdio.h>

#include "ranks.h"

const char *ranks_transport(void)
{
    return "self";
}

int ranks_own(hg_class_t *cls)
{
    (void)cls;
    return 0;
}

void ranks_print(hg_class_t *cls)
{
    (void)cls;
    puts("  ranks              1: this build is without MPI");
}
