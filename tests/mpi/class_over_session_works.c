/* SPDX-License-Identifier: BSD-3-Clause */
/* A class works over a communicator from an MPI-4 session, without MPI_Init. */
#include <stdlib.h>

#include "ranks.h"

/* Open MPI 5 has sessions, and reports MPI 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS
#endif

#ifdef HAS_SESSIONS
static MPI_Comm session_comm(MPI_Session *ret_session)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    CHECK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, ret_session) ==
          MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(*ret_session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(
        group, "amalgam-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}
#endif

int main(void)
{
#ifdef HAS_SESSIONS
    struct ranks all;
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Comm comm = MPI_COMM_NULL;

    ranks_limit(55);
    comm = session_comm(&session);
    ranks_open(&all, comm);
    ranks_exchange(&all);
    ranks_meet(comm);
    ranks_close(&all);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return EXIT_SUCCESS;
#else
    return RANKS_SKIP;
#endif
}
