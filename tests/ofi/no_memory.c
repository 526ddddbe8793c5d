/* SPDX-License-Identifier: BSD-3-Clause */
/* A client without memory for a connection: its call fails after one
 * AMALGAM_CONNECT_TIMEOUT_MS, also if the server's host has accepted the
 * connection; its next call succeeds when there is memory again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "servers.h"

/* Less than the provider maps for a connection. */
enum { ROOM = 8 << 20, SKIPPED = 77 };

/* Mapped bytes of this process. */
static rlim_t mapped(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void test(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    struct servers_call call;
    struct rlimit before;
    struct rlimit little;
    FILE *log = tmpfile();
    int to = dup(STDERR_FILENO);
    char text[4096] = "";
    pid_t pid = servers_start("127.0.0.1", address);

    CHECK(log != NULL && to >= 0 && getrlimit(RLIMIT_AS, &before) == 0);
    CHECK(dup2(fileno(log), STDERR_FILENO) >= 0);
    little = (struct rlimit){
        .rlim_cur = mapped() + ROOM, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &little) == 0);
    servers_post(client, address, client->ask, 1, &call);
    CHECK(servers_wait(client, &call) == HG_HOSTUNREACH);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(dup2(to, STDERR_FILENO) >= 0);
    rewind(log);
    (void)fread(text, 1, sizeof(text) - 1, log);
    fputs(text, stderr);
    CHECK(strstr(text, "no memory left for a connection") != NULL);
    servers_post(client, address, client->ask, 77, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 77);
    servers_kill(pid);
}

int main(int argc, char **argv)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return SKIPPED; /* sanitizers map terabytes */
#endif
    return servers_main(argc, argv, test);
}
