/* SPDX-License-Identifier: BSD-3-Clause */
/* The controls of bulk data: messages of MPI, its one-sided operations, and
 * what a node does without a library: the kernel, memcpy.
 *
 * A pull in a window ends with its request, and the next pull takes its place.
 * The request of a put says nothing of the target; so puts go out in groups, as
 * many as may be in flight, and a flush ends each group. The target waits in a
 * barrier, in which MPI makes progress, as our target does in HG_Progress(). */
#include "jobs/bench/raw/bulk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "jobs/bench/frame/pattern.h"

enum { TAG = 4, TARGET = 1 };

/* A batch of `once` by the caller alone; fills and verifies the bytes. */
static double caller_batch(struct pair *pair, struct duel *duel,
    unsigned char *far, void (*once)(struct pair *pair, void *arg))
{
    const struct bulk *bulk = duel->arg;
    struct duel single = *duel; /* not in the window of the other side */
    double elapsed_us = 0.0;

    single.window = 1;
    bulk_fill(pair, &single, bulk, far);
    if (pair->is_caller)
        elapsed_us = duel_each(pair, &single, once, &single);
    bulk_verify(pair, &single, bulk, far);
    return elapsed_us;
}

/* Moves all bytes; the kernel may stop in the middle. 0, or errno. */
static int cross_once(const struct bulk *bulk, unsigned char *near, size_t len)
{
    uint64_t far = bulk->far_address;

    while (len > 0) {
        struct iovec here = {near, len};
        struct iovec there = {(void *)(uintptr_t)far, len};
        ssize_t moved =
            bulk->is_push
                ? process_vm_writev(bulk->far_pid, &here, 1, &there, 1, 0)
                : process_vm_readv(bulk->far_pid, &here, 1, &there, 1, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved == 0 ? EFAULT : errno;
        near += moved;
        far += (uint64_t)moved;
        len -= (size_t)moved;
    }
    return 0;
}

static void cross(struct pair *pair, void *arg)
{
    const struct duel *duel = arg;
    int err = cross_once(duel->arg, pair->room, duel->size);

    if (err != 0)
        pair_fail(pair, "process_vm: %s", strerror(err));
}

double bulk_cross(struct pair *pair, struct duel *duel)
{
    const struct bulk *bulk = duel->arg;

    return caller_batch(pair, duel, bulk->far, cross);
}

void bulk_cross_init(struct pair *pair, struct bulk *bulk)
{
    uint64_t place[2] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)bulk->far};
    int target = pair->is_target ? pair->rank : 0;
    int err = 0;

    /* For kernels that allow access to relatives only (Yama). */
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
        err = pair->is_one_machine ? cross_once(bulk, pair->room, sizeof(place))
                                   : EXDEV;
        if (err == 0 && pattern_check(pair->room, sizeof(place), pair->seed) <
                            sizeof(place))
            err = ESRCH;
    }
    MPI_Bcast(&err, 1, MPI_INT, 0, pair->comm);
    if (err == 0)
        return;
    bulk->far_pid = 0;
    pair_say(
        pair, "the rows against process_vm are left out: %s", strerror(err));
}

static void copy(struct pair *pair, void *arg)
{
    const struct duel *duel = arg;
    const struct bulk *bulk = duel->arg;

    memcpy(bulk->is_push ? bulk->like->base : pair->room,
        bulk->is_push ? pair->room : bulk->like->base, duel->size);
}

double bulk_copy(struct pair *pair, struct duel *duel)
{
    const struct bulk *bulk = duel->arg;

    return caller_batch(
        pair, duel, pair->is_target ? bulk->like->base : NULL, copy);
}

/* A message of one rank to the other. */
static void message(
    const struct pair *pair, bool is_sender, void *buf, size_t len)
{
    int other = 1 - pair->rank;

    if (is_sender)
        MPI_Send(buf, (int)len, MPI_BYTE, other, TAG, pair->comm);
    else
        MPI_Recv(
            buf, (int)len, MPI_BYTE, other, TAG, pair->comm, MPI_STATUS_IGNORE);
}

/* Does this rank send the stream? */
static bool is_sender(const struct pair *pair, const struct bulk *bulk)
{
    return bulk->is_push == (pair->rank == 0);
}

/* Rank 0's room, or rank 1's end, even if rank 1 is no target (over self). */
static unsigned char *stream_end(
    const struct pair *pair, const struct bulk *bulk)
{
    return pair->rank == 0 ? pair->room : bulk->end;
}

/* The offset of operation `i`, in the room and in the window. */
static size_t place_of(const struct duel *duel, unsigned i)
{
    return (size_t)(i % duel->window) * duel->size;
}

typedef void (*post_fn)(struct pair *pair, const struct duel *duel, unsigned i,
    MPI_Request *ret_request);

/* Runs operations in flight; the next one takes the place of the oldest when
 * that one has ended. */
static void ring_run(struct pair *pair, const struct duel *duel, post_fn post,
    unsigned calls, double *samples)
{
    MPI_Request requests[OPTIONS_WINDOW_MAX];
    double posted_us[OPTIONS_WINDOW_MAX];

    for (unsigned i = 0; i < duel->window && i < calls; i++) {
        posted_us[i] = clock_now_us();
        post(pair, duel, i, &requests[i]);
    }
    for (unsigned i = 0; i < calls; i++) {
        unsigned turn = i % duel->window;
        double now_us = 0.0;

        MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
        now_us = clock_now_us();
        samples[i] = now_us - posted_us[turn];
        if (i + duel->window < calls) {
            posted_us[turn] = now_us;
            post(pair, duel, i + duel->window, &requests[turn]);
        }
    }
}

