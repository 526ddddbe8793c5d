/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers in processes of their own, reached by ofi+tcp; tests start and kill
 * them. */
#include "servers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury_macros.h"

enum { WAIT_MS = 100, ANSWER_FD = 3 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static pid_t started[16];
static unsigned started_count;

void servers_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    for (unsigned i = 0; i < started_count; i++)
        if (started[i] > 0)
            kill(started[i], SIGKILL);
    exit(EXIT_FAILURE);
}

static hg_return_t serve_ask(hg_handle_t handle)
{
    number_t number;

    CHECK(HG_Get_input(handle, &number) == HG_SUCCESS);
    CHECK(HG_Respond(handle, NULL, NULL, &number) == HG_SUCCESS);
    CHECK(HG_Free_input(handle, &number) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t serve_hold(hg_handle_t handle)
{
    (void)handle; /* for ever */
    return HG_SUCCESS;
}

void servers_register(struct servers *peer)
{
    peer->ask =
        MERCURY_REGISTER(peer->cls, "ask", number_t, number_t, serve_ask);
    peer->hold =
        MERCURY_REGISTER(peer->cls, "hold", number_t, number_t, serve_hold);
}

static void peer_open(struct servers *peer, const char *where, int is_server)
{
    char text[SERVERS_TEXT_CAP];

    snprintf(text, sizeof(text), "tcp://%s", where);
    peer->cls = HG_Init(text, is_server != 0);
    CHECK(peer->cls != NULL);
    peer->context = HG_Context_create(peer->cls);
    CHECK(peer->context != NULL);
    servers_register(peer);
}

static void peer_turn(struct servers *peer)
{
    unsigned count = 0;
    hg_return_t rc = HG_Progress(peer->context, WAIT_MS);

    CHECK(rc == HG_SUCCESS || rc == HG_TIMEOUT);
    rc = HG_Trigger(peer->context, 0, 16, &count);
    CHECK(rc == HG_SUCCESS || rc == HG_TIMEOUT);
}

static void serve(const char *where)
{
    struct servers server;
    char text[SERVERS_TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    peer_open(&server, where, 1);
    CHECK(HG_Addr_self(server.cls, &self) == HG_SUCCESS);
    CHECK(HG_Addr_to_string(server.cls, text, &len, self) == HG_SUCCESS);
    CHECK(write(ANSWER_FD, text, sizeof(text)) == (ssize_t)sizeof(text));
    for (;;)
        peer_turn(&server);
}

int servers_main(int argc, char **argv, void (*test)(struct servers *client))
{
    struct servers client;

    if (argc > 1)
        serve(argv[1]);
    peer_open(&client, "127.0.0.1", 0);
    test(&client);
    CHECK(HG_Context_destroy(client.context) == HG_SUCCESS);
    CHECK(HG_Finalize(client.cls) == HG_SUCCESS);
    return EXIT_SUCCESS;
}

pid_t servers_start(const char *where, char *ret_address)
{
    int ends[2];
    pid_t pid = -1;

    CHECK(started_count < sizeof(started) / sizeof(started[0]));
    CHECK(pipe(ends) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(dup2(ends[1], ANSWER_FD) == ANSWER_FD);
        execl("/proc/self/exe", "server", where, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    CHECK(read(ends[0], ret_address, SERVERS_TEXT_CAP) == SERVERS_TEXT_CAP);
    close(ends[0]);
    started[started_count++] = pid;
    return pid;
}

void servers_kill(pid_t pid)
{
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    for (unsigned i = 0; i < started_count; i++)
        if (started[i] == pid)
            started[i] = 0;
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct servers_call *call = info->arg;
    number_t number;

    call->ret = info->ret;
    if (info->ret == HG_SUCCESS) {
        CHECK(HG_Get_output(info->info.forward.handle, &number) == HG_SUCCESS);
        call->answer = number.value;
        HG_Free_output(info->info.forward.handle, &number);
    }
    call->done++;
    return HG_Destroy(info->info.forward.handle);
}

void servers_post(struct servers *client, const char *address, hg_id_t id,
    uint32_t value, struct servers_call *call)
{
    number_t number = {value};
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;

    memset(call, 0, sizeof(*call));
    CHECK(HG_Addr_lookup2(client->cls, address, &addr) == HG_SUCCESS);
    CHECK(HG_Create(client->context, addr, id, &handle) == HG_SUCCESS);
    CHECK(HG_Forward(handle, call_ended, call, &number) == HG_SUCCESS);
    CHECK(HG_Addr_free(client->cls, addr) == HG_SUCCESS);
}

hg_return_t servers_wait(struct servers *client, struct servers_call *call)
{
    while (call->done == 0)
        peer_turn(client);
    CHECK(call->done == 1);
    return call->ret;
}
