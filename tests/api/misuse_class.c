/* SPDX-License-Identifier: BSD-3-Clause */
/* Every documented misuse of the calls on classes, contexts and addresses
 * returns its documented code and changes nothing. */
#include <string.h>

#include "api.h"

static void opening(struct api *api)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    unsigned newer = HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR) + 1;

    CHECK(api, HG_Init(NULL, HG_TRUE) == NULL);
    CHECK(api, HG_Init("", HG_TRUE) == NULL);
    CHECK(api, HG_Init("no such transport", HG_TRUE) == NULL);
    CHECK(api, HG_Init("mpi+dynamic", HG_TRUE) == NULL);
    CHECK(api, HG_Init("self://somewhere", HG_TRUE) == NULL);
    CHECK(api, HG_Init_opt2("self", HG_TRUE, 0, &info) == NULL);
    CHECK(api, HG_Init_opt2("self", HG_TRUE, newer, &info) == NULL);
    info.multi_recv_op_max = 2;
    info.multi_recv_copy_threshold = 3;
    CHECK(api, HG_Init_opt2("self", HG_TRUE, newer - 1, &info) == NULL);
}

/* Objects of another class are refused. */
static void foreign(struct api *api)
{
    hg_class_t *other = HG_Init("self", HG_TRUE);
    hg_context_t *context = NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_addr_t copy = HG_ADDR_NULL;
    char text[128];
    hg_size_t len = sizeof(text);
    hg_id_t id;

    CHECK(api, other != NULL);
    context = HG_Context_create(other);
    CHECK(api, context != NULL);
    CHECK(api, HG_Context_create(other) == NULL);
    CHECK(api, HG_Context_create_id(other, 1) == NULL);
    OK(api, HG_Addr_self(other, &addr));
    id = HG_Register_name(api->cls, "only here", NULL, NULL, NULL);
    EXPECT(api, HG_NOENTRY, HG_Create(context, addr, id, &handle));
    EXPECT(api, HG_INVALID_ARG, HG_Create(api->context, addr, id, &handle));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_dup(api->cls, addr, &copy));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_free(api->cls, addr));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_to_string(api->cls, text, &len, addr));
    CHECK(api, HG_Addr_cmp(api->cls, addr, api->right) == HG_FALSE);
    CHECK(api, handle == HG_HANDLE_NULL && copy == HG_ADDR_NULL);
    OK(api, HG_Addr_free(other, addr));
    OK(api, HG_Context_destroy(context));
    OK(api, HG_Finalize(other));
}

static void nothing_given(struct api *api)
{
    unsigned count = 7;

    EXPECT(api, HG_INVALID_ARG, HG_Finalize(NULL));
    CHECK(api, HG_Context_create(NULL) == NULL);
    EXPECT(api, HG_INVALID_ARG, HG_Context_destroy(NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Context_unpost(NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Context_set_data(NULL, NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Progress(NULL, 0));
    EXPECT(api, HG_INVALID_ARG, HG_Trigger(NULL, 0, 1, &count));
    EXPECT(api, HG_INVALID_ARG, HG_Event_progress(NULL, &count));
    EXPECT(api, HG_INVALID_ARG, HG_Event_trigger(NULL, 1, &count));
    CHECK(api, count == 7);
    CHECK(api, !HG_Event_ready(NULL) && HG_Event_get_wait_fd(NULL) == -1);
    CHECK(api, HG_Context_get_class(NULL) == NULL);
    CHECK(api, HG_Context_get_id(NULL) == 0);
    CHECK(api, HG_Context_get_data(NULL) == NULL);
    CHECK(api, HG_Class_get_name(NULL) == NULL);
    CHECK(api, HG_Class_get_protocol(NULL) == NULL);
    CHECK(api, !HG_Class_is_listening(NULL));
    CHECK(api, HG_Class_get_input_eager_size(NULL) == 0);
    CHECK(api, HG_Class_get_output_eager_size(NULL) == 0);
    EXPECT(api, HG_INVALID_ARG, HG_Class_set_data(NULL, NULL, NULL));
    CHECK(api, HG_Class_get_data(NULL) == NULL);
}

static void addresses(struct api *api)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_size_t len = 0;

    EXPECT(api, HG_INVALID_ARG, HG_Addr_self(NULL, &addr));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_self(api->cls, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_dup(NULL, api->right, &addr));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_dup(api->cls, HG_ADDR_NULL, &addr));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_dup(api->cls, api->right, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_free(NULL, HG_ADDR_NULL));
    OK(api, HG_Addr_free(api->cls, HG_ADDR_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_set_remove(api->cls, HG_ADDR_NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_lookup2(NULL, "x", &addr));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_lookup2(api->cls, NULL, &addr));
    EXPECT(api, HG_INVALID_ARG, HG_Addr_lookup2(api->cls, "x", NULL));
    EXPECT(api, HG_INVALID_ARG,
        HG_Addr_lookup1(NULL, api_done, NULL, "x", HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Addr_lookup1(api->context, NULL, NULL, "x", HG_OP_ID_IGNORE));
    EXPECT(api, HG_INVALID_ARG,
        HG_Addr_to_string(api->cls, NULL, NULL, api->right));
    EXPECT(api, HG_INVALID_ARG,
        HG_Addr_to_string(api->cls, NULL, &len, HG_ADDR_NULL));
    EXPECT(
        api, HG_INVALID_ARG, HG_Addr_to_string(NULL, NULL, &len, api->right));
    CHECK(api, HG_Addr_cmp(NULL, api->right, api->right) == HG_FALSE);
    CHECK(api, addr == HG_ADDR_NULL && len == 0);
}

static void codes(struct api *api)
{
    CHECK(api, strcmp(HG_Error_to_string(HG_NOENTRY), "HG_NOENTRY") == 0);
    CHECK(api, strcmp(HG_Error_to_string(HG_SUCCESS), "HG_SUCCESS") == 0);
    CHECK(api, HG_Error_to_string((hg_return_t)1000) == NULL);
    CHECK(api, HG_Error_to_string((hg_return_t)-1) == NULL);
}

static void test(struct api *api)
{
    opening(api);
    foreign(api);
    nothing_given(api);
    addresses(api);
    codes(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
