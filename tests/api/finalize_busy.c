/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Finalize() and HG_Context_destroy() are HG_BUSY while any object is left,
 * change nothing then, and succeed afterwards; class data are freed. */
#include "api.h"
#include "mercury_bulk.h"

static unsigned freed;
static hg_addr_t found;

static hg_return_t looked_up(const struct hg_cb_info *info)
{
    found = info->info.lookup.addr;
    return HG_SUCCESS;
}

static void data_free(void *data)
{
    (*(unsigned *)data)++;
}

/* Objects that keep a context from being destroyed. */
static void context_busy(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    char text[256];
    hg_size_t len = sizeof(text);

    EXPECT(api, HG_BUSY, HG_Context_destroy(api->context));
    OK(api, HG_Destroy(handle));
    /* A callback that was not run. */
    OK(api, HG_Addr_to_string(api->cls, text, &len, api->right));
    OK(api,
        HG_Addr_lookup1(api->context, looked_up, NULL, text, HG_OP_ID_IGNORE));
    EXPECT(api, HG_BUSY, HG_Context_destroy(api->context));
    UNTIL(api, found != HG_ADDR_NULL);
    OK(api, HG_Addr_free(api->cls, found));
}

static void kinds(struct api *api)
{
    char byte = 0;
    void *ptr = &byte;
    const hg_size_t len = 1;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_addr_t addr = HG_ADDR_NULL;

    EXPECT(api, HG_BUSY, HG_Finalize(api->cls)); /* the context */
    OK(api, HG_Context_destroy(api->context));
    api->context = NULL;
    EXPECT(api, HG_BUSY, HG_Finalize(api->cls)); /* the neighbour's address */
    OK(api, HG_Addr_free(api->cls, api->right));
    api->right = HG_ADDR_NULL;
    OK(api, HG_Addr_self(api->cls, &addr));
    EXPECT(api, HG_BUSY, HG_Finalize(api->cls));
    OK(api, HG_Addr_free(api->cls, addr));
    OK(api, HG_Bulk_create(api->cls, 1, &ptr, &len, HG_BULK_READ_ONLY, &bulk));
    EXPECT(api, HG_BUSY, HG_Finalize(api->cls));
    OK(api, HG_Bulk_ref_incr(bulk));
    OK(api, HG_Bulk_free(bulk));
    EXPECT(api, HG_BUSY, HG_Finalize(api->cls));
    OK(api, HG_Bulk_free(bulk));
    CHECK(api, freed == 0);
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "unused", NULL, NULL, NULL);

    OK(api, HG_Class_set_data(api->cls, &freed, data_free));
    CHECK(api, HG_Class_get_data(api->cls) == &freed);
    context_busy(api, id);
    api_sync(api);
    kinds(api);
}

int main(int argc, char **argv)
{
    int rc = api_main(argc, argv, &(struct api_wish){0}, test);

    return rc != 0 ? rc : freed != 1;
}
