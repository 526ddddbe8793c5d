/* SPDX-License-Identifier: BSD-3-Clause */
/* Data arrive intact over a slow link, beside short calls whose time is
 * printed. */
#include <stdio.h>
#include <stdlib.h>

#include "peers.h"

enum { CALLS_MAX = 4096, MOVE_LEN = 4 << 20, NS_PER_US = 1000 };

static uint64_t taken_us[CALLS_MAX];

static int us_compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)other;

    return a < b ? -1 : a > b;
}

static void slow(struct peers *client, bool is_push)
{
    static uint32_t number;
    struct peers_call call;
    struct peers_call move;
    unsigned count = 0;

    peers_move(client, is_push, MOVE_LEN, &move);
    while (move.done == 0 && count < CALLS_MAX) {
        peers_call(client, client->ask, number, &call);
        OK(peers_wait(client, &call));
        CHECK(call.answer == number++ && call.times == 1);
        taken_us[count++] = call.ns / NS_PER_US;
    }
    OK(peers_wait(client, &move));
    CHECK(count > 0);
    qsort(taken_us, count, sizeof(taken_us[0]), us_compare);
    fprintf(stderr,
        "%s of %d bytes: %.1f MB/s; meanwhile %u calls, one after the other, "
        "median %u us, longest %u us\n",
        is_push ? "push" : "pull", MOVE_LEN, MOVE_LEN * 1000.0 / move.ns, count,
        (unsigned)taken_us[count / 2], (unsigned)taken_us[count - 1]);
}

static void test(struct peers *client)
{
    peers_exchange(client, 100000);
    peers_do(client, "rate h1 40mbit");
    for (int i = 0; i < 4; i++)
        slow(client, i % 2 != 0);
    peers_exchange(client, 100000);
}

int main(int argc, char **argv)
{
    return peers_main(argc, argv, test);
}
