/* SPDX-License-Identifier: BSD-3-Clause */
/* A class of so many ranks, from its start to its end, by the library.
 *
 * What a program does that starts: it opens the class and a context, calls each
 * of its peers once, all at the same time, and ends. All ranks wait for each
 * other before each of these steps. */
#include <stdlib.h>

#include "amalgam.h"
#include "jobs/bench/base/clock.h"
#include "jobs/bench/frame/team.h"
#include "jobs/bench/memory/scale.h"

struct first_call {
    hg_addr_t addr;
    hg_handle_t handle;
    unsigned *ended;
    const struct pair *pair;
};

static hg_return_t call_serve(hg_handle_t handle)
{
    struct pair *pair = HG_Class_get_data(HG_Get_info(handle)->hg_class);

    pair->served++;
    pair_check(pair, HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    return HG_Destroy(handle);
}

static void class_open(
    struct pair *pair, const struct duel *duel, hg_id_t *ret_id)
{
    const struct scale *scale = duel->more;

    pair->cls = amalgam_init(pair->comm, scale->transport, NULL);
    if (pair->cls == NULL)
        pair_fail(pair, "no class of %u ranks", duel->ranks);
    HG_Class_set_data(pair->cls, pair, NULL);
    *ret_id =
        HG_Register_name(pair->cls, "bench scale", NULL, NULL, call_serve);
    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_fail(pair, "HG_Context_create() gave none");
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct first_call *call = info->arg;

    pair_check(call->pair, info->ret, "a first call");
    *call->ended += 1;
    return HG_SUCCESS;
}

/* Calls each peer, and serves until all have been served. */
static void contact(struct pair *pair, const struct duel *duel, hg_id_t id,
    struct first_call *calls, double *ret_us)
{
    unsigned count = scale_peers(duel);
    unsigned ended = 0;
    double before_us = clock_now_us();

    for (unsigned i = 0; i < count; i++) {
        calls[i].addr = team_addr(pair, scale_callee(pair, duel, i));
        calls[i].ended = &ended;
        calls[i].pair = pair;
        pair_check(pair,
            HG_Create(pair->context, calls[i].addr, id, &calls[i].handle),
            "HG_Create");
        pair_check(pair,
            HG_Forward(calls[i].handle, call_ended, &calls[i], NULL),
            "HG_Forward");
    }
    while (ended < count)
        team_turn(pair);
    *ret_us = clock_now_us() - before_us;
    while (pair->served < count)
        team_turn(pair);
    team_meet(pair);
    if (pair->served != count)
        pair_fail(pair, "%llu first calls came instead of %u",
            (unsigned long long)pair->served, count);
}

static void calls_end(
    struct pair *pair, struct first_call *calls, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pair_check(pair, HG_Destroy(calls[i].handle), "HG_Destroy");
        pair_check(
            pair, HG_Addr_free(pair->cls, calls[i].addr), "HG_Addr_free");
    }
}

static void class_close(struct pair *pair)
{
    pair_check(pair, amalgam_finalize(pair->cls), "amalgam_finalize");
    pair->cls = NULL;
    pair->context = NULL;
}

double scale_round(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct scale *scale = duel->more;
    struct first_call calls[SCALE_PEERS_MAX];
    double times_us[SCALE_STEPS];
    double before_us = 0.0;
    hg_id_t id = 0;
    bool is_first = !scale->is_measured;

    if (is_first)
        scale->is_measured = smaps_read(&scale->before);
    pair->served = 0;
    pair_barrier(pair);
    before_us = clock_now_us();
    class_open(pair, duel, &id);
    times_us[SCALE_INIT] = clock_lap_us(&before_us);
    team_meet(pair);
    contact(pair, duel, id, calls, &times_us[SCALE_CONTACT]);
    if (is_first && scale->is_measured)
        scale->is_measured = smaps_read(&scale->after);
    calls_end(pair, calls, scale_peers(duel));
    team_meet(pair);
    before_us = clock_now_us();
    class_close(pair);
    times_us[SCALE_FINAL] = clock_lap_us(&before_us);
    return scale_end(pair, duel, times_us, scale->ours, ret_samples);
}
