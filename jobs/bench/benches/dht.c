/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table spread over all ranks: each inserts, or finds, keys that the
 * other ranks own, and serves them meanwhile.
 *
 * The values travel in calls; or by bulk transfers into and out of the owner's
 * zone, where an insert ends, and a find begins, with a call about the key; or,
 * as the control, in requests and replies of MPI. A key names its slot at the
 * owner. All ranks can compute the keys of a batch, and a value follows from
 * its key: so all bytes are checked when the clock has stopped, those that were
 * inserted by the ranks that own them. */
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/raw/calls.h"
#include "mercury_bulk.h"

enum {
    SIZE_MAX_TAKEN = 1024 * 1024,
    OPS_MAX = 1000, /* of each rank in a batch; and before those that count */
    WARM = 16,
    BATCH_BYTES = 4 * 1024 * 1024, /* of values, of each rank */
    OVERSUBSCRIBED_PART = 32,      /* of these, where ranks share cores */
    ENTRY_ALIGN = 64,
    TEXT_CAP = 1024,  /* of a zone, as other ranks get to know it */
    TAG_ANSWER = 300, /* and one more for each slot of the window */
};

enum way { BY_CALL, BY_LANDING, BY_MPI };

/* A key and its value; MPI sends both, calls and transfers either. */
struct entry {
    uint64_t key;
    uint64_t number; /* of MPI's request, in the window of its rank */
    unsigned char value[];
};

/* The input of a call; its output is a value, which may be empty, too. */
struct input {
    struct dht *table; /* of the owner, while it decodes */
    uint64_t key;
    struct payload value;
};

struct op {
    uint64_t key;
    int owner;
    struct entry *own; /* in the room of the rank that inserts, or finds */
};

/* Owned by bench_dht(). */
struct dht {
    struct pair *team; /* its room: an entry for each operation of this rank */
    enum way way;
    bool is_find; /* or inserts */
    uint32_t in;  /* bytes of a value in a request, and in an answer */
    uint32_t out;
    size_t size;    /* bytes of a value */
    size_t stride;  /* from one entry to the next */
    uint32_t slots; /* of the zone; then those where MPI receives requests */
    unsigned char *zone;
    hg_bulk_t zone_handle;
    hg_bulk_t *zones; /* of all ranks */
    hg_bulk_t room_handle;
    hg_addr_t *addrs;
    hg_id_t call_id;
    unsigned next;                     /* the operation to be posted */
    struct op ops[OPTIONS_WINDOW_MAX]; /* those of the window */
    struct flight flight;
    struct mpi_serve serve; /* BY_MPI's */
};

/* Operation `number` of a rank; its owners are the others in turn. */
static struct op op_of(const struct dht *dht, int rank, unsigned number)
{
    unsigned ranks = (unsigned)dht->team->world->size;
    uint64_t mixed = mix64(mix_first(dht->team->seed, rank) + number);
    uint32_t slot = number / (ranks - 1) * ranks + (unsigned)rank;

    return (struct op){mixed << 32 | slot,
        (int)(((unsigned)rank + 1 + number % (ranks - 1)) % ranks),
        (void *)(dht->team->room + number * dht->stride)};
}

static struct entry *zone_entry(const struct dht *dht, uint32_t slot)
{
    return (void *)(dht->zone + slot * dht->stride);
}

/* The entry of a key that this rank owns. */
static struct entry *key_entry(
    const struct dht *dht, uint64_t key, bool is_inserted)
{
    uint32_t slot = (uint32_t)key;

    if (slot >= dht->slots ||
        (is_inserted && zone_entry(dht, slot)->key != key))
        pair_fail(dht->team, "key %016llx is not in the table",
            (unsigned long long)key);
    return zone_entry(dht, slot);
}

/* Fills what a batch of so many operations begins with, or checks what it came
 * to: the values of this rank's operations, or those that it owns. */
static void values_do(struct dht *dht, unsigned ops, bool is_fill)
{
    int own = dht->team->rank;
    bool is_zone = dht->is_find == is_fill;

    for (int rank = 0; rank < dht->team->world->size; rank++)
        for (unsigned i = 0; i < ops && (is_zone || rank == own); i++) {
            struct op op = op_of(dht, rank, i);

            if (is_zone && op.owner != own)
                continue;
            if (is_zone)
                op.own = key_entry(dht, op.key, !is_fill);
            op.own->key = op.key;
            if (is_fill)
                pattern_fill(
                    op.own->value, dht->size, (uint32_t)(op.key >> 32));
            else if (pattern_check(op.own->value, dht->size,
                         (uint32_t)(op.key >> 32)) < dht->size)
                pair_fail(dht->team, "the value of key %016llx is wrong",
                    (unsigned long long)op.key);
        }
}

