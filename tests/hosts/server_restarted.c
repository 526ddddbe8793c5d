/* SPDX-License-Identifier: BSD-3-Clause */
/* A server on another host is killed: its unanswered calls end with
 * HG_HOSTUNREACH, and so do calls while it is away. Another server at the same
 * address answers new calls, whether the client noticed or not. */
#include "peers.h"

enum { HELD = 5, AWAY = 20, MOVE_LEN = 4 << 20 };

static void life_of(struct peers *client)
{
    struct peers_call held[HELD];
    struct peers_call calls[AWAY];
    struct peers_call moves[2];
    struct peers_call begun;

    peers_exchange(client, 100000); /* two moves since its start */
    peers_call(client, client->begun, 2 + 2, &begun);
    peers_do(client, "rate h1 50mbit"); /* so there is a middle */
    for (uint32_t i = 0; i < HELD; i++)
        peers_call(client, client->hold, i, &held[i]);
    for (int i = 0; i < 2; i++)
        peers_move(client, i == 1, MOVE_LEN, &moves[i]);
    OK(peers_wait(client, &begun));
    peers_do(client, "stop");
    for (uint32_t i = 0; i < HELD; i++)
        EXPECT(HG_HOSTUNREACH, peers_wait(client, &held[i]));
    for (int i = 0; i < 2; i++)
        EXPECT(HG_HOSTUNREACH, peers_wait(client, &moves[i]));
    peers_do(client, "rate h1 none");
    for (uint32_t i = 0; i < AWAY; i++)
        peers_call(client, client->ask, i, &calls[i]);
    for (uint32_t i = 0; i < AWAY; i++)
        EXPECT(HG_HOSTUNREACH, peers_wait(client, &calls[i]));
}

/* No call is made while it is away. The first call may fail because of that, or
 * not. */
static void unnoticed(struct peers *client)
{
    struct peers_call call;

    peers_exchange(client, 100000);
    peers_do(client, "stop");
    peers_do(client, "start");
    peers_call(client, client->ask, 1, &call);
    if (peers_wait(client, &call) != HG_SUCCESS)
        CHECK(call.ret == HG_HOSTUNREACH);
    peers_exchange(client, 100000);
}

static void test(struct peers *client)
{
    life_of(client);
    peers_do(client, "start");
    unnoticed(client);
}

int main(int argc, char **argv)
{
    return peers_main(argc, argv, test);
}
