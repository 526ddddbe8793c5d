/* SPDX-License-Identifier: BSD-3-Clause */
/* Every documented misuse of the RPC calls returns its documented code and
 * changes nothing: the same objects work afterwards. */
#include "api.h"
#include "mercury_macros.h"

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static hg_id_t echo_id;
static hg_id_t bare_id;
static hg_id_t one_way_id;
static unsigned one_way_served;

/* At the target, with each misuse before the right call. */
static hg_return_t echo(hg_handle_t handle)
{
    number_t in = {0};
    void *bytes = NULL;

    EXPECT(the, HG_INVALID_ARG, HG_Get_input(handle, NULL));
    EXPECT(the, HG_INVALID_ARG, HG_Get_output(handle, &in));
    OK(the, HG_Free_output(handle, &in)); /* by the output proc */
    EXPECT(the, HG_INVALID_ARG, HG_Forward(handle, NULL, NULL, NULL));
    EXPECT(the, HG_INVALID_ARG, HG_Reset(handle, HG_ADDR_NULL, echo_id));
    EXPECT(the, HG_INVALID_ARG, HG_Get_input_buf(handle, NULL, NULL));
    EXPECT(the, HG_INVALID_ARG, HG_Get_input_extra_buf(handle, NULL, NULL));
    OK(the, HG_Get_input_buf(handle, &bytes, NULL));
    CHECK(the, bytes != NULL);
    OK(the, HG_Get_input_extra_buf(handle, &bytes, NULL));
    CHECK(the, bytes == NULL);
    EXPECT(the, HG_INVALID_ARG, HG_Get_output_buf(handle, NULL, NULL));
    OK(the, HG_Get_output_buf(handle, &bytes, NULL));
    CHECK(the, bytes != NULL);
    OK(the, HG_Get_input(handle, &in));
    OK(the, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, &in));
    EXPECT(the, HG_BUSY, HG_Respond(handle, NULL, NULL, &in));
    return HG_Destroy(handle);
}

static hg_return_t bare(hg_handle_t handle)
{
    number_t in = {0};

    EXPECT(the, HG_FAULT, HG_Get_input(handle, &in));
    EXPECT(the, HG_FAULT, HG_Free_input(handle, &in));
    OK(the, HG_Respond(handle, NULL, NULL, &in));
    return HG_Destroy(handle);
}

static hg_return_t one_way(hg_handle_t handle)
{
    EXPECT(the, HG_OPNOTSUPPORTED, HG_Respond(handle, NULL, NULL, NULL));
    one_way_served++;
    return HG_Destroy(handle);
}

