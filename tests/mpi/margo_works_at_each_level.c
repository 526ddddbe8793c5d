/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance works at each thread level of MPI; one that wants a progress
 * thread below MPI_THREAD_MULTIPLE works without it, and logs that. */
#include <string.h>

#include "margo_ranks.h"

static const struct level_row {
    const char *name;
    int level;
} level_rows[] = {
    {"single", MPI_THREAD_SINGLE},
    {"funneled", MPI_THREAD_FUNNELED},
    {"serialized", MPI_THREAD_SERIALIZED},
    {"multiple", MPI_THREAD_MULTIPLE},
};

static void exchange_with(const char *json)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct mranks all;

    info.json_config = json;
    mranks_open(&all, &info);
    mranks_exchange(&all);
    mranks_close(&all);
}

int main(int argc, char **argv)
{
    const struct level_row *row = level_rows;
    FILE *log = NULL;

    CHECK(argc == 2);
    while (strcmp(row->name, argv[1]) != 0)
        row++;
    ranks_start(row->level);
    log = ranks_log_catch("warning");
    exchange_with(NULL);
    CHECK(!ranks_log_has(log, "no progress thread"));
    exchange_with("{\"use_progress_thread\": true}");
    CHECK(ranks_log_has(log, "no progress thread") ==
          (row->level < MPI_THREAD_MULTIPLE));
    if (row->level == MPI_THREAD_FUNNELED || row->level == MPI_THREAD_MULTIPLE)
        exchange_with("{\"rpc_thread_count\": 1}");
    return ranks_stop();
}
