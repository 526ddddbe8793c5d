/* SPDX-License-Identifier: BSD-3-Clause */
/* A value travels as an argument of the call: within the request or the answer
 * as long as it fits there, and else as the library carries what does not.
 *
 * An insert is decoded right into the slot where it stays. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/dht/dht.h"
#include "jobs/bench/frame/procs.h"
#include "jobs/bench/frame/team.h"

struct put {
    uint64_t key;
    struct payload value;
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

static struct dht *dht_of(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);

    return HG_Registered_data(info->hg_class, info->id);
}

static hg_return_t insert_serve(hg_handle_t handle)
{
    struct dht *dht = dht_of(handle);
    uint32_t slot = dht_slot_take(dht);
    struct put put = {
        0, {(uint32_t)dht->size, dht_table_value(&dht->table, slot)}};

    pair_check(dht->team, HG_Get_input(handle, &put), "HG_Get_input");
    HG_Free_input(handle, &put);
    dht_table_link(&dht->table, put.key, slot);
    pair_check(dht->team, HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    return HG_Destroy(handle);
}

static hg_return_t find_serve(hg_handle_t handle)
{
    struct dht *dht = dht_of(handle);
    struct payload value = {(uint32_t)dht->size, NULL};
    uint64_t key = 0;

    pair_check(dht->team, HG_Get_input(handle, &key), "HG_Get_input");
    HG_Free_input(handle, &key);
    value.data = dht_table_value(&dht->table, dht_slot_find(dht, key));
    pair_check(dht->team, HG_Respond(handle, NULL, NULL, &value), "HG_Respond");
    return HG_Destroy(handle);
}

void dht_rpc_register(struct dht *dht)
{
    hg_class_t *cls = dht->team->cls;

    dht->insert_id =
        HG_Register_name(cls, "dht insert", procs_put, NULL, insert_serve);
    dht->find_id =
        HG_Register_name(cls, "dht find", procs_key, procs_payload, find_serve);
    HG_Register_data(cls, dht->insert_id, dht, NULL);
    HG_Register_data(cls, dht->find_id, dht, NULL);
}

static hg_return_t call_ended(const struct hg_cb_info *info);

static void call_post(struct dht_turn *turn)
{
    struct dht *dht = turn->dht;
    const struct dht_op *op = dht_turn_op(turn);
    uint64_t key = op->key;
    struct put put = {
        key, {(uint32_t)dht->size, dht_room_value(dht, turn->op)}};

    pair_check(dht->team, HG_Reset(turn->handle, dht->addrs[op->owner], 0),
        "HG_Reset");
    pair_check(dht->team,
        HG_Forward(turn->handle, call_ended, turn,
            dht->is_find ? (void *)&key : (void *)&put),
        "HG_Forward");
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct dht_turn *turn = info->arg;
    struct dht *dht = turn->dht;
    struct payload value = {(uint32_t)dht->size, dht_room_value(dht, turn->op)};

    pair_check(dht->team, info->ret, "the call");
    if (dht->is_find) {
        pair_check(
            dht->team, HG_Get_output(turn->handle, &value), "HG_Get_output");
        HG_Free_output(turn->handle, &value);
        if (value.len != dht->size)
            pair_fail(dht->team, "a value of %u bytes instead of %zu",
                value.len, dht->size);
    }
    if (dht_turn_take(turn, dht_turn_end(turn)))
        call_post(turn);
    return HG_SUCCESS;
}

static void calls_begin(struct dht *dht)
{
    hg_addr_t addr = dht->addrs[dht->team->rank == 0 ? 1 : 0];
    hg_id_t id = dht->is_find ? dht->find_id : dht->insert_id;

    for (unsigned i = 0; i < dht->window; i++)
        pair_check(dht->team,
            HG_Create(dht->team->context, addr, id, &dht->turns[i].handle),
            "HG_Create");
}

static void calls_end(struct dht *dht)
{
    for (unsigned i = 0; i < dht->window; i++)
        pair_check(dht->team, HG_Destroy(dht->turns[i].handle), "HG_Destroy");
}

static void calls_run(struct dht *dht)
{
    double now_us = clock_now_us();

    for (unsigned i = 0; i < dht->window; i++)
        if (dht_turn_take(&dht->turns[i], now_us))
            call_post(&dht->turns[i]);
    while (dht->under_way > 0)
        team_turn(dht->team);
}

static void calls_meet(struct dht *dht)
{
    team_meet(dht->team);
}

const struct dht_way dht_way_rpc = {
    .place = dht_table_place,
    .begin = calls_begin,
    .end = calls_end,
    .run = calls_run,
    .meet = calls_meet,
};
