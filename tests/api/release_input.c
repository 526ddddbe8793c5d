/* SPDX-License-Identifier: BSD-3-Clause */
/* With release_input_early an input can be read once, and
 * HG_Release_input_buf() frees it at once; the call can still be answered, and
 * long inputs stay, also those of one-way calls. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { LONG = 100000, ONE_WAYS = 500 };

static struct api *the;
static unsigned one_way_served;
static unsigned long_served;
static hg_handle_t kept[ONE_WAYS];

static void input_is_gone(hg_handle_t handle)
{
    api_blob_t in;
    void *bytes = NULL;

    EXPECT(the, HG_FAULT, HG_Get_input(handle, &in));
    EXPECT(the, HG_FAULT, HG_Get_input_buf(handle, &bytes, NULL));
}

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {.seed = 9};
    void *bytes = NULL;

    OK(the, HG_Get_input_buf(handle, &bytes, NULL));
    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    if (in.len == LONG) {
        OK(the, HG_Free_input(handle, &in));
        OK(the, HG_Get_input(handle, &in));
        CHECK(the, in.is_right && in.len == LONG);
    } else {
        input_is_gone(handle);
    }
    CHECK(the, HG_Get_input_payload_size(handle) == API_BLOB_HEAD + in.len);
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Release_input_buf(handle));
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

/* Keeps more calls than a peer may have open: each release lets the origin send
 * another. */
static hg_return_t take(hg_handle_t handle)
{
    OK(the, HG_Release_input_buf(handle));
    OK(the, HG_Release_input_buf(handle));
    input_is_gone(handle);
    kept[one_way_served] = handle;
    one_way_served++;
    return HG_SUCCESS;
}

static hg_return_t take_long(hg_handle_t handle)
{
    api_blob_t in;

    for (int i = 0; i < 3; i++) {
        OK(the, HG_Get_input(handle, &in));
        CHECK(the, in.is_right && in.len == LONG);
        OK(the, HG_Free_input(handle, &in));
        if (i == 1)
            OK(the, HG_Release_input_buf(handle));
    }
    long_served++;
    return HG_Destroy(handle);
}

static void one_way_long(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    api_blob_t in = {.len = LONG, .seed = 3};

    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Destroy(handle));
    UNTIL(api, long_served == 1);
}

static void one_ways(struct api *api, hg_id_t id)
{
    static struct api_call calls[ONE_WAYS];
    api_blob_t in = {.len = 8, .seed = 1};

    for (unsigned i = 0; i < ONE_WAYS; i++) {
        hg_handle_t handle = api_handle(api, id);

        api_forward(api, handle, &in, &calls[i]);
        OK(api, HG_Destroy(handle));
    }
    UNTIL(api, one_way_served == ONE_WAYS);
    for (unsigned i = 0; i < ONE_WAYS; i++) {
        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Destroy(kept[i]));
    }
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    hg_id_t one_way =
        MERCURY_REGISTER(api->cls, "take", api_blob_t, void, take);
    hg_id_t long_way =
        MERCURY_REGISTER(api->cls, "take_long", api_blob_t, void, take_long);
    api_blob_t in = {.len = 16, .seed = 7};
    api_blob_t out = {0};
    hg_handle_t handle;

    the = api;
    OK(api, HG_Registered_disable_response(api->cls, one_way, HG_TRUE));
    OK(api, HG_Registered_disable_response(api->cls, long_way, HG_TRUE));
    api_sync(api);
    handle = api_handle(api, id);
    for (int i = 0; i < 2; i++) {
        OK(api, api_ask(api, handle, &in));
        OK(api, HG_Get_output(handle, &out));
        CHECK(api, out.seed == 9);
        OK(api, HG_Free_output(handle, &out));
        in.len = LONG;
    }
    OK(api, HG_Destroy(handle));
    one_ways(api, one_way);
    one_way_long(api, long_way);
}

static void tune(int rank, struct hg_init_info *info)
{
    (void)rank;
    info->release_input_early = HG_TRUE;
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){.tune = tune}, test);
}
