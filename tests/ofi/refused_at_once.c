/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that a killed server has not answered, and a call to a port without a
 * listener: they end as soon as the host refuses connections, long before
 * AMALGAM_CONNECT_TIMEOUT_MS, which is longer than the limit of the test. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "servers.h"

enum { HELD = 5 };

static void nobody_listens(struct servers *client)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char address[SERVERS_TEXT_CAP];
    struct servers_call call;

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
    snprintf(
        address, sizeof(address), "tcp://127.0.0.1:%u", ntohs(addr.sin_port));
    for (unsigned i = 0; i < 3; i++) {
        servers_post(client, address, client->ask, i, &call);
        CHECK(servers_wait(client, &call) == HG_HOSTUNREACH);
    }
    close(fd);
}

static void test(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    struct servers_call held[HELD];
    struct servers_call call;
    pid_t pid = servers_start("127.0.0.1", address);

    for (uint32_t i = 0; i < HELD; i++)
        servers_post(client, address, client->hold, i, &held[i]);
    servers_post(client, address, client->ask, 77, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 77);
    servers_kill(pid);
    for (uint32_t i = 0; i < HELD; i++)
        CHECK(servers_wait(client, &held[i]) == HG_HOSTUNREACH);
    nobody_listens(client);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
