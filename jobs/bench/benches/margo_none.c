/* SPDX-License-Identifier: BSD-3-Clause */
/* Replacement of the benchmarks of Margo in builds without it. */
#include <stdio.h>
#include <string.h>

#include "jobs/bench/benches.h"

/* Ends the job if only this benchmark was asked for; else leaves it out. */
static void none_say(struct pair *pair, const char *what)
{
    if (strcmp(pair->options->bench, "all") != 0)
        pair_fail(pair, "%s: this build has no %s", pair->bench, what);
    pair_say(pair, "%s is left out: this build has no %s", pair->bench, what);
}

void bench_margo(struct pair *pair)
{
    none_say(pair, "Margo (AMALGAM_MARGO, AMALGAM_ULT)");
}

void bench_ult(struct pair *pair)
{
    none_say(pair, "user-level threads (AMALGAM_ULT)");
}
