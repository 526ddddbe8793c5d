/* SPDX-License-Identifier: BSD-3-Clause */
/* Client on one host, and its connection to the process that made the hosts. */
#include "peers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "peers_serve.h"

enum { WAIT_MS = 20, MS = 1000000, S = 1000000000 };

uint64_t peers_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

void peers_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(EXIT_FAILURE);
}

void peers_expect(hg_return_t got, hg_return_t wanted, const char *file,
    int line, const char *what)
{
    char text[PEERS_TEXT_CAP];

    if (got == wanted)
        return;
    snprintf(text, sizeof(text), "%s: %s, not %s", what,
        HG_Error_to_string(got), HG_Error_to_string(wanted));
    peers_fail(file, line, text);
}

void peers_turn(struct peers *client)
{
    unsigned count = 0;
    hg_return_t rc = HG_Progress(client->context, WAIT_MS);

    CHECK(rc == HG_SUCCESS || rc == HG_TIMEOUT);
    rc = HG_Trigger(client->context, 0, 64, &count);
    CHECK(rc == HG_SUCCESS || rc == HG_TIMEOUT);
}

void peers_pass(struct peers *client, unsigned ms)
{
    uint64_t until_ns = peers_now_ns() + (uint64_t)ms * MS;

    while (peers_now_ns() < until_ns)
        peers_turn(client);
}

void peers_do(struct peers *client, const char *what)
{
    struct pollfd answer = {.fd = STDIN_FILENO, .events = POLLIN};
    uint64_t until_ns = peers_now_ns() + (uint64_t)PEERS_DEADLINE_S * S;
    char text[PEERS_TEXT_CAP];
    ssize_t len = 0;

    printf("%s\n", what);
    fflush(stdout);
    while (poll(&answer, 1, 0) == 0) {
        if (peers_now_ns() > until_ns)
            peers_fail(__FILE__, __LINE__, what);
        peers_turn(client);
    }
    len = read(STDIN_FILENO, text, sizeof(text));
    CHECK(len > 0 && strncmp(text, what, (size_t)len - 1) == 0);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct peers_call *call = info->arg;
    hg_handle_t handle = info->info.forward.handle;
    peers_answer_t out;

    call->ns = peers_now_ns() - call->ns;
    call->ret = info->ret;
    call->done++;
    if (info->ret == HG_SUCCESS) {
        OK(HG_Get_output(handle, &out));
        call->answer = out.number;
        call->times = out.times;
        OK(HG_Free_output(handle, &out));
    }
    return HG_Destroy(handle);
}

static void call_go(
    struct peers *client, hg_addr_t addr, hg_id_t id, struct peers_call *call)
{
    peers_ask_t in = {
        .number = call->number,
        .is_push = call->is_push,
        .len = call->len,
        .bulk = call->bulk,
    };
    hg_handle_t handle = HG_HANDLE_NULL;

    call->ns = peers_now_ns();
    OK(HG_Create(client->context, addr, id, &handle));
    OK(HG_Forward(handle, call_ended, call, &in));
}

void peers_call_to(struct peers *client, hg_addr_t addr, hg_id_t id,
    uint32_t number, struct peers_call *call)
{
    memset(call, 0, sizeof(*call));
    call->number = number;
    call_go(client, addr, id, call);
}

void peers_call(
    struct peers *client, hg_id_t id, uint32_t number, struct peers_call *call)
{
    peers_call_to(client, client->server, id, number, call);
}

void peers_move(
    struct peers *client, bool is_push, uint64_t len, struct peers_call *call)
{
    void *bytes = NULL;

    memset(call, 0, sizeof(*call));
    call->number = ++client->moves;
    call->bytes = malloc(len);
    CHECK(call->bytes != NULL);
    if (is_push)
        memset(call->bytes, 0, len);
    else
        peers_fill(call->bytes, len, call->number);
    call->is_push = is_push;
    call->len = len;
    bytes = call->bytes;
    OK(HG_Bulk_create(client->cls, 1, &bytes, &len,
        is_push ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY, &call->bulk));
    call_go(client, client->server, client->move, call);
}

static void move_end(struct peers *client, struct peers_call *call)
{
    uint64_t until_ns = peers_now_ns() + (uint64_t)PEERS_DEADLINE_S * S;
    hg_return_t rc = HG_Bulk_free(call->bulk);

    for (; rc == HG_BUSY; rc = HG_Bulk_free(call->bulk)) {
        CHECK(peers_now_ns() < until_ns);
        peers_turn(client);
    }
    OK(rc);
    if (call->ret == HG_SUCCESS)
        call->ret = (hg_return_t)call->answer;
    if (call->ret == HG_SUCCESS && call->is_push)
        CHECK(peers_is_filled(call->bytes, call->len, call->number));
    free(call->bytes);
    call->bytes = NULL;
}

hg_return_t peers_wait(struct peers *client, struct peers_call *call)
{
    uint64_t until_ns = peers_now_ns() + (uint64_t)PEERS_DEADLINE_S * S;

    while (call->done == 0) {
        CHECK(peers_now_ns() < until_ns);
        peers_turn(client);
    }
    CHECK(call->done == 1);
    if (call->bytes != NULL)
        move_end(client, call);
    return call->ret;
}

void peers_exchange(struct peers *client, uint64_t len)
{
    struct peers_call call;

    peers_call(client, client->ask, UINT16_MAX, &call);
    OK(peers_wait(client, &call));
    CHECK(call.answer == UINT16_MAX);
    for (int is_push = 0; is_push < 2; is_push++) {
        peers_move(client, is_push != 0, len, &call);
        OK(peers_wait(client, &call));
    }
}

int peers_main(int argc, char **argv, void (*test)(struct peers *client))
{
    struct peers client;

    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        peers_serve(argv[2]);
    CHECK(argc == 3);
    peers_open(&client, argv[2], false);
    client.protocol = argv[2];
    client.moves = 0;
    OK(HG_Addr_lookup2(client.cls, argv[1], &client.server));
    test(&client);
    OK(HG_Addr_free(client.cls, client.server));
    OK(HG_Context_destroy(client.context));
    OK(HG_Finalize(client.cls));
    return EXIT_SUCCESS;
}