/* A value that comes is decoded into its slot. */
static hg_return_t procs_input(hg_proc_t proc, void *data)
{
    struct input *input = data;
    hg_return_t ret = hg_proc_uint64_t(proc, &input->key);

    if (input->table != NULL && hg_proc_get_op(proc) == HG_DECODE)
        input->value.data = key_entry(input->table, input->key, false)->value;
    return ret != HG_SUCCESS ? ret : procs_payload(proc, &input->value);
}

static hg_return_t call_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct dht *dht = HG_Registered_data(info->hg_class, info->id);
    struct input input = {dht, .value = {dht->in, NULL}};
    struct payload output = {dht->out, NULL};

    CHECK(dht->team, HG_Get_input(handle, &input));
    HG_Free_input(handle, &input);
    if (!dht->is_find)
        key_entry(dht, input.key, false)->key = input.key;
    output.data = key_entry(dht, input.key, true)->value;
    CHECK(dht->team,
        HG_Respond(handle, NULL, NULL, output.len > 0 ? &output : NULL));
    return HG_Destroy(handle);
}

static struct op *op_at(const struct flight_slot *slot)
{
    struct dht *dht = slot->flight->arg;

    return &dht->ops[slot->number];
}

/* Between the room and the slot at the owner. */
static void value_move(struct flight_slot *slot, hg_cb_t ended)
{
    struct dht *dht = slot->flight->arg;
    const struct op *op = op_at(slot);

    CHECK(dht->team,
        HG_Bulk_transfer(dht->team->context, ended, slot,
            dht->is_find ? HG_BULK_PULL : HG_BULK_PUSH, dht->addrs[op->owner],
            dht->zones[op->owner],
            (uint32_t)op->key * dht->stride + offsetof(struct entry, value),
            dht->room_handle, (hg_size_t)(op->own->value - dht->team->room),
            dht->size, HG_OP_ID_IGNORE));
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;
    struct dht *dht = slot->flight->arg;
    struct payload output = {dht->out, op_at(slot)->own->value};

    pair_check(dht->team, info->ret, "the call");
    if (dht->out > 0) {
        CHECK(dht->team, HG_Get_output(slot->handle, &output));
        HG_Free_output(slot->handle, &output);
    }
    if (output.len != dht->out)
        pair_fail(dht->team, "the answer has %u bytes", output.len);
    if (dht->is_find && dht->way == BY_LANDING)
        value_move(slot, flight_call_ended);
    else
        flight_ended(slot);
    return HG_SUCCESS;
}

static void call_send(struct flight_slot *slot)
{
    struct dht *dht = slot->flight->arg;
    const struct op *op = op_at(slot);
    struct input input = {NULL, op->key, {dht->in, op->own->value}};

    CHECK(dht->team, HG_Reset(slot->handle, dht->addrs[op->owner], 0));
    CHECK(dht->team, HG_Forward(slot->handle, call_ended, slot, &input));
}

static hg_return_t value_pushed(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;

    pair_check(slot->flight->pair, info->ret, "the push");
    call_send(slot);
    return HG_SUCCESS;
}

static void place_receive(void *arg, unsigned place, MPI_Request *ret_request)
{
    struct dht *dht = arg;

    MPI_Irecv(zone_entry(dht, dht->slots + place), (int)dht->stride, MPI_BYTE,
        MPI_ANY_SOURCE, MPI_SERVE_TAG, dht->team->comm, ret_request);
}

/* As op_of() makes it, a key tells whose it is. */
static void place_handle(void *arg, unsigned place, MPI_Request *ret_answer)
{
    struct dht *dht = arg;
    const struct entry *asked = zone_entry(dht, dht->slots + place);
    struct entry *entry = key_entry(dht, asked->key, dht->is_find);
    int origin = (int)((uint32_t)asked->key % (unsigned)dht->team->world->size);

    if (!dht->is_find)
        memcpy(entry, asked, sizeof(*asked) + dht->size);
    MPI_Isend(entry->value, (int)dht->out, MPI_BYTE, origin,
        TAG_ANSWER + (int)asked->number, dht->team->comm, ret_answer);
}

static void request_send(struct flight_slot *slot)
{
    struct dht *dht = slot->flight->arg;
    unsigned number = slot->number;
    const struct op *op = op_at(slot);

    op->own->number = number;
    MPI_Irecv(op->own->value, (int)dht->out, MPI_BYTE, op->owner,
        TAG_ANSWER + (int)number, dht->team->comm,
        &dht->serve.requests[number]);
    MPI_Isend(op->own, (int)(sizeof(*op->own) + dht->in), MPI_BYTE, op->owner,
        MPI_SERVE_TAG, dht->team->comm, &dht->serve.sends[number]);
}

