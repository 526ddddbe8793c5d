/* SPDX-License-Identifier: BSD-3-Clause */
/* Breaches of the standard, each of which the stand-in must report: `breaches
 * list` prints their names and a part of each report, `breaches NAME` commits
 * one with two ranks. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/strict/strict.h"

#include <mpi.h>

enum { LARGE = 1 << 20, TAG = 7 };

static int rank;
static unsigned char bytes[LARGE];
static unsigned char others[LARGE];

static void truncate_it(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Send(bytes, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(bytes, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void tag(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Isend(bytes, 1, MPI_BYTE, 1 - rank, STRICT_TAG_MAX + 1, MPI_COMM_WORLD,
        &request);
}

static void request_leak(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
}

static void comm_leak(void)
{
    MPI_Comm comm = MPI_COMM_NULL;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
}

static void type_leak(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI_Type_contiguous(3, MPI_INT, &type);
}

static void group_leak(void)
{
    MPI_Group group = MPI_GROUP_NULL;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
}

static void info_leak(void)
{
    MPI_Info info = MPI_INFO_NULL;

    MPI_Info_create(&info);
}

static void window_leak(void)
{
    MPI_Win win = MPI_WIN_NULL;

    MPI_Win_create(bytes, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static void message_leak(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;

    if (rank == 0)
        MPI_Send(bytes, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}

/* The message is synchronous: it cannot leave before the barrier. */
static void send_touched(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (rank == 0) {
        MPI_Issend(bytes, LARGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        bytes[LARGE / 2]++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        MPI_Recv(
            bytes, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void recv_written(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (rank == 1) {
        MPI_Send(bytes, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(bytes, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    bytes[3] = 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A read shows garbage: nothing of what was there. */
static void recv_read(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    memset(bytes, 0, 8);
    MPI_Irecv(bytes, 8, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    if (bytes[0] != 0)
        fprintf(stderr, "strict: rank %d: garbage\n", rank);
    exit(STRICT_EXIT);
}

static void recv_overlap(void)
{
    MPI_Request requests[2];

    MPI_Irecv(bytes, 8, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(
        bytes + 4, 8, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[1]);
}

static void recv_freed(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Irecv(bytes, 8, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void stale_request(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request copy = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    copy = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Test(&copy, &flag, MPI_STATUS_IGNORE);
}

static void collective_cancelled(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
}

static MPI_Win window(void)
{
    MPI_Win win = MPI_WIN_NULL;

    MPI_Win_create(bytes, 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return win;
}

static void no_epoch(void)
{
    MPI_Put(others, 8, MPI_BYTE, 1 - rank, 0, 8, MPI_BYTE, window());
}

static void flush_unlocked(void)
{
    MPI_Win_flush(1 - rank, window());
}

static void bounds(void)
{
    MPI_Win win = window();

    MPI_Win_lock_all(0, win);
    MPI_Put(others, 16, MPI_BYTE, 1 - rank, 7, 16, MPI_BYTE, win);
}

static void conflict(void)
{
    MPI_Win win = window();

    MPI_Win_lock_all(0, win);
    MPI_Put(others, 8, MPI_BYTE, 1 - rank, 1, 8, MPI_BYTE, win);
    MPI_Get(others + 8, 16, MPI_BYTE, 1 - rank, 0, 16, MPI_BYTE, win);
}

static void conflict_of_ops(void)
{
    MPI_Win win = window();
    uint64_t one = 1;
    uint64_t two = 2;

    MPI_Win_lock_all(0, win);
    MPI_Accumulate(
        &one, 1, MPI_UINT64_T, 1 - rank, 0, 1, MPI_UINT64_T, MPI_SUM, win);
    MPI_Accumulate(
        &two, 1, MPI_UINT64_T, 1 - rank, 0, 1, MPI_UINT64_T, MPI_MAX, win);
}

static void free_locked(void)
{
    MPI_Win win = window();

    MPI_Win_lock_all(0, win);
    MPI_Win_free(&win);
}

static MPI_Win dynamic(void)
{
    MPI_Win win = MPI_WIN_NULL;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    return win;
}

static void not_attached(void)
{
    MPI_Aint at = 0;

    MPI_Get_address(bytes, &at);
    MPI_Put(others, 8, MPI_BYTE, rank, at, 8, MPI_BYTE, dynamic());
}

static void attach_overlap(void)
{
    MPI_Win win = dynamic();

    MPI_Win_attach(win, bytes, 64);
    MPI_Win_attach(win, bytes + 32, 64);
}

static void detach_other(void)
{
    MPI_Win win = dynamic();

    MPI_Win_attach(win, bytes, 64);
    MPI_Win_detach(win, bytes + 8);
}

static void *call_mpi(void *arg)
{
    int flag = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return arg;
}

static void *wait_in_mpi(void *arg)
{
    MPI_Recv(bytes, 8, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
        MPI_STATUS_IGNORE);
    return arg;
}

static void foreign_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, call_mpi, NULL);
    pthread_join(thread, NULL);
}

/* The other thread is in MPI at some time, and stays there. */
static void two_threads(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, wait_in_mpi, NULL);
    for (;;)
        call_mpi(NULL);
}

static const struct {
    const char *name;
    void (*commit)(void);
    const char *report;
    int level;
} breaches[] = {
    {"truncate", truncate_it, "is longer than the 4 bytes of its receive", 3},
    {"tag", tag, "tag 32768 is above MPI_TAG_UB", 3},
    {"request_leak", request_leak, "neither completed nor freed", 3},
    {"comm_leak", comm_leak, "a communicator that MPI_Comm_dup made", 3},
    {"type_leak", type_leak, "a datatype that MPI_Type_contiguous made", 3},
    {"group_leak", group_leak, "a group that MPI_Comm_group made", 3},
    {"info_leak", info_leak, "a info that MPI_Info_create made", 3},
    {"window_leak", window_leak, "a window that MPI_Win_create made", 3},
    {"message_leak", message_leak, "a matched message that MPI_Mprobe made", 3},
    {"send_touched", send_touched, "sends changed before completion", 3},
    {"recv_written", recv_written, "were written before completion", 3},
    {"recv_read", recv_read, "garbage", 3},
    {"recv_overlap", recv_overlap, "overlap 8 bytes", 3},
    {"recv_freed", recv_freed, "is freed before completion", 3},
    {"stale_request", stale_request, "was complete or freed before", 3},
    {"collective_cancelled", collective_cancelled, "can be cancelled", 3},
    {"no_epoch", no_epoch, "no epoch is open", 3},
    {"flush_unlocked", flush_unlocked, "no lock of this window is held", 3},
    {"bounds", bounds, "16 bytes at 56 exceed the 64 bytes", 3},
    {"conflict", conflict, "while an older access to 8 bytes at 8", 3},
    {"conflict_of_ops", conflict_of_ops, "while an older access to 8", 3},
    {"free_locked", free_locked, "an epoch of this window is open", 3},
    {"not_attached", not_attached, "are not attached", 3},
    {"attach_overlap", attach_overlap, "that are attached already", 3},
    {"detach_other", detach_other, "no memory at", 3},
    {"foreign_thread", foreign_thread, "that did not start MPI", 1},
    {"two_threads", two_threads, "another thread is in MPI", 2},
};

int main(int argc, char **argv)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
        MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    const size_t count = sizeof(breaches) / sizeof(breaches[0]);
    const char *name = argc > 1 ? argv[1] : "list";
    int provided = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, "list") == 0)
            printf("%s %s\n", breaches[i].name, breaches[i].report);
        if (strcmp(name, breaches[i].name) != 0)
            continue;
        MPI_Init_thread(&argc, &argv, levels[breaches[i].level], &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        breaches[i].commit();
        MPI_Finalize();
    }
    return EXIT_SUCCESS;
}
