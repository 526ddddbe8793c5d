/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle that are wrong are refused at the origin, and
 * at the target dropped, which then serves the next one. */
#include <string.h>

#include "amalgam_oneway.h"
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { LONG = 100000 };

static struct api *the;
static unsigned came;
static unsigned replaced;

static void serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    (void)from_rank;
    CHECK(the, len == 1 && *(const char *)arg == 'x');
    came++;
}

static hg_return_t take(hg_handle_t handle)
{
    replaced++;
    return HG_Destroy(handle);
}

static void arguments(struct api *api, hg_id_t id)
{
    char bytes[AMALGAM_ONEWAY_MAX + 1] = "x";
    hg_id_t two_way = MERCURY_REGISTER(api->cls, "two way", void, void, NULL);

    CHECK(api, amalgam_register_oneway(NULL, "name", serve) == 0);
    CHECK(api, amalgam_register_oneway(api->cls, NULL, serve) == 0);
    EXPECT(api, HG_INVALID_ARG,
        amalgam_forward_oneway(NULL, api->right, id, bytes, 1));
    EXPECT(api, HG_INVALID_ARG,
        amalgam_forward_oneway(api->context, HG_ADDR_NULL, id, bytes, 1));
    EXPECT(api, HG_INVALID_ARG,
        amalgam_forward_oneway(api->context, api->right, id, NULL, 1));
    EXPECT(api, HG_MSGSIZE,
        amalgam_forward_oneway(
            api->context, api->right, id, bytes, sizeof(bytes)));
    EXPECT(api, HG_NOENTRY,
        amalgam_forward_oneway(api->context, api->right, id + 1, bytes, 1));
    EXPECT(api, HG_OPNOTSUPPORTED,
        amalgam_forward_oneway(api->context, api->right, two_way, bytes, 1));
}

static void send_x(struct api *api, hg_id_t id)
{
    hg_return_t ret = HG_AGAIN;

    api_wait_begin(api);
    while ((ret = amalgam_forward_oneway(
                api->context, api->right, id, "x", 1)) == HG_AGAIN)
        api_wait_turn(api, __FILE__, __LINE__, "a credit");
    OK(api, ret);
}

/* The neighbour has registered them without handles, this rank by HG. */
static void at_target(struct api *api, hg_id_t id)
{
    hg_id_t longer = MERCURY_REGISTER(api->cls, "odd", api_blob_t, void, take);
    hg_id_t asked = MERCURY_REGISTER(api->cls, "even", void, void, NULL);
    api_blob_t in = {.len = AMALGAM_ONEWAY_MAX, .seed = 1};
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(api, HG_Registered_disable_response(api->cls, longer, HG_TRUE));
    if (api->rank % 2 == 0) {
        CHECK(api, amalgam_register_oneway(api->cls, "odd", serve) == longer);
        OK(api, HG_Registered_disable_response(api->cls, asked, HG_FALSE));
    } else {
        CHECK(api, amalgam_register_oneway(api->cls, "even", serve) == asked);
    }
    api_sync(api);
    handle = api_handle(api, longer);
    if (api->rank % 2 != 0) {
        OK(api, api_ask(api, handle, &in));
        in.len = LONG;
        OK(api, api_ask(api, handle, &in));
    } else if (!api->is_alone) {
        OK(api, HG_Reset(handle, HG_ADDR_NULL, asked));
        EXPECT(api, HG_CANCELED, api_ask(api, handle, NULL));
    }
    send_x(api, id);
    UNTIL(api, came == 1);
    api_sync(api);
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    hg_id_t id = amalgam_register_oneway(api->cls, "x", serve);
    hg_id_t no_handler = amalgam_register_oneway(api->cls, "none", NULL);
    uint8_t flag = HG_FALSE;

    the = api;
    OK(api, HG_Registered_disabled_response(api->cls, id, &flag));
    CHECK(api, flag == HG_TRUE);
    arguments(api, id);
    at_target(api, id);
    send_x(api, no_handler);
    send_x(api, id);
    UNTIL(api, came == 2);
    api_sync(api);
    /* Replaced by HG, and deregistered. */
    OK(api, HG_Register(api->cls, id, NULL, NULL, take));
    api_sync(api);
    send_x(api, id);
    UNTIL(api, replaced == 1);
    api_sync(api);
    CHECK(api, came == 2);
    OK(api, HG_Deregister(api->cls, id));
    EXPECT(api, HG_NOENTRY,
        amalgam_forward_oneway(api->context, api->right, id, "x", 1));
    CHECK(api, amalgam_register_oneway(api->cls, "x", serve) == id);
    api_sync(api);
    send_x(api, id);
    UNTIL(api, came == 3);
    api_sync(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
