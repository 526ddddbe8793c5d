/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers with different checksum levels understand each other, for arguments of
 * any length, one-way calls and refusals; a checksum of arguments uses space of
 * the message. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { LEVELS = 3, LONG = 100000, HEADER_LEN = 8 };

static struct api *the;
static unsigned one_way_served;

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    CHECK(the, HG_Get_input_payload_size(handle) == API_BLOB_HEAD + in.len);
    out.len = in.answer_len;
    out.seed = in.seed + 1;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

static hg_return_t take(hg_handle_t handle)
{
    api_blob_t in;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    OK(the, HG_Free_input(handle, &in));
    one_way_served++;
    return HG_Destroy(handle);
}

static void ask(
    struct api *api, hg_handle_t handle, uint64_t in_len, uint64_t out_len)
{
    api_blob_t in = {.len = in_len, .seed = 3, .answer_len = out_len};
    api_blob_t out = {0};
    void *extra = NULL;

    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Get_output(handle, &out));
    CHECK(api, out.len == out_len && out.seed == 4 && out.is_right);
    CHECK(api, HG_Get_output_payload_size(handle) == API_BLOB_HEAD + out_len);
    OK(api, HG_Free_output(handle, &out));
    OK(api, HG_Get_input_extra_buf(handle, &extra, NULL));
    CHECK(api, extra == NULL || HEADER_LEN + API_BLOB_HEAD + in_len >
                                    HG_Class_get_input_eager_size(api->cls));
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    hg_id_t none = MERCURY_REGISTER(api->cls, "none", void, void, NULL);
    hg_id_t one_way =
        MERCURY_REGISTER(api->cls, "take", api_blob_t, void, take);
    uint64_t room =
        HG_Class_get_input_eager_size(api->cls) - HEADER_LEN - API_BLOB_HEAD;
    api_blob_t in = {.len = LONG, .seed = 1};
    hg_handle_t handle;

    the = api;
    OK(api, HG_Class_set_input_offset(api->cls, HEADER_LEN));
    OK(api, HG_Registered_disable_response(api->cls, one_way, HG_TRUE));
    api_sync(api);
    handle = api_handle(api, id);
    ask(api, handle, 0, 0);
    ask(api, handle, room, 10);
    ask(api, handle, room + 1, 10);
    ask(api, handle, 10, LONG);
    ask(api, handle, LONG, LONG);
    OK(api, HG_Reset(handle, HG_ADDR_NULL, none));
    EXPECT(api, HG_INVALID_ARG, api_ask(api, handle, NULL));
    OK(api, HG_Reset(handle, HG_ADDR_NULL, one_way));
    OK(api, api_ask(api, handle, &in));
    in.len = 1;
    OK(api, api_ask(api, handle, &in));
    UNTIL(api, one_way_served == 2);
    OK(api, HG_Destroy(handle));
}

static int first_level;

static void tune(int rank, struct hg_init_info *info)
{
    info->checksum_level = (hg_checksum_level_t)((first_level + rank) % LEVELS);
}

int main(int argc, char **argv)
{
    first_level = argc > 2 ? argv[2][0] - '0' : HG_CHECKSUM_RPC_PAYLOAD;
    return api_main(argc, argv, &(struct api_wish){.tune = tune}, test);
}
