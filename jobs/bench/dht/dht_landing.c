/* SPDX-License-Identifier: BSD-3-Clause */
/* A value goes by a bulk transfer, from or to a landing zone of its owner.
 *
 *   insert   push the value into the slot that this rank may fill there
 *            call: "this key lies in that slot"; the answer is the next slot
 *   find     call: "where does this key lie?"
 *            pull the value from there
 *
 * So an insert is one round trip behind its transfer: a slot is not asked for,
 * as each rank was granted one at each other, and the answer grants the next.
 * Nobody copies the value but the transfer. The call cannot go one-way: an
 * insert has ended when others find it. The zone is memory of the library,
 * which ranks of the same node reach by plain copies. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/dht/dht.h"
#include "jobs/bench/frame/team.h"
#include "mercury_proc.h"

/* Which key lies where. */
struct spot {
    uint64_t key;
    uint32_t slot;
    uint32_t len;
};

static hg_return_t procs_spot(hg_proc_t proc, void *data)
{
    struct spot *spot = data;
    hg_return_t ret = hg_proc_uint64_t(proc, &spot->key);

    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &spot->slot);
    return ret != HG_SUCCESS ? ret : hg_proc_uint32_t(proc, &spot->len);
}

/* Reads the input of the call. */
static struct dht *call_read(hg_handle_t handle, struct spot *ret_spot)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct dht *dht = HG_Registered_data(info->hg_class, info->id);

    pair_check(dht->team, HG_Get_input(handle, ret_spot), "HG_Get_input");
    HG_Free_input(handle, ret_spot);
    return dht;
}

static hg_return_t call_answer(
    const struct dht *dht, hg_handle_t handle, struct spot *spot)
{
    pair_check(dht->team, HG_Respond(handle, NULL, NULL, spot), "HG_Respond");
    return HG_Destroy(handle);
}

static hg_return_t commit_serve(hg_handle_t handle)
{
    struct spot spot;
    struct dht *dht = call_read(handle, &spot);

    if (spot.slot >= dht->table.taken)
        pair_fail(dht->team, "slot %u was granted to nobody", spot.slot);
    dht_table_link(&dht->table, spot.key, spot.slot);
    spot.slot = dht_slot_take(dht);
    return call_answer(dht, handle, &spot);
}

static hg_return_t locate_serve(hg_handle_t handle)
{
    struct spot spot;
    struct dht *dht = call_read(handle, &spot);

    spot.slot = dht_slot_find(dht, spot.key);
    spot.len = (uint32_t)dht->size;
    return call_answer(dht, handle, &spot);
}

void dht_landing_register(struct dht *dht)
{
    hg_class_t *cls = dht->team->cls;

    dht->commit_id = HG_Register_name(
        cls, "dht commit", procs_spot, procs_spot, commit_serve);
    dht->locate_id = HG_Register_name(
        cls, "dht locate", procs_spot, procs_spot, locate_serve);
    HG_Register_data(cls, dht->commit_id, dht, NULL);
    HG_Register_data(cls, dht->locate_id, dht, NULL);
}

/* Between the room and that slot of the operation's owner. */
static void value_move(struct dht_turn *turn, uint32_t slot, hg_cb_t ended)
{
    struct dht *dht = turn->dht;
    int owner = dht_turn_op(turn)->owner;

    pair_check(dht->team,
        HG_Bulk_transfer(dht->team->context, ended, turn,
            dht->is_find ? HG_BULK_PULL : HG_BULK_PUSH, dht->addrs[owner],
            dht->zones[owner], slot * dht->stride + DHT_HEADER,
            dht->room_handle, turn->op * dht->stride + DHT_HEADER, dht->size,
            HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
}

static void call_post(struct dht_turn *turn, hg_cb_t ended)
{
    struct dht *dht = turn->dht;
    const struct dht_op *op = dht_turn_op(turn);
    struct spot spot = {op->key, dht->granted[op->owner], (uint32_t)dht->size};

    pair_check(dht->team, HG_Reset(turn->handle, dht->addrs[op->owner], 0),
        "HG_Reset");
    pair_check(
        dht->team, HG_Forward(turn->handle, ended, turn, &spot), "HG_Forward");
}

static void answer_read(
    struct dht_turn *turn, hg_return_t ret, struct spot *ret_spot)
{
    const struct dht *dht = turn->dht;

    pair_check(dht->team, ret, "the call");
    pair_check(
        dht->team, HG_Get_output(turn->handle, ret_spot), "HG_Get_output");
    HG_Free_output(turn->handle, ret_spot);
    if (ret_spot->key != dht_turn_op(turn)->key || ret_spot->len != dht->size)
        pair_fail(dht->team, "the answer is for another value");
}

static void next_post(struct dht_turn *turn, double now_us);

static hg_return_t insert_committed(const struct hg_cb_info *info)
{
    struct dht_turn *turn = info->arg;
    struct spot spot;

    answer_read(turn, info->ret, &spot);
    turn->dht->granted[dht_turn_op(turn)->owner] = spot.slot;
    next_post(turn, dht_turn_end(turn));
    return HG_SUCCESS;
}

static hg_return_t insert_pushed(const struct hg_cb_info *info)
{
    struct dht_turn *turn = info->arg;

    pair_check(turn->dht->team, info->ret, "the push");
    call_post(turn, insert_committed);
    return HG_SUCCESS;
}

static hg_return_t find_pulled(const struct hg_cb_info *info)
{
    struct dht_turn *turn = info->arg;

    pair_check(turn->dht->team, info->ret, "the pull");
    next_post(turn, dht_turn_end(turn));
    return HG_SUCCESS;
}

static hg_return_t find_located(const struct hg_cb_info *info)
{
    struct dht_turn *turn = info->arg;
    struct spot spot;

    answer_read(turn, info->ret, &spot);
    value_move(turn, spot.slot, find_pulled);
    return HG_SUCCESS;
}

static void next_post(struct dht_turn *turn, double now_us)
{
    struct dht *dht = turn->dht;

    if (!dht_turn_take(turn, now_us))
        return;
    if (dht->is_find)
        call_post(turn, find_located);
    else
        value_move(turn, dht->granted[dht_turn_op(turn)->owner], insert_pushed);
}

/* Of the slots that are free now, rank r may fill the r-th. */
static void landing_begin(struct dht *dht)
{
    int ranks = dht->team->world->size;

    for (int i = 0; i < ranks && !dht->is_find; i++) {
        dht_slot_take(dht);
        dht->granted[i] = (uint32_t)dht->team->rank;
    }
    pair_check(dht->team,
        HG_Create(dht->team->context, dht->addrs[dht->team->rank == 0 ? 1 : 0],
            dht->is_find ? dht->locate_id : dht->commit_id,
            &dht->turns[0].handle),
        "HG_Create");
}

static void landing_end(struct dht *dht)
{
    pair_check(dht->team, HG_Destroy(dht->turns[0].handle), "HG_Destroy");
}

/* One at a time, as the slot at an owner is for one. */
static void landing_run(struct dht *dht)
{
    next_post(&dht->turns[0], clock_now_us());
    while (dht->under_way > 0)
        team_turn(dht->team);
}

static void landing_meet(struct dht *dht)
{
    team_meet(dht->team);
}

const struct dht_way dht_way_landing = {
    .place = dht_table_place,
    .begin = landing_begin,
    .end = landing_end,
    .run = landing_run,
    .meet = landing_meet,
};
