/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmarks of Margo where this build has none. */
#include <stdio.h>
#include <string.h>

#include "jobs/bench/benches.h"

/* Who asked for just that is told so, and all others get the rest. */
static void none_say(struct pair *pair, const char *bench, const char *what)
{
    if (strcmp(pair->options->bench, "all") != 0)
        pair_fail(pair, "%s: this build has no %s", bench, what);
    if (pair->rank == 0)
        fprintf(stderr, "amalgam_bench: %s is left out: this build has no %s\n",
            bench, what);
}

void bench_margo(struct pair *pair)
{
    none_say(pair, "margo", "Margo (AMALGAM_MARGO, AMALGAM_ULT)");
}

void bench_ult(struct pair *pair)
{
    none_say(pair, "ult", "user-level threads (AMALGAM_ULT)");
}
