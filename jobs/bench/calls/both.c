/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ranks call each other, as much as they can, for some time. */
#include "jobs/bench/calls/both.h"

#include "jobs/bench/base/clock.h"

#include <string.h>

enum {
    TIMED_EVERY = 16, /* of that many calls in flight one is timed */
    TRIGGER_MAX = 64,
};

struct load {
    struct served *served;
    struct both *both;
    double end_us;
    unsigned in_flight;
    unsigned ended;
    bool is_late; /* no more calls are made */
    bool by_thread;
};

/* One place of the window. */
struct slot {
    struct load *load;
    hg_handle_t handle;
    bool is_timed;
    double posted_us;
};

static hg_return_t call_ended(const struct hg_cb_info *info);

static void call_post(struct slot *slot)
{
    struct load *load = slot->load;

    if (slot->is_timed)
        slot->posted_us = clock_now_us();
    load->in_flight++;
    pair_check(&load->served->pair,
        HG_Forward(slot->handle, call_ended, slot, NULL), "HG_Forward");
}

/* Takes the time of a call, and looks whether it was the last. */
static void call_time(struct slot *slot)
{
    struct load *load = slot->load;
    struct both *both = load->both;
    double now_us = clock_now_us();

    /* The last ones that there is room for: the first are warming up. */
    both->samples_us[both->sample_count++ % BOTH_SAMPLES] =
        now_us - slot->posted_us;
    if (now_us >= load->end_us)
        load->is_late = true;
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;
    struct load *load = slot->load;

    pair_check(&load->served->pair, info->ret, "the call");
    load->in_flight--;
    load->ended++;
    if (slot->is_timed)
        call_time(slot);
    if (!load->is_late)
        call_post(slot);
    return HG_SUCCESS;
}

/* Waits for answers, and runs their callbacks. */
static void load_turn(const struct load *load)
{
    struct pair *pair = &load->served->pair;
    unsigned count = 0;

    if (load->by_thread)
        HG_Trigger(pair->context, pair->wait_ms, TRIGGER_MAX, &count);
    else
        pair_turn(pair);
}

static hg_return_t stop_ended(const struct hg_cb_info *info)
{
    struct load *load = info->arg;

    pair_check(&load->served->pair, info->ret, "the call that ends a batch");
    load->in_flight--;
    return HG_SUCCESS;
}

/* The other rank has this one's last call, and this one the other's. */
static void load_end(struct load *load)
{
    struct served *served = load->served;
    hg_handle_t handle = pair_handle(&served->pair, served->stop_id);

    load->in_flight++;
    pair_check(&served->pair, HG_Forward(handle, stop_ended, load, NULL),
        "HG_Forward");
    while (load->in_flight > 0)
        load_turn(load);
    pair_check(&served->pair, HG_Destroy(handle), "HG_Destroy");
    served_wait(served);
}

void both_run(struct served *served, unsigned window, double time_us,
    bool by_thread, struct both *ret_both)
{
    struct slot slots[OPTIONS_WINDOW_MAX];
    double start_us = clock_now_us();
    struct load load = {
        .served = served,
        .both = ret_both,
        .end_us = start_us + time_us,
        .by_thread = by_thread,
    };

    memset(ret_both, 0, sizeof(*ret_both));
    for (unsigned i = 0; i < window; i++) {
        slots[i] =
            (struct slot){&load, pair_handle(&served->pair, served->null_id),
                i % TIMED_EVERY == 0, 0.0};
        call_post(&slots[i]);
    }
    while (load.in_flight > 0)
        load_turn(&load);
    ret_both->kps = load.ended / (clock_now_us() - start_us) * 1e3;
    if (ret_both->sample_count > BOTH_SAMPLES)
        ret_both->sample_count = BOTH_SAMPLES;
    for (unsigned i = 0; i < window; i++)
        pair_check(&served->pair, HG_Destroy(slots[i].handle), "HG_Destroy");
    load_end(&load);
}
