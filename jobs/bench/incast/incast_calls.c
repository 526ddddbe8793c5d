/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks but one call that one, by the library.
 *
 * An origin tells the target at the end how often it has called; the target
 * serves until all have, and compares. */
#include "jobs/bench/frame/procs.h"
#include "jobs/bench/frame/team.h"
#include "jobs/bench/incast/incast_pull.h"
#include "mercury_proc_bulk.h"

/* What an origin tells when it has all its answers. */
struct ending {
    uint64_t calls;
    uint64_t numbers; /* their sum */
};

/* Rank INCAST_TARGET's, during a batch. */
struct incast_target {
    struct pair *team;
    struct ending served;
    struct ending told;
    unsigned ended; /* origins that have */
    struct incast_pulls pulls;
};

/* An origin's, during a batch. */
struct origin {
    struct incast *incast;
    struct stint stint;
    size_t size;
    bool goes_on;
    struct ending ending;
};

/* One place of the window. */
struct slot {
    struct origin *origin;
    hg_handle_t handle;
    unsigned place;
    unsigned char *room; /* for the bytes of this place */
    hg_bulk_t bulk;      /* exposes them; or HG_BULK_NULL */
    double posted_us;
};

static hg_return_t procs_ending(hg_proc_t proc, void *data)
{
    struct ending *ending = data;
    hg_return_t ret = hg_proc_uint64_t(proc, &ending->calls);

    return ret != HG_SUCCESS ? ret : hg_proc_uint64_t(proc, &ending->numbers);
}

static struct incast_target *target_of(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct incast *incast = HG_Registered_data(info->hg_class, info->id);

    return incast->target;
}

static hg_return_t call_answer(struct pair *team, hg_handle_t handle)
{
    pair_check(team, HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    return HG_Destroy(handle);
}

static hg_return_t null_serve(hg_handle_t handle)
{
    struct incast_target *target = target_of(handle);

    target->served.calls++;
    return call_answer(target->team, handle);
}

static hg_return_t input_serve(hg_handle_t handle)
{
    struct incast_target *target = target_of(handle);
    struct pair *team = target->team;
    struct payload input = {(uint32_t)team->room_len, team->landing};

    pair_check(team, HG_Get_input(handle, &input), "HG_Get_input");
    HG_Free_input(handle, &input);
    target->served.calls++;
    target->served.numbers +=
        incast_check(team, team->landing, input.len, "the input").number;
    return call_answer(team, handle);
}

static hg_return_t bulk_serve(hg_handle_t handle)
{
    struct incast_target *target = target_of(handle);

    target->served.calls++;
    incast_pull_serve(&target->pulls, handle);
    return HG_SUCCESS;
}

static hg_return_t end_serve(hg_handle_t handle)
{
    struct incast_target *target = target_of(handle);
    struct ending told;

    pair_check(target->team, HG_Get_input(handle, &told), "HG_Get_input");
    HG_Free_input(handle, &told);
    target->told.calls += told.calls;
    target->told.numbers += told.numbers;
    target->ended++;
    return call_answer(target->team, handle);
}

void incast_open(struct incast *incast)
{
    hg_class_t *cls = incast->team->cls;
    struct {
        const char *name;
        hg_proc_cb_t proc;
        hg_rpc_cb_t serve;
        hg_id_t *id;
    } calls[] = {
        {"incast null", NULL, null_serve, &incast->null_id},
        {"incast input", procs_payload, input_serve, &incast->input_id},
        {"incast bulk", hg_proc_hg_bulk_t, bulk_serve, &incast->bulk_id},
        {"incast end", procs_ending, end_serve, &incast->end_id},
    };

    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        *calls[i].id = HG_Register_name(
            cls, calls[i].name, calls[i].proc, NULL, calls[i].serve);
        pair_check(incast->team,
            HG_Register_data(cls, *calls[i].id, incast, NULL),
            "HG_Register_data");
    }
}

/* Rank INCAST_TARGET. */
static void target_run(
    struct pair *team, struct incast *incast, const struct duel *duel)
{
    struct incast_target target = {.team = team};

