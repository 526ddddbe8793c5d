/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Progress() and HG_Trigger() return HG_TIMEOUT without events, count the
 * callbacks they ran, and run at most the requested number; the calls of the
 * event kind return HG_SUCCESS instead. */
#include "api.h"

enum { CALLS = 5 };

static struct api *the;

static hg_return_t serve(hg_handle_t handle)
{
    (void)HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static hg_return_t looked_up(const struct hg_cb_info *info)
{
    OK(the, HG_Addr_free(the->cls, info->info.lookup.addr));
    return api_done(info);
}

static void empty(struct api *api)
{
    unsigned count = 7;

    EXPECT(api, HG_TIMEOUT, HG_Trigger(api->context, 0, 1, &count));
    CHECK(api, count == 0);
    count = 7;
    EXPECT(api, HG_TIMEOUT, HG_Trigger(api->context, 5, 10, &count));
    CHECK(api, count == 0);
    EXPECT(api, HG_TIMEOUT, HG_Trigger(api->context, 0, 1, NULL));
    EXPECT(api, HG_TIMEOUT, HG_Progress(api->context, 0));
    EXPECT(api, HG_TIMEOUT, HG_Progress(api->context, 5));
    count = 7;
    OK(api, HG_Event_progress(api->context, &count));
    CHECK(api, count == 0);
    count = 7;
    OK(api, HG_Event_trigger(api->context, 1, &count));
    CHECK(api, count == 0);
    CHECK(api, !HG_Event_ready(api->context));
    OK(api, HG_Event_progress(api->context, NULL));
    OK(api, HG_Event_trigger(api->context, 1, NULL));
}

/* Lookups queue their callbacks at once, so their number is known. */
static void counts(struct api *api)
{
    char text[256];
    hg_size_t len = sizeof(text);
    struct api_call calls[CALLS] = {{0}};
    unsigned count = 7;

    OK(api, HG_Addr_to_string(api->cls, text, &len, api->right));
    for (unsigned i = 0; i < CALLS; i++)
        OK(api, HG_Addr_lookup1(
                    api->context, looked_up, &calls[i], text, HG_OP_ID_IGNORE));
    OK(api, HG_Progress(api->context, 0));
    OK(api, HG_Progress(api->context, 1000));
    CHECK(api, HG_Event_ready(api->context));
    OK(api, HG_Event_progress(api->context, &count));
    CHECK(api, count == CALLS && calls[0].done == 0);
    OK(api, HG_Trigger(api->context, 0, 0, &count));
    CHECK(api, count == 0);
    OK(api, HG_Trigger(api->context, 0, 1, &count));
    CHECK(api, count == 1 && calls[0].done == 1 && calls[1].done == 0);
    OK(api, HG_Event_trigger(api->context, 2, &count));
    CHECK(api, count == 2 && calls[2].done == 1 && calls[3].done == 0);
    OK(api, HG_Trigger(api->context, 1000, 100, &count));
    CHECK(api, count == CALLS - 3 && calls[CALLS - 1].done == 1);
    CHECK(api, calls[0].type == HG_CB_LOOKUP);
}

/* The waiting kind completes a call as well. */
static void waits(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    struct api_call call;
    unsigned turns = 0;

    api_forward(api, handle, NULL, &call);
    for (; call.done == 0 && turns < 1000; turns++) {
        hg_return_t rc = HG_Progress(api->context, 100);
        unsigned count = 0;

        CHECK(api, rc == HG_SUCCESS || rc == HG_TIMEOUT);
        rc = HG_Trigger(api->context, 0, 1, &count);
        CHECK(api, (rc == HG_SUCCESS) == (count > 0));
        CHECK(api, count <= 1);
    }
    OK(api, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "null", NULL, NULL, serve);

    the = api;
    empty(api);
    counts(api);
    api_sync(api);
    waits(api, id);
    api_sync(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
