/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that keeps to the standard passes under every decision of the
 * stand-in: `manners FIRST LAST` runs the seeds FIRST to LAST. `manners dead`
 * outlives rank 1, which its third message kills. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/strict/strict.h"

#include <mpi.h>

enum { MESSAGES = 12, LEN = 3000, WORDS = 16, LARGE = 1 << 20 };

static int rank;
static int size;
static unsigned long long seed;

#define CHECK(expr) ((expr) ? (void)0 : fail(#expr, __LINE__))

static void fail(const char *what, int line)
{
    fprintf(
        stderr, "rank %d, seed %llu, line %d: %s\n", rank, seed, line, what);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void fill(unsigned char *bytes, int from, int number)
{
    memset(bytes, 1 + (from * 31 + number * 7) % 200, LEN);
}

static int is_filled(const unsigned char *bytes, int from, int number)
{
    unsigned char wanted[LEN];

    fill(wanted, from, number);
    return memcmp(bytes, wanted, LEN) == 0;
}

/* Messages of one tag arrive in order, those of two tags in any. */
static void messages(MPI_Comm comm)
{
    static unsigned char out[MESSAGES][LEN];
    static unsigned char in[MESSAGES][LEN];
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    int indices[2 * MESSAGES];
    int left = 2 * MESSAGES;

    for (int i = 0; i < MESSAGES; i++) {
        fill(out[i], rank, i);
        MPI_Irecv(in[i], LEN, MPI_BYTE, (rank + size - 1) % size, i % 2, comm,
            &requests[MESSAGES + i]);
    }
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(out[i], LEN, MPI_BYTE, (rank + 1) % size, i % 2, comm,
            &requests[i]);
    while (left > 0) {
        int done = 0;

        MPI_Testsome(2 * MESSAGES, requests, &done, indices, statuses);
        CHECK(done >= 0 && done <= left);
        for (int i = 0; i < done; i++)
            CHECK(requests[indices[i]] == MPI_REQUEST_NULL);
        left -= done;
    }
    for (int i = 0; i < MESSAGES; i++)
        CHECK(is_filled(in[i], (rank + size - 1) % size, i));
}

/* Any tag: all in order. */
static void in_order(MPI_Comm comm)
{
    unsigned char out[MESSAGES][LEN];
    unsigned char in[LEN];
    MPI_Request requests[MESSAGES];
    MPI_Status status;
    int flag = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    for (int i = 0; i < MESSAGES; i++) {
        fill(out[i], rank, i);
        MPI_Isend(out[i], LEN, MPI_BYTE, (rank + 1) % size, 100 + i, comm,
            &requests[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Message message = MPI_MESSAGE_NULL;

        for (flag = 0; !flag;)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
        CHECK(status.MPI_TAG == 100 + i);
        MPI_Improbe(
            status.MPI_SOURCE, status.MPI_TAG, comm, &flag, &message, &status);
        CHECK(flag);
        MPI_Mrecv(in, LEN, MPI_BYTE, &message, &status);
        CHECK(is_filled(in, (rank + size - 1) % size, i));
    }
    for (int i = 0; i < MESSAGES; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void cancelled(MPI_Comm comm)
{
    unsigned char in[LEN];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    fill(in, rank, 1);
    MPI_Irecv(in, LEN, MPI_BYTE, MPI_ANY_SOURCE, 99, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && request == MPI_REQUEST_NULL);
    CHECK(is_filled(in, rank, 1));
}

static void collectives(MPI_Comm comm)
{
    MPI_Request requests[3];
    MPI_Comm again = MPI_COMM_NULL;
    int one = rank + 1;
    int sum = 0;
    int first = rank;
    int index = 0;

    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibarrier(comm, &requests[1]);
    MPI_Comm_idup(comm, &again, &requests[2]);
    for (int i = 0; i < 3; i++)
        MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    CHECK(sum == size * (size + 1) / 2);
    MPI_Bcast(&first, 1, MPI_INT, 0, again);
    CHECK(first == 0);
    MPI_Comm_free(&again);
}

/* Each rank writes its own word at all, adds to one, and reads them. */
static void windows(MPI_Comm comm)
{
    static uint64_t words[WORDS];
    uint64_t mine = 1000 + (uint64_t)rank;
    uint64_t one = 1;
    uint64_t got = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win win = MPI_WIN_NULL;

    memset(words, 0, sizeof(words));
    MPI_Win_create(words, sizeof(words), 8, MPI_INFO_NULL, comm, &win);
    MPI_Win_lock_all(0, win);
    for (int target = 0; target < size; target++) {
        MPI_Rput(&mine, 8, MPI_BYTE, target, rank, 8, MPI_BYTE, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Accumulate(&one, 1, MPI_UINT64_T, target, WORDS - 1, 1,
            MPI_UINT64_T, MPI_SUM, win);
        MPI_Win_flush(target, win);
    }
    MPI_Barrier(comm);
    MPI_Rget(
        &got, 8, MPI_BYTE, (rank + 1) % size, rank, 8, MPI_BYTE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == mine);
    MPI_Fetch_and_op(&one, &got, MPI_UINT64_T, rank, WORDS - 1, MPI_NO_OP, win);
    MPI_Win_flush(rank, win);
    CHECK(got == (uint64_t)size);
    MPI_Barrier(comm);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void tag_max(MPI_Comm comm)
{
    int *value = NULL;
    int flag = 0;

    MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value == STRICT_TAG_MAX);
}

/* With STALL and no SLOW: every second rank is late with collective calls. */
static void late(void)
{
    int tests[2] = {0, 0};

    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request = MPI_REQUEST_NULL;

        MPI_Ibarrier(MPI_COMM_SELF, &request);
        for (int flag = 0; !flag; tests[rank % 2]++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, tests, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(tests[0] > 10 * tests[1] || tests[1] > 10 * tests[0]);
}

/* What rank 1 has sent arrives, and nothing after it; what is sent to it is
 * complete. */
static void dead(void)
{
    static unsigned char bytes[LARGE];
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Pcontrol(STRICT_RESEED, 1ull);
    for (int tag = 1; rank == 1; tag++)
        MPI_Send(bytes, LEN, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    for (int tag = 1; tag < 3; tag++)
        MPI_Recv(
            bytes, LEN, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(bytes, LEN, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Send(bytes, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    for (int i = 0; i < LEN; i++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    printf("rank %d survived\n", rank);
    fflush(stdout);
    _exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    unsigned long long last = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    int provided = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(getenv(STRICT_ENV_LOADED) != NULL);
    if (argc > 1 && strcmp(argv[1], "dead") == 0)
        dead();
    for (seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1; seed <= last;
         seed++) {
        MPI_Comm comm = MPI_COMM_NULL;

        MPI_Pcontrol(STRICT_RESEED, seed);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        tag_max(comm);
        if (getenv(STRICT_ENV_PREFIX "STALL") != NULL)
            late();
        messages(comm);
        collectives(comm);
        cancelled(comm);
        windows(comm);
        in_order(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
