/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data of the raw control over libfabric: fi_read, and writes. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/bulk/bulk_move.h"
#include "jobs/bench/fabric/fabric_end.h"

enum { TAG_STOP = 4 };

/* Where rank 1's memory is, as rank 0 names it. */
struct remote {
    uint64_t base;
    uint64_t key;
};

/* Transfers in flight; rank 0's. */
struct mover {
    struct fabric *fabric;
    const struct duel *duel;
    struct remote remote;
    double posted_us[OPTIONS_WINDOW_MAX];
};

static ssize_t move_try(const struct mover *mover, struct fabric_op *op)
{
    struct fabric *fabric = mover->fabric;
    const struct bulk *bulk = mover->duel->more;
    size_t size = mover->duel->size;
    size_t at = op->place * size;
    struct iovec here = {fabric->room.base + at, size};
    struct fi_rma_iov there = {
        mover->remote.base + at, size, mover->remote.key};
    void *desc = fi_mr_desc(fabric->room.mr);
    struct fi_msg_rma msg = {
        .msg_iov = &here,
        .desc = &desc,
        .iov_count = 1,
        .addr = fabric->peer,
        .rma_iov = &there,
        .rma_iov_count = 1,
        .context = &op->context,
    };

    if (bulk->is_push)
        return fi_writemsg(
            fabric->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    return fi_readmsg(fabric->ep, &msg, FI_COMPLETION);
}

static void move_post(struct mover *mover, unsigned place)
{
    struct fabric_op *op = &mover->fabric->lanes[place].receive;
    ssize_t code = -FI_EAGAIN;

    op->is_send = false;
    op->is_going = true;
    mover->posted_us[place] = clock_now_us();
    while (code == -FI_EAGAIN) {
        code = move_try(mover, op);
        if (code == -FI_EAGAIN)
            fabric_look(mover->fabric);
    }
    fabric_check(mover->fabric, code, "fi_read or fi_write");
}

/* `calls` transfers, from the first to the last; how long they took. */
static double mover_run(struct mover *mover, unsigned calls, double *samples)
{
    unsigned window = mover->duel->window;
    unsigned posted = 0;
    double start_us = clock_now_us();

    for (; posted < window && posted < calls; posted++)
        move_post(mover, posted);
    for (unsigned ended = 0; ended < calls; ended++) {
        unsigned place = fabric_take(mover->fabric)->place;

        samples[ended] = clock_now_us() - mover->posted_us[place];
        if (posted < calls) {
            move_post(mover, place);
            posted++;
        }
    }
    return clock_now_us() - start_us;
}

/* Rank 1 moves the provider along until it is told to stop. */
static void stop_await(struct fabric *fabric)
{
    (void)fabric_take(fabric);
}

static void stop_tell(struct fabric *fabric)
{
    struct fabric_lane *lane = &fabric->lanes[0];

    fabric_send(fabric, &lane->send, &lane->out, sizeof(lane->out),
        &fabric->own, TAG_STOP);
    fabric_settle(fabric, &lane->send);
}

double fabric_bulk(struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct bulk *bulk = duel->more;
    struct fabric *fabric = fabric_get(pair);
    struct fabric_lane *lane = &fabric->lanes[0];
    struct mover mover = {.fabric = fabric, .duel = duel};
    unsigned char *far = pair->rank == 1 ? bulk->end : NULL;
    double elapsed_us = 0.0;

    fabric_know(fabric, &fabric->room, pair->room, pair->room_len);
    if (pair->rank == 1) {
        fabric_know(fabric, &fabric->end, bulk->end, pair->room_len);
        mover.remote =
            (struct remote){fabric->end.remote, fi_mr_key(fabric->end.mr)};
        fabric_receive(fabric, &lane->receive, &lane->in, sizeof(lane->in),
            &fabric->own, TAG_STOP);
    }
    MPI_Bcast(&mover.remote, sizeof(mover.remote), MPI_BYTE, 1, pair->comm);
    bulk_fill(pair, duel, bulk, far);
    if (pair->rank == 0) {
        mover_run(&mover, bulk_warm(duel), ret_samples);
        elapsed_us = mover_run(&mover, duel->calls, ret_samples);
        stop_tell(fabric);
    } else {
        stop_await(fabric);
    }
    bulk_verify(pair, duel, bulk, far);
    return elapsed_us;
}
