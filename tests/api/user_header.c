/* SPDX-License-Identifier: BSD-3-Clause */
/* A program's own header travels in every request and every reply, beside
 * arguments of any length, and does not count as arguments. */
#include <string.h>

#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { IN_LEN = 24, OUT_LEN = 10, LONG = 100000 };

static struct api *the;
static unsigned served;
static bool answers_with_header = true;

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};
    void *bytes = NULL;
    hg_size_t len = 0;

    OK(the, HG_Get_input_buf(handle, &bytes, &len));
    CHECK(the, len >= IN_LEN);
    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    CHECK(the, api_is_filled(bytes, IN_LEN, in.seed, 1));
    CHECK(the, HG_Get_input_payload_size(handle) == API_BLOB_HEAD + in.len);
    OK(the, HG_Get_input_extra_buf(handle, &bytes, NULL));
    if (bytes == NULL)
        CHECK(the, len == IN_LEN + API_BLOB_HEAD + in.len);
    out.len = in.answer_len;
    out.seed = in.seed + 1;
    OK(the, HG_Free_input(handle, &in));
    if (answers_with_header) {
        OK(the, HG_Get_output_buf(handle, &bytes, &len));
        CHECK(the, len == HG_Class_get_output_eager_size(the->cls));
        api_fill(bytes, OUT_LEN, out.seed, 2);
    }
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    served++;
    return HG_Destroy(handle);
}

/* The user header of the handle was written for this seed. */
static void ask(struct api *api, hg_handle_t handle, uint64_t seed,
    uint64_t in_len, uint64_t out_len)
{
    static const char zeros[OUT_LEN];
    api_blob_t in = {.len = in_len, .seed = seed, .answer_len = out_len};
    api_blob_t out = {0};
    void *bytes = NULL;
    hg_size_t len = 0;

    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Get_output_buf(handle, &bytes, &len));
    if (answers_with_header)
        CHECK(api, api_is_filled(bytes, OUT_LEN, seed + 1, 2));
    else
        CHECK(api, memcmp(bytes, zeros, OUT_LEN) == 0);
    OK(api, HG_Get_output(handle, &out));
    CHECK(api, out.len == out_len && out.seed == seed + 1 && out.is_right);
    CHECK(api, HG_Get_output_payload_size(handle) == API_BLOB_HEAD + out_len);
    OK(api, HG_Get_output_extra_buf(handle, &bytes, NULL));
    if (bytes == NULL)
        CHECK(api, len == OUT_LEN + API_BLOB_HEAD + out_len);
    OK(api, HG_Free_output(handle, &out));
}

static void write_header(struct api *api, hg_handle_t handle, uint64_t seed)
{
    void *bytes = NULL;
    hg_size_t len = 0;

    OK(api, HG_Get_input_buf(handle, &bytes, &len));
    CHECK(api, len == HG_Class_get_input_eager_size(api->cls));
    api_fill(bytes, IN_LEN, seed, 1);
}

/* As much as fits, one byte more, and much more. */
static void lengths(struct api *api, hg_handle_t handle)
{
    const uint64_t room_in =
        HG_Class_get_input_eager_size(api->cls) - IN_LEN - API_BLOB_HEAD;
    const uint64_t room_out =
        HG_Class_get_output_eager_size(api->cls) - OUT_LEN - API_BLOB_HEAD;
    void *bytes = NULL;

    ask(api, handle, 1, 0, 0);
    ask(api, handle, 1, room_in, room_out);
    OK(api, HG_Get_output_extra_buf(handle, &bytes, NULL));
    CHECK(api, bytes == NULL);
    write_header(api, handle, 2);
    ask(api, handle, 2, LONG, room_out + 1);
    OK(api, HG_Get_output_extra_buf(handle, &bytes, NULL));
    CHECK(api, bytes != NULL);
    ask(api, handle, 2, 3, LONG);
}

static void limits(struct api *api)
{
    hg_size_t in = HG_Class_get_input_eager_size(api->cls);
    hg_size_t out = HG_Class_get_output_eager_size(api->cls);

    EXPECT(api, HG_INVALID_ARG, HG_Class_set_input_offset(NULL, 1));
    EXPECT(api, HG_INVALID_ARG, HG_Class_set_output_offset(NULL, 1));
    EXPECT(api, HG_INVALID_ARG, HG_Class_set_input_offset(api->cls, in + 1));
    EXPECT(api, HG_INVALID_ARG, HG_Class_set_output_offset(api->cls, out + 1));
    OK(api, HG_Class_set_input_offset(api->cls, in));
    OK(api, HG_Class_set_output_offset(api->cls, out));
    OK(api, HG_Class_set_input_offset(api->cls, IN_LEN));
    OK(api, HG_Class_set_output_offset(api->cls, OUT_LEN));
    CHECK(api, HG_Class_get_input_eager_size(api->cls) == in);
}

/* A side with another header length causes an error at the origin. */
static void mismatch(struct api *api, hg_handle_t handle)
{
    unsigned before = 0;
    api_blob_t in = {.seed = 3};

    write_header(api, handle, 3);
    if (!api->is_alone) {
        api_sync(api);
        before = served;
        if (api->rank == 0)
            OK(api, HG_Class_set_input_offset(api->cls, IN_LEN + 1));
        api_sync(api); /* no rank calls before it is set */
        EXPECT(api, HG_PROTOCOL_ERROR, api_ask(api, handle, &in));
        CHECK(api, served == before);
        api_sync(api);
        OK(api, HG_Class_set_input_offset(api->cls, IN_LEN));
        if (api->rank == 0)
            OK(api, HG_Class_set_output_offset(api->cls, OUT_LEN - 1));
        api_sync(api);
        EXPECT(api, HG_PROTOCOL_ERROR, api_ask(api, handle, &in));
        api_sync(api);
        OK(api, HG_Class_set_output_offset(api->cls, OUT_LEN));
        api_sync(api);
    }
    ask(api, handle, 3, 5, 5);
}

static void test(struct api *api)
{
    hg_handle_t handle;
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);

    the = api;
    limits(api);
    api_sync(api);
    handle = api_handle(api, id);
    write_header(api, handle, 1);
    lengths(api, handle);
    mismatch(api, handle);
    api_sync(api);
    answers_with_header = false;
    api_sync(api);
    ask(api, handle, 3, 5, 5);
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
