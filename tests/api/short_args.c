/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of one RPC that are short in one call and long in the next: lengths
 * around those at which the library sends them in another way, in both
 * directions, with and without a callback of HG_Respond(), several calls at
 * once. A proc that asks for the operation is run with HG_FREE as often as a
 * struct is freed; the room that a proc sees is that of a whole message. */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "mercury_proc.h"

enum { LONGEST = 600000, TURNS = 400, AT_ONCE = 8, TAGGED = 4 + 8 };

typedef struct {
    uint32_t len;
    uint64_t seed;
    uint8_t *bytes; /* of the program; the proc allocates nothing */
} run_t;

static struct api *the;
static uint8_t sent[LONGEST];
static uint8_t came[LONGEST];
static unsigned served;
static unsigned responded;
static unsigned decoded;
static unsigned freed;

/* Asks for no operation, so that nothing but the length tells short from long.
 */
static hg_return_t hg_proc_run_t(hg_proc_t proc, void *data)
{
    run_t *run = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &run->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &run->seed);
    return rc != HG_SUCCESS ? rc : hg_proc_bytes(proc, run->bytes, run->len);
}

/* Two words; counts the operations that it is asked to do. */
static hg_return_t hg_proc_counted_t(hg_proc_t proc, void *data)
{
    uint32_t *words = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &words[0]);

    decoded += hg_proc_get_op(proc) == HG_DECODE;
    freed += hg_proc_get_op(proc) == HG_FREE;
    return rc != HG_SUCCESS ? rc : hg_proc_uint32_t(proc, &words[1]);
}

/* A word in front of as many bytes as have room. */
static hg_return_t hg_proc_room_t(hg_proc_t proc, void *data)
{
    uint32_t *room = data;

    if (*room != 0 && hg_proc_get_op(proc) == HG_ENCODE)
        *room = (uint32_t)hg_proc_get_size_left(proc);
    return hg_proc_uint32_t(proc, room);
}

/* Lengths of the turns: short ones, and ones that need a buffer, a longer
 * buffer, or a transfer. */
static uint32_t length(unsigned turn)
{
    static const uint32_t lens[] = {0, 1, 20, 19, 21, 33, 20, 5, 300, 8, 8,
        4000, 2, 4100, 20, 20000, 21, 70000, 3, LONGEST, 12, 12};

    return lens[turn % (sizeof(lens) / sizeof(lens[0]))];
}

static void check(const run_t *run, uint64_t seed, uint32_t len)
{
    CHECK(the, run->len == len && run->seed == seed);
    CHECK(the, memcmp(run->bytes, sent, len) == 0);
}

static hg_return_t on_responded(const struct hg_cb_info *info)
{
    OK(the, info->ret);
    responded++;
    return HG_Destroy(info->info.respond.handle);
}

static hg_return_t serve(hg_handle_t handle)
{
    run_t run = {.bytes = came};
    void *buf = NULL;
    hg_size_t len = 0;
    uint64_t seed = 0;
    bool wants_callback = false;

    OK(the, HG_Get_input(handle, &run));
    check(&run, run.seed, length((unsigned)run.seed));
    CHECK(the, HG_Get_input_payload_size(handle) == TAGGED + run.len);
    OK(the, HG_Get_input_buf(handle, &buf, &len));
    if (run.len < 100) {
        CHECK(the, len == TAGGED + run.len);
        CHECK(the, memcmp((char *)buf + TAGGED, sent, run.len) == 0);
    }
    OK(the, HG_Free_input(handle, &run));
    seed = run.seed;
    wants_callback = seed % 3 == 0;
    run = (run_t){length((unsigned)seed * 7 + 1), seed + 1, sent};
    OK(the,
        HG_Respond(handle, wants_callback ? on_responded : NULL, NULL, &run));
    served++;
    return wants_callback ? HG_SUCCESS : HG_Destroy(handle);
}

static hg_return_t serve_counted(hg_handle_t handle)
{
    uint32_t words[2] = {0, 0};

    OK(the, HG_Get_input(handle, words));
    CHECK(the, words[1] == words[0] + 1);
    OK(the, HG_Free_input(handle, words));
    OK(the, HG_Respond(handle, NULL, NULL, words));
    return HG_Destroy(handle);
}

static hg_return_t serve_room(hg_handle_t handle)
{
    uint32_t room = 0;

    OK(the, HG_Get_input(handle, &room));
    CHECK(the, room == 0 || room >= HG_Class_get_input_eager_size(the->cls));
    OK(the, HG_Free_input(handle, &room));
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static void turn(struct api *api, const hg_handle_t *handles, unsigned first)
{
    struct api_call calls[AT_ONCE] = {{0}};

    for (unsigned i = 0; i < AT_ONCE; i++) {
        run_t run = {length(first + i), first + i, sent};

        api_forward(api, handles[i], &run, &calls[i]);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        run_t run = {.bytes = came};
        uint32_t len = length((first + i) * 7 + 1);

        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Get_output(handles[i], &run));
        check(&run, first + i + 1, len);
        CHECK(api, HG_Get_output_payload_size(handles[i]) == TAGGED + len);
        OK(api, HG_Free_output(handles[i], &run));
    }
}

/* A struct of an earlier call is freed after the next call. */
static void test_freed_late(struct api *api, hg_handle_t handle)
{
    uint32_t words[2] = {1, 2};
    unsigned before = 0;

    OK(api, api_ask(api, handle, words));
    OK(api, HG_Get_output(handle, words));
    OK(api, api_ask(api, handle, words));
    before = freed;
    OK(api, HG_Free_output(handle, words));
    CHECK(api, freed == before + 1);
}

static void test(struct api *api)
{
    hg_id_t run =
        HG_Register_name(api->cls, "run", hg_proc_run_t, hg_proc_run_t, serve);
    hg_id_t counted = HG_Register_name(api->cls, "counted", hg_proc_counted_t,
        hg_proc_counted_t, serve_counted);
    hg_id_t room =
        HG_Register_name(api->cls, "room", hg_proc_room_t, NULL, serve_room);
    hg_handle_t handles[AT_ONCE];
    hg_handle_t handle = api_handle(api, counted);

    the = api;
    for (unsigned i = 0; i < LONGEST; i++)
        sent[i] = (uint8_t)(i * 31 + i / 251);
    for (unsigned i = 0; i < AT_ONCE; i++)
        handles[i] = api_handle(api, run);
    api_sync(api);
    for (unsigned i = 0; i < TURNS; i += AT_ONCE)
        turn(api, handles, i);
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        uint32_t words[2] = {i, i + 1};

        OK(api, api_ask(api, handle, words));
        OK(api, HG_Get_output(handle, words));
        OK(api, HG_Free_output(handle, words));
    }
    test_freed_late(api, handle);
    OK(api, HG_Destroy(handle));
    handle = api_handle(api, room);
    for (uint32_t i = 0; i < AT_ONCE; i++)
        OK(api, api_ask(api, handle, &(uint32_t){i / 3 % 2}));
    OK(api, HG_Destroy(handle));
    for (unsigned i = 0; i < AT_ONCE; i++)
        OK(api, HG_Destroy(handles[i]));
    UNTIL(api, served == TURNS && responded == (TURNS + 2) / 3);
    api_sync(api);
    CHECK(api, decoded == 2 * AT_ONCE + 3 && freed == decoded);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
