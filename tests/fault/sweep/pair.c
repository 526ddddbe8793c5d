/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes, and what they tell each other without the library. */
#include "fault/sweep/pair.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef AMALGAM_HAS_MPI
#include <mpi.h>

static bool has_mpi;
static MPI_Request said = MPI_REQUEST_NULL;
#endif

static unsigned rank;
static int channel; /* to the other process */
static pid_t child;

static void other_is_gone(void)
{
    fprintf(stderr, "sweep: process %u lost the other one\n", rank);
    _exit(EXIT_FAILURE);
}

static void channel_open(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        exit(EXIT_FAILURE);
    child = fork();
    if (child < 0)
        exit(EXIT_FAILURE);
    rank = child == 0;
    if (rank == 1)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(ends[!rank]);
    channel = ends[rank];
}

unsigned pair_open(bool by_fork)
{
#ifdef AMALGAM_HAS_MPI
    int is_up = 0;
    int number = 0;
    int size = 0;
    int level = 0;

    if (!by_fork) {
        has_mpi = true;
        MPI_Initialized(&is_up);
        if (!is_up)
            MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &number);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (size != 2 || level != MPI_THREAD_MULTIPLE) {
            MPI_Finalize();
            exit(77);
        }
        rank = (unsigned)number;
        return rank;
    }
#endif
    (void)by_fork;
    channel_open();
    return rank;
}

int pair_close(int code)
{
    int other = 0;

    pair_swap(&code, &other, sizeof(code));
    code = code != 0 ? code : other;
#ifdef AMALGAM_HAS_MPI
    if (has_mpi) {
        MPI_Finalize();
        return code;
    }
#endif
    if (child > 0 && waitpid(child, &other, 0) == child && other != 0)
        code = EXIT_FAILURE;
    return code;
}

void pair_swap(const void *mine, void *ret_theirs, size_t len)
{
#ifdef AMALGAM_HAS_MPI
    if (has_mpi) {
        MPI_Sendrecv(mine, (int)len, MPI_BYTE, !rank, 1, ret_theirs, (int)len,
            MPI_BYTE, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
#endif
    if (send(channel, mine, len, MSG_NOSIGNAL) != (ssize_t)len ||
        recv(channel, ret_theirs, len, MSG_WAITALL) != (ssize_t)len)
        other_is_gone();
}

void pair_say(void)
{
#ifdef AMALGAM_HAS_MPI
    if (has_mpi) {
        MPI_Isend(NULL, 0, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, &said);
        return;
    }
#endif
    if (send(channel, "", 1, MSG_NOSIGNAL) != 1)
        other_is_gone();
}

bool pair_heard(void)
{
    char byte = 0;
    ssize_t got = 0;

#ifdef AMALGAM_HAS_MPI
    if (has_mpi) {
        int flag = 0;

        MPI_Iprobe(!rank, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (flag) {
            MPI_Recv(
                NULL, 0, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&said, MPI_STATUS_IGNORE);
        }
        return flag != 0;
    }
#endif
    got = recv(channel, &byte, 1, MSG_DONTWAIT);
    if (got == 0)
        other_is_gone();
    return got == 1;
}

_Noreturn void pair_abort(void)
{
    fflush(NULL);
#ifdef AMALGAM_HAS_MPI
    if (has_mpi)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
#endif
    if (child > 0)
        (void)kill(child, SIGKILL);
    _exit(EXIT_FAILURE);
}
