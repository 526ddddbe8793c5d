/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data within a node without a library: the kernel, memcpy. */
#include "jobs/bench/bulk/bulk_near.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"
#include "jobs/bench/bulk/bulk_move.h"

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

static void cross_check(const struct pair *pair, int err)
{
    if (err != 0)
        pair_fail(pair, "process_vm: %s", strerror(err));
}

double bulk_cross(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    double start_us = 0.0;
    double before_us = 0.0;

    bulk_fill(pair, duel, bulk, bulk->far);
    for (unsigned i = 0; pair->is_caller && i < bulk_warm(duel); i++)
        cross_check(pair, cross_once(bulk, pair->room, 0, duel->size));
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; pair->is_caller && i < duel->calls; i++) {
        int err = cross_once(bulk, pair->room, 0, duel->size);

        ret_samples[i] = clock_lap_us(&before_us);
        cross_check(pair, err);
    }
    bulk_verify(pair, duel, bulk, bulk->far);
    return before_us - start_us;
}

void bulk_cross_init(struct pair *pair, struct bulk *bulk)
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
    if (err == 0)
        return;
    bulk->far_pid = 0;
    if (pair->rank == 0)
        fprintf(stderr,
            "amalgam_bench: the rows against process_vm are left out: %s\n",
            strerror(err));
}

static void copy_once(
    const struct pair *pair, const struct bulk *bulk, size_t len)
{
    memcpy(bulk->is_push ? bulk->like->base : pair->room,
        bulk->is_push ? pair->room : bulk->like->base, len);
}

double bulk_copy(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    unsigned char *far = pair->is_target ? bulk->like->base : NULL;
    double start_us = 0.0;
    double before_us = 0.0;

    bulk_fill(pair, duel, bulk, far);
    for (unsigned i = 0; pair->is_caller && i < bulk_warm(duel); i++)
        copy_once(pair, bulk, duel->size);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; pair->is_caller && i < duel->calls; i++) {
        copy_once(pair, bulk, duel->size);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    bulk_verify(pair, duel, bulk, far);
    return before_us - start_us;
}
