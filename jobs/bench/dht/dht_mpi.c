/* SPDX-License-Identifier: BSD-3-Clause */
/* The control of the hash table: requests and replies by plain MPI.
 *
 * What a program would write that needs no more than this: it serves whoever
 * asks while it waits for its own answers (mpi_serve.h). A value is received
 * right into a free slot and linked there, and sent right out of its slot: no
 * side copies. */
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/dht/dht.h"
#include "jobs/bench/frame/mpi_serve.h"

enum { TAG_ANSWER = 300 }; /* and one more for each turn of the window */

/* In front of each value, and the whole request of a find. */
struct header {
    uint64_t key;
    uint32_t turn;
    uint32_t len;
};

_Static_assert(sizeof(struct header) == DHT_HEADER, "the header of a slot");

/* Owned by the batch. */
struct dht_mpi {
    struct mpi_serve serve;
    uint32_t slots[MPI_SERVE_PLACES]; /* where inserts are received */
    struct header asked[MPI_SERVE_PLACES];
    uint64_t said[MPI_SERVE_PLACES]; /* an insert's answer: its key */
    uint64_t heard[OPTIONS_WINDOW_MAX];
    MPI_Request sends[OPTIONS_WINDOW_MAX];
};

static void place_receive(void *arg, unsigned place, MPI_Request *ret_request)
{
    struct dht *dht = arg;
    struct dht_mpi *mpi = dht->mpi;
    void *buf = &mpi->asked[place];
    size_t len = sizeof(struct header);

    if (!dht->is_find) {
        mpi->slots[place] = dht_slot_take(dht);
        buf = dht_table_header(&dht->table, mpi->slots[place]);
        len += dht->size;
    }
    MPI_Irecv(buf, (int)len, MPI_BYTE, MPI_ANY_SOURCE, MPI_SERVE_TAG,
        dht->team->comm, ret_request);
}

static void place_handle(void *arg, unsigned place, const MPI_Status *status,
    MPI_Request *ret_answer)
{
    struct dht *dht = arg;
    struct dht_mpi *mpi = dht->mpi;
    struct header header = mpi->asked[place];
    void *answer = &mpi->said[place];
    size_t len = sizeof(mpi->said[place]);

    if (dht->is_find) {
        answer = dht_table_value(&dht->table, dht_slot_find(dht, header.key));
        len = dht->size;
    } else {
        memcpy(&header, dht_table_header(&dht->table, mpi->slots[place]),
            sizeof(header));
        dht_table_link(&dht->table, header.key, mpi->slots[place]);
        mpi->said[place] = header.key;
    }
    MPI_Isend(answer, (int)len, MPI_BYTE, status->MPI_SOURCE,
        TAG_ANSWER + (int)header.turn, dht->team->comm, ret_answer);
}

static void request_post(struct dht *dht, unsigned number)
{
    struct dht_mpi *mpi = dht->mpi;
    struct dht_turn *turn = &dht->turns[number];
    const struct dht_op *op = dht_turn_op(turn);
    unsigned char *value = dht_room_value(dht, turn->op);
    struct header header = {op->key, number, (uint32_t)dht->size};
    void *answer = dht->is_find ? (void *)value : &mpi->heard[number];
    size_t answer_len = dht->is_find ? dht->size : sizeof(mpi->heard[number]);

    memcpy(value - DHT_HEADER, &header, sizeof(header));
    MPI_Irecv(answer, (int)answer_len, MPI_BYTE, op->owner,
        TAG_ANSWER + (int)number, dht->team->comm,
        &mpi->serve.requests[number]);
    MPI_Isend(value - DHT_HEADER,
        (int)(DHT_HEADER + (dht->is_find ? 0 : dht->size)), MPI_BYTE, op->owner,
        MPI_SERVE_TAG, dht->team->comm, &mpi->sends[number]);
}

/* Who has the answer knows that the request has left. */
static void request_ended(void *arg, unsigned number)
{
    struct dht *dht = arg;
    struct dht_mpi *mpi = dht->mpi;
    struct dht_turn *turn = &dht->turns[number];

    MPI_Wait(&mpi->sends[number], MPI_STATUS_IGNORE);
    if (!dht->is_find && mpi->heard[number] != dht_turn_op(turn)->key)
        pair_fail(dht->team, "an answer of the control is another's");
    if (dht_turn_take(turn, dht_turn_end(turn)))
        request_post(dht, number);
}

static const struct mpi_serve_ops serve_ops = {
    .receive = place_receive,
    .handle = place_handle,
    .ended = request_ended,
};

static void requests_begin(struct dht *dht)
{
    struct dht_mpi *mpi = calloc(1, sizeof(*mpi));

    if (mpi == NULL)
        pair_fail(dht->team, "no memory for the control");
    dht->mpi = mpi;
    mpi->serve.team = dht->team;
    mpi->serve.ops = &serve_ops;
    mpi->serve.arg = dht;
    mpi->serve.waits = dht->window;
    mpi->serve.places = mpi_serve_places(dht->team, dht->window);
    mpi_serve_open(&mpi->serve);
}

static void requests_end(struct dht *dht)
{
    mpi_serve_close(&dht->mpi->serve);
    free(dht->mpi);
    dht->mpi = NULL;
}

static void requests_run(struct dht *dht)
{
    double now_us = clock_now_us();

    for (unsigned i = 0; i < dht->window; i++)
        if (dht_turn_take(&dht->turns[i], now_us))
            request_post(dht, i);
    while (dht->under_way > 0)
        mpi_serve_turn(&dht->mpi->serve);
}

static void requests_meet(struct dht *dht)
{
    mpi_serve_meet(&dht->mpi->serve);
}

const struct dht_way dht_way_mpi = {
    .place = dht_table_place,
    .begin = requests_begin,
    .end = requests_end,
    .run = requests_run,
    .meet = requests_meet,
};
