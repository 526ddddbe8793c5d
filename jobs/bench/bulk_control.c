/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data without the library: messages, the kernel, memcpy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bulk.h"
#include "pattern.h"
#include "reach.h"

enum { TAG = 4, WINDOW_MAX = 64 };

/* Of the two ranks, in a stream. */
static bool is_sender(const struct pair *pair, const struct bulk *bulk)
{
    return bulk->is_push == (pair->rank == 0);
}

/* Rank 0 says that its clock runs. */
static void stream_start(const struct pair *pair)
{
    unsigned char go = 0;

    if (pair->rank == 0)
        MPI_Send(&go, 1, MPI_BYTE, 1, TAG, pair->comm);
    else
        MPI_Recv(&go, 1, MPI_BYTE, 0, TAG, pair->comm, MPI_STATUS_IGNORE);
}

/* Rank 1's end of the stream is its landing also where it is no target. */
static unsigned char *stream_end(const struct pair *pair)
{
    return pair->rank == 0 ? pair->room : pair->landing;
}

/* Message `i` of the stream starts, at the place of its turn in the window. */
static void stream_post(
    struct pair *pair, const struct duel *duel, unsigned i, MPI_Request *ret)
{
    unsigned char *place =
        stream_end(pair) + (size_t)(i % duel->window) * duel->size;
    int other = 1 - pair->rank;

    if (is_sender(pair, duel->more))
        MPI_Isend(
            place, (int)duel->size, MPI_BYTE, other, TAG, pair->comm, ret);
    else
        MPI_Irecv(
            place, (int)duel->size, MPI_BYTE, other, TAG, pair->comm, ret);
}

/* Window 1, and so with blocking calls. */
static void stream_once(struct pair *pair, const struct duel *duel)
{
    int other = 1 - pair->rank;

    if (is_sender(pair, duel->more))
        MPI_Send(stream_end(pair), (int)duel->size, MPI_BYTE, other, TAG,
            pair->comm);
    else
        MPI_Recv(stream_end(pair), (int)duel->size, MPI_BYTE, other, TAG,
            pair->comm, MPI_STATUS_IGNORE);
}

