/* SPDX-License-Identifier: BSD-3-Clause */
/* A server that does not poll before its first call: the client waits several
 * times AMALGAM_CONNECT_TIMEOUT_MS for it. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "mercury.h"
#include "servers.h"

enum { TIMES = 4 };

static unsigned long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000 +
           (unsigned long)now.tv_nsec / 1000000;
}

static void test(struct servers *client)
{
    unsigned long patience_ms =
        TIMES * strtoul(getenv("AMALGAM_CONNECT_TIMEOUT_MS"), NULL, 10);
    unsigned long begin_ms = 0;
    char address[SERVERS_TEXT_CAP];
    struct servers_call call;
    pid_t pid = servers_start("127.0.0.1", address);

    CHECK(kill(pid, SIGSTOP) == 0);
    begin_ms = now_ms();
    servers_post(client, address, client->ask, 5, &call);
    while (now_ms() - begin_ms < patience_ms) {
        unsigned count = 0;

        (void)HG_Progress(client->context, 10);
        (void)HG_Trigger(client->context, 0, 1, &count);
        CHECK(call.done == 0);
    }
    CHECK(kill(pid, SIGCONT) == 0);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 5);
    servers_kill(pid);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
