/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw limit of the hash table: MPI_Put or MPI_Get of the value and a flush,
 * by a rank that knows already where it lies or is to lie.
 *
 * So there are no calls, and no index; the target waits in MPI, or moves its
 * own. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/dht/dht.h"
#include "jobs/bench/frame/team.h"

static unsigned char *window_place(
    struct dht *dht, unsigned position, bool is_new)
{
    (void)is_new;
    return dht->win_slots + (size_t)position * dht->stride + DHT_HEADER;
}

static void window_begin(struct dht *dht)
{
    MPI_Win_sync(dht->win);
}

static void window_end(struct dht *dht)
{
    MPI_Win_sync(dht->win);
}

static void value_move(const struct dht *dht, const struct dht_turn *turn)
{
    const struct dht_op *op = dht_turn_op(turn);
    unsigned char *value = dht_room_value(dht, turn->op);
    MPI_Aint place =
        (MPI_Aint)((size_t)op->position * dht->stride + DHT_HEADER);
    int len = (int)dht->size;

    if (dht->is_find)
        MPI_Get(
            value, len, MPI_BYTE, op->owner, place, len, MPI_BYTE, dht->win);
    else
        MPI_Put(
            value, len, MPI_BYTE, op->owner, place, len, MPI_BYTE, dht->win);
    MPI_Win_flush(op->owner, dht->win);
}

static void window_run(struct dht *dht)
{
    struct dht_turn *turn = &dht->turns[0];
    double now_us = clock_now_us();

    while (dht_turn_take(turn, now_us)) {
        value_move(dht, turn);
        now_us = dht_turn_end(turn);
    }
}

static void window_meet(struct dht *dht)
{
    pair_barrier(dht->team);
}

const struct dht_way dht_way_window = {
    .place = window_place,
    .begin = window_begin,
    .end = window_end,
    .run = window_run,
    .meet = window_meet,
};
