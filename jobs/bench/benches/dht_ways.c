/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to insert into the hash table of all ranks, and to find in it.
 *
 * Calls: a value travels as an argument, within the request or the answer as
 * long as it fits there, and else as the library carries what does not. An
 * insert is decoded right into the slot where it stays.
 *
 * Landing zones: a value goes by a bulk transfer, from or to memory of its
 * owner.
 *
 *   insert   push the value into the slot that this rank may fill there
 *            call: "this key lies in that slot"; the answer is the next slot
 *   find     call: "where does this key lie?"
 *            pull the value from there
 *
 * So an insert is one round trip behind its transfer: a slot is not asked for,
 * as each rank was granted one at each other, and the answer grants the next.
 * Only the transfer copies the value. The call cannot go one-way: an insert has
 * ended when others find it. The zone is memory of the library, which ranks of
 * the same node reach by plain copies.
 *
 * MPI, a control: requests and replies, by a program that serves other ranks
 * while it waits for its own answers. A value is received right into a free
 * slot and linked there, and sent right out of its slot: no side copies.
 *
 * A window of MPI, the raw limit: MPI_Put or MPI_Get of the value and a flush,
 * by a rank that knows already where it lies or is to lie. So there are no
 * calls, and no index; the target waits in MPI, or moves its own. */
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches/dht.h"
#include "jobs/bench/raw/calls.h"

/* The operation of a slot; and the next one, which it gets. */
static const struct dht_op *op_of(const struct flight_slot *slot)
{
    const struct dht *dht = slot->flight->arg;

    return &dht->plan.mine[dht->under_way[slot->number]];
}

static const struct dht_op *op_next(const struct flight_slot *slot)
{
    struct dht *dht = slot->flight->arg;

    dht->under_way[slot->number] = dht->next++;
    return op_of(slot);
}

/* The address of the value of its operation, in the room. */
static unsigned char *value_of(const struct flight_slot *slot)
{
    const struct dht *dht = slot->flight->arg;

    return dht_room_value(dht, dht->under_way[slot->number]);
}

/* A slot that is free; ends the job when there is none. */
static uint32_t slot_take(struct dht *dht)
{
    uint32_t slot = dht_table_take(&dht->table);

    if (slot == DHT_NO_SLOT)
        pair_fail(dht->team, "all %u slots of the table are taken",
            dht->table.slot_cap);
    return slot;
}

/* That of a key; ends the job when it has none. */
static uint32_t slot_find(struct dht *dht, uint64_t key)
{
    uint32_t slot = dht_table_find(&dht->table, key);

    if (slot == DHT_NO_SLOT)
        pair_fail(dht->team, "key %016llx is not in the table",
            (unsigned long long)key);
    return slot;
}

/* Of the ways that keep values in the table. */
static unsigned char *table_place(
    struct dht *dht, unsigned position, bool is_new)
{
    uint64_t key = dht->plan.owned[position];
    uint32_t slot = is_new ? slot_take(dht) : dht_table_find(&dht->table, key);

    if (is_new)
        dht_table_link(&dht->table, key, slot);
    return slot == DHT_NO_SLOT ? NULL : dht_table_value(&dht->table, slot);
}

static void ours_meet(struct dht *dht)
{
    pair_barrier_serving(dht->team);
}

static void ours_end(struct dht *dht)
{
    flight_handles_free(&dht->flight);
}

/* The arguments and answers of the calls: which value, or which slot, a key
 * has. */
struct put {
    uint64_t key;
    struct payload value;
};

struct spot {
    uint64_t key;
    uint32_t slot;
    uint32_t len;
};

static hg_return_t procs_put(hg_proc_t proc, void *data)
{
    struct put *put = data;
    hg_return_t ret = hg_proc_uint64_t(proc, &put->key);

    return ret != HG_SUCCESS ? ret : procs_payload(proc, &put->value);
}

static hg_return_t procs_key(hg_proc_t proc, void *data)
{
    return hg_proc_uint64_t(proc, data);
}

static hg_return_t procs_spot(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, sizeof(struct spot));
}

/* Reads the input of a call that has come. */
static struct dht *call_read(hg_handle_t handle, void *input)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct dht *dht = HG_Registered_data(info->hg_class, info->id);

    CHECK(dht->team, HG_Get_input(handle, input));
    HG_Free_input(handle, input);
    return dht;
}

static hg_return_t call_answer(
    const struct dht *dht, hg_handle_t handle, void *output)
{
    CHECK(dht->team, HG_Respond(handle, NULL, NULL, output));
    return HG_Destroy(handle);
}

static hg_return_t insert_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct dht *dht = HG_Registered_data(info->hg_class, info->id);
    uint32_t slot = slot_take(dht);
    struct put put = {
        0, {(uint32_t)dht->size, dht_table_value(&dht->table, slot)}};

    call_read(handle, &put);
    dht_table_link(&dht->table, put.key, slot);
    return call_answer(dht, handle, NULL);
}

