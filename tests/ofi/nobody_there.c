/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to an address without a server: each of them ends, also if another
 * program listens there. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "servers.h"

enum { CALLS = 100 };

/* A port without a listener; with `does_listen`, one that accepts connections
 * and sends nothing. */
static int port_take(int does_listen, char *ret_address)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
    if (does_listen)
        CHECK(listen(fd, 8) == 0);
    snprintf(ret_address, SERVERS_TEXT_CAP, "tcp://127.0.0.1:%u",
        ntohs(addr.sin_port));
    return fd;
}

static void test(struct servers *client)
{
    static struct servers_call calls[CALLS];

    for (int does_listen = 0; does_listen < 2; does_listen++) {
        char address[SERVERS_TEXT_CAP];
        int fd = port_take(does_listen, address);

        for (uint32_t i = 0; i < CALLS; i++)
            servers_post(client, address, client->ask, i, &calls[i]);
        for (uint32_t i = 0; i < CALLS; i++)
            CHECK(servers_wait(client, &calls[i]) == HG_HOSTUNREACH);
        servers_post(client, address, client->ask, 1, &calls[0]);
        CHECK(servers_wait(client, &calls[0]) == HG_HOSTUNREACH);
        close(fd);
    }
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
