/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data by the one-sided operations of MPI.
 *
 * A pull is over when its request is, and the next one takes its place. The
 * request of a put says nothing of the target; so puts go out in groups, as
 * many as may be in flight, and a flush ends each. The target waits in a
 * barrier, where MPI serves it as it does ours in HG_Progress(). */
#include "bulk_window.h"

#include "bulk_move.h"

enum { TARGET = 1 };

void bulk_windows_open(struct pair *pair, const struct like *like,
    struct bulk_windows *ret_windows)
{
    bool is_target = pair->rank == TARGET;

    MPI_Win_create(is_target ? like->base : NULL,
        is_target ? (MPI_Aint)like->len : 0, 1, MPI_INFO_NULL, pair->comm,
        &ret_windows->fixed);
    MPI_Win_create_dynamic(MPI_INFO_NULL, pair->comm, &ret_windows->dynamic);
    if (is_target) {
        MPI_Win_attach(
            ret_windows->dynamic, pair->landing, (MPI_Aint)pair->room_len);
        MPI_Get_address(pair->landing, &ret_windows->base);
    }
    MPI_Bcast(&ret_windows->base, 1, MPI_AINT, TARGET, pair->comm);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, ret_windows->fixed);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, ret_windows->dynamic);
}

void bulk_windows_close(struct pair *pair, struct bulk_windows *windows)
{
    MPI_Win_unlock_all(windows->fixed);
    MPI_Win_unlock_all(windows->dynamic);
    MPI_Barrier(pair->comm);
    if (pair->rank == TARGET)
        MPI_Win_detach(windows->dynamic, pair->landing);
    MPI_Win_free(&windows->dynamic);
    MPI_Win_free(&windows->fixed);
}

/* The window for the memory of a row, and where that begins. */
static MPI_Win window_of(const struct bulk *bulk, MPI_Aint *ret_base)
{
    *ret_base = bulk->shape.is_library ? 0 : bulk->windows->base;
    return bulk->shape.is_library ? bulk->windows->fixed
                                  : bulk->windows->dynamic;
}

/* Where the `i`th finds its place, in the room and in the window. */
static size_t place_of(const struct duel *duel, unsigned i)
{
    return (size_t)(i % duel->window) * duel->size;
}

static void pull_post(
    struct pair *pair, const struct duel *duel, unsigned i, MPI_Request *ret)
{
    size_t place = place_of(duel, i);
    MPI_Aint base = 0;
    MPI_Win win = window_of(duel->more, &base);

    MPI_Rget(pair->room + place, (int)duel->size, MPI_BYTE, TARGET,
        base + (MPI_Aint)place, (int)duel->size, MPI_BYTE, win, ret);
}

static void pulls_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    MPI_Request requests[OPTIONS_WINDOW_MAX];
    double posted_us[OPTIONS_WINDOW_MAX];
    unsigned window = duel->window;

    for (unsigned i = 0; i < window && i < calls; i++) {
        posted_us[i] = duel_now_us();
        pull_post(pair, duel, i, &requests[i]);
    }
    for (unsigned i = 0; i < calls; i++) {
        unsigned turn = i % window;
        double now_us = 0.0;

        MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
        now_us = duel_now_us();
        samples[i] = now_us - posted_us[turn];
        if (i + window < calls) {
            posted_us[turn] = now_us;
            pull_post(pair, duel, i + window, &requests[turn]);
        }
    }
}

static void pushes_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    MPI_Aint base = 0;
    MPI_Win win = window_of(duel->more, &base);
    unsigned done = 0;

    while (done < calls) {
        double before_us = duel_now_us();
        unsigned end =
            done + duel->window < calls ? done + duel->window : calls;

        for (unsigned i = done; i < end; i++)
            MPI_Put(pair->room + place_of(duel, i), (int)duel->size, MPI_BYTE,
                TARGET, base + (MPI_Aint)place_of(duel, i), (int)duel->size,
                MPI_BYTE, win);
        MPI_Win_flush(TARGET, win);
        before_us = duel_now_us() - before_us;
        while (done < end)
            samples[done++] = before_us;
    }
}

static void window_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    const struct bulk *bulk = duel->more;

    if (bulk->is_push)
        pushes_run(pair, duel, calls, samples);
    else
        pulls_run(pair, duel, calls, samples);
}

double bulk_window(struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct bulk *bulk = duel->more;
    unsigned char *far = pair->rank == TARGET ? bulk->end : NULL;
    double start_us = 0.0;
    double elapsed_us = 0.0;

    bulk_fill(pair, duel, bulk, far);
    if (pair->rank != TARGET) {
        window_run(pair, duel, bulk_warm(duel), ret_samples);
        start_us = duel_now_us();
        window_run(pair, duel, duel->calls, ret_samples);
        elapsed_us = duel_now_us() - start_us;
    }
    bulk_verify(pair, duel, bulk, far);
    return elapsed_us;
}