static hg_return_t find_serve(hg_handle_t handle)
{
    uint64_t key = 0;
    struct dht *dht = call_read(handle, &key);
    struct payload value = {
        (uint32_t)dht->size, dht_table_value(&dht->table, slot_find(dht, key))};

    return call_answer(dht, handle, &value);
}

static hg_return_t commit_serve(hg_handle_t handle)
{
    struct spot spot;
    struct dht *dht = call_read(handle, &spot);

    if (spot.slot >= dht->table.taken)
        pair_fail(dht->team, "slot %u was granted to nobody", spot.slot);
    dht_table_link(&dht->table, spot.key, spot.slot);
    spot.slot = slot_take(dht);
    return call_answer(dht, handle, &spot);
}

static hg_return_t locate_serve(hg_handle_t handle)
{
    struct spot spot;
    struct dht *dht = call_read(handle, &spot);

    spot.slot = slot_find(dht, spot.key);
    spot.len = (uint32_t)dht->size;
    return call_answer(dht, handle, &spot);
}

void dht_register(struct dht *dht)
{
    static const struct {
        const char *name;
        hg_proc_cb_t in;
        hg_proc_cb_t out;
        hg_rpc_cb_t serve;
    } calls[DHT_CALLS] = {
        [INSERT] = {"dht insert", procs_put, NULL, insert_serve},
        [FIND] = {"dht find", procs_key, procs_payload, find_serve},
        [COMMIT] = {"dht commit", procs_spot, procs_spot, commit_serve},
        [LOCATE] = {"dht locate", procs_spot, procs_spot, locate_serve},
    };

    for (unsigned i = 0; i < DHT_CALLS; i++) {
        dht->ids[i] = HG_Register_name(dht->team->cls, calls[i].name,
            calls[i].in, calls[i].out, calls[i].serve);
        HG_Register_data(dht->team->cls, dht->ids[i], dht, NULL);
    }
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;
    struct dht *dht = slot->flight->arg;
    struct payload value = {(uint32_t)dht->size, value_of(slot)};

    pair_check(dht->team, info->ret, "the call");
    if (dht->is_find) {
        CHECK(dht->team, HG_Get_output(slot->handle, &value));
        HG_Free_output(slot->handle, &value);
        if (value.len != dht->size)
            pair_fail(dht->team, "a value of %u bytes instead of %zu",
                value.len, dht->size);
    }
    flight_ended(slot);
    return HG_SUCCESS;
}

/* Sends a call to the owner of the slot's operation. */
static void call_send(struct flight_slot *slot, hg_cb_t ended, void *input)
{
    struct dht *dht = slot->flight->arg;

    CHECK(dht->team, HG_Reset(slot->handle, dht->addrs[op_of(slot)->owner], 0));
    CHECK(dht->team, HG_Forward(slot->handle, ended, slot, input));
}

static void call_post(struct flight_slot *slot)
{
    const struct dht *dht = slot->flight->arg;
    uint64_t key = op_next(slot)->key;
    struct put put = {key, {(uint32_t)dht->size, value_of(slot)}};

    call_send(slot, call_ended, dht->is_find ? (void *)&key : (void *)&put);
}

static void calls_begin(struct dht *dht)
{
    flight_handles(&dht->flight, dht->ids[dht->is_find ? FIND : INSERT]);
}

const struct dht_way dht_way_rpc = {
    table_place, calls_begin, ours_end, call_post, flight_turn, ours_meet};

/* Between the room and that slot of the operation's owner. */
static void value_move(struct flight_slot *slot, uint32_t place, hg_cb_t ended)
{
    struct dht *dht = slot->flight->arg;
    int owner = op_of(slot)->owner;

    CHECK(dht->team,
        HG_Bulk_transfer(dht->team->context, ended, slot,
            dht->is_find ? HG_BULK_PULL : HG_BULK_PUSH, dht->addrs[owner],
            dht->zones[owner], place * dht->stride + DHT_HEADER,
            dht->room_handle, (hg_size_t)(value_of(slot) - dht->room),
            dht->size, HG_OP_ID_IGNORE));
}

static void spot_ask(struct flight_slot *slot, hg_cb_t ended)
{
    const struct dht *dht = slot->flight->arg;
    const struct dht_op *op = op_of(slot);
    struct spot spot = {op->key, dht->granted[op->owner], (uint32_t)dht->size};

    call_send(slot, ended, &spot);
}

static uint32_t spot_read(struct flight_slot *slot, hg_return_t ret)
{
    const struct dht *dht = slot->flight->arg;
    struct spot spot;

    pair_check(dht->team, ret, "the call");
    CHECK(dht->team, HG_Get_output(slot->handle, &spot));
    HG_Free_output(slot->handle, &spot);
    if (spot.key != op_of(slot)->key || spot.len != dht->size)
        pair_fail(dht->team, "the answer is for another value");
    return spot.slot;
}

