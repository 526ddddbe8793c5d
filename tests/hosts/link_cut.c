/* SPDX-License-Identifier: BSD-3-Clause */
/* A link is cut for two seconds in the middle of calls and transfers both ways.
 * Each ends once: with the right result, or with HG_HOSTUNREACH; none is
 * executed twice. Later ones succeed. */
#include <stdio.h>

#include "peers.h"

enum {
    CUT_MS = 2000,
    WINDOW = 16, /* calls in flight */
    CALLS_MAX = 40000,
    MOVE_LEN = 4 << 20, /* half a second of the link's time */
    MOVES = 2
};

static struct peers_call calls[CALLS_MAX];
static uint32_t posted;
static uint32_t ended;

/* Keeps the window full until all calls were made. */
static void calls_drive(struct peers *client)
{
    while (ended < posted && calls[ended].done > 0)
        ended++;
    while (posted - ended < WINDOW && posted < CALLS_MAX) {
        peers_call(client, client->ask, posted, &calls[posted]);
        posted++;
    }
    peers_turn(client);
}

static void calls_drive_for(struct peers *client, unsigned ms)
{
    uint64_t until_ns = peers_now_ns() + ms * 1000000ull;

    while (peers_now_ns() < until_ns)
        calls_drive(client);
}

static unsigned calls_check(struct peers *client, uint32_t first)
{
    unsigned lost = 0;

    for (uint32_t i = first; i < posted; i++) {
        hg_return_t ret = peers_wait(client, &calls[i]);

        if (ret == HG_HOSTUNREACH) {
            lost++;
            continue;
        }
        OK(ret);
        CHECK(calls[i].answer == i && calls[i].times == 1);
    }
    return lost;
}

static void cut(struct peers *client, const char *down, const char *up)
{
    struct peers_call moves[MOVES];
    struct peers_call begun;
    unsigned lost = 0;
    unsigned moves_lost = 0;
    uint64_t began_ns = 0;
    uint32_t first = posted;

    peers_exchange(client, 100000);
    peers_call(client, client->begun, client->moves + MOVES, &begun);
    peers_do(client, "rate h1 60mbit");
    for (int i = 0; i < MOVES; i++)
        peers_move(client, i % 2 != 0, MOVE_LEN, &moves[i]);
    while (begun.done == 0)
        calls_drive(client);
    OK(peers_wait(client, &begun));
    CHECK(moves[0].done + moves[1].done == 0);
    peers_do(client, down);
    calls_drive_for(client, CUT_MS);
    peers_do(client, up);
    began_ns = peers_now_ns();
    lost = calls_check(client, first);
    for (int i = 0; i < MOVES; i++)
        moves_lost += peers_wait(client, &moves[i]) != HG_SUCCESS;
    for (int i = 0; i < MOVES; i++)
        if (moves[i].ret != HG_SUCCESS)
            EXPECT(HG_HOSTUNREACH, moves[i].ret);
    fprintf(stderr,
        "%s: %u of %u calls and %u of %d moves were lost; all had ended %u ms "
        "after the link was back\n",
        down, lost, posted - first, moves_lost, MOVES,
        (unsigned)((peers_now_ns() - began_ns) / 1000000));
    peers_do(client, "rate h1 none");
    peers_exchange(client, 1 << 20);
}

static void test(struct peers *client)
{
    cut(client, "link h1 down", "link h1 up");
    cut(client, "nic h2 down", "nic h2 up");
}

int main(int argc, char **argv)
{
    return peers_main(argc, argv, test);
}
