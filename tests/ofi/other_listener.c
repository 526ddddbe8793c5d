/* SPDX-License-Identifier: BSD-3-Clause */
/* Call to the port of another program, which sends nothing, speaks HTTP, closes
 * at once, or echoes: the call ends within the time-out, the log names the
 * address, and the wait uses no core. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mercury.h"
#include "servers.h"

enum {
    HELD = 64,
    CPU_MAX_MS = 1000, /* of a call that fails after 1500 */
    LOG_CAP = 65536,
};

enum manner { SILENT, HTTP, HANGS_UP, ECHOES, NOBODY, MANNERS };

static const char *const names[MANNERS] = {
    [SILENT] = "says nothing",
    [HTTP] = "speaks HTTP",
    [HANGS_UP] = "hangs up",
    [ECHOES] = "echoes",
    [NOBODY] = "is not there",
};

/* The other program; a thread, so that it ends with the test. */
struct other {
    enum manner manner;
    int fd;
    atomic_bool is_over;
    unsigned accepted;
};

static void answer(struct other *other, int fd)
{
    static const char page[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    char bytes[512];
    ssize_t len = 0;

    if (other->manner == HTTP)
        (void)send(fd, page, sizeof(page) - 1, MSG_NOSIGNAL);
    if (other->manner == ECHOES) {
        len = recv(fd, bytes, sizeof(bytes), 0);
        if (len > 0)
            (void)send(fd, bytes, (size_t)len, MSG_NOSIGNAL);
    }
}

static void *other_run(void *arg)
{
    struct other *other = arg;
    int held[HELD];
    unsigned count = 0;

    while (!atomic_load(&other->is_over)) {
        struct pollfd news = {.fd = other->fd, .events = POLLIN};
        int fd = -1;

        /* Without a listener poll() would report a hangup for ever. */
        if (other->manner == NOBODY)
            news.fd = -1;
        if (poll(&news, 1, 20) <= 0)
            continue;
        fd = accept(other->fd, NULL, NULL);
        if (fd < 0)
            continue;
        other->accepted++;
        answer(other, fd);
        if (other->manner == HANGS_UP || count == HELD)
            close(fd);
        else
            held[count++] = fd;
    }
    while (count > 0)
        close(held[--count]);
    return NULL;
}

static unsigned cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (unsigned)((usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                      (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
}

static void other_open(struct other *other, char *ret_address)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);

    other->fd = socket(AF_INET, SOCK_STREAM, 0);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(other->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
    CHECK(getsockname(other->fd, (struct sockaddr *)&addr, &len) == 0);
    if (other->manner != NOBODY)
        CHECK(listen(other->fd, HELD) == 0);
    snprintf(ret_address, SERVERS_TEXT_CAP, "tcp://127.0.0.1:%u",
        ntohs(addr.sin_port));
}

static void call(struct servers *client, enum manner manner)
{
    struct other other = {.manner = manner};
    char address[SERVERS_TEXT_CAP];
    char log[LOG_CAP] = "";
    FILE *stream = fmemopen(log, sizeof(log), "w");
    struct servers_call one;
    unsigned used_ms = 0;
    pthread_t thread;

    other_open(&other, address);
    CHECK(stream != NULL);
    CHECK(pthread_create(&thread, NULL, other_run, &other) == 0);
    HG_Set_log_stream("warning", stream);
    used_ms = cpu_ms();
    servers_post(client, address, client->ask, 1, &one);
    CHECK(servers_wait(client, &one) == HG_HOSTUNREACH);
    used_ms = cpu_ms() - used_ms;
    HG_Set_log_stream("warning", stderr);
    fclose(stream);
    atomic_store(&other.is_over, true);
    pthread_join(thread, NULL);
    close(other.fd);
    printf("%s: %u ms of a core, %u connections; %s", names[manner], used_ms,
        other.accepted, log);
    CHECK(used_ms < CPU_MAX_MS);
    CHECK(strstr(log, strchr(address, ':')) != NULL);
}

static void test(struct servers *client)
{
    for (enum manner manner = SILENT; manner < MANNERS; manner++)
        call(client, manner);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
