/* SPDX-License-Identifier: BSD-3-Clause */
/* Random bytes sent to the TCP port of a server: they do not disturb it. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "servers.h"

enum { ROUNDS = 30, LEN_MAX = 3000 };

static void nonsense_send(unsigned short port, unsigned round)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    unsigned char bytes[LEN_MAX];
    size_t len = (size_t)rand() % LEN_MAX;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)rand();
    if (round % 4 == 0)
        memset(bytes, round % 8 == 0 ? 0 : 0xff, len);
    CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
    (void)send(fd, bytes, len, MSG_NOSIGNAL);
    if (round % 3 == 0)
        (void)shutdown(fd, SHUT_WR);
    close(fd);
}

static void test(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    struct servers_call call;
    pid_t pid = servers_start("127.0.0.1", address);
    unsigned short port = (unsigned short)atoi(strrchr(address, ':') + 1);

    srand(7);
    for (unsigned i = 0; i < ROUNDS; i++) {
        nonsense_send(port, i);
        servers_post(client, address, client->ask, i, &call);
        CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == i);
    }
    servers_kill(pid);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