static hg_return_t insert_committed(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;
    struct dht *dht = slot->flight->arg;

    dht->granted[op_of(slot)->owner] = spot_read(slot, info->ret);
    flight_ended(slot);
    return HG_SUCCESS;
}

static hg_return_t insert_pushed(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;

    pair_check(slot->flight->pair, info->ret, "the push");
    spot_ask(slot, insert_committed);
    return HG_SUCCESS;
}

static hg_return_t find_located(const struct hg_cb_info *info)
{
    value_move(info->arg, spot_read(info->arg, info->ret), flight_call_ended);
    return HG_SUCCESS;
}

/* One at a time, as the slot at an owner is for one. */
static void landing_post(struct flight_slot *slot)
{
    const struct dht *dht = slot->flight->arg;
    const struct dht_op *op = op_next(slot);

    if (dht->is_find)
        spot_ask(slot, find_located);
    else
        value_move(slot, dht->granted[op->owner], insert_pushed);
}

/* Of the slots that are free now, rank r may fill the r-th. */
static void landing_begin(struct dht *dht)
{
    int ranks = dht->team->world->size;

    for (int i = 0; i < ranks && !dht->is_find; i++) {
        slot_take(dht);
        dht->granted[i] = (uint32_t)dht->team->rank;
    }
    flight_handles(&dht->flight, dht->ids[dht->is_find ? LOCATE : COMMIT]);
}

const struct dht_way dht_way_landing = {
    table_place, landing_begin, ours_end, landing_post, flight_turn, ours_meet};

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
        mpi->slots[place] = slot_take(dht);
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
        answer = dht_table_value(&dht->table, slot_find(dht, header.key));
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

static void request_post(struct flight_slot *slot)
{
    struct dht *dht = slot->flight->arg;
    struct dht_mpi *mpi = dht->mpi;
    unsigned number = slot->number;
    const struct dht_op *op = op_next(slot);
    unsigned char *value = value_of(slot);
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

/* The answer tells that the request has left. */
static void request_ended(void *arg, unsigned number)
{
    struct dht *dht = arg;
    struct flight_slot *slot = &dht->flight.slots[number];

    MPI_Wait(&dht->mpi->sends[number], MPI_STATUS_IGNORE);
    if (!dht->is_find && dht->mpi->heard[number] != op_of(slot)->key)
        pair_fail(dht->team, "an answer of the control is another's");
    flight_ended(slot);
}

static void requests_begin(struct dht *dht)
{
    static const struct mpi_serve_ops ops = {
        place_receive, place_handle, request_ended};

    dht->mpi = pair_alloc(dht->team, 1, sizeof(*dht->mpi));
    dht->mpi->serve.comm = dht->team->comm;
    dht->mpi->serve.needs_statuses = true;
    mpi_serve_open(&dht->mpi->serve, dht->team, &ops, dht, dht->window,
        mpi_serve_places(dht->team, dht->window));
}

static void requests_end(struct dht *dht)
{
    mpi_serve_close(&dht->mpi->serve);
    free(dht->mpi);
}

static bool requests_look(struct flight *flight)
{
    struct dht *dht = flight->arg;

    return mpi_serve_turn(&dht->mpi->serve);
}

static void requests_meet(struct dht *dht)
{
    mpi_serve_meet(&dht->mpi->serve);
}

const struct dht_way dht_way_mpi = {table_place, requests_begin, requests_end,
    request_post, requests_look, requests_meet};

static unsigned char *window_place(
    struct dht *dht, unsigned position, bool is_new)
{
    (void)is_new;
    return dht->win_slots + (size_t)position * dht->stride + DHT_HEADER;
}

static void window_sync(struct dht *dht)
{
    MPI_Win_sync(dht->win);
}

static void window_post(struct flight_slot *slot)
{
    const struct dht *dht = slot->flight->arg;
    const struct dht_op *op = op_next(slot);
    MPI_Aint place =
        (MPI_Aint)((size_t)op->position * dht->stride + DHT_HEADER);
    int len = (int)dht->size;

    if (dht->is_find)
        MPI_Get(value_of(slot), len, MPI_BYTE, op->owner, place, len, MPI_BYTE,
            dht->win);
    else
        MPI_Put(value_of(slot), len, MPI_BYTE, op->owner, place, len, MPI_BYTE,
            dht->win);
}

/* One at a time. */
static bool window_look(struct flight *flight)
{
    const struct dht *dht = flight->arg;

    MPI_Win_flush(op_of(&flight->slots[0])->owner, dht->win);
    flight_ended(&flight->slots[0]);
    return true;
}

static void window_meet(struct dht *dht)
{
    pair_barrier(dht->team);
}

const struct dht_way dht_way_window = {window_place, window_sync, window_sync,
    window_post, window_look, window_meet};