    incast->target = &target;
    if (incast->kind == INCAST_BULK)
        incast_pulls_open(&target.pulls, team, duel->size);
    team_meet(team);
    while (target.ended < incast_origins(team))
        team_turn(team);
    if (incast->kind == INCAST_BULK)
        incast_pulls_close(&target.pulls);
    else if (duel->size > 0 && target.served.numbers != target.told.numbers)
        pair_fail(team, "other calls came than were made");
    if (target.served.calls != target.told.calls)
        pair_fail(team, "%llu calls came instead of %llu",
            (unsigned long long)target.served.calls,
            (unsigned long long)target.told.calls);
    incast->target = NULL;
}

static hg_return_t call_ended(const struct hg_cb_info *info);

static void call_post(struct slot *slot)
{
    struct origin *origin = slot->origin;
    struct pair *team = origin->incast->team;
    struct payload payload = {(uint32_t)origin->size, slot->room};
    void *input = NULL;

    if (slot->bulk != HG_BULK_NULL)
        input = &slot->bulk;
    else if (origin->size > 0)
        input = &payload;
    if (input != NULL)
        incast_head_write(team, origin->stint.posted, slot->place, slot->room);
    origin->ending.calls++;
    origin->ending.numbers += origin->stint.posted;
    slot->posted_us = stint_post(&origin->stint);
    pair_check(
        team, HG_Forward(slot->handle, call_ended, slot, input), "HG_Forward");
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;
    struct origin *origin = slot->origin;

    pair_check(origin->incast->team, info->ret, "the call");
    stint_call_ended(&origin->stint, slot->posted_us);
    if (origin->goes_on)
        call_post(slot);
    return HG_SUCCESS;
}

static void slot_open(struct slot *slot, struct origin *origin, unsigned place)
{
    struct incast *incast = origin->incast;
    struct pair *team = incast->team;
    hg_size_t len = origin->size;
    hg_id_t id = origin->size > 0 ? incast->input_id : incast->null_id;
    void *room = team->room + place * origin->size;

    *slot = (struct slot){.origin = origin, .place = place, .room = room};
    incast_fill(team, slot->room, origin->size);
    if (incast->kind == INCAST_BULK) {
        id = incast->bulk_id;
        pair_check(team,
            HG_Bulk_create(
                team->cls, 1, &room, &len, HG_BULK_READ_ONLY, &slot->bulk),
            "HG_Bulk_create");
    }
    slot->handle = pair_handle(team, id);
}

static void slot_close(struct slot *slot)
{
    struct pair *team = slot->origin->incast->team;

    if (slot->bulk != HG_BULK_NULL)
        pair_check(team, HG_Bulk_free(slot->bulk), "HG_Bulk_free");
    pair_check(team, HG_Destroy(slot->handle), "HG_Destroy");
}

/* Waits as all do who share cores, unlike pair_call(). */
static void ending_tell(struct pair *team, struct origin *origin)
{
    struct slot slot = {.origin = origin};
    uint64_t before = origin->stint.ended;

    slot.handle = pair_handle(team, origin->incast->end_id);
    pair_check(team,
        HG_Forward(slot.handle, call_ended, &slot, &origin->ending),
        "HG_Forward");
    while (origin->stint.ended == before)
        team_turn(team);
    slot_close(&slot);
}

static void origin_run(struct pair *team, struct incast *incast,
    const struct duel *duel, struct origin *origin)
{
    struct slot slots[OPTIONS_WINDOW_MAX];
    struct stint *stint = &origin->stint;

    for (unsigned i = 0; i < duel->window; i++)
        slot_open(&slots[i], origin, i);
    team_meet(team);
    stint_start(stint, incast->counts_ms, duel->size);
    origin->goes_on = true;
    for (unsigned i = 0; i < duel->window; i++)
        call_post(&slots[i]);
    while (stint_goes_on(stint))
        team_turn(team);
    origin->goes_on = false;
    while (stint->ended < stint->posted)
        team_turn(team);
    ending_tell(team, origin);
    for (unsigned i = 0; i < duel->window; i++)
        slot_close(&slots[i]);
}

double incast_calls(struct pair *team, struct duel *duel, double *ret_samples)
{
    struct incast *incast = duel->more;
    struct origin origin = {.incast = incast, .size = duel->size};
    bool is_target = team->rank == INCAST_TARGET;

    if (is_target)
        target_run(team, incast, duel);
    else
        origin_run(team, incast, duel, &origin);
    team_meet(team);
    return incast_end(team, duel, is_target ? NULL : &origin.stint,
        &incast->ours, ret_samples);
}
