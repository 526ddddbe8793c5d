/* SPDX-License-Identifier: BSD-3-Clause */
/* A cancelled call ends with HG_CANCELED; its late reply is dropped, and the
 * handle is reusable. A call to self cannot be cancelled. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

/* Fewer than the credits: a cancelled call returns its credit only with its
 * reply. */
enum { SHORT_ROUNDS = 30, ROUNDS = 50, LEN = 200000 };

static struct api *the;
static hg_handle_t kept[ROUNDS];
static unsigned kept_count;
static bool is_keeping = true;

static void answer(hg_handle_t handle)
{
    api_blob_t blob;

    OK(the, HG_Get_input(handle, &blob));
    CHECK(the, blob.is_right);
    OK(the, HG_Respond(handle, NULL, NULL, &blob));
    OK(the, HG_Free_input(handle, &blob));
    OK(the, HG_Destroy(handle));
}

static hg_return_t serve(hg_handle_t handle)
{
    if (!is_keeping) {
        answer(handle);
        return HG_SUCCESS;
    }
    CHECK(the, kept_count < ROUNDS);
    kept[kept_count] = handle;
    kept_count++;
    return HG_SUCCESS;
}

static void to_oneself(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    api_blob_t blob = {.len = 1};
    struct api_call call;

    EXPECT(api, HG_OPNOTSUPPORTED, HG_Cancel(handle));
    api_forward(api, handle, &blob, &call);
    EXPECT(api, HG_OPNOTSUPPORTED, HG_Cancel(handle));
    UNTIL(api, kept_count == 1);
    answer(kept[0]);
    OK(api, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
}

static void to_another(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    api_blob_t blob = {0};
    struct api_call call;

    OK(api, HG_Cancel(handle)); /* idle: no effect */
    for (unsigned i = 0; i < ROUNDS; i++) {
        blob.len = i < SHORT_ROUNDS ? 10 : LEN;
        blob.seed = i;
        api_forward(api, handle, &blob, &call);
        /* A request that waits for a credit would end unsent. */
        if (i < SHORT_ROUNDS) {
            UNTIL(api, kept_count > i);
            api_sync(api);
        }
        OK(api, HG_Cancel(handle));
        OK(api, HG_Cancel(handle));
        EXPECT(api, HG_CANCELED, api_wait(api, &call));
        OK(api, HG_Cancel(handle)); /* ended: no effect */
        api_sync(api);
    }
    /* Some of the long ones were cancelled while the target pulled them. */
    is_keeping = false;
    for (unsigned i = 0; i < kept_count; i++)
        answer(kept[i]);
    api_sync(api);
    blob.seed = ROUNDS;
    for (unsigned i = 0; i < ROUNDS; i++) {
        api_blob_t out = {0};

        OK(api, api_ask(api, handle, &blob));
        OK(api, HG_Get_output(handle, &out));
        CHECK(api, out.is_right && out.seed == ROUNDS);
        OK(api, HG_Free_output(handle, &out));
    }
    CHECK(api, call.done == 1);
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);

    the = api;
    api_sync(api);
    if (api->is_alone)
        to_oneself(api, id);
    else
        to_another(api, id);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
