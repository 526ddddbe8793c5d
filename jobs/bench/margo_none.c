/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmarks of Margo where this build has none. */
#include "benches.h"

void bench_margo(struct pair *pair)
{
    pair_fail(pair, "this build has no Margo (AMALGAM_MARGO, AMALGAM_ULT)");
}

void bench_ult(struct pair *pair)
{
    pair_fail(pair, "this build has no user-level threads (AMALGAM_ULT)");
}
