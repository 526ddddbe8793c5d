/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates by one-way calls: no answer, and the library sees to it that nobody
 * is sent more than he has room for. */
#include "jobs/bench/frame/team.h"
#include "jobs/bench/histogram/histogram.h"
#include "mercury_proc.h"

static hg_return_t procs_message(hg_proc_t proc, void *data)
{
    struct histogram_message *message = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &message->count);

    if (ret == HG_SUCCESS && message->count > HISTOGRAM_BATCH)
        ret = HG_OVERFLOW;
    return ret != HG_SUCCESS ? ret
                             : hg_proc_raw(proc, message->list,
                                   message->count * sizeof(message->list[0]));
}

static hg_return_t add_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct histogram *histogram = HG_Registered_data(info->hg_class, info->id);
    struct histogram_message message;

    pair_check(histogram->team, HG_Get_input(handle, &message), "HG_Get_input");
    HG_Free_input(handle, &message);
    histogram_add(histogram, message.list, message.count);
    return HG_Destroy(handle);
}

void histogram_rpc_register(struct histogram *histogram)
{
    hg_class_t *cls = histogram->team->cls;

    histogram->add_id =
        HG_Register_name(cls, "histogram add", procs_message, NULL, add_serve);
    HG_Register_data(cls, histogram->add_id, histogram, NULL);
    pair_check(histogram->team,
        HG_Registered_disable_response(cls, histogram->add_id, HG_TRUE),
        "HG_Registered_disable_response");
}

static hg_return_t call_left(const struct hg_cb_info *info)
{
    struct histogram_place *place = info->arg;
    struct histogram *histogram = place->histogram;

    pair_check(histogram->team, info->ret, "the one-way call");
    histogram->free[histogram->free_count++] = place;
    return HG_SUCCESS;
}

static void call_send(struct histogram *histogram, int rank,
    const struct histogram_message *message)
{
    struct histogram_place *place = histogram->free[--histogram->free_count];

    pair_check(histogram->team,
        HG_Reset(place->handle, histogram->addrs[rank], 0), "HG_Reset");
    pair_check(histogram->team,
        HG_Forward(place->handle, call_left, place, (void *)message),
        "HG_Forward");
}

static bool calls_turn(struct histogram *histogram)
{
    return team_turn(histogram->team);
}

static void calls_begin(struct histogram *histogram)
{
    int other = histogram->team->rank == 0 ? 1 : 0;

    for (unsigned i = 0; i < HISTOGRAM_MESSAGES; i++)
        pair_check(histogram->team,
            HG_Create(histogram->team->context, histogram->addrs[other],
                histogram->add_id, &histogram->places[i].handle),
            "HG_Create");
    team_meet(histogram->team);
}

static void calls_end(struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_MESSAGES; i++)
        pair_check(histogram->team, HG_Destroy(histogram->places[i].handle),
            "HG_Destroy");
}

static const struct histogram_port port = {
    .send = call_send,
    .turn = calls_turn,
};

static void calls_run(struct histogram *histogram)
{
    histogram_stream(histogram, &port);
}

const struct histogram_way histogram_way_rpc = {
    .begin = calls_begin,
    .end = calls_end,
    .run = calls_run,
};
