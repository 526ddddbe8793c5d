/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle may be destroyed right after forward or respond: the callback still
 * runs with the handle, whose data are freed afterwards. */
#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { CALLS = 50, LEN = 100000 };

static struct api *the;
static unsigned freed;
static unsigned done;
static unsigned answered;

static void data_free(void *data)
{
    CHECK(the, data == &freed);
    freed++;
}

static hg_return_t answer_left(const struct hg_cb_info *info)
{
    CHECK(the, info->ret == HG_SUCCESS);
    CHECK(the, HG_Get_info(info->info.respond.handle) != NULL);
    answered++;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t blob;

    OK(the, HG_Get_input(handle, &blob));
    OK(the, HG_Respond(handle, answer_left, NULL, &blob));
    OK(the, HG_Destroy(handle));
    /* The input still has to be freed; it holds the last reference. */
    return HG_Free_input(handle, &blob);
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;
    api_blob_t blob;

    CHECK(the, info->ret == HG_SUCCESS && freed == done);
    CHECK(the, HG_Get_data(handle) == &freed);
    CHECK(the, HG_Ref_get(handle) == 1); /* the operation's */
    OK(the, HG_Get_output(handle, &blob));
    CHECK(the, blob.is_right);
    OK(the, HG_Free_output(handle, &blob));
    done++;
    return HG_SUCCESS;
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);

    the = api;
    api_sync(api);
    for (unsigned i = 0; i < CALLS; i++) {
        hg_handle_t handle = api_handle(api, id);
        api_blob_t blob = {.len = i % 2 == 0 ? 10 : LEN, .seed = i};

        OK(api, HG_Set_data(handle, &freed, data_free));
        OK(api, HG_Forward(handle, ended, NULL, &blob));
        OK(api, HG_Destroy(handle));
        UNTIL(api, done > i);
    }
    CHECK(api, freed == CALLS);
    UNTIL(api, answered == CALLS);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
