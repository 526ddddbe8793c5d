/* SPDX-License-Identifier: BSD-3-Clause */
/* With several contexts a call goes to the one of HG_Set_target_id(), and its
 * reply to the one that forwarded it; a context that is not open is HG_NOENTRY,
 * an unposted one HG_CANCELED. */
#include "api.h"
#include "mercury_macros.h"

enum { CONTEXTS = 3 };

MERCURY_GEN_PROC(pair_t, ((uint8_t)(from))((uint8_t)(to)))

static struct api *the;
static hg_context_t *contexts[CONTEXTS];
static unsigned freed;

static void data_free(void *data)
{
    (*(unsigned *)data)++;
}

static hg_return_t serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    pair_t pair;

    OK(the, HG_Get_input(handle, &pair));
    CHECK(the, info->context == contexts[pair.to]);
    CHECK(the, HG_Context_get_id(info->context) == pair.to);
    CHECK(the, info->context_id == pair.from);
    OK(the, HG_Free_input(handle, &pair));
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static void open_contexts(struct api *api)
{
    contexts[0] = api->context;
    for (uint8_t i = 1; i < CONTEXTS; i++) {
        contexts[i] = HG_Context_create_id(api->cls, i);
        CHECK(api, contexts[i] != NULL);
        api_drive(contexts[i]);
    }
    for (uint8_t i = 0; i < CONTEXTS; i++) {
        CHECK(api, HG_Context_get_id(contexts[i]) == i);
        CHECK(api, HG_Context_get_class(contexts[i]) == api->cls);
        OK(api, HG_Context_set_data(contexts[i], &freed, data_free));
        CHECK(api, HG_Context_get_data(contexts[i]) == &freed);
        CHECK(api, HG_Context_create_id(api->cls, i) == NULL);
    }
    CHECK(api, HG_Context_create_id(api->cls, CONTEXTS) == NULL);
}

static void calls(struct api *api, hg_id_t id)
{
    for (uint8_t from = 0; from < CONTEXTS; from++) {
        hg_handle_t handle = HG_HANDLE_NULL;

        OK(api, HG_Create(contexts[from], api->right, id, &handle));
        for (uint8_t to = 0; to < CONTEXTS; to++) {
            pair_t pair = {from, to};

            OK(api, HG_Set_target_id(handle, to));
            CHECK(api, HG_Get_info(handle)->context_id == to);
            OK(api, api_ask(api, handle, &pair));
        }
        /* After a reset it is context 0 again. */
        OK(api, HG_Reset(handle, HG_ADDR_NULL, 0));
        CHECK(api, HG_Get_info(handle)->context_id == 0);
        OK(api, HG_Destroy(handle));
    }
}

static void test(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "pair", pair_t, void, serve);
    hg_handle_t handle = HG_HANDLE_NULL;
    pair_t pair = {0, 2};

    the = api;
    open_contexts(api);
    api_sync(api);
    calls(api, id);
    api_sync(api);
    OK(api, HG_Context_unpost(contexts[1]));
    OK(api, HG_Context_unpost(contexts[1]));
    api_drive_no_more(contexts[2]);
    OK(api, HG_Context_destroy(contexts[2]));
    CHECK(api, freed == 1);
    api_sync(api);
    handle = api_handle(api, id);
    OK(api, HG_Set_target_id(handle, 2));
    EXPECT(api, HG_NOENTRY, api_ask(api, handle, &pair));
    OK(api, HG_Set_target_id(handle, 1));
    EXPECT(api, HG_CANCELED, api_ask(api, handle, &pair));
    OK(api, HG_Set_target_id(handle, UINT8_MAX));
    EXPECT(api, HG_NOENTRY, api_ask(api, handle, &pair));
    api_sync(api);
    /* The id is free again. */
    contexts[2] = HG_Context_create_id(api->cls, 2);
    CHECK(api, contexts[2] != NULL);
    api_drive(contexts[2]);
    api_sync(api);
    OK(api, HG_Set_target_id(handle, 2));
    OK(api, api_ask(api, handle, &pair));
    OK(api, HG_Destroy(handle));
    api_sync(api);
    for (int i = 1; i < CONTEXTS; i++) {
        api_drive_no_more(contexts[i]);
        OK(api, HG_Context_destroy(contexts[i]));
    }
}

int main(int argc, char **argv)
{
    int rc =
        api_main(argc, argv, &(struct api_wish){.contexts = CONTEXTS}, test);

    return rc != 0 ? rc : freed != CONTEXTS;
}
