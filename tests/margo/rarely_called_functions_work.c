/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that no other test calls: addresses, counters of the loop, old
 * forms, profiling, and properties by handle, name and index. */
#include <string.h>

#include "alone.h"
#include "margo-util.h"

static unsigned ended;

static void count_end(void *arg)
{
    ended += arg == &ended;
}

static void addresses(void)
{
    hg_addr_t twin = HG_ADDR_NULL;

    CHECK_RC(margo_addr_dup(pair.mid, pair.self, &twin), HG_SUCCESS);
    CHECK(margo_addr_cmp(pair.mid, pair.self, twin) == HG_TRUE);
    CHECK_RC(margo_addr_set_remove(pair.mid, twin), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, twin), HG_SUCCESS);
}

static void null(hg_handle_t handle)
{
    const struct hg_info *info = margo_get_info(handle);

    CHECK(info->context == margo_get_context(pair.mid));
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(null)

static void loop_counts(void)
{
    uint64_t progress = margo_get_num_progress_calls(pair.mid);
    uint64_t trigger = margo_get_num_trigger_calls(pair.mid);
    hg_id_t id = MARGO_REGISTER(pair.mid, "null", void, void, null);

    alone_call(id);
    CHECK(margo_get_num_progress_calls(pair.mid) > progress);
    CHECK(margo_get_num_trigger_calls(pair.mid) > trigger);
}

static void callbacks_kept(void)
{
    margo_finalize_callback_t cb = NULL;
    void *arg = NULL;

    margo_push_prefinalize_callback(pair.mid, count_end, &ended);
    CHECK(margo_top_prefinalize_callback(pair.mid, &cb, &arg) == 1);
    CHECK(cb == count_end && arg == &ended);
    CHECK(margo_pop_prefinalize_callback(pair.mid) == 1);
    CHECK(margo_pop_prefinalize_callback(pair.mid) == 0);
    margo_provider_push_prefinalize_callback(pair.mid, &cb, count_end, &ended);
    CHECK(margo_provider_pop_prefinalize_callback(pair.mid, &arg) == 0);
    CHECK(margo_provider_pop_prefinalize_callback(pair.mid, &cb) == 1);
    arg = NULL;
    margo_provider_push_finalize_callback(pair.mid, &cb, count_end, &ended);
    CHECK(margo_provider_top_finalize_callback(pair.mid, &cb, NULL, &arg) == 1);
    CHECK(arg == &ended);
    CHECK(margo_provider_pop_finalize_callback(pair.mid, &cb) == 1);
}

static void pools_found(void)
{
    struct margo_pool_info info = {0};
    struct margo_pool_info again = {0};
    unsigned count = 0;

    CHECK_RC(margo_add_pool_from_json(pair.mid, "{\"name\":\"mine\"}", &info),
        HG_SUCCESS);
    CHECK_RC(margo_find_pool_by_name(pair.mid, "mine", &again), HG_SUCCESS);
    CHECK(again.pool == info.pool && again.index == info.index);
    CHECK_RC(
        margo_find_pool_by_index(pair.mid, info.index, &again), HG_SUCCESS);
    CHECK(again.pool == info.pool);
    CHECK_RC(
        margo_find_pool_by_handle(pair.mid, info.pool, &again), HG_SUCCESS);
    CHECK(again.index == info.index && strcmp(again.name, "mine") == 0);
    CHECK_RC(margo_pool_ref_incr_by_handle(pair.mid, info.pool), HG_SUCCESS);
    CHECK_RC(margo_pool_ref_incr_by_name(pair.mid, "mine"), HG_SUCCESS);
    CHECK_RC(margo_pool_ref_incr_by_index(pair.mid, info.index), HG_SUCCESS);
    CHECK_RC(margo_pool_ref_count_by_handle(pair.mid, info.pool, &count),
        HG_SUCCESS);
    CHECK(count == 3);
    CHECK(margo_remove_pool_by_handle(pair.mid, info.pool) != HG_SUCCESS);
    CHECK_RC(margo_pool_release_by_handle(pair.mid, info.pool), HG_SUCCESS);
    CHECK_RC(
        margo_pool_ref_count_by_name(pair.mid, "mine", &count), HG_SUCCESS);
    CHECK(count == 2);
    CHECK_RC(margo_pool_release_by_name(pair.mid, "mine"), HG_SUCCESS);
    CHECK_RC(margo_pool_release_by_index(pair.mid, info.index), HG_SUCCESS);
    CHECK_RC(margo_pool_ref_count_by_index(pair.mid, info.index, &count),
        HG_SUCCESS);
    CHECK(count == 0);
    CHECK_RC(margo_pool_release_by_index(pair.mid, info.index), HG_PERMISSION);
    CHECK_RC(margo_remove_pool_by_index(pair.mid, info.index), HG_SUCCESS);
    CHECK_RC(margo_find_pool_by_name(pair.mid, "mine", &again), HG_NOENTRY);
}

static void xstreams_found(void)
{
    static const char text[] =
        "{\"name\":\"mine\",\"scheduler\":{\"pools\":[\"__primary__\"]}}";
    struct margo_xstream_info info = {0};
    struct margo_xstream_info again = {0};
    unsigned count = 0;

    CHECK_RC(margo_add_xstream_from_json(pair.mid, text, &info), HG_SUCCESS);
    CHECK_RC(margo_find_xstream_by_name(pair.mid, "mine", &again), HG_SUCCESS);
    CHECK(again.xstream == info.xstream);
    CHECK_RC(
        margo_find_xstream_by_index(pair.mid, info.index, &again), HG_SUCCESS);
    CHECK(again.xstream == info.xstream);
    CHECK_RC(margo_find_xstream_by_handle(pair.mid, info.xstream, &again),
        HG_SUCCESS);
    CHECK(again.index == info.index);
    CHECK_RC(
        margo_xstream_ref_incr_by_handle(pair.mid, info.xstream), HG_SUCCESS);
    CHECK_RC(margo_xstream_ref_incr_by_name(pair.mid, "mine"), HG_SUCCESS);
    CHECK_RC(margo_xstream_ref_incr_by_index(pair.mid, info.index), HG_SUCCESS);
    CHECK_RC(margo_xstream_ref_count_by_handle(pair.mid, info.xstream, &count),
        HG_SUCCESS);
    CHECK(count == 3);
    CHECK(margo_remove_xstream_by_index(pair.mid, info.index) != HG_SUCCESS);
    CHECK_RC(
        margo_xstream_release_by_handle(pair.mid, info.xstream), HG_SUCCESS);
    CHECK_RC(
        margo_xstream_ref_count_by_name(pair.mid, "mine", &count), HG_SUCCESS);
    CHECK(count == 2);
    CHECK_RC(margo_xstream_release_by_name(pair.mid, "mine"), HG_SUCCESS);
    CHECK_RC(margo_xstream_release_by_index(pair.mid, info.index), HG_SUCCESS);
    CHECK_RC(margo_xstream_ref_count_by_index(pair.mid, info.index, &count),
        HG_SUCCESS);
    CHECK(count == 0);
    CHECK_RC(
        margo_remove_xstream_by_handle(pair.mid, info.xstream), HG_SUCCESS);
}

/* Profiling of threads is not supported: each call fails with a log line. */
static void profiling(void)
{
    CHECK(margo_start_abt_profiling(pair.mid, true) == -1);
    CHECK(margo_dump_abt_profiling(pair.mid, "none", 0, NULL) == -1);
    CHECK(margo_stop_abt_profiling(pair.mid) == -1);
}

int main(void)
{
    /* Allowed only before Argobots is initialized. */
    CHECK(margo_set_environment(NULL) == 0);
    CHECK(margo_set_abt_mem_max_num_stacks(16) == 0);
    CHECK(margo_set_abt_thread_stacksize(1 << 20) == 0);
    alone_open(NULL, NULL);
    CHECK(margo_set_abt_mem_max_num_stacks(16) == -1);
    CHECK(margo_set_abt_thread_stacksize(1 << 20) == -1);
    margo_info(pair.mid, "not seen: %d", 1);
    margo_debug(pair.mid, "not seen: %d", 1);
    addresses();
    loop_counts();
    callbacks_kept();
    pools_found();
    xstreams_found();
    profiling();
    alone_close();
    CHECK(ended == 0);
    return 0;
}