static void answer_take(void *arg, unsigned number)
{
    struct dht *dht = arg;

    flight_ended(&dht->flight.slots[number]);
}

static void op_post(struct flight_slot *slot)
{
    struct dht *dht = slot->flight->arg;

    *op_at(slot) = op_of(dht, dht->team->rank, dht->next++);
    op_at(slot)->own->key = op_at(slot)->key;
    if (dht->way == BY_MPI)
        request_send(slot);
    else if (dht->way == BY_LANDING && !dht->is_find)
        value_move(slot, value_pushed);
    else
        call_send(slot);
}

static bool op_look(struct flight *flight)
{
    struct dht *dht = flight->arg;

    return dht->way == BY_MPI ? mpi_serve_turn(&dht->serve)
                              : flight_turn(flight);
}

/* Serves until all ranks have come. */
static void ranks_meet(struct dht *dht)
{
    if (dht->way == BY_MPI)
        mpi_serve_meet(&dht->serve);
    else
        pair_barrier_serving(dht->team);
}

/* The table has what is to be found; then the ranks can serve. */
static void batch_begin(struct dht *dht, unsigned ops, unsigned window)
{
    static const struct mpi_serve_ops serve_ops = {
        place_receive, place_handle, answer_take};

    dht->flight = (struct flight){dht->team, .arg = dht, .post = op_post,
        .look = op_look, .window = window, .timed_every = 1};
    dht->next = 0;
    dht->in = dht->is_find || dht->way == BY_LANDING ? 0 : (uint32_t)dht->size;
    dht->out = dht->is_find && dht->way != BY_LANDING ? (uint32_t)dht->size : 0;
    values_do(dht, ops, true);
    dht->serve = (struct mpi_serve){.pair = dht->team, .comm = dht->team->comm};
    if (dht->way == BY_MPI)
        mpi_serve_open(&dht->serve, &serve_ops, dht, window,
            mpi_serve_places(dht->team, window));
    else
        flight_handles(&dht->flight, dht->call_id);
    ranks_meet(dht);
}

/* One side of a row. */
struct half {
    struct dht *dht;
    enum way way;
};

/* duel->calls are the operations of all ranks. */
static double half_batch(struct pair *team, struct duel *duel)
{
    const struct half *half = duel->arg;
    struct dht *dht = half->dht;
    unsigned ops = duel->calls / duel->ranks;
    double elapsed_us = 0.0;

    dht->way = half->way;
    batch_begin(dht, WARM + ops, duel->window);
    flight_run(&dht->flight, WARM, NULL);
    ranks_meet(dht);
    elapsed_us = clock_now_us();
    flight_run(&dht->flight, ops, duel->samples);
    ranks_meet(dht);
    elapsed_us = clock_now_us() - elapsed_us;
    if (dht->way == BY_MPI)
        mpi_serve_close(&dht->serve);
    else
        flight_handles_free(&dht->flight);
    values_do(dht, WARM + ops, false);
    /* Those of rank 0 are in their place. */
    MPI_Gather(team->rank == 0 ? MPI_IN_PLACE : duel->samples, (int)ops,
        MPI_DOUBLE, duel->samples, (int)ops, MPI_DOUBLE, 0, team->comm);
    return elapsed_us;
}

/* The operations of each rank in a batch. */
static unsigned ops_of(const struct pair *team, size_t size)
{
    unsigned ops = BATCH_BYTES / ((unsigned)size + 1);

    if (team->options->calls != 0)
        return team->options->calls;
    ops = ops < OPS_MAX ? ops : OPS_MAX;
    return team->is_oversubscribed ? ops / OVERSUBSCRIBED_PART + 1 : ops;
}

/* For values of that size: the room, the zone, and the handles of all zones. */
static void memory_open(struct dht *dht, size_t size)
{
    struct pair *team = dht->team;
    unsigned ranks = (unsigned)team->world->size;
    unsigned ops = ops_of(team, size) + WARM;
    size_t entry_len = sizeof(struct entry) + size;
    char *texts = pair_alloc(team, ranks, TEXT_CAP);
    hg_size_t len = 0;
    void *memory = NULL;

    dht->size = size;
    dht->stride = (entry_len + ENTRY_ALIGN - 1) / ENTRY_ALIGN * ENTRY_ALIGN;
    dht->slots = (ops / (ranks - 1) + 1) * ranks;
    len = (dht->slots + MPI_SERVE_PLACES) * dht->stride;
    CHECK(team, HG_Bulk_create(team->cls, 1, NULL, &len, HG_BULK_READWRITE,
                    &dht->zone_handle));
    CHECK(team, HG_Bulk_access(dht->zone_handle, 0, len, HG_BULK_READWRITE, 1,
                    &memory, NULL, NULL));
    dht->zone = memset(memory, 0, len);
    len = ops * dht->stride;
    pair_need_room(team, len);
    memory = team->room;
    CHECK(team, HG_Bulk_create(team->cls, 1, &memory, &len, HG_BULK_READWRITE,
                    &dht->room_handle));
    CHECK(team, HG_Bulk_serialize(texts + team->rank * TEXT_CAP, TEXT_CAP, 0,
                    dht->zone_handle));
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, texts, TEXT_CAP, MPI_BYTE,
        team->comm);
    for (unsigned i = 0; i < ranks; i++)
        CHECK(team, HG_Bulk_deserialize(team->cls, &dht->zones[i],
                        texts + (size_t)i * TEXT_CAP, TEXT_CAP));
    free(texts);
}

