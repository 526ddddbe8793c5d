/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data by the one-sided operations of MPI.
 *
 * A pull is over when its request is, and the next one takes its place. The
 * request of a put says nothing of the target; so puts go out in groups, as
 * many as may be in flight, and a flush ends each. The target waits in a
 * barrier, where MPI serves it as it does ours in HG_Progress(). */
#include "jobs/bench/bulk/bulk_window.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/bulk/bulk_move.h"

enum { TARGET = 1 };

static void memory_attach(
    struct pair *pair, size_t len, struct bulk_window *window)
{
    MPI_Win_create_dynamic(MPI_INFO_NULL, pair->comm, &window->win);
    if (pair->rank == TARGET) {
        MPI_Win_attach(window->win, window->memory, (MPI_Aint)len);
        MPI_Get_address(window->memory, &window->base);
    }
    MPI_Bcast(&window->base, 1, MPI_AINT, TARGET, pair->comm);
}

void bulk_window_open(struct pair *pair, enum bulk_window_kind kind,
    unsigned char *memory, size_t len, struct bulk_window *ret_window)
{
    MPI_Aint own_len = pair->rank == TARGET ? (MPI_Aint)len : 0;
    struct bulk_window *window = ret_window;

    *window = (struct bulk_window){
        .kind = kind, .memory = pair->rank == TARGET ? memory : NULL};
    switch (kind) {
    case BULK_WINDOW_CREATED:
        MPI_Win_create(window->memory, own_len, 1, MPI_INFO_NULL, pair->comm,
            &window->win);
        break;
    case BULK_WINDOW_DYNAMIC:
        memory_attach(pair, len, window);
        break;
    case BULK_WINDOW_ALLOCATED:
        MPI_Win_allocate(own_len, 1, MPI_INFO_NULL, pair->comm, &window->memory,
            &window->win);
        break;
    default:
        MPI_Win_allocate_shared(own_len, 1, MPI_INFO_NULL, pair->comm,
            &window->memory, &window->win);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
}

void bulk_window_close(struct pair *pair, struct bulk_window *window)
{
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(pair->comm);
    if (window->kind == BULK_WINDOW_DYNAMIC && pair->rank == TARGET)
        MPI_Win_detach(window->win, window->memory);
    MPI_Win_free(&window->win);
}

bool bulk_window_can_share(const struct pair *pair)
{
    MPI_Comm node = MPI_COMM_NULL;
    int size = 0;

    MPI_Comm_split_type(
        pair->comm, MPI_COMM_TYPE_SHARED, pair->rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size == 2;
}

static const struct bulk_window *window_of(const struct duel *duel)
{
    const struct bulk *bulk = duel->more;

    return bulk->window;
}

/* Where the `i`th finds its place, in the room and in the window. */
static size_t place_of(const struct duel *duel, unsigned i)
{
    return (size_t)(i % duel->window) * duel->size;
}

static void pull_post(
    struct pair *pair, const struct duel *duel, unsigned i, MPI_Request *ret)
{
    const struct bulk_window *window = window_of(duel);
    size_t place = place_of(duel, i);

    MPI_Rget(pair->room + place, (int)duel->size, MPI_BYTE, TARGET,
        window->base + (MPI_Aint)place, (int)duel->size, MPI_BYTE, window->win,
        ret);
}

static void pulls_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    MPI_Request requests[OPTIONS_WINDOW_MAX];
    double posted_us[OPTIONS_WINDOW_MAX];
    unsigned window = duel->window;

    for (unsigned i = 0; i < window && i < calls; i++) {
        posted_us[i] = clock_now_us();
        pull_post(pair, duel, i, &requests[i]);
    }
    for (unsigned i = 0; i < calls; i++) {
        unsigned turn = i % window;
        double now_us = 0.0;

        MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
        now_us = clock_now_us();
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
    const struct bulk_window *window = window_of(duel);
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
        start_us = clock_now_us();
        window_run(pair, duel, duel->calls, ret_samples);
        elapsed_us = clock_now_us() - start_us;
    }
    bulk_verify(pair, duel, bulk, far);
    return elapsed_us;
}
