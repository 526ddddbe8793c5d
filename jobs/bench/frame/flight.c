/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in flight. */
#include "jobs/bench/frame/flight.h"

static void slot_post(struct flight_slot *slot)
{
    struct flight *flight = slot->flight;
    bool is_timed = flight->posted % flight->timed_every == 0;

    slot->posted_us = is_timed ? clock_now_us() : 0.0;
    flight->posted++;
    flight->post(slot);
}

void flight_start(struct flight *flight)
{
    flight->posted = flight->ended = 0;
    for (unsigned i = 0; i < flight->window && i < flight->calls; i++) {
        flight->slots[i].flight = flight;
        flight->slots[i].number = i;
        slot_post(&flight->slots[i]);
    }
}

double flight_run(struct flight *flight, uint64_t calls, double *samples)
{
    double start_us = clock_now_us();

    flight->samples = samples;
    flight->calls = calls;
    flight_start(flight);
    while (flight->ended < calls)
        flight->look(flight);
    return clock_now_us() - start_us;
}

void flight_stop(struct flight *flight)
{
    flight->calls = flight->posted;
    while (flight->ended < flight->posted)
        flight->look(flight);
}

void flight_ended(struct flight_slot *slot)
{
    struct flight *flight = slot->flight;

    if (slot->posted_us > 0.0) {
        flight->last_us = clock_now_us() - slot->posted_us;
        if (flight->timed != NULL)
            flight->timed(flight, flight->last_us);
    }
    if (flight->samples != NULL)
        flight->samples[flight->ended] = flight->last_us;
    flight->ended++;
    if (flight->posted < flight->calls)
        slot_post(slot);
}

hg_return_t flight_call_ended(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;

    pair_check(slot->flight->pair, info->ret, "the operation");
    flight_ended(slot);
    return HG_SUCCESS;
}

bool flight_turn(struct flight *flight)
{
    return pair_turn(flight->pair);
}

void flight_handles(struct flight *flight, hg_id_t id)
{
    for (unsigned i = 0; i < flight->window; i++)
        flight->slots[i].handle = pair_handle(flight->pair, id);
}

void flight_handles_free(struct flight *flight)
{
    for (unsigned i = 0; i < flight->window; i++)
        pair_handle_free(flight->pair, flight->slots[i].handle);
}

void flight_null(struct flight_slot *slot)
{
    CHECK(slot->flight->pair,
        HG_Forward(slot->handle, flight_call_ended, slot, NULL));
}
