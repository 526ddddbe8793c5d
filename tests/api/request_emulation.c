/* SPDX-License-Identifier: BSD-3-Clause */
/* hg_request_wait() makes calls blocking: completed by callbacks, driven by two
 * functions over HG_Progress() and HG_Trigger(). */
#include "api.h"
#include "mercury_request.h"

enum { CALLS = 100, FOREVER_MS = 40000 };

static struct api *the;
static hg_handle_t kept;
static bool is_keeping;

static int request_progress(unsigned int timeout, void *arg)
{
    return HG_Progress(arg, timeout) == HG_SUCCESS ? HG_UTIL_SUCCESS
                                                   : HG_UTIL_FAIL;
}

static int request_trigger(unsigned int timeout, unsigned int *flag, void *arg)
{
    unsigned count = 0;
    hg_return_t rc = HG_Trigger(arg, timeout, 1, &count);

    *flag = count > 0;
    return rc == HG_SUCCESS ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static hg_return_t serve(hg_handle_t handle)
{
    if (is_keeping) {
        kept = handle;
        return HG_SUCCESS;
    }
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    CHECK(the, info->ret == HG_SUCCESS);
    hg_request_complete(info->arg);
    return HG_SUCCESS;
}

static void one_by_one(
    struct api *api, hg_request_class_t *requests, hg_handle_t handle)
{
    hg_request_t *request = hg_request_create(requests);
    unsigned flag = 0;

    CHECK(api, request != NULL);
    for (unsigned i = 0; i < CALLS; i++) {
        OK(api, HG_Forward(handle, ended, request, NULL));
        CHECK(api, hg_request_wait(request, FOREVER_MS, &flag) == 0);
        CHECK(api, flag == HG_UTIL_TRUE);
        CHECK(api, hg_request_reset(request) == HG_UTIL_SUCCESS);
    }
    hg_request_destroy(request);
}

/* The flag reports a timeout, and the request may be waited for again. */
static void late(
    struct api *api, hg_request_class_t *requests, hg_handle_t handle)
{
    hg_request_t *request = hg_request_create(requests);
    unsigned flag = 7;

    api_sync(api);
    is_keeping = true;
    api_sync(api);
    OK(api, HG_Forward(handle, ended, request, NULL));
    CHECK(api, hg_request_wait(request, 0, &flag) == HG_UTIL_SUCCESS);
    CHECK(api, flag == HG_UTIL_FALSE);
    CHECK(api, hg_request_wait(request, 20, &flag) == HG_UTIL_SUCCESS);
    CHECK(api, flag == HG_UTIL_FALSE);
    UNTIL(api, kept != HG_HANDLE_NULL);
    api_sync(api);
    OK(api, HG_Respond(kept, NULL, NULL, NULL));
    OK(api, HG_Destroy(kept));
    CHECK(api, hg_request_wait(request, FOREVER_MS, &flag) == HG_UTIL_SUCCESS);
    CHECK(api, flag == HG_UTIL_TRUE);
    hg_request_destroy(request);
    is_keeping = false;
    api_sync(api);
}

static void all_at_once(
    struct api *api, hg_request_class_t *requests, hg_id_t id)
{
    hg_request_t *all[CALLS];
    hg_handle_t handles[CALLS];
    unsigned flag = 0;

    for (unsigned i = 0; i < CALLS; i++) {
        handles[i] = api_handle(api, id);
        all[i] = hg_request_create(requests);
        OK(api, HG_Forward(handles[i], ended, all[i], NULL));
    }
    CHECK(api, hg_request_waitall(CALLS, all, FOREVER_MS, &flag) == 0);
    CHECK(api, flag == HG_UTIL_TRUE);
    for (unsigned i = 0; i < CALLS; i++) {
        hg_request_destroy(all[i]);
        OK(api, HG_Destroy(handles[i]));
    }
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "null", NULL, NULL, serve);
    hg_request_class_t *requests =
        hg_request_init(request_progress, request_trigger, api->context);
    hg_handle_t handle;
    void *arg = NULL;

    the = api;
    CHECK(api, requests != NULL);
    api_sync(api);
    handle = api_handle(api, id);
    one_by_one(api, requests, handle);
    late(api, requests, handle);
    all_at_once(api, requests, id);
    OK(api, HG_Destroy(handle));
    hg_request_finalize(requests, &arg);
    CHECK(api, arg == api->context);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
