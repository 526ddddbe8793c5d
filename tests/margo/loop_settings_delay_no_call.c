/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls work with any settings of the loop: an upper bound of a day, progress
 * only when needed, another pool. They never wait for the upper bound. */
#include "alone.h"

enum { CALLS = 20, A_DAY_MS = 86400000 };

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void calls(hg_id_t id)
{
    unsigned i = 0;

    for (i = 0; i < CALLS; i++) {
        alone_call(id);
        margo_thread_sleep(pair.mid, i % 2);
    }
}

int main(void)
{
    unsigned bound_ms = 0;
    unsigned index = 0;
    hg_id_t id = 0;

    alone_open(
        "{\"argobots\":{\"pools\":[{\"name\":\"one\"},{\"name\":\"two\"}],"
        "\"xstreams\":[{\"name\":\"es\",\"scheduler\":{\"pools\":"
        "[\"one\",\"two\"]}}]},\"progress_pool\":\"one\"}",
        NULL);
    id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    CHECK(margo_set_param(pair.mid, "progress_timeout_ub_msec", "250") == 0);
    CHECK(margo_get_progress_timeout_ub_msec(pair.mid, &bound_ms) == 0);
    CHECK(bound_ms == 250);
    CHECK(margo_set_param(pair.mid, "progress_timeout_ub_msecs", "-1") == -1);
    CHECK(margo_set_param(pair.mid, "progress", "1") == -1);
    CHECK(margo_set_progress_timeout_ub_msec(pair.mid, A_DAY_MS) == 0);
    calls(id);
    CHECK(margo_set_progress_when_needed(pair.mid, true) == 0);
    calls(id);
    CHECK(margo_set_progress_when_needed(pair.mid, false) == 0);
    for (index = 0; index < margo_get_num_pools(pair.mid); index++) {
        CHECK(margo_migrate_progress_loop(pair.mid, index) == ABT_SUCCESS);
        calls(id);
    }
    CHECK(margo_migrate_progress_loop(pair.mid, index) == ABT_ERR_INV_POOL);
    alone_close();
    return 0;
}
