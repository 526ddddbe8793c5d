/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler ends the instance that serves it: its reply is still sent,
 * margo_wait_for_finalize() returns, and finalize callbacks run once. */
#include "alone.h"

static unsigned prefinalized;
static unsigned finalized;

static void last(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    margo_finalize(pair.mid);
}
DEFINE_MARGO_RPC_HANDLER(last)

/* Calls are still possible. */
static void before_end(void *arg)
{
    hg_addr_t self = HG_ADDR_NULL;

    (void)arg;
    prefinalized++;
    CHECK_RC(margo_addr_self(pair.mid, &self), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, self), HG_SUCCESS);
}

static void at_end(void *arg)
{
    CHECK(arg == &finalized);
    CHECK(prefinalized == 1);
    finalized++;
}

/* A separate thread calls a handler that ends everything. */
static void caller(void *arg)
{
    hg_id_t *id = arg;
    hg_handle_t handle = alone_handle(*id);

    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
}

int main(void)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    hg_id_t id = 0;

    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    alone_open(NULL, NULL);
    margo_push_prefinalize_callback(pair.mid, before_end, NULL);
    margo_push_finalize_callback(pair.mid, at_end, &finalized);
    id = MARGO_REGISTER(pair.mid, "last", void, void, last);
    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    CHECK(ABT_thread_create(pool, caller, &id, ABT_THREAD_ATTR_NULL, &thread) ==
          ABT_SUCCESS);
    margo_wait_for_finalize(pair.mid);
    CHECK(finalized == 1);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK(ABT_finalize() == ABT_SUCCESS);
    return 0;
}
