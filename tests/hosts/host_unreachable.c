/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to a host that does not exist, or does not answer, end in bounded time
 * with HG_HOSTUNREACH, and the log names the address. When it answers again,
 * its server works. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "peers.h"

enum { CALLS = 20, MUTE_TIMES = 8, LINE_CAP = 1024 };

static FILE *log_file;

/* Is there a line with both texts? */
static bool log_has(const char *one, const char *other)
{
    char line[LINE_CAP];
    bool is_found = false;

    fflush(log_file);
    rewind(log_file);
    while (!is_found && fgets(line, sizeof(line), log_file) != NULL)
        is_found = strstr(line, one) != NULL && strstr(line, other) != NULL;
    fseek(log_file, 0, SEEK_END);
    return is_found;
}

static void refused(struct peers *client, const char *why, const char *host)
{
    static struct peers_call calls[CALLS];
    char text[PEERS_TEXT_CAP];
    hg_addr_t addr = HG_ADDR_NULL;
    uint64_t began_ns = peers_now_ns();

    rewind(log_file);
    CHECK(ftruncate(fileno(log_file), 0) == 0);
    snprintf(text, sizeof(text), "%s://%s:7000", client->protocol, host);
    OK(HG_Addr_lookup2(client->cls, text, &addr));
    for (uint32_t i = 0; i < CALLS; i++)
        peers_call_to(client, addr, client->ask, i, &calls[i]);
    for (uint32_t i = 0; i < CALLS; i++)
        EXPECT(HG_HOSTUNREACH, peers_wait(client, &calls[i]));
    OK(HG_Addr_free(client->cls, addr));
    fprintf(stderr, "%s: calls ended after %u ms\n", why,
        (unsigned)((peers_now_ns() - began_ns) / 1000000));
    snprintf(text, sizeof(text), "%s:7000", host);
    CHECK(log_has(text, "is not reached"));
}

static void test(struct peers *client)
{
    log_file = tmpfile();
    CHECK(log_file != NULL);
    HG_Set_log_level("warning");
    HG_Set_log_stream("warning", log_file);
    refused(client, "an address of nobody", "10.77.0.99");
    refused(client, "a host that nobody knows the way to", "10.99.0.1");
    peers_do(client, "link h1 down");
    refused(client, "a host without link", "10.77.0.1");
    peers_do(client, "link h1 up");
    peers_do(client, "nic h2 down");
    refused(client, "without a link of our own", "10.77.0.1");
    peers_do(client, "nic h2 up");
    peers_do(client, "mute h1 h2");
    /* 8 s; TCP would retry after 15 s. */
    for (int i = 0; i < MUTE_TIMES; i++)
        refused(client, "a host that answers nothing", "10.77.0.1");
    peers_do(client, "unmute h1 h2");
    peers_exchange(client, 100000);
}

int main(int argc, char **argv)
{
    return peers_main(argc, argv, test);
}
