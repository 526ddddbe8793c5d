/* SPDX-License-Identifier: BSD-3-Clause */
/* Server on one host: its RPCs. */
#include "peers_serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>

enum { ASKED_CAP = 1 << 16, WAITING_MAX = 4 };

static unsigned asked[ASKED_CAP]; /* count of each number */
static uint32_t moves_begun;

/* A move at the server. */
struct move {
    hg_handle_t handle;
    peers_ask_t in;
    unsigned char *bytes;
    hg_bulk_t bulk;
};

void peers_fill(unsigned char *bytes, uint64_t len, uint32_t seed)
{
    for (uint64_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)((i + seed) * 0x9e3779b97f4a7c15ull >> 56);
}

bool peers_is_filled(const unsigned char *bytes, uint64_t len, uint32_t seed)
{
    for (uint64_t i = 0; i < len; i++)
        if (bytes[i] !=
            (unsigned char)((i + seed) * 0x9e3779b97f4a7c15ull >> 56))
            return false;
    return true;
}

static hg_return_t answer(hg_handle_t handle, uint32_t number, uint32_t times)
{
    peers_answer_t out = {number, times};
    hg_return_t rc = HG_Respond(handle, NULL, NULL, &out);

    /* The caller may be lost meanwhile. */
    CHECK(rc == HG_SUCCESS || rc == HG_HOSTUNREACH);
    return HG_Destroy(handle);
}

static hg_return_t serve_ask(hg_handle_t handle)
{
    peers_ask_t in;
    uint32_t number = 0;

    OK(HG_Get_input(handle, &in));
    number = in.number;
    OK(HG_Free_input(handle, &in));
    CHECK(number < ASKED_CAP);
    return answer(handle, number, ++asked[number]);
}

static hg_return_t serve_hold(hg_handle_t handle)
{
    (void)handle; /* for ever */
    return HG_SUCCESS;
}

/* Calls that wait for so many moves. */
static struct {
    hg_handle_t handle; /* NULL: unused */
    uint32_t number;
} waiting[WAITING_MAX];

static void waiting_answer(void)
{
    for (unsigned i = 0; i < WAITING_MAX; i++) {
        hg_handle_t handle = waiting[i].handle;

        if (handle == HG_HANDLE_NULL || moves_begun < waiting[i].number)
            continue;
        waiting[i].handle = HG_HANDLE_NULL;
        OK(answer(handle, moves_begun, 1));
    }
}

static hg_return_t serve_begun(hg_handle_t handle)
{
    unsigned i = 0;
    peers_ask_t in;

    while (i < WAITING_MAX && waiting[i].handle != HG_HANDLE_NULL)
        i++;
    CHECK(i < WAITING_MAX);
    OK(HG_Get_input(handle, &in));
    waiting[i].number = in.number;
    waiting[i].handle = handle;
    OK(HG_Free_input(handle, &in));
    waiting_answer();
    return HG_SUCCESS;
}

static hg_return_t move_ended(const struct hg_cb_info *info)
{
    struct move *move = info->arg;
    hg_handle_t handle = move->handle;
    hg_return_t ret = info->ret;

    OK(HG_Bulk_free(move->bulk));
    if (ret == HG_SUCCESS && !move->in.is_push &&
        !peers_is_filled(move->bytes, move->in.len, move->in.number))
        ret = HG_CHECKSUM_ERROR;
    OK(HG_Free_input(handle, &move->in));
    free(move->bytes);
    free(move);
    return answer(handle, ret, 0);
}

static hg_return_t serve_move(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct move *move = calloc(1, sizeof(*move));
    void *bytes = NULL;

    CHECK(move != NULL);
    move->handle = handle;
    OK(HG_Get_input(handle, &move->in));
    move->bytes = calloc(1, move->in.len);
    CHECK(move->bytes != NULL);
    bytes = move->bytes;
    if (move->in.is_push)
        peers_fill(move->bytes, move->in.len, move->in.number);
    OK(HG_Bulk_create(info->hg_class, 1, &bytes, &move->in.len,
        HG_BULK_READWRITE, &move->bulk));
    OK(HG_Bulk_transfer(info->context, move_ended, move,
        move->in.is_push ? HG_BULK_PUSH : HG_BULK_PULL, info->addr,
        move->in.bulk, 0, move->bulk, 0, move->in.len, HG_OP_ID_IGNORE));
    moves_begun++;
    waiting_answer();
    return HG_SUCCESS;
}

void peers_open(struct peers *peer, const char *uri, bool is_server)
{
    peer->cls = HG_Init(uri, is_server);
    CHECK(peer->cls != NULL);
    peer->context = HG_Context_create(peer->cls);
    CHECK(peer->context != NULL);
    peer->ask = MERCURY_REGISTER(
        peer->cls, "ask", peers_ask_t, peers_answer_t, serve_ask);
    peer->move = MERCURY_REGISTER(
        peer->cls, "move", peers_ask_t, peers_answer_t, serve_move);
    peer->hold = MERCURY_REGISTER(
        peer->cls, "hold", peers_ask_t, peers_answer_t, serve_hold);
    peer->begun = MERCURY_REGISTER(
        peer->cls, "begun", peers_ask_t, peers_answer_t, serve_begun);
}

void peers_serve(const char *uri)
{
    struct peers server;
    char text[PEERS_TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    peers_open(&server, uri, true);
    OK(HG_Addr_self(server.cls, &self));
    OK(HG_Addr_to_string(server.cls, text, &len, self));
    puts(text);
    fflush(stdout);
    for (;;)
        peers_turn(&server);
}
