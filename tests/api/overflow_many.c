/* SPDX-License-Identifier: BSD-3-Clause */
/* Many calls with long arguments, to a target that has room for few of them:
 * all end, each with its reply, also when some are cancelled, or their handles
 * destroyed, while they wait there; and a context may close meanwhile. */
#include <stdlib.h>

#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { CALLS = 32, LEN = 30000, LONGEST = 300000 };

static struct api *the;
static unsigned served; /* those whose seed is CALLS or more */

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    served += in.seed >= CALLS;
    out.len = 8;
    out.seed = in.seed + 1;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

static uint64_t len_of(unsigned number)
{
    return number % 7 == 3 ? LONGEST : LEN + number;
}

static void burst(struct api *api, hg_id_t id, bool with_cancel)
{
    struct api_call calls[CALLS];
    hg_handle_t handles[CALLS];

    for (unsigned i = 0; i < CALLS; i++) {
        api_blob_t in = {.len = len_of(i), .seed = i};

        handles[i] = api_handle(api, id);
        api_forward(api, handles[i], &in, &calls[i]);
        if (with_cancel && i % 4 == 1)
            OK(api, HG_Cancel(handles[i]));
    }
    for (unsigned i = 0; with_cancel && i < CALLS; i++)
        if (i % 4 == 2)
            OK(api, HG_Cancel(handles[i]));
    for (unsigned i = 0; i < CALLS; i++) {
        bool may_cancel = with_cancel && (i % 4 == 1 || i % 4 == 2);
        hg_return_t ret = api_wait(api, &calls[i]);
        api_blob_t out = {0};

        CHECK(api, ret == HG_SUCCESS || (may_cancel && ret == HG_CANCELED));
        if (ret == HG_SUCCESS) {
            OK(api, HG_Get_output(handles[i], &out));
            CHECK(api, out.is_right && out.seed == i + 1);
            OK(api, HG_Free_output(handles[i], &out));
        }
        OK(api, HG_Destroy(handles[i]));
    }
    api_sync(api);
}

/* The callbacks run after the handles were destroyed. */
static void burst_without_handles(struct api *api, hg_id_t id)
{
    struct api_call calls[CALLS];

    for (unsigned i = 0; i < CALLS; i++) {
        api_blob_t in = {.len = len_of(i), .seed = CALLS + i};
        hg_handle_t handle = api_handle(api, id);

        api_forward(api, handle, &in, &calls[i]);
        OK(api, HG_Destroy(handle));
    }
    for (unsigned i = 0; i < CALLS; i++)
        OK(api, api_wait(api, &calls[i]));
    UNTIL(api, served == CALLS);
    api_sync(api);
}

/* The contexts of all ranks close while requests wait there: they are refused,
 * or still served. */
static void close_meanwhile(struct api *api, hg_id_t id)
{
    struct api_call calls[CALLS];
    unsigned ended = 0;
    hg_return_t ret = HG_BUSY;

    for (unsigned i = 0; i < CALLS; i++) {
        api_blob_t in = {.len = len_of(i), .seed = i};
        hg_handle_t handle = api_handle(api, id);

        api_forward(api, handle, &in, &calls[i]);
        OK(api, HG_Destroy(handle));
    }
    OK(api, HG_Context_unpost(api->context));
    for (unsigned i = 0; i < CALLS; i++) {
        ret = api_wait(api, &calls[i]);
        CHECK(api, ret == HG_SUCCESS || ret == HG_CANCELED);
        ended++;
    }
    CHECK(api, ended == CALLS);
    api_sync(api);
    UNTIL(api, (ret = HG_Context_destroy(api->context)) != HG_BUSY);
    OK(api, ret);
    api->context = NULL;
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);

    the = api;
    api_sync(api);
    burst(api, id, false);
    if (!api->is_alone)
        burst(api, id, true);
    burst_without_handles(api, id);
    close_meanwhile(api, id);
}

int main(int argc, char **argv)
{
    /* Room for a few of them, and not for the longest one. */
    CHECK(&(struct api){.test = argv[0]},
        setenv("AMALGAM_MAX_PENDING_BYTES", "100000", 1) == 0);
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
