/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a class, in a build without MPI. */
#include "ranks.h"

const char *ranks_transport(void)
{
    return "self";
}

bool ranks_has_job(void)
{
    return false;
}

hg_class_t *ranks_open(const char *transport)
{
    (void)transport;
    return NULL;
}

bool ranks_close(hg_class_t *cls)
{
    return cls == NULL;
}

bool ranks_learn(struct report *report)
{
    report->size = 1;
    return true;
}
