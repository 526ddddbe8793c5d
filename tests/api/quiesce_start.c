/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_quiesce_start() of HG classes: over peers that are ranks its callback
 * runs when calls, and calls of callbacks, have ended, and a call that the
 * program keeps is answered; it is cancelled by the end of its context; over
 * other peers it is refused. */
#include <string.h>

#include "amalgam_group.h"
#include "api.h"

enum { TURNS = 200, TIMES = 100 };

static struct api *the;
static bool keeps;
static hg_handle_t held;
static struct api_call next; /* made by a callback */
static hg_handle_t next_handle;
static unsigned left;  /* quiescences to be begun by callbacks */
static unsigned ended; /* callbacks of quiescences */
static hg_return_t result;

static hg_return_t serve(hg_handle_t handle)
{
    if (keeps) {
        held = handle;
        return HG_SUCCESS;
    }
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t call_on(const struct hg_cb_info *info)
{
    (void)api_done(info);
    return HG_Forward(next_handle, api_done, &next, NULL);
}

static void is_over(hg_return_t ret, void *arg)
{
    CHECK(the, arg == the);
    ended++;
    result = ret;
    if (left-- > 1)
        OK(the, amalgam_quiesce_start(the->cls, is_over, the));
}

static void quiesce(unsigned times)
{
    unsigned before = ended;

    left = times;
    OK(the, amalgam_quiesce_start(the->cls, is_over, the));
    EXPECT(the, HG_BUSY, amalgam_quiesce_start(the->cls, is_over, the));
    UNTIL(the, ended == before + times);
    OK(the, result);
}

/* The left neighbour's call is answered late. */
static void keep_call(hg_handle_t handle)
{
    struct api_call call = {0};
    unsigned before = ended;

    keeps = true;
    api_sync(the);
    api_forward(the, handle, NULL, &call);
    UNTIL(the, held != HG_HANDLE_NULL);
    keeps = false;
    left = 1;
    OK(the, amalgam_quiesce_start(the->cls, is_over, the));
    for (int i = 0; i < TURNS; i++)
        api_turn(the);
    CHECK(the, ended == before);
    OK(the, HG_Respond(held, NULL, NULL, NULL));
    for (int i = 0; i < TURNS; i++)
        api_turn(the);
    CHECK(the, ended == before);
    OK(the, HG_Destroy(held));
    UNTIL(the, ended == before + 1);
    CHECK(the, call.done == 1);
}

/* The context ends while the left neighbour's call is kept. */
static void end_midway(hg_handle_t handle)
{
    struct api_call call = {0};
    unsigned before = ended;

    keeps = true;
    held = HG_HANDLE_NULL;
    api_sync(the);
    api_forward(the, handle, NULL, &call);
    UNTIL(the, held != HG_HANDLE_NULL);
    left = 1;
    OK(the, amalgam_quiesce_start(the->cls, is_over, the));
    api_sync(the);
    EXPECT(the, HG_BUSY, HG_Context_destroy(the->context));
    UNTIL(the, ended == before + 1);
    EXPECT(the, HG_CANCELED, result);
    OK(the, HG_Respond(held, NULL, NULL, NULL));
    OK(the, HG_Destroy(held));
    OK(the, api_wait(the, &call));
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "call", NULL, NULL, serve);
    bool has_ranks = strcmp(api->transport, "na+sm") != 0 &&
                     strncmp(api->transport, "ofi", 3) != 0;
    struct api_call call = {0};
    hg_handle_t handle = api_handle(api, id);

    the = api;
    next_handle = api_handle(api, id);
    api_sync(api);
    EXPECT(api, HG_INVALID_ARG, amalgam_quiesce_start(api->cls, NULL, NULL));
    if (!has_ranks) {
        EXPECT(api, HG_OPNOTSUPPORTED,
            amalgam_quiesce_start(api->cls, is_over, api));
    } else {
        quiesce(1);
        OK(api, HG_Forward(handle, call_on, &call, NULL));
        quiesce(1);
        CHECK(api, call.done == 1 && next.done == 1);
        keep_call(handle);
        quiesce(TIMES);
        api_sync(api);
        end_midway(handle);
    }
    OK(api, HG_Destroy(next_handle));
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