static void creation(struct api *api)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    uint8_t flag = 7;
    hg_id_t unknown = 0;

    OK(api, HG_Registered_name(api->cls, "unknown", &unknown, &flag));
    EXPECT(api, HG_INVALID_ARG, HG_Create(NULL, api->right, echo_id, &handle));
    EXPECT(api, HG_INVALID_ARG,
        HG_Create(api->context, api->right, echo_id, NULL));
    EXPECT(
        api, HG_NOENTRY, HG_Create(api->context, api->right, unknown, &handle));
    CHECK(api, handle == HG_HANDLE_NULL);
    OK(api, HG_Destroy(HG_HANDLE_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Ref_incr(HG_HANDLE_NULL));
    EXPECT(
        api, HG_INVALID_ARG, HG_Reset(HG_HANDLE_NULL, HG_ADDR_NULL, echo_id));
    EXPECT(api, HG_INVALID_ARG, HG_Forward(HG_HANDLE_NULL, NULL, NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Respond(HG_HANDLE_NULL, NULL, NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Cancel(HG_HANDLE_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Release_input_buf(HG_HANDLE_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Set_target_id(HG_HANDLE_NULL, 0));
    EXPECT(api, HG_INVALID_ARG, HG_Set_data(HG_HANDLE_NULL, &flag, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Get_input(HG_HANDLE_NULL, &flag));
    EXPECT(api, HG_INVALID_ARG, HG_Get_output(HG_HANDLE_NULL, &flag));
    CHECK(api, HG_Ref_get(HG_HANDLE_NULL) == 0);
    CHECK(api, HG_Get_info(HG_HANDLE_NULL) == NULL);
    CHECK(api, HG_Get_data(HG_HANDLE_NULL) == NULL);
    CHECK(api, HG_Get_input_payload_size(HG_HANDLE_NULL) == 0);
    CHECK(api, HG_Get_output_payload_size(HG_HANDLE_NULL) == 0);
}

/* A handle without an address, then without an id, then with both. */
static void unset(struct api *api)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    number_t in = {42};

    OK(api, HG_Create(api->context, HG_ADDR_NULL, 0, &handle));
    EXPECT(api, HG_INVALID_ARG, HG_Forward(handle, api_done, NULL, NULL));
    OK(api, HG_Cancel(handle));
    OK(api, HG_Reset(handle, api->right, 0));
    EXPECT(api, HG_FAULT, HG_Forward(handle, api_done, NULL, NULL));
    EXPECT(api, HG_NOENTRY, HG_Reset(handle, HG_ADDR_NULL, 12345));
    EXPECT(api, HG_FAULT, HG_Forward(handle, api_done, NULL, NULL));
    OK(api, HG_Reset(handle, HG_ADDR_NULL, echo_id));
    CHECK(api, HG_Get_info(handle)->id == echo_id);
    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Destroy(handle));
}

static void in_flight(struct api *api)
{
    hg_handle_t handle = api_handle(api, echo_id);
    struct api_call call;
    number_t in = {43};
    number_t out = {0};
    void *bytes = NULL;

    EXPECT(api, HG_INVALID_ARG, HG_Get_output(handle, &out));
    EXPECT(api, HG_INVALID_ARG, HG_Get_input(handle, &out));
    EXPECT(api, HG_INVALID_ARG, HG_Respond(handle, NULL, NULL, NULL));
    EXPECT(api, HG_FAULT, HG_Get_output_buf(handle, &bytes, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Release_input_buf(handle));
    api_forward(api, handle, &in, &call);
    EXPECT(api, HG_BUSY, HG_Forward(handle, api_done, NULL, &in));
    EXPECT(api, HG_BUSY, HG_Reset(handle, HG_ADDR_NULL, bare_id));
    EXPECT(api, HG_INVALID_ARG, HG_Get_output(handle, &out));
    CHECK(api, HG_Get_info(handle)->id == echo_id);
    OK(api, api_wait(api, &call));
    EXPECT(api, HG_INVALID_ARG, HG_Get_output(handle, NULL));
    OK(api, HG_Get_output(handle, &out));
    CHECK(api, out.value == 43);
    OK(api, HG_Free_output(handle, &out));
    OK(api, HG_Reset(handle, HG_ADDR_NULL, bare_id));
    OK(api, api_ask(api, handle, &in));
    EXPECT(api, HG_FAULT, HG_Get_output(handle, &out));
    OK(api, HG_Reset(handle, HG_ADDR_NULL, one_way_id));
    OK(api, api_ask(api, handle, NULL));
    UNTIL(api, one_way_served > 0);
    OK(api, HG_Destroy(handle));
}

static void registration(struct api *api)
{
    uint8_t flag = 7;
    hg_id_t id = 7;

    CHECK(api, HG_Register_name(NULL, "x", NULL, NULL, NULL) == 0);
    CHECK(api, HG_Register_name(api->cls, NULL, NULL, NULL, NULL) == 0);
    EXPECT(api, HG_INVALID_ARG, HG_Register(NULL, 1, NULL, NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Register(api->cls, 0, NULL, NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Registered_name(NULL, "x", &id, &flag));
    EXPECT(api, HG_INVALID_ARG, HG_Registered_name(api->cls, NULL, &id, &flag));
    EXPECT(api, HG_INVALID_ARG, HG_Registered_name(api->cls, "x", &id, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Registered(NULL, 1, &flag));
    EXPECT(api, HG_INVALID_ARG, HG_Registered(api->cls, 1, NULL));
    EXPECT(api, HG_INVALID_ARG,
        HG_Registered_proc_cb(api->cls, 1, NULL, NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Deregister(NULL, 1));
    EXPECT(api, HG_NOENTRY, HG_Deregister(api->cls, 0));
    EXPECT(api, HG_INVALID_ARG, HG_Register_data(NULL, 1, &id, NULL));
    CHECK(api, HG_Registered_data(NULL, 1) == NULL);
    EXPECT(api, HG_INVALID_ARG, HG_Registered_disable_response(NULL, 1, 1));
    EXPECT(
        api, HG_NOENTRY, HG_Registered_disable_response(api->cls, 1, HG_TRUE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Registered_disabled_response(api->cls, echo_id, NULL));
    EXPECT(
        api, HG_NOENTRY, HG_Registered_disabled_response(api->cls, 1, &flag));
    CHECK(api, flag == 7 && id == 7);
}

static void test(struct api *api)
{
    the = api;
    echo_id = MERCURY_REGISTER(api->cls, "echo", number_t, number_t, echo);
    bare_id = MERCURY_REGISTER(api->cls, "bare", void, void, bare);
    one_way_id = MERCURY_REGISTER(api->cls, "one_way", void, void, one_way);
    OK(api, HG_Registered_disable_response(api->cls, one_way_id, HG_TRUE));
    api_sync(api);
    registration(api);
    creation(api);
    unset(api);
    in_flight(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
