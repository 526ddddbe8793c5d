/* SPDX-License-Identifier: BSD-3-Clause */
/* With no_loopback a call to self uses the transport, like any other: short and
 * long, with bulk data; and it can be cancelled, where the transport reaches
 * its own process. */
#include <string.h>

#include "api_blob.h"
#include "api_bulk.h"
#include "mercury_macros.h"

enum { LONG = 100000 };

static struct api *the;
static hg_addr_t self;
static bool holds;
static hg_handle_t held;
static uint8_t bytes[2][LONG];

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};

    CHECK(the, HG_Addr_cmp(the->cls, HG_Get_info(handle)->addr, self));
    if (holds) {
        held = handle;
        return HG_SUCCESS;
    }
    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.is_right);
    out.len = in.answer_len;
    out.seed = in.seed;
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

static void calls(struct api *api, hg_handle_t handle)
{
    api_blob_t out = {0};

    for (uint64_t len = 0; len <= LONG; len += LONG) {
        api_blob_t in = {.len = len, .seed = 5, .answer_len = len};

        OK(api, api_ask(api, handle, &in));
        OK(api, HG_Get_output(handle, &out));
        CHECK(api, out.is_right && out.len == len && out.seed == 5);
        OK(api, HG_Free_output(handle, &out));
    }
}

static void transfers(struct api *api)
{
    hg_bulk_t from =
        api_bulk_expose_one(api, bytes[0], LONG, HG_BULK_READWRITE);
    hg_bulk_t to = api_bulk_expose_one(api, bytes[1], LONG, HG_BULK_READWRITE);
    struct api_call call = {0};

    api_fill(bytes[0], LONG, 1, 0);
    OK(api, HG_Bulk_bind(from, api->context));
    CHECK(api, HG_Addr_cmp(api->cls, HG_Bulk_get_addr(from), self));
    OK(api, HG_Bulk_bind_transfer(api->context, api_done, &call, HG_BULK_PULL,
                from, 0, to, 0, LONG, HG_OP_ID_IGNORE));
    OK(api, api_wait(api, &call));
    CHECK(api, api_is_filled(bytes[1], LONG, 1, 0));
    api_fill(bytes[1], LONG, 2, 0);
    call = (struct api_call){0};
    OK(api, HG_Bulk_bind_transfer(api->context, api_done, &call, HG_BULK_PUSH,
                from, 0, to, 0, LONG, HG_OP_ID_IGNORE));
    OK(api, api_wait(api, &call));
    CHECK(api, api_is_filled(bytes[0], LONG, 2, 0));
    OK(api, HG_Bulk_free(from));
    OK(api, HG_Bulk_free(to));
}

static void cancel(struct api *api, hg_handle_t handle)
{
    bool is_loopback = HG_Cancel(handle) == HG_OPNOTSUPPORTED;
    struct api_call call;
    api_blob_t in = {0};

    if (strcmp(HG_Class_get_name(api->cls), "self") == 0)
        CHECK(api, is_loopback);
    if (strcmp(HG_Class_get_name(api->cls), "mpi") == 0)
        CHECK(api, !is_loopback);
    holds = true;
    api_forward(api, handle, &in, &call);
    UNTIL(api, held != HG_HANDLE_NULL);
    if (is_loopback) {
        EXPECT(api, HG_OPNOTSUPPORTED, HG_Cancel(handle));
    } else {
        OK(api, HG_Cancel(handle));
        EXPECT(api, HG_CANCELED, api_wait(api, &call));
    }
    OK(api, HG_Respond(held, NULL, NULL, NULL));
    OK(api, HG_Destroy(held));
    if (is_loopback)
        OK(api, api_wait(api, &call));
    holds = false;
    calls(api, handle);
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    hg_handle_t handle = HG_HANDLE_NULL;

    the = api;
    OK(api, HG_Addr_self(api->cls, &self));
    OK(api, HG_Create(api->context, self, id, &handle));
    calls(api, handle);
    transfers(api);
    cancel(api, handle);
    OK(api, HG_Destroy(handle));
    OK(api, HG_Addr_free(api->cls, self));
}

static void tune(int rank, struct hg_init_info *info)
{
    (void)rank;
    info->no_loopback = HG_TRUE;
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){.tune = tune}, test);
}
