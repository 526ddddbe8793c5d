/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups by HG classes: over peers that are ranks they reach each of
 * them, and a call that is under way when its context ends is cancelled, while
 * the handler that has begun may still answer; over other peers they are
 * refused. */
#include <string.h>

#include "amalgam_group.h"
#include "api.h"
#include "mercury_macros.h"

MERCURY_GEN_PROC(number_t, ((uint64_t)(value)))

static struct api *the;
static unsigned ran;
static bool holds;
static hg_handle_t held;
static unsigned done;
static hg_return_t result;

static hg_return_t serve(hg_handle_t handle)
{
    number_t number;

    OK(the, HG_Get_input(handle, &number));
    OK(the, HG_Free_input(handle, &number));
    ran++;
    if (holds) {
        held = handle;
        return HG_SUCCESS;
    }
    OK(the, HG_Respond(handle, NULL, NULL, &number));
    return HG_Destroy(handle);
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    done++;
    result = info->ret;
    return HG_SUCCESS;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((number_t *)inout)->value += ((const number_t *)from)->value;
}

static hg_return_t call(hg_handle_t handle, number_t *number)
{
    unsigned before = done;

    OK(the,
        amalgam_forward_group(handle, AMALGAM_GROUP_ALL, ended, NULL, number));
    UNTIL(the, done > before);
    return result;
}

/* The context ends while this process alone has a call under way. */
static void end_midway(struct api *api, hg_handle_t handle, int self)
{
    number_t number = {1};
    amalgam_group_t group = NULL;
    unsigned before = done;

    OK(api, amalgam_group_create_ranks(api->cls, &self, 1, &group));
    api_sync(api);
    holds = true;
    held = HG_HANDLE_NULL;
    OK(api, amalgam_forward_group(handle, group, ended, NULL, &number));
    OK(api, amalgam_group_free(group));
    UNTIL(api, held != HG_HANDLE_NULL);
    api_sync(api);
    EXPECT(api, HG_BUSY, HG_Context_destroy(api->context));
    UNTIL(api, done > before);
    EXPECT(api, HG_CANCELED, result);
    OK(api, HG_Respond(held, NULL, NULL, &number));
    OK(api, HG_Destroy(held));
}

/* An RPC that is registered again has no reduction. */
static void dropped(struct api *api, hg_handle_t handle)
{
    number_t number = {7};

    (void)MERCURY_REGISTER(api->cls, "number", number_t, number_t, serve);
    api_sync(api);
    OK(api, call(handle, &number));
    EXPECT(api, HG_FAULT, HG_Get_output(handle, &number));
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "number", number_t, number_t, serve);
    bool has_ranks = strcmp(api->transport, "na+sm") != 0 &&
                     strncmp(api->transport, "ofi", 3) != 0;
    hg_handle_t handle = HG_HANDLE_NULL;
    amalgam_group_t group = NULL;
    number_t number = {7};
    number_t out = {0};
    int rank = 0;

    the = api;
    OK(api, HG_Create(api->context, HG_ADDR_NULL, id, &handle));
    OK(api, amalgam_register_reduce(
                api->cls, id, sum_fold, NULL, sizeof(number_t), 0));
    api_sync(api);
    if (!has_ranks) {
        EXPECT(api, HG_OPNOTSUPPORTED,
            amalgam_group_create_ranks(api->cls, &rank, 1, &group));
        EXPECT(api, HG_OPNOTSUPPORTED,
            amalgam_forward_group(
                handle, AMALGAM_GROUP_ALL, ended, NULL, &number));
        CHECK(api, done == 0 && ran == 0);
    } else {
        OK(api, call(handle, &number));
        OK(api, HG_Get_output(handle, &out));
        CHECK(api, out.value == 7u * (unsigned)api->size);
        OK(api, HG_Free_output(handle, &out));
        api_sync(api);
        CHECK(api, ran == (unsigned)api->size);
        dropped(api, handle);
        end_midway(api, handle, api->rank);
    }
    api_sync(api);
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
