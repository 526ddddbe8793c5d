/* SPDX-License-Identifier: BSD-3-Clause */
/* A call without arguments reaches its handler, and its reply the callback;
 * HG_Get_info() of its handle is right. */
#include "api.h"

static struct api *the;
static hg_id_t id;
static unsigned served;
static struct api_call answered;

static hg_return_t serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);

    CHECK(the, info->hg_class == the->cls && info->context == the->context);
    CHECK(the, info->id == id && info->context_id == 0);
    CHECK(the, info->addr != HG_ADDR_NULL);
    CHECK(the, HG_Get_input_payload_size(handle) == 0);
    served++;
    OK(the, HG_Respond(handle, api_done, &answered, NULL));
    return HG_Destroy(handle);
}

static void test(struct api *api)
{
    hg_handle_t handle;
    struct api_call call;

    the = api;
    id = HG_Register_name(api->cls, "null", NULL, NULL, serve);
    api_sync(api);
    handle = api_handle(api, id);
    CHECK(api, HG_Ref_get(handle) == 1);
    CHECK(api, HG_Addr_cmp(api->cls, HG_Get_info(handle)->addr, api->right) ==
                   HG_TRUE);
    api_forward(api, handle, NULL, &call);
    CHECK(api, served == 0 || !api->is_alone);
    OK(api, api_wait(api, &call));
    CHECK(api, call.type == HG_CB_FORWARD && call.handle == handle);
    CHECK(api, HG_Get_output_payload_size(handle) == 0);
    UNTIL(api, served > 0 && answered.done > 0);
    CHECK(api, answered.ret == HG_SUCCESS && answered.type == HG_CB_RESPOND);
    /* The callbacks are optional on both sides. */
    OK(api, HG_Forward(handle, NULL, NULL, NULL));
    UNTIL(api, served == 2);
    UNTIL(api, HG_Ref_get(handle) == 1);
    OK(api, HG_Reset(handle, HG_ADDR_NULL, 0));
    UNTIL(api, answered.done == 2);
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
