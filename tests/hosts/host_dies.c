/* SPDX-License-Identifier: BSD-3-Clause */
/* A host disappears for good in the middle of calls and transfers both ways:
 * all end with HG_HOSTUNREACH in bounded time. When it is back, the server
 * works. A server that is only busy is waited for, and so is a host whose link
 * fails for less than that time, however long the connection was idle. */
#include <stdio.h>
#include <stdlib.h>

#include "peers.h"

enum { HELD = 5, MOVE_LEN = 4 << 20, MOVES = 2, CUT_MS = 500 };

static unsigned connect_ms;

static void death(struct peers *client)
{
    struct peers_call held[HELD];
    struct peers_call moves[MOVES];
    struct peers_call begun;
    uint64_t died_ns = 0;

    peers_exchange(client, 100000);
    peers_call(client, client->begun, client->moves + MOVES, &begun);
    for (uint32_t i = 0; i < HELD; i++)
        peers_call(client, client->hold, i, &held[i]);
    peers_do(client, "rate h1 40mbit");
    for (int i = 0; i < MOVES; i++)
        peers_move(client, i % 2 != 0, MOVE_LEN, &moves[i]);
    OK(peers_wait(client, &begun));
    CHECK(moves[0].done + moves[1].done == 0);
    peers_do(client, "link h1 down");
    died_ns = peers_now_ns();
    for (uint32_t i = 0; i < HELD; i++)
        EXPECT(HG_HOSTUNREACH, peers_wait(client, &held[i]));
    fprintf(stderr, "calls ended %u ms after the host was gone\n",
        (unsigned)((peers_now_ns() - died_ns) / 1000000));
    for (int i = 0; i < MOVES; i++)
        EXPECT(HG_HOSTUNREACH, peers_wait(client, &moves[i]));
    fprintf(stderr, "data ended %u ms after the host was gone\n",
        (unsigned)((peers_now_ns() - died_ns) / 1000000));
    peers_do(client, "link h1 up");
    peers_do(client, "rate h1 none");
    peers_exchange(client, 100000);
}

/* Busy for twice the time after which a dead host is abandoned. */
static void business(struct peers *client)
{
    struct peers_call calls[HELD];
    struct peers_call moves[MOVES];

    peers_exchange(client, 100000);
    peers_do(client, "freeze");
    for (uint32_t i = 0; i < HELD; i++)
        peers_call(client, client->ask, i, &calls[i]);
    for (int i = 0; i < MOVES; i++)
        peers_move(client, i % 2 != 0, MOVE_LEN, &moves[i]);
    peers_pass(client, 2 * connect_ms);
    for (uint32_t i = 0; i < HELD; i++)
        CHECK(calls[i].done == 0);
    peers_do(client, "thaw");
    for (uint32_t i = 0; i < HELD; i++) {
        OK(peers_wait(client, &calls[i]));
        CHECK(calls[i].answer == i && calls[i].times == 1);
    }
    for (int i = 0; i < MOVES; i++)
        OK(peers_wait(client, &moves[i]));
}

/* The first packet after a long silence is lost. */
static void idleness(struct peers *client)
{
    struct peers_call call;

    peers_exchange(client, 100000);
    peers_pass(client, connect_ms + connect_ms / 2);
    peers_do(client, "link h1 down");
    peers_call(client, client->ask, HELD, &call);
    peers_pass(client, CUT_MS);
    peers_do(client, "link h1 up");
    OK(peers_wait(client, &call));
}

static void test(struct peers *client)
{
    connect_ms = (unsigned)atoi(getenv("AMALGAM_CONNECT_TIMEOUT_MS"));
    idleness(client);
    business(client);
    death(client);
}

int main(int argc, char **argv)
{
    return peers_main(argc, argv, test);
}
