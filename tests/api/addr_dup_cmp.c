/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of one process are equal, live as long as their references, and a
 * handler can keep its caller's. */
#include "api.h"

static struct api *the;
/* The callers, in order. */
static hg_addr_t callers[2];
static unsigned caller_count;

static hg_return_t serve(hg_handle_t handle)
{
    hg_addr_t borrowed = HG_Get_info(handle)->addr;

    EXPECT(the, HG_INVALID_ARG, HG_Addr_free(the->cls, borrowed));
    CHECK(the, caller_count < 2);
    OK(the, HG_Addr_dup(the->cls, borrowed, &callers[caller_count]));
    CHECK(
        the, HG_Addr_cmp(the->cls, borrowed, callers[caller_count]) == HG_TRUE);
    caller_count++;
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static void compare(struct api *api)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_addr_t again = HG_ADDR_NULL;
    hg_addr_t copy = HG_ADDR_NULL;

    OK(api, HG_Addr_self(api->cls, &self));
    OK(api, HG_Addr_self(api->cls, &again));
    CHECK(api, HG_Addr_cmp(api->cls, self, again) == HG_TRUE);
    CHECK(api, HG_Addr_cmp(api->cls, self, api->right) ==
                   (api->is_alone ? HG_TRUE : HG_FALSE));
    OK(api, HG_Addr_free(api->cls, again));
    OK(api, api_world.address(api->cls, api->rank, &again));
    CHECK(api, HG_Addr_cmp(api->cls, self, again) == HG_TRUE);
    OK(api, HG_Addr_free(api->cls, again));
    OK(api, HG_Addr_dup(api->cls, self, &copy));
    OK(api, HG_Addr_free(api->cls, self));
    OK(api, HG_Addr_dup(api->cls, copy, &self));
    CHECK(api, HG_Addr_cmp(api->cls, self, copy) == HG_TRUE);
    CHECK(api, HG_Addr_cmp(api->cls, self, HG_ADDR_NULL) == HG_FALSE);
    CHECK(api, HG_Addr_cmp(api->cls, HG_ADDR_NULL, self) == HG_FALSE);
    CHECK(api, HG_Addr_cmp(api->cls, HG_ADDR_NULL, HG_ADDR_NULL) == HG_TRUE);
    OK(api, HG_Addr_set_remove(api->cls, copy));
    OK(api, HG_Addr_free(api->cls, copy));
    OK(api, HG_Addr_free(api->cls, self));
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "who", NULL, NULL, serve);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t right = HG_ADDR_NULL;

    the = api;
    api_sync(api);
    compare(api);
    /* The handle keeps the address that its creator frees. */
    OK(api, HG_Addr_dup(api->cls, api->right, &right));
    OK(api, HG_Create(api->context, right, id, &handle));
    OK(api, HG_Addr_free(api->cls, right));
    OK(api, api_ask(api, handle, NULL));
    UNTIL(api, caller_count == 1);
    api_sync(api);
    /* The origin of a call can be called: now all call in the other direction.
     */
    OK(api, HG_Reset(handle, callers[0], 0));
    OK(api, HG_Addr_free(api->cls, callers[0]));
    OK(api, api_ask(api, handle, NULL));
    UNTIL(api, caller_count == 2);
    OK(api, HG_Reset(handle, HG_Get_info(handle)->addr, 0));
    CHECK(api, HG_Addr_cmp(api->cls, callers[1], api->right) == HG_TRUE);
    OK(api, HG_Addr_free(api->cls, callers[1]));
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