/* A push is over when the bytes are there: the last message says so. */
static void stream_end_wait(const struct pair *pair, const struct bulk *bulk)
{
    unsigned char done = 0;

    if (!bulk->is_push)
        return;
    if (pair->rank == 1)
        MPI_Send(&done, 1, MPI_BYTE, 0, TAG, pair->comm);
    else
        MPI_Recv(&done, 1, MPI_BYTE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
}

static double stream_run(struct pair *pair, struct duel *duel, double *samples)
{
    MPI_Request requests[WINDOW_MAX];
    double posted_us[WINDOW_MAX];
    double start_us = duel_now_us();
    double now_us = start_us;
    unsigned window = duel->window;

    stream_start(pair);
    for (unsigned i = 0; window > 1 && i < window && i < duel->calls; i++) {
        stream_post(pair, duel, i, &requests[i]);
        posted_us[i] = now_us;
    }
    for (unsigned i = 0; i < duel->calls; i++) {
        unsigned turn = i % window;
        double before_us = now_us;

        if (window == 1)
            stream_once(pair, duel);
        else
            MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
        now_us = duel_now_us();
        samples[i] = now_us - (window == 1 ? before_us : posted_us[turn]);
        if (window > 1 && i + window < duel->calls) {
            stream_post(pair, duel, i + window, &requests[turn]);
            posted_us[turn] = now_us;
        }
    }
    stream_end_wait(pair, duel->more);
    return duel_now_us() - start_us;
}

double bulk_stream(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    unsigned char *end = stream_end(pair);
    unsigned used = duel->window < duel->calls ? duel->window : duel->calls;
    double elapsed_us = 0.0;

    if (is_sender(pair, bulk))
        pattern_fill(end, duel->window * duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    elapsed_us = stream_run(pair, duel, ret_samples);
    if (!is_sender(pair, bulk))
        pair_verify(pair, end, used * duel->size, "the stream");
    return elapsed_us;
}

/* All of it; the kernel may stop in the middle. 0, or errno. */
static int cross_once(
    const struct bulk *bulk, unsigned char *near, size_t offset, size_t len)
{
    while (len > 0) {
        struct iovec here = {near, len};
        struct iovec there = {
            (void *)(uintptr_t)(bulk->far_address + offset), len};
        ssize_t moved =
            bulk->is_push
                ? process_vm_writev(bulk->far_pid, &here, 1, &there, 1, 0)
                : process_vm_readv(bulk->far_pid, &here, 1, &there, 1, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved == 0 ? EFAULT : errno;
        near += moved;
        offset += (size_t)moved;
        len -= (size_t)moved;
    }
    return 0;
}

double bulk_cross(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    double start_us = 0.0;
    double before_us = 0.0;

    bulk_fill(pair, duel, bulk->far);
    start_us = before_us = duel_now_us();
    for (unsigned i = 0; pair->is_caller && i < duel->calls; i++) {
        int err = cross_once(bulk, pair->room, 0, duel->size);

        ret_samples[i] = duel_lap_us(&before_us);
        if (err != 0)
            pair_fail(pair, "process_vm: %s", strerror(err));
    }
    bulk_verify(pair, duel, bulk->far);
    return before_us - start_us;
}

bool bulk_cross_init(struct pair *pair, struct bulk *bulk)
{
    uint64_t place[2] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)bulk->far};
    int target = pair->is_target ? pair->rank : 0;
    int err = 0;

    /* Where the kernel lets relatives only, as Yama does. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    MPI_Allreduce(MPI_IN_PLACE, &target, 1, MPI_INT, MPI_MAX, pair->comm);
    MPI_Bcast(place, 2, MPI_UINT64_T, target, pair->comm);
    bulk->far_pid = (pid_t)place[0];
    bulk->far_address = place[1];
    bulk->is_push = false;
    pair->seed++;
    if (pair->is_target)
        pattern_fill(bulk->far, sizeof(place), pair->seed);
    MPI_Barrier(pair->comm);
    if (pair->is_caller) {
        err = pair->is_one_machine
                  ? cross_once(bulk, pair->room, 0, sizeof(place))
                  : EXDEV;
        if (err == 0 && pattern_check(pair->room, sizeof(place), pair->seed) <
                            sizeof(place))
            err = ESRCH;
    }
    MPI_Bcast(&err, 1, MPI_INT, 0, pair->comm);
    if (err != 0 && pair->rank == 0)
        fprintf(stderr,
            "amalgam_bench: the rows against process_vm are left out: %s\n",
            strerror(err));
    return err == 0;
}

double bulk_copy(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    unsigned char *far = pair->is_target ? bulk->shared : NULL;
    double start_us = 0.0;
    double before_us = 0.0;

    bulk_fill(pair, duel, far);
    start_us = before_us = duel_now_us();
    for (unsigned i = 0; pair->is_caller && i < duel->calls; i++) {
        memcpy(bulk->is_push ? bulk->shared : pair->room,
            bulk->is_push ? pair->room : bulk->shared, duel->size);
        ret_samples[i] = duel_lap_us(&before_us);
    }
    bulk_verify(pair, duel, far);
    return before_us - start_us;
}

static unsigned char *shared_map(int fd, size_t len)
{
    void *mapped = MAP_FAILED;

    if (fd >= 0)
        mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

bool bulk_copy_init(struct pair *pair, struct bulk *bulk)
{
    struct reach reach;
    int is_mapped = 0;
    int fd = -1;

    if (pair->rank == 1) {
        fd = memfd_create("amalgam_bench", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)bulk->len) != 0) {
            close(fd);
            fd = -1;
        }
        reach_offer(fd, &reach);
    }
    MPI_Bcast(&reach, sizeof(reach), MPI_BYTE, 1, pair->comm);
    if (pair->rank == 0 && reach.fd >= 0 && pair->is_one_machine)
        fd = reach_open(&reach, O_RDWR);
    bulk->shared = shared_map(fd, bulk->len);
    is_mapped = bulk->shared != NULL;
    if (!is_mapped)
        fprintf(stderr,
            "amalgam_bench: rank %d: the rows against memcpy are left out: no "
            "memory is shared with the other rank: %s\n",
            pair->rank, strerror(errno));
    MPI_Allreduce(MPI_IN_PLACE, &is_mapped, 1, MPI_INT, MPI_MIN, pair->comm);
    if (fd >= 0)
        close(fd);
    if (is_mapped)
        memset(bulk->shared, 0, bulk->len);
    return is_mapped;
}

void bulk_copy_fini(struct bulk *bulk)
{
    if (bulk->shared != NULL)
        munmap(bulk->shared, bulk->len);
    bulk->shared = NULL;
}
