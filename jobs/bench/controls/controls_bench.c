/* SPDX-License-Identifier: BSD-3-Clause */
/* What this machine gives to programs without the library. */
#include "jobs/bench/benches.h"
#include "jobs/bench/controls/controls.h"

enum {
    MIB = 1024 * 1024,
    ROOM_LEN = 64 * MIB,
    SMOKE_ROOM_LEN = MIB,
};

/* As long as the longest row needs. */
static size_t room_needed(const struct options *options)
{
    size_t len = options->is_smoke ? SMOKE_ROOM_LEN : ROOM_LEN;
    size_t wanted = options->size == NULL ? 0 : *options->size;

    return wanted > len ? wanted : len;
}

static void controls_init(struct controls *controls, const struct pair *like)
{
    struct pair *pair = &controls->pair;

    pair_copy(like, pair);
    pair->transport = pair->options->transport;
    if (pair->transport == NULL)
        pair->transport = "auto";
    pair->is_caller = pair->rank == 0;
    pair->is_target = pair->rank == 1;
    pair_need_room(pair, room_needed(pair->options));
    like_open(pair, pair->room_len, &controls->like);
    controls->bulk = (struct bulk){
        .shape = {false, 1, pair->room_len, pair->room_len, pair->room_len},
        .like = &controls->like,
        .far = pair->is_target ? pair->landing : NULL,
        .end = pair->landing,
    };
    controls->alone = *pair;
    controls->alone.is_target = pair->is_caller;
    controls->own = (struct like){pair->landing, pair->room_len, false};
    controls->copy = controls->bulk;
    controls->copy.like = &controls->own;
}

void bench_controls(struct pair *pair)
{
    struct controls controls;

    controls_init(&controls, pair);
    controls_message_run(&controls);
    controls_window_run(&controls);
    controls_near_run(&controls);
    controls_fabric_run(&controls);
    like_close(&controls.like);
    pair_free_room(&controls.pair);
}
