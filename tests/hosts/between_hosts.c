/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls, and data of all sizes in both directions, between two hosts. */
#include <stdlib.h>

#include "peers.h"

enum { CALLS = 200, TOGETHER = 8 };

static void test(struct peers *client)
{
    static const uint64_t lens[] = {8, 1000, 65536, 65537, 8 << 20};
    static struct peers_call calls[CALLS];

    for (uint32_t i = 0; i < CALLS; i++)
        peers_call(client, client->ask, i, &calls[i]);
    for (uint32_t i = 0; i < CALLS; i++) {
        OK(peers_wait(client, &calls[i]));
        CHECK(calls[i].answer == i && calls[i].times == 1);
    }
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        peers_exchange(client, lens[i]);
    for (unsigned i = 0; i < TOGETHER; i++)
        peers_move(client, i % 2 == 0, 300000 + i, &calls[i]);
    for (unsigned i = 0; i < TOGETHER; i++)
        OK(peers_wait(client, &calls[i]));
}

int main(int argc, char **argv)
{
    return peers_main(argc, argv, test);
}
