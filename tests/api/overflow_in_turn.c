/* SPDX-License-Identifier: BSD-3-Clause */
/* A target that sends each long answer only when the origin has acknowledged
 * the one before it, to far more calls than there are credits: all end, because
 * an acknowledgement waits for no credit, which the calls that wait for their
 * turn have. */
#include <stdlib.h>

#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { CALLS = 200, LEN = 300000 };

static struct api *the;
static hg_handle_t taken[CALLS]; /* in the order in which they came */
static unsigned came;
static unsigned answered;

static hg_return_t on_answered(const struct hg_cb_info *info);

static void answer_next(void)
{
    hg_handle_t handle = taken[answered];
    api_blob_t in;
    api_blob_t out = {.len = LEN};

    OK(the, HG_Get_input(handle, &in));
    out.seed = in.seed + 1;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, on_answered, NULL, &out));
}

static hg_return_t on_answered(const struct hg_cb_info *info)
{
    OK(the, info->ret);
    OK(the, HG_Destroy(info->info.respond.handle));
    if (++answered < came)
        answer_next();
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    CHECK(the, came < CALLS);
    taken[came++] = handle;
    if (came == answered + 1)
        answer_next();
    return HG_SUCCESS;
}

static void test(struct api *api)
{
    static struct api_call calls[CALLS];
    static hg_handle_t handles[CALLS];
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);

    the = api;
    api_sync(api);
    for (unsigned i = 0; i < CALLS; i++) {
        handles[i] = api_handle(api, id);
        api_forward(
            api, handles[i], &(api_blob_t){.len = 8, .seed = i}, &calls[i]);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        api_blob_t out = {0};

        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Get_output(handles[i], &out));
        CHECK(api, out.is_right && out.seed == i + 1 && out.len == LEN);
        OK(api, HG_Free_output(handles[i], &out));
        OK(api, HG_Destroy(handles[i]));
    }
    UNTIL(api, answered == CALLS);
    api_sync(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
