/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that waits for an effect of a handler in another thread needs no
 * HG_Trigger(): HG_Progress() returns when one ran, and delays none. */
#include <stdatomic.h>

#include "api.h"

enum { ROUNDS = 100, LONG_MS = 20000, LIMIT_MS = 30000, NS_PER_MS = 1000000 };

static const struct api_mode mode_rows[] = {
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_AUTO},
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SLEEP},
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SPIN},
};

static _Atomic(hg_handle_t) kept;

/* The reply is sent later, so that it does not end the wait. */
static hg_return_t serve(hg_handle_t handle)
{
    atomic_store(&kept, handle);
    return HG_SUCCESS;
}

static void kept_await(struct api *api)
{
    uint64_t limit_ns = api_now_ns() + (uint64_t)LIMIT_MS * NS_PER_MS;

    while (atomic_load(&kept) == NULL) {
        OK(api, HG_Progress(api->context, LONG_MS));
        CHECK(api, api_now_ns() < limit_ns);
    }
}

static void round_make(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    hg_handle_t asked = NULL;
    struct api_call call = {0};

    api_forward(api, handle, NULL, &call);
    kept_await(api);
    asked = atomic_exchange(&kept, NULL);
    OK(api, HG_Respond(asked, NULL, NULL, NULL));
    OK(api, HG_Destroy(asked));
    OK(api, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "keep", NULL, NULL, serve);

    for (unsigned i = 0; i < sizeof(mode_rows) / sizeof(mode_rows[0]); i++) {
        /* No rank calls one that is between two contexts. */
        api_sync(api);
        api_set_mode(api, &mode_rows[i]);
        api_sync(api);
        for (unsigned round = 0; round < ROUNDS; round++)
            round_make(api, id);
    }
    api_sync(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
