/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are posted while far more wait for credits than a driver has
 * message buffers are all answered, whatever their length. */
#include <stdlib.h>

#include "harness.h"

enum { CALLS = 6000, WAITING = 2000, LEN_MAX = 1000 };

static uint8_t bytes[LEN_MAX];

/* In one cell of shared memory, in several, and in a message buffer. */
static uint32_t len_of(uint32_t call, uint32_t turn)
{
    static const uint32_t lens[] = {16, 200, LEN_MAX};

    return turn < 3 ? lens[turn] : lens[call % 3];
}

static void turn_run(
    struct harness *h, struct harness_call *calls, uint32_t turn)
{
    uint32_t sent = 0;
    uint32_t ended = 0;

    harness_sync(h);
    harness_wait_begin(h);
    while (ended < CALLS) {
        for (; sent < CALLS && sent - ended < WAITING; sent++)
            CHECK(h, harness_send(h, 0, 0, bytes, len_of(sent, turn), true,
                         &calls[sent]) == HG_SUCCESS);
        harness_wait_turn(h, __FILE__, __LINE__, "the next answer");
        for (; ended < sent && calls[ended].done > 0; ended++) {
            CHECK(h, calls[ended].op.ret == HG_SUCCESS);
            CHECK(h, calls[ended].op.len == len_of(ended, turn));
            CHECK(h, harness_is_filled(
                         calls[ended].op.data, calls[ended].op.len, 3));
            harness_drop(h, 0, &calls[ended]);
        }
    }
    harness_sync(h);
}

static void test(struct harness *h)
{
    struct harness_call *calls = calloc(CALLS, sizeof(*calls));

    CHECK(h, calls != NULL);
    harness_fill(bytes, sizeof(bytes), 3);
    for (uint32_t turn = 0; turn < 4; turn++)
        turn_run(h, calls, turn);
    free(calls);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