static void memory_close(struct dht *dht)
{
    for (int i = 0; i < dht->team->world->size; i++)
        CHECK(dht->team, HG_Bulk_free(dht->zones[i]));
    MPI_Barrier(dht->team->comm);
    CHECK(dht->team, HG_Bulk_free(dht->room_handle));
    CHECK(dht->team, HG_Bulk_free(dht->zone_handle));
}

/* The rows of each size, each as one that inserts and one that finds; where a
 * window is asked for, the first with that one alone. */
static const struct dht_row {
    const char *ops[2];
    const char *memory;
    enum way way;
    enum way control;
    unsigned window;
} rows[] = {
    {{"insert_rpc", "find_rpc"}, "host", BY_CALL, BY_MPI, 1},
    {{"insert_rpc", "find_rpc"}, "host", BY_CALL, BY_MPI, 16},
    {{"insert_rpc", "find_rpc"}, "host", BY_CALL, BY_MPI, 64},
    {{"insert_land", "find_land"}, "library", BY_LANDING, BY_MPI, 1},
    {{"insert_land", "find_land"}, "library", BY_LANDING, BY_CALL, 1},
};

static void row_run(struct dht *dht, const struct dht_row *row, unsigned window)
{
    unsigned ranks = (unsigned)dht->team->world->size;
    bool is_mpi = row->control == BY_MPI;
    struct half ours = {dht, row->way};
    struct half control = {dht, row->control};

    for (unsigned i = 0; i < 2; i++) {
        struct duel duel = {row->ops[i], is_mpi ? "mpi" : "rpc",
            is_mpi ? "MPI request and reply: a rank that waits serves any "
                     "source; a value that comes is copied into its slot"
                   : "ours with the value in the call's argument or answer",
            .memory = row->memory, .size = dht->size, .window = window,
            .calls = ops_of(dht->team, dht->size) * ranks, .ranks = ranks,
            .figure = DUEL_KPS, .is_open = !is_mpi,
            .ours = {half_batch, &ours, .enters = is_mpi},
            .control = {half_batch, &control}};

        dht->is_find = i == 1;
        duel_run(dht->team, &duel);
    }
}

static void size_run(struct dht *dht, size_t size)
{
    unsigned only = dht->team->options->window;

    memory_open(dht, size);
    for (unsigned i = 0; i < (only == 0 ? sizeof(rows) / sizeof(rows[0]) : 1);
         i++)
        row_run(dht, &rows[i], only == 0 ? rows[i].window : only);
    memory_close(dht);
}

void bench_dht(struct pair *pair)
{
    static const size_t sizes[] = {
        8, 64, 512, 2048, 4096, 8192, 16384, 32768, 65536};
    const unsigned *size = pair->options->size;
    unsigned step = options_pick(pair->options, 1, 4, 8);
    struct pair team;
    struct dht dht = {.team = &team};

    if (size != NULL && *size > SIZE_MAX_TAKEN) {
        pair_say(pair, "dht is left out: a value is at most %d bytes",
            SIZE_MAX_TAKEN);
        return;
    }
    if (!team_open(&team, pair))
        return;
    dht.addrs = team_addrs(&team);
    dht.zones = pair_alloc(&team, (size_t)team.world->size, sizeof(*dht.zones));
    dht.call_id = HG_Register_name(
        team.cls, "dht", procs_input, procs_payload, call_serve);
    HG_Register_data(team.cls, dht.call_id, &dht, NULL);
    if (team.is_oversubscribed && step == 1)
        step = 4;
    if (size != NULL)
        size_run(&dht, *size);
    for (unsigned i = 0; size == NULL && i < sizeof(sizes) / sizeof(sizes[0]);
         i += step)
        size_run(&dht, sizes[i]);
    free(dht.zones);
    team_addrs_free(&team, dht.addrs);
    team_close(&team);
}
