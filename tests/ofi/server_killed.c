/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to a server that is killed: those without an answer end. A new server
 * at the same address answers new calls, and ignores the old ones. */
#include <string.h>

#include "servers.h"

enum { LIVES = 3, HELD = 5 };

static void life_of(struct servers *client, const char *where, char *address)
{
    struct servers_call held[HELD];
    struct servers_call call;
    pid_t pid = servers_start(where, address);

    for (uint32_t i = 0; i < 10; i++) {
        servers_post(client, address, client->ask, i, &call);
        CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == i);
    }
    for (uint32_t i = 0; i < HELD; i++)
        servers_post(client, address, client->hold, i, &held[i]);
    servers_post(client, address, client->ask, 77, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 77);
    servers_kill(pid);
    for (uint32_t i = 0; i < HELD; i++)
        CHECK(servers_wait(client, &held[i]) == HG_HOSTUNREACH);
}

/* No call is made while it is away. */
static void unnoticed(struct servers *client, const char *where, char *address)
{
    struct servers_call call;
    pid_t pid = servers_start(where, address);
    hg_return_t rc = HG_SUCCESS;

    servers_post(client, address, client->ask, 1, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS);
    servers_kill(pid);
    pid = servers_start(where, address);
    servers_post(client, address, client->ask, 2, &call);
    rc = servers_wait(client, &call);
    CHECK(rc == HG_HOSTUNREACH || rc == HG_SUCCESS);
    servers_post(client, address, client->ask, 3, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 3);
    servers_kill(pid);
}

static void test(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    char where[SERVERS_TEXT_CAP];

    life_of(client, "127.0.0.1", address);
    /* At the same port. */
    strcpy(where, strstr(address, "://") + 3);
    for (unsigned i = 1; i < LIVES; i++)
        life_of(client, where, address);
    unnoticed(client, where, address);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
