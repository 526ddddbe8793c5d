/* SPDX-License-Identifier: BSD-3-Clause */
/* A server that pulls from its clients and returns sums: four processes call it
 * four times each, and it ends by itself after the last call. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "processes/processes.h"
#include "slow.h"

enum { NUMBERS = 10, CALLS = 4, ALARM_S = 50 * TEST_SLOW };

MERCURY_GEN_PROC(ask_t, ((int32_t)(count))((hg_bulk_t)(numbers)))
MERCURY_GEN_PROC(answer_t, ((int64_t)(sum)))

static unsigned wanted;
static unsigned served;

static void sum(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    const struct hg_info *info = margo_get_info(handle);
    int32_t numbers[NUMBERS];
    void *ptr = numbers;
    hg_size_t size = sizeof(numbers);
    hg_bulk_t bulk = HG_BULK_NULL;
    answer_t out = {0};
    ask_t in;

    CHECK_RC(margo_get_input(handle, &in), HG_SUCCESS);
    CHECK(in.count == NUMBERS);
    CHECK_RC(margo_bulk_create(mid, 1, &ptr, &size, HG_BULK_WRITE_ONLY, &bulk),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_transfer(
                 mid, HG_BULK_PULL, info->addr, in.numbers, 0, bulk, 0, size),
        HG_SUCCESS);
    for (int32_t i = 0; i < in.count; i++)
        out.sum += numbers[i];
    CHECK_RC(margo_respond(handle, &out), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(bulk), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    if (++served == wanted)
        margo_finalize(mid);
}
DEFINE_MARGO_RPC_HANDLER(sum)

static void serve(const char *transport)
{
    char text[PROCESSES_TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    pair.mid = margo_init(transport, MARGO_SERVER_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    MARGO_REGISTER(pair.mid, "sum", ask_t, answer_t, sum);
    CHECK_RC(margo_addr_self(pair.mid, &self), HG_SUCCESS);
    CHECK_RC(margo_addr_to_string(pair.mid, text, &len, self), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, self), HG_SUCCESS);
    processes_show(text);
    margo_wait_for_finalize(pair.mid);
    CHECK(served == wanted);
}

static void call(hg_addr_t server, hg_id_t id, int round)
{
    int32_t numbers[NUMBERS];
    void *ptr = numbers;
    hg_size_t size = sizeof(numbers);
    ask_t in = {.count = NUMBERS};
    hg_handle_t handle = HG_HANDLE_NULL;
    answer_t out = {0};
    int64_t right = 0;

    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = 1000 * pair.rank + 10 * round + i;
        right += numbers[i];
    }
    CHECK_RC(margo_bulk_create(
                 pair.mid, 1, &ptr, &size, HG_BULK_READ_ONLY, &in.numbers),
        HG_SUCCESS);
    CHECK_RC(margo_create(pair.mid, server, id, &handle), HG_SUCCESS);
    CHECK_RC(margo_forward(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &out), HG_SUCCESS);
    CHECK(out.sum == right);
    CHECK_RC(margo_free_output(handle, &out), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(in.numbers), HG_SUCCESS);
}

static void ask(const char *transport)
{
    hg_addr_t server = HG_ADDR_NULL;
    hg_id_t id = 0;

    pair.mid = margo_init(transport, MARGO_CLIENT_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    CHECK(!margo_is_listening(pair.mid));
    id = MARGO_REGISTER(pair.mid, "sum", ask_t, answer_t, NULL);
    processes_show("client");
    CHECK_RC(
        margo_addr_lookup(pair.mid, processes_shown(0), &server), HG_SUCCESS);
    for (int round = 0; round < CALLS; round++)
        call(server, id, round);
    CHECK_RC(margo_addr_free(pair.mid, server), HG_SUCCESS);
    margo_finalize(pair.mid);
}

int main(int argc, char **argv)
{
    const char *transport = argc > 1 ? argv[1] : "na+sm";
    int size = 0;

    processes_start(&pair.rank, &size);
    alarm(ALARM_S);
    wanted = CALLS * (unsigned)(size - 1);
    if (pair.rank == 0)
        serve(transport);
    else
        ask(transport);
    processes_stop();
    return 0;
}
