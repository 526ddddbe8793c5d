/* SPDX-License-Identifier: BSD-3-Clause */
/* A finished request is refused by all functions that take one. Two threads
 * cannot wait for one; an instance that has ended refuses late calls. */
#include "alone.h"

static ABT_eventual gate;
static hg_id_t answer_id;
static hg_id_t gated_id;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void gated(hg_handle_t handle)
{
    CHECK(ABT_eventual_wait(gate, NULL) == ABT_SUCCESS);
    answer(handle);
}
DEFINE_MARGO_RPC_HANDLER(gated)

static void is_refused(margo_request old)
{
    size_t index = 0;
    int flag = 0;

    CHECK_RC(margo_wait(old), HG_INVALID_ARG);
    CHECK_RC(margo_wait_any(1, &old, &index), HG_INVALID_ARG);
    CHECK(margo_test(old, &flag) == -1);
}

static void waiter(void *arg)
{
    CHECK_RC(margo_wait(*(margo_request *)arg), HG_SUCCESS);
}

static void late_calls(margo_instance_id mid)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    bool is_finalized = false;

    CHECK_RC(margo_addr_self(mid, &addr), HG_INVALID_ARG);
    CHECK_RC(margo_create(mid, pair.self, answer_id, &handle), HG_INVALID_ARG);
    CHECK(margo_register_name(mid, "late", NULL, NULL, NULL) == 0);
    CHECK_RC(margo_instance_is_finalized(mid, &is_finalized), HG_INVALID_ARG);
    CHECK_RC(margo_deregister(mid, answer_id), HG_NOENTRY);
    CHECK(margo_get_handler_pool(mid, &pool) == 0);
    CHECK(pool == ABT_POOL_NULL);
    margo_thread_sleep(mid, 0.1);
    CHECK(margo_set_progress_timeout_ub_msec(mid, 1) == 0);
    margo_finalize(mid);
    margo_wait_for_finalize(mid);
}

int main(void)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    margo_request old = MARGO_REQUEST_NULL;
    margo_request request = MARGO_REQUEST_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    size_t index = 0;

    alone_open(NULL, NULL);
    answer_id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    gated_id = MARGO_REGISTER(pair.mid, "gated", void, void, gated);
    handle = alone_handle(answer_id);
    CHECK_RC(margo_iforward(handle, NULL, &old), HG_SUCCESS);
    CHECK(margo_request_get_handle(old) == handle);
    CHECK_RC(margo_wait(old), HG_SUCCESS);
    is_refused(old);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);

    CHECK(ABT_eventual_create(0, &gate) == ABT_SUCCESS);
    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    handle = alone_handle(gated_id);
    CHECK_RC(margo_iforward(handle, NULL, &request), HG_SUCCESS);
    CHECK(ABT_thread_create(pool, waiter, &request, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    for (unsigned i = 0; i < 10; i++)
        ABT_thread_yield();
    CHECK_RC(margo_wait(request), HG_INVALID_ARG);
    CHECK_RC(margo_wait_any(1, &request, &index), HG_INVALID_ARG);
    CHECK(ABT_eventual_set(gate, NULL, 0) == ABT_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(ABT_eventual_free(&gate) == ABT_SUCCESS);
    alone_close();
    late_calls(pair.mid);
    return 0;
}
