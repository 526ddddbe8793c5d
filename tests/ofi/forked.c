/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of fork() that uses its parent's class: its calls return errors and
 * do not hang, and the parent is not disturbed. Classes that the child opens
 * itself work. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "servers.h"

static hg_return_t ignored(const struct hg_cb_info *info)
{
    (void)info;
    return HG_SUCCESS;
}

/* The child may have a class of its own. */
static int own_try(const char *address)
{
    hg_class_t *cls = HG_Init("tcp://127.0.0.1", HG_TRUE);
    hg_context_t *context = cls == NULL ? NULL : HG_Context_create(cls);
    struct servers own = {.cls = cls, .context = context};
    struct servers_call call;

    if (context == NULL)
        return 10;
    servers_register(&own);
    servers_post(&own, address, own.ask, 8, &call);
    if (servers_wait(&own, &call) != HG_SUCCESS || call.answer != 8)
        return 11;
    if (HG_Context_destroy(context) != HG_SUCCESS)
        return 12;
    return HG_Finalize(cls) == HG_SUCCESS ? 0 : 13;
}

/* Runs in the child. 0: each call returned an error and began nothing. */
static int child_try(struct servers *client, hg_addr_t known, hg_handle_t made,
    const char *address)
{
    uint32_t number = 1;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_Progress(client->context, 50);
    unsigned count = 0;

    if (rc != HG_OPNOTSUPPORTED)
        return 2;
    if (HG_Trigger(client->context, 0, 1, &count) != HG_OPNOTSUPPORTED)
        return 3;
    if (HG_Addr_lookup2(client->cls, "tcp://127.0.0.1:1", &addr) == HG_SUCCESS)
        return 4;
    if (HG_Forward(made, ignored, NULL, &number) != HG_OPNOTSUPPORTED)
        return 5;
    if (HG_Destroy(made) != HG_SUCCESS)
        return 6;
    (void)HG_Addr_free(client->cls, known);
    if (HG_Context_destroy(client->context) != HG_SUCCESS)
        return 7;
    if (HG_Finalize(client->cls) != HG_SUCCESS)
        return 8;
    return own_try(address);
}

static void test(struct servers *client)
{
    char address[SERVERS_TEXT_CAP];
    struct servers_call call;
    hg_addr_t known = HG_ADDR_NULL;
    hg_handle_t made = HG_HANDLE_NULL;
    int status = -1;
    pid_t server = servers_start("127.0.0.1", address);
    pid_t child = -1;

    servers_post(client, address, client->ask, 5, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 5);
    CHECK(HG_Addr_lookup2(client->cls, address, &known) == HG_SUCCESS);
    CHECK(HG_Create(client->context, known, client->ask, &made) == HG_SUCCESS);
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(child_try(client, known, made, address));
    for (uint32_t i = 0; i < 100; i++) {
        servers_post(client, address, client->ask, i, &call);
        CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == i);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    servers_post(client, address, client->ask, 7, &call);
    CHECK(servers_wait(client, &call) == HG_SUCCESS && call.answer == 7);
    CHECK(HG_Destroy(made) == HG_SUCCESS);
    CHECK(HG_Addr_free(client->cls, known) == HG_SUCCESS);
    servers_kill(server);
}

int main(int argc, char **argv)
{
    return servers_main(argc, argv, test);
}
