/* SPDX-License-Identifier: BSD-3-Clause */
/* When a handler drops a call without a reply, its origin gets HG_CANCELED
 * instead of waiting for ever. Until then the reply has a reference: a program
 * may destroy first and answer afterwards. */
#include "api.h"
#include "mercury_bulk.h"

enum { ROUNDS = 200, LEN = 100000 };

static struct api *the;
static hg_handle_t kept;
static unsigned answered;

static hg_return_t serve(hg_handle_t handle)
{
    CHECK(the, HG_Ref_get(handle) >= 2);
    return HG_Destroy(handle);
}

/* An additional reference keeps the call open. */
static hg_return_t serve_shared(hg_handle_t handle)
{
    OK(the, HG_Ref_incr(handle));
    OK(the, HG_Destroy(handle));
    kept = handle;
    return HG_SUCCESS;
}

/* The second reference is that of the reply. */
static hg_return_t serve_twice(hg_handle_t handle)
{
    OK(the, HG_Destroy(handle));
    OK(the, HG_Destroy(handle));
    return HG_SUCCESS;
}

static hg_return_t answer_ended(const struct hg_cb_info *info)
{
    OK(the, info->ret);
    answered++;
    return HG_SUCCESS;
}

static hg_return_t serve_first_destroyed(hg_handle_t handle)
{
    OK(the, HG_Destroy(handle));
    if (answered % 2 == 0)
        return HG_Respond(handle, answer_ended, NULL, NULL);
    answered++;
    return HG_Respond(handle, NULL, NULL, NULL);
}

static hg_return_t pulled(const struct hg_cb_info *info)
{
    OK(the, info->ret);
    OK(the, HG_Respond(info->arg, NULL, NULL, NULL));
    OK(the, HG_Bulk_free(info->info.bulk.local_handle));
    OK(the, HG_Bulk_free(info->info.bulk.origin_handle));
    return HG_SUCCESS;
}

/* The callback of a transfer answers. */
static hg_return_t serve_by_transfer(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    static char bytes[2][LEN];
    void *ptrs[2] = {bytes[0], bytes[1]};
    hg_size_t len = LEN;
    hg_bulk_t from = HG_BULK_NULL;
    hg_bulk_t to = HG_BULK_NULL;
    hg_addr_t self = HG_ADDR_NULL;

    OK(the, HG_Addr_self(the->cls, &self));
    OK(the,
        HG_Bulk_create(the->cls, 1, &ptrs[0], &len, HG_BULK_READ_ONLY, &from));
    OK(the,
        HG_Bulk_create(the->cls, 1, &ptrs[1], &len, HG_BULK_WRITE_ONLY, &to));
    OK(the, HG_Bulk_transfer(info->context, pulled, handle, HG_BULK_PULL, self,
                from, 0, to, 0, LEN, HG_OP_ID_IGNORE));
    OK(the, HG_Destroy(handle));
    OK(the, HG_Addr_free(the->cls, self));
    return HG_SUCCESS;
}

static void ask_each(struct api *api, hg_rpc_cb_t how, hg_return_t wanted)
{
    static unsigned turn;
    char name[16] = {'h', 'o', 'w', '0'};
    hg_handle_t handle;

    name[3] = (char)('0' + turn++);
    handle = api_handle(api, HG_Register_name(api->cls, name, NULL, NULL, how));
    api_sync(api);
    for (unsigned i = 0; i < ROUNDS; i++)
        EXPECT(api, wanted, api_ask(api, handle, NULL));
    OK(api, HG_Destroy(handle));
}

/* Destroyed outside the handler, without a reply: its origin is told. */
static void let_go_outside(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    struct api_call call;

    kept = HG_HANDLE_NULL;
    api_sync(api);
    api_forward(api, handle, NULL, &call);
    UNTIL(api, kept != HG_HANDLE_NULL);
    CHECK(api, HG_Ref_get(kept) == 2);
    OK(api, HG_Destroy(kept));
    CHECK(api, HG_Ref_get(kept) == 1);
    OK(api, HG_Destroy(kept));
    EXPECT(api, HG_CANCELED, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    hg_id_t shared_id =
        HG_Register_name(api->cls, "shared", NULL, NULL, serve_shared);
    hg_handle_t handle;
    struct api_call call;

    the = api;
    api_sync(api);
    ask_each(api, serve, HG_CANCELED);
    ask_each(api, serve_twice, HG_CANCELED);
    ask_each(api, serve_first_destroyed, HG_SUCCESS);
    ask_each(api, serve_by_transfer, HG_SUCCESS);
    handle = api_handle(api, shared_id);
    api_forward(api, handle, NULL, &call);
    UNTIL(api, kept != HG_HANDLE_NULL);
    CHECK(api, HG_Ref_get(kept) == 2);
    OK(api, HG_Respond(kept, NULL, NULL, NULL));
    CHECK(api, HG_Ref_get(kept) == 1);
    OK(api, HG_Destroy(kept));
    OK(api, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
    let_go_outside(api, shared_id);
    api_sync(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
