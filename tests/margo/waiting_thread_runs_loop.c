/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that waits for a call makes the rounds of the progress loop: its
 * callbacks cannot block, as in the loop; a thread that is cancelled meanwhile
 * leaves a loop that works; so does a loop that was asked to move, or an
 * instance that begins to end. */
#include "alone.h"

static hg_id_t answer_id;
static hg_id_t cancel_id;
static hg_id_t move_id;
static hg_id_t finalize_id;
static ABT_thread cancelled = ABT_THREAD_NULL;
static unsigned called_back;
static unsigned went_on;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(answer)

static void cancel(hg_handle_t handle)
{
    CHECK(ABT_thread_cancel(cancelled) == ABT_SUCCESS);
    CHECK(ABT_thread_yield() == ABT_SUCCESS);
    answer(handle);
}
DEFINE_MARGO_RPC_HANDLER(cancel)

static void move(hg_handle_t handle)
{
    uint32_t index = 0;
    struct margo_pool_info info;

    CHECK_RC(margo_find_pool_by_name(pair.mid, "other", &info), HG_SUCCESS);
    index = info.index;
    CHECK(margo_migrate_progress_loop(pair.mid, index) == ABT_SUCCESS);
    answer(handle);
}
DEFINE_MARGO_RPC_HANDLER(move)

static void finalize(hg_handle_t handle)
{
    margo_finalize(pair.mid);
    CHECK(ABT_thread_yield() == ABT_SUCCESS);
    answer(handle);
}
DEFINE_MARGO_RPC_HANDLER(finalize)

static void on_answer(void *arg, hg_return_t ret)
{
    hg_handle_t handle = alone_handle(answer_id);

    CHECK_RC(ret, HG_SUCCESS);
    CHECK_RC(margo_forward(handle, NULL), HG_OTHER_ERROR);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    margo_thread_sleep(pair.mid, 1);
    ++*(unsigned *)arg;
}

/* One call with a callback, which runs while this thread waits. */
static void call_both(void)
{
    hg_handle_t handle = alone_handle(answer_id);
    unsigned before = called_back;

    CHECK_RC(margo_cforward(handle, NULL, on_answer, &called_back), HG_SUCCESS);
    while (called_back == before)
        alone_call(answer_id);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void caller(void *arg)
{
    alone_call(cancel_id);
    ++*(unsigned *)arg;
    CHECK(ABT_thread_yield() == ABT_SUCCESS);
    CHECK(!"a cancelled thread goes on after a yield");
}

static void thread_cancel(void)
{
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    CHECK(ABT_thread_create(pool, caller, &went_on, ABT_THREAD_ATTR_NULL,
              &cancelled) == ABT_SUCCESS);
    CHECK(ABT_thread_free(&cancelled) == ABT_SUCCESS);
    CHECK(went_on == 1);
    call_both();
}

int main(void)
{
    alone_open("{\"argobots\":{\"pools\":[{\"name\":\"__primary__\"},"
               "{\"name\":\"other\"}],\"xstreams\":[{\"name\":\"__primary__\","
               "\"scheduler\":{\"pools\":[0]}},{\"name\":\"more\","
               "\"scheduler\":{\"pools\":[1]}}]},\"progress_pool\":0,"
               "\"rpc_pool\":0}",
        NULL);
    answer_id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    cancel_id = MARGO_REGISTER(pair.mid, "cancel", void, void, cancel);
    move_id = MARGO_REGISTER(pair.mid, "move", void, void, move);
    finalize_id = MARGO_REGISTER(pair.mid, "finalize", void, void, finalize);
    alone_call(answer_id);
    call_both();
    thread_cancel();
    alone_call(move_id);
    call_both();
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    alone_call(finalize_id);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_wait_for_finalize(pair.mid);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    return 0;
}
