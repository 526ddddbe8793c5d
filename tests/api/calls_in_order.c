/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a context begin to be handled in the order in which they were
 * made, whatever their kind and the length of their arguments; where the
 * progress thread and the program both run handlers, one at a time. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

/* Lengths in a message, in a longer one of each transport, and beyond. */
static const uint64_t lens[] = {10, 20000, 50000, 300000};

enum { LENS = sizeof(lens) / sizeof(lens[0]), ROUNDS = 20, KINDS = 3 };

static struct api *the;
static atomic_uint next; /* the number of the next call */
static atomic_uint done;
static atomic_uint inside; /* handlers that run */
static hg_id_t ids[KINDS];

static void number_check(uint64_t number)
{
    CHECK(the, atomic_fetch_add(&inside, 1) == 0);
    CHECK(the, number == next);
    next++;
    atomic_fetch_sub(&inside, 1);
}

static void note_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    uint32_t number = 0;

    (void)hg_class;
    (void)from_rank;
    CHECK(the, len == sizeof(number));
    memcpy(&number, arg, sizeof(number));
    number_check(number);
}

static hg_return_t blob_serve(hg_handle_t handle, bool is_one_way)
{
    api_blob_t in;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    number_check(in.seed);
    OK(the, HG_Free_input(handle, &in));
    if (!is_one_way)
        OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t oneway_serve(hg_handle_t handle)
{
    return blob_serve(handle, true);
}

static hg_return_t call_serve(hg_handle_t handle)
{
    return blob_serve(handle, false);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    OK(the, info->ret);
    done++;
    return HG_Destroy(info->info.forward.handle);
}

static void note_post(struct api *api, hg_id_t id, uint32_t number)
{
    hg_return_t ret = HG_AGAIN;

    api_wait_begin(api);
    while ((ret = amalgam_forward_oneway(api->context, api->right, id, &number,
                sizeof(number))) == HG_AGAIN)
        api_wait_turn(api, __FILE__, __LINE__, "a credit");
    OK(api, ret);
}

/* A call of each kind with arguments of this length, between short ones. */
static void calls_post(struct api *api, uint64_t len, uint32_t *number)
{
    for (unsigned kind = 1; kind < KINDS; kind++) {
        api_blob_t in = {.len = len, .seed = *number};

        OK(api, HG_Forward(api_handle(api, ids[kind]), call_ended, NULL, &in));
        note_post(api, ids[0], *number + 1);
        *number += 2;
    }
}

static void rounds(struct api *api)
{
    uint32_t number = 0;
    unsigned made = 0;

    next = 0;
    done = 0;
    api_sync(api);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < LENS; i++, made += KINDS - 1)
            calls_post(api, lens[(round + i) % LENS], &number);
        if (round % 4 != 0)
            UNTIL(api, made - done < LENS * KINDS * (round % 4));
    }
    UNTIL(api, next == number && done == made);
    api_sync(api);
}

static void test(struct api *api)
{
    the = api;
    ids[0] = amalgam_register_oneway(api->cls, "note", note_serve);
    ids[1] =
        MERCURY_REGISTER(api->cls, "oneway", api_blob_t, void, oneway_serve);
    ids[2] = MERCURY_REGISTER(api->cls, "call", api_blob_t, void, call_serve);
    OK(api, HG_Registered_disable_response(api->cls, ids[1], HG_TRUE));
    rounds(api);
    api_set_mode(
        api, &(struct api_mode){AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_AUTO});
    rounds(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
