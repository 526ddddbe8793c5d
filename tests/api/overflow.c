/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of any size arrive, in the message, in a longer one or by a pull:
 * input, output and both, from none over one byte around each limit to 5 MiB.
 */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { SIZES = 12, LONG = 256 << 10 };

static struct api *the;
static unsigned answered;

static hg_return_t answer_left(const struct hg_cb_info *info)
{
    CHECK(the, info->ret == HG_SUCCESS && info->type == HG_CB_RESPOND);
    answered++;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};
    void *extra = NULL;
    hg_size_t extra_len = 7;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    CHECK(the, HG_Get_input_payload_size(handle) == API_BLOB_HEAD + in.len);
    OK(the, HG_Get_input_extra_buf(handle, &extra, &extra_len));
    if (API_BLOB_HEAD + in.len > HG_Class_get_input_eager_size(the->cls))
        CHECK(the, extra != NULL && extra_len == API_BLOB_HEAD + in.len);
    else
        CHECK(the, extra == NULL && extra_len == 0);
    out.len = in.answer_len;
    out.seed = in.seed + 1;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, answer_left, NULL, &out));
    return HG_Destroy(handle);
}

static void ask(
    struct api *api, hg_handle_t handle, uint64_t in_len, uint64_t out_len)
{
    api_blob_t in = {.len = in_len, .seed = 3, .answer_len = out_len};
    api_blob_t out = {0};

    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Get_output(handle, &out));
    CHECK(api, out.len == out_len && out.seed == 4 && out.is_right);
    CHECK(api, HG_Get_output_payload_size(handle) == API_BLOB_HEAD + out_len);
    OK(api, HG_Free_output(handle, &out));
}

static void test(struct api *api)
{
    uint64_t eager_in = HG_Class_get_input_eager_size(api->cls) - API_BLOB_HEAD;
    uint64_t eager_out =
        HG_Class_get_output_eager_size(api->cls) - API_BLOB_HEAD;
    const uint64_t ins[SIZES] = {0, eager_in - 1, eager_in, eager_in + 1,
        2 * eager_in, 4 * eager_in + 3 * API_BLOB_HEAD, 64 << 10,
        LONG - API_BLOB_HEAD - 1, LONG - API_BLOB_HEAD,
        LONG - API_BLOB_HEAD + 1, LONG + 4096, 5 << 20};
    const uint64_t outs[SIZES] = {0, eager_out - 1, eager_out, eager_out + 1,
        2 * eager_out, 4 * eager_out + 3 * API_BLOB_HEAD, 64 << 10,
        LONG - API_BLOB_HEAD - 1, LONG - API_BLOB_HEAD,
        LONG - API_BLOB_HEAD + 1, LONG + 4096, 5 << 20};
    hg_handle_t handle;
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);

    the = api;
    CHECK(api, eager_in > 100 && eager_out > 100);
    api_sync(api);
    handle = api_handle(api, id);
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned o = 0; o < SIZES; o++)
            ask(api, handle, ins[i], outs[o]);
    OK(api, HG_Destroy(handle));
    UNTIL(api, answered == SIZES * SIZES);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
