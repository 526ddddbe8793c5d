/* SPDX-License-Identifier: BSD-3-Clause */
/* 2000 calls forwarded before any progress all end, each with its reply, and so
 * do thousands that are forwarded, one for each that ends, while as many as
 * that wait: with arguments and results of each length that one message has. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { CALLS = 4000, IN_FLIGHT = 2000 };

static struct api *the;

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    out.len = in.answer_len;
    out.seed = ~in.seed;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

static hg_handle_t forward(struct api *api, hg_id_t id, unsigned i,
    unsigned len, struct api_call *call)
{
    api_blob_t in = {.len = len, .seed = i, .answer_len = len};
    hg_handle_t handle = api_handle(api, id);

    api_forward(api, handle, &in, call);
    return handle;
}

static void calls_of_len(struct api *api, hg_id_t id, unsigned len)
{
    static struct api_call calls[CALLS];
    static hg_handle_t handles[CALLS];

    api_sync(api);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        handles[i] = forward(api, id, i, len, &calls[i]);
    for (unsigned i = 0; i < CALLS; i++) {
        unsigned next = i + IN_FLIGHT;
        api_blob_t out = {0};

        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Get_output(handles[i], &out));
        CHECK(api, out.is_right && out.seed == ~(uint64_t)i && out.len == len);
        OK(api, HG_Free_output(handles[i], &out));
        OK(api, HG_Destroy(handles[i]));
        if (next < CALLS)
            handles[next] = forward(api, id, next, len, &calls[next]);
    }
}

static void test(struct api *api)
{
    static const unsigned lens[] = {0, 150, 1000};
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "not", api_blob_t, api_blob_t, serve);

    the = api;
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        calls_of_len(api, id, lens[i]);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
