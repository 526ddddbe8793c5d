/* SPDX-License-Identifier: BSD-3-Clause */
/* Thousands of connections that send nothing, or part of a message, and close,
 * and hundreds that stay: meanwhile the server answers its clients, keeps
 * descriptors at most for the open ones, and spends no time on them. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "servers.h"

enum {
    BRIEF = 2000,
    ASK_EVERY = 100,
    STAYING = 200,
    SPARE_FDS = 32, /* for connections of the server itself that come and go */
    IDLE_S = 2,
    PERCENT_MAX = 50, /* of a core; an endless loop takes all of it */
};

static int connection_open(unsigned short port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
    return fd;
}

static void ask(struct servers *client, const char *address, uint32_t number)
{
    struct servers_call call;

    servers_post(client, address, client->ask, number, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == number);
}

static unsigned fds_count(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    DIR *folder = NULL;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static double cpu_s(pid_t pid)
{
    char path[64];
    char line[1024];
    unsigned long user = 0;
    unsigned long kernel = 0;
    FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL);
    fclose(file);
    CHECK(sscanf(strrchr(line, ')'),
              ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
              &kernel) == 2);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* With that many silent connections. */
static void idle_check(pid_t pid, const char *when)
{
    const struct timespec idle = {IDLE_S, 0};
    double used_s = cpu_s(pid);
    double percent = 0;

    nanosleep(&idle, NULL); /* the measured time; it waits for nothing */
    percent = 100 * (cpu_s(pid) - used_s) / IDLE_S;
    printf("%s: %.1f %% of a core, %u descriptors\n", when, percent,
        fds_count(pid));
    CHECK(percent < PERCENT_MAX);
}

static void brief(
    struct servers *client, const char *address, unsigned short port)
{
    static const unsigned char half[] = {0x40, 1, 0, 0, 0, 0, 0};

    for (unsigned i = 0; i < BRIEF; i++) {
        int fd = connection_open(port);

        if (i % 4 == 1)
            (void)send(fd, half, i % sizeof(half), MSG_NOSIGNAL);
        close(fd);
        if (i % ASK_EVERY == 0)
            ask(client, address, i);
    }
}

static void staying(
    struct servers *client, const char *address, unsigned short port, pid_t pid)
{
    int fds[STAYING];

    for (unsigned i = 0; i < STAYING; i++) {
        fds[i] = connection_open(port);
        if (i % 2 == 0)
            (void)send(fds[i], "\0\1\2", 3, MSG_NOSIGNAL);
    }
    ask(client, address, 1);
    idle_check(pid, "with connections that say nothing");
    ask(client, address, 2);
    for (unsigned i = 0; i < STAYING; i++)
        close(fds[i]);
}

static void test(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    pid_t pid = servers_start("127.0.0.1", address);
    unsigned short port = (unsigned short)atoi(strrchr(address, ':') + 1);
    unsigned before = 0;

    ask(client, address, 7);
    before = fds_count(pid);
    idle_check(pid, "at first");
    brief(client, address, port);
    idle_check(pid, "after brief connections");
    CHECK(fds_count(pid) <= before + SPARE_FDS);
    staying(client, address, port, pid);
    idle_check(pid, "after those that stayed");
    CHECK(fds_count(pid) <= before + SPARE_FDS);
    ask(client, address, 8);
    servers_kill(pid);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
