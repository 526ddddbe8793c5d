/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad input, timeouts and errors of MPI in amalgam_test(), amalgam_wait() and
 * amalgam_barrier(); no error handler of the program is called. */
#include "ranks.h"

enum { TAG = 3, SHORT_MS = 20, WAIT_MS = 30000 };

static struct ranks all;
static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void null_arguments(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 7;

    EXPECT(HG_INVALID_ARG, amalgam_test(NULL, &request, &flag, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_test(all.cls, NULL, &flag, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_test(all.cls, &request, NULL, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_wait(NULL, &request, 0, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_wait(all.cls, NULL, 0, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_barrier(NULL));
    CHECK(flag == 7);
}

static void without_mpi(void)
{
    hg_class_t *alone = HG_Init("self", true);
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 7;

    CHECK(alone != NULL);
    EXPECT(HG_OPNOTSUPPORTED, amalgam_test(alone, &request, &flag, NULL));
    EXPECT(HG_OPNOTSUPPORTED, amalgam_wait(alone, &request, 0, NULL));
    EXPECT(HG_OPNOTSUPPORTED, amalgam_barrier(alone));
    CHECK(flag == 7);
    OK(HG_Finalize(alone));
}

static void null_request(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = {.MPI_SOURCE = 77, .MPI_TAG = 77};
    int flag = 0;

    OK(amalgam_test(all.cls, &request, &flag, &status));
    CHECK(flag == 1 && status.MPI_SOURCE == MPI_ANY_SOURCE &&
          status.MPI_TAG == MPI_ANY_TAG);
    status.MPI_SOURCE = 77;
    OK(amalgam_wait(all.cls, &request, 0, &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
    OK(amalgam_wait(all.cls, &request, WAIT_MS, MPI_STATUS_IGNORE));
}

/* A message after the timeout completes the next wait. */
static void time_out(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = {.MPI_SOURCE = 77};
    int flag = 7;
    int got = 0;
    int sent = 42;

    MPI_Irecv(&got, 1, MPI_INT, 0, TAG, comm, &request);
    EXPECT(HG_TIMEOUT, amalgam_wait(all.cls, &request, 0, &status));
    EXPECT(HG_TIMEOUT, amalgam_wait(all.cls, &request, SHORT_MS, &status));
    OK(amalgam_test(all.cls, &request, &flag, &status));
    CHECK(flag == 0 && request != MPI_REQUEST_NULL && status.MPI_SOURCE == 77);
    MPI_Send(&sent, 1, MPI_INT, 0, TAG, comm);
    OK(amalgam_wait(all.cls, &request, WAIT_MS, &status));
    CHECK(got == 42 && request == MPI_REQUEST_NULL && status.MPI_TAG == TAG);
}

/* A message that is too long for its receive. */
static void mpi_error(MPI_Comm comm, bool by_test)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request sending = MPI_REQUEST_NULL;
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    hg_return_t rc = HG_SUCCESS;
    int sent[2] = {1, 2};
    int got = 0;
    int flag = 0;
    int class = MPI_SUCCESS;

    MPI_Irecv(&got, 1, MPI_INT, 0, TAG, comm, &request);
    MPI_Isend(sent, 2, MPI_INT, 0, TAG, comm, &sending);
    if (!by_test)
        rc = amalgam_wait(all.cls, &request, WAIT_MS, &status);
    while (by_test && rc == HG_SUCCESS && !flag)
        rc = amalgam_test(all.cls, &request, &flag, &status);
    EXPECT(HG_NA_ERROR, rc);
    MPI_Error_class(status.MPI_ERROR, &class);
    CHECK(class == MPI_ERR_TRUNCATE && request == MPI_REQUEST_NULL);
    OK(amalgam_wait(all.cls, &sending, WAIT_MS, NULL));
    CHECK(handled == 0);
}

/* The program's handlers are called again for its own errors. */
static void handlers_are_back(MPI_Comm comm)
{
    const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, comm};
    const int count = (int)(sizeof(comms) / sizeof(comms[0]));

    for (int i = 0; i < count; i++) {
        MPI_Send(&i, 1, MPI_INT, 1000, TAG, comms[i]); /* no such rank */
        CHECK(handled == i + 1);
    }
}

int main(void)
{
    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    FILE *log = NULL;

    ranks_start(MPI_THREAD_FUNNELED);
    ranks_open(&all, MPI_COMM_WORLD);
    log = ranks_log_catch("error");
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(handler, &counting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
    MPI_Comm_set_errhandler(comm, counting);
    null_arguments();
    without_mpi();
    null_request();
    time_out(comm);
    CHECK(!ranks_log_has(log, "an MPI request of the program failed"));
#if !defined(OPEN_MPI) /* which truncates a message to oneself without error   \
                        */
    mpi_error(comm, false);
    mpi_error(comm, true);
    CHECK(ranks_log_has(log, "an MPI request of the program failed: "));
#else
    (void)mpi_error;
#endif
    handlers_are_back(comm);
    MPI_Errhandler_free(&counting);
    MPI_Comm_free(&comm);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