static void stream_post(struct pair *pair, const struct duel *duel, unsigned i,
    MPI_Request *ret_request)
{
    unsigned char *place = stream_end(pair, duel->arg) + place_of(duel, i);
    int other = 1 - pair->rank;

    if (is_sender(pair, duel->arg))
        MPI_Isend(place, (int)duel->size, MPI_BYTE, other, TAG, pair->comm,
            ret_request);
    else
        MPI_Irecv(place, (int)duel->size, MPI_BYTE, other, TAG, pair->comm,
            ret_request);
}

static double stream_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    const struct bulk *bulk = duel->arg;
    unsigned char byte = 0;
    double start_us = clock_now_us();

    /* Rank 0 tells rank 1 that its clock runs. */
    message(pair, pair->rank == 0, &byte, 1);
    ring_run(pair, duel, stream_post, calls, samples);
    /* A push ends when the bytes are at rank 1: a last message tells. */
    if (bulk->is_push)
        message(pair, pair->rank == 1, &byte, 1);
    return clock_now_us() - start_us;
}

double bulk_stream(struct pair *pair, struct duel *duel)
{
    struct bulk *bulk = duel->arg;
    unsigned char *end = stream_end(pair, bulk);
    unsigned used = duel->window < duel->calls ? duel->window : duel->calls;
    double elapsed_us = 0.0;

    if (is_sender(pair, bulk))
        pattern_fill(end, duel->window * duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    stream_run(pair, duel, duel_warm(duel), duel->samples);
    elapsed_us = stream_run(pair, duel, duel->calls, duel->samples);
    if (!is_sender(pair, bulk))
        pair_verify(pair, end, used * duel->size, "the stream");
    return elapsed_us;
}

/* One round trip, seen from either rank. */
static void round_once(struct pair *pair, void *arg)
{
    const struct duel *duel = arg;
    unsigned char *end = stream_end(pair, duel->arg);

    message(pair, pair->rank == 0, end, duel->size);
    message(pair, pair->rank == 1, end, duel->size);
}

double bulk_round(struct pair *pair, struct duel *duel)
{
    unsigned char *end = stream_end(pair, duel->arg);
    double elapsed_us = 0.0;

    if (pair->rank == 0)
        pattern_fill(end, duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    elapsed_us = duel_each(pair, duel, round_once, duel);
    pair_verify(pair, end, duel->size, "the round trip");
    return elapsed_us;
}

void bulk_window_open(struct pair *pair, bool is_dynamic, unsigned char *memory,
    size_t len, struct bulk_window *ret_window)
{
    bool is_target = pair->rank == TARGET;
    struct bulk_window *window = ret_window;

    *window = (struct bulk_window){
        .is_dynamic = is_dynamic, .memory = is_target ? memory : NULL};
    if (!is_dynamic) {
        MPI_Win_create(window->memory, is_target ? (MPI_Aint)len : 0, 1,
            MPI_INFO_NULL, pair->comm, &window->win);
    } else {
        MPI_Win_create_dynamic(MPI_INFO_NULL, pair->comm, &window->win);
        if (is_target) {
            MPI_Win_attach(window->win, memory, (MPI_Aint)len);
            MPI_Get_address(memory, &window->base);
        }
        MPI_Bcast(&window->base, 1, MPI_AINT, TARGET, pair->comm);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
}

void bulk_window_close(struct pair *pair, struct bulk_window *window)
{
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(pair->comm);
    if (window->is_dynamic && pair->rank == TARGET)
        MPI_Win_detach(window->win, window->memory);
    MPI_Win_free(&window->win);
}

static void pull_post(struct pair *pair, const struct duel *duel, unsigned i,
    MPI_Request *ret_request)
{
    const struct bulk *bulk = duel->arg;
    const struct bulk_window *window = bulk->window;
    size_t place = place_of(duel, i);

    MPI_Rget(pair->room + place, (int)duel->size, MPI_BYTE, TARGET,
        window->base + (MPI_Aint)place, (int)duel->size, MPI_BYTE, window->win,
        ret_request);
}

static void pushes_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    const struct bulk *bulk = duel->arg;
    const struct bulk_window *window = bulk->window;
    unsigned done = 0;

    while (done < calls) {
        double before_us = clock_now_us();
        unsigned end =
            done + duel->window < calls ? done + duel->window : calls;

        for (unsigned i = done; i < end; i++)
            MPI_Put(pair->room + place_of(duel, i), (int)duel->size, MPI_BYTE,
                TARGET, window->base + (MPI_Aint)place_of(duel, i),
                (int)duel->size, MPI_BYTE, window->win);
        MPI_Win_flush(TARGET, window->win);
        before_us = clock_now_us() - before_us;
        while (done < end)
            samples[done++] = before_us;
    }
}

double bulk_window(struct pair *pair, struct duel *duel)
{
    const struct bulk *bulk = duel->arg;
    unsigned char *far = pair->rank == TARGET ? bulk->end : NULL;
    double start_us = 0.0;
    double elapsed_us = 0.0;

    bulk_fill(pair, duel, bulk, far);
    for (unsigned turn = 0; turn < 2 && pair->rank != TARGET; turn++) {
        unsigned calls = turn == 0 ? duel_warm(duel) : duel->calls;

        start_us = clock_now_us();
        if (bulk->is_push)
            pushes_run(pair, duel, calls, duel->samples);
        else
            ring_run(pair, duel, pull_post, calls, duel->samples);
        elapsed_us = clock_now_us() - start_us;
    }
    bulk_verify(pair, duel, bulk, far);
    return elapsed_us;
}
