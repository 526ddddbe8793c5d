/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance over an invalid communicator, or with invalid settings, is
 * refused with the reason, and leaves nothing behind. */
#include <string.h>

#include "margo_ranks.h"

static FILE *log_file;

static void refused(MPI_Comm comm, const char *transport,
    const struct margo_init_info *info, const char *reason)
{
    CHECK(amalgam_margo_init(comm, transport, info) == MARGO_INSTANCE_NULL);
    CHECK(ranks_log_has(log_file, reason));
}

/* Margo's logger gives the reason: see the tests of its configuration. */
static void json_refused(const char *json)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

    info.json_config = json;
    CHECK(
        amalgam_margo_init(MPI_COMM_WORLD, NULL, &info) == MARGO_INSTANCE_NULL);
}

static void class_refused(void)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    hg_class_t *cls = amalgam_init(MPI_COMM_WORLD, NULL, NULL);

    CHECK(cls != NULL);
    info.hg_class = cls;
    refused(MPI_COMM_WORLD, NULL, &info, "the info has a class or a context");
    OK(amalgam_finalize(cls));
}

int main(void)
{
    struct mranks all;

    ranks_start(MPI_THREAD_MULTIPLE);
    log_file = ranks_log_catch("error");
    refused(MPI_COMM_NULL, NULL, NULL, "MPI_COMM_NULL");
    refused(MPI_COMM_WORLD, "nowhere", NULL, "no transport 'nowhere'");
    json_refused("{\"use_progress_thread\": ");
    json_refused("{\"rpc_thread_count\": \"many\"}");
    class_refused();
    /* A valid one can still be opened. */
    mranks_open(&all, NULL);
    mranks_exchange(&all);
    mranks_close(&all);
    return ranks_stop();
}
