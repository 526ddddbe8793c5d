/* SPDX-License-Identifier: BSD-3-Clause */
/* A server's own address: others can call it, also after an init with a
 * wildcard; its port cannot be taken twice; it is written into buffers of any
 * size, and may be freed late. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "servers.h"

/* Other hosts cannot call the wildcard address. */
static void wildcard(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    struct servers_call call;
    pid_t pid = servers_start("0.0.0.0", address);

    CHECK(strstr(address, "://0.0.0.0") == NULL);
    servers_post(client, address, client->ask, 5, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 5);
    servers_kill(pid);
}

static void port_in_use(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    char where[SERVERS_TEXT_CAP];
    struct servers_call call;
    pid_t pid = servers_start("127.0.0.1", address);

    snprintf(where, sizeof(where), "tcp://%s", strstr(address, "://") + 3);
    for (unsigned i = 0; i < 3; i++)
        CHECK(HG_Init(where, HG_TRUE) == NULL);
    servers_post(client, address, client->ask, 6, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 6);
    servers_kill(pid);
    /* The port is free again after the end of the process. */
    pid = servers_start(where + strlen("tcp://"), address);
    CHECK(strstr(address, strrchr(where, ':')) != NULL);
    servers_kill(pid);
}

static void size_of_any_value(struct servers *client)
{
    static const hg_size_t sizes[] = {
        0, 1, SERVERS_TEXT_CAP, (hg_size_t)-1, (hg_size_t)1 << 63, 0x7fffffff};
    char text[SERVERS_TEXT_CAP];
    hg_addr_t self = HG_ADDR_NULL;
    hg_size_t needed = 0;

    CHECK(HG_Addr_self(client->cls, &self) == HG_SUCCESS);
    CHECK(HG_Addr_to_string(client->cls, NULL, &needed, self) == HG_SUCCESS);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        hg_size_t size = sizes[i];
        hg_return_t rc = HG_SUCCESS;

        memset(text, '?', sizeof(text));
        rc = HG_Addr_to_string(client->cls, text, &size, self);
        CHECK(size == needed);
        if (sizes[i] < needed) {
            CHECK(rc == HG_OVERFLOW && text[0] == '?');
        } else {
            CHECK(rc == HG_SUCCESS && strlen(text) + 1 == needed);
            CHECK(text[needed] == '?');
        }
    }
    CHECK(HG_Addr_free(client->cls, self) == HG_SUCCESS);
}

/* The class refuses to end, at once and without waiting. */
static void not_freed(void)
{
    hg_class_t *cls = HG_Init("tcp://127.0.0.1", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    hg_addr_t self = HG_ADDR_NULL;
    hg_addr_t other = HG_ADDR_NULL;

    CHECK(context != NULL);
    CHECK(HG_Addr_self(cls, &self) == HG_SUCCESS);
    CHECK(HG_Addr_lookup2(cls, "tcp://127.0.0.1:1", &other) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_BUSY);
    CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    CHECK(HG_Addr_free(cls, other) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
}

static void test(struct servers *client)
{
    wildcard(client);
    port_in_use(client);
    size_of_any_value(client);
    not_freed();
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
