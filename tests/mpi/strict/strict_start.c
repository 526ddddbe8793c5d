/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of MPI, and what it tells about itself. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi/strict/strict.h"
#include "mpi/strict/strict_dead.h"
#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_request.h"
#include "mpi/strict/strict_rma.h"
#include "mpi/strict/strict_send.h"
#include "mpi/strict/strict_token.h"

enum { ATTRIBUTES = 16 };

/* Attributes of MPI_COMM_SELF: MPI_Finalize deletes them first, the newest
 * first, and with them what must not leak. */
static int attributes[ATTRIBUTES];
static unsigned attribute_count;

static void start(int level)
{
    strict_level_set(level);
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &strict_rank);
    (void)PMPI_Comm_size(MPI_COMM_WORLD, &strict_size);
    strict_dead_begin();
    strict_token_begin();
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc = PMPI_Init_thread(argc, argv, required, provided);

    if (rc == MPI_SUCCESS)
        start(*provided);
    return rc;
}

int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    int level = MPI_THREAD_SINGLE;

    (void)PMPI_Query_thread(&level);
    if (rc == MPI_SUCCESS)
        start(level);
    return rc;
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = PMPI_Comm_set_attr(comm, keyval, value);
    if (comm == MPI_COMM_SELF && attribute_count < ATTRIBUTES)
        attributes[attribute_count++] = keyval;
    strict_leave();
    return rc;
}

int MPI_Finalize(void)
{
    unsigned depth = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    while (attribute_count > 0) {
        depth = strict_open();
        (void)PMPI_Comm_delete_attr(
            MPI_COMM_SELF, attributes[--attribute_count]);
        strict_close(depth);
    }
    strict_enter(__func__, __builtin_return_address(0));
    strict_leave();
    strict_send_end();
    strict_request_check_all();
    strict_object_check_all();
    strict_token_end();
    depth = strict_open();
    rc = PMPI_Finalize();
    strict_close(depth);
    strict_leave();
    if (strict_has_findings())
        _exit(STRICT_EXIT);
    return rc;
}

/* The least that MPI must offer. */
int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    static int tag_max = STRICT_TAG_MAX;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = PMPI_Comm_get_attr(comm, keyval, value, flag);
    if (rc == MPI_SUCCESS && *flag && keyval == MPI_TAG_UB)
        *(int **)value = &tag_max;
    strict_leave();
    return rc;
}

/* MPI_Pcontrol(STRICT_RESEED, (unsigned long long)seed). */
int MPI_Pcontrol(const int level, ...)
{
    unsigned long long seed = 0;
    va_list args;

    if (strict_seed() == 0 ||
        (level != STRICT_RESEED && level != STRICT_FAILED))
        return MPI_SUCCESS;
    va_start(args, level);
    if (level == STRICT_FAILED) {
        *va_arg(args, int *) = strict_failed();
        va_end(args);
        return MPI_SUCCESS;
    }
    seed = va_arg(args, unsigned long long);
    va_end(args);
    STRICT_ENTER();
    strict_flush();
    strict_token_reseed(seed == 0 ? 1 : seed);
    strict_dead_reseed();
    strict_failed_reseed();
    strict_leave();
    return MPI_SUCCESS;
}
