/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances, one per rank, call each other and themselves, move bulk data, and
 * nest calls 100 levels deep, on one stream each; and all end together. */
#include "margo_ranks.h"

enum { LEVELS = 100 };

int main(void)
{
    struct mranks all;
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("warning");
    mranks_open(&all, NULL);
    mranks_exchange(&all);
    mranks_relay(&all, (all.rank + 1) % all.size, LEVELS);
    mranks_close(&all);
    CHECK(!ranks_log_has(log, "amalgam"));
    return ranks_stop();
}
