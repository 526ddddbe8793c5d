/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread on another stream ends the instance, while main() waits for that,
 * and others call all the time: a prefinalize callback tells them to stop and
 * joins them, while their calls still work. */
#include <stdatomic.h>

#include "alone.h"

enum { CALLERS = 8 };

static ABT_thread callers[CALLERS];
static atomic_uint begun;
static atomic_uint calls;
static atomic_bool is_ending;
static hg_id_t quick_id;

static void quick(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(quick)

static void caller(void *arg)
{
    (void)arg;
    atomic_fetch_add(&begun, 1);
    do {
        alone_call(quick_id);
        atomic_fetch_add(&calls, 1);
    } while (!atomic_load(&is_ending));
    /* Another call, although the end has begun. */
    alone_call(quick_id);
}

static void before_end(void *arg)
{
    (void)arg;
    atomic_store(&is_ending, true);
    for (unsigned i = 0; i < CALLERS; i++)
        CHECK(ABT_thread_free(&callers[i]) == ABT_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
}

static void ender(void *arg)
{
    (void)arg;
    while (atomic_load(&begun) < CALLERS)
        ABT_thread_yield();
    margo_finalize(pair.mid);
}

int main(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    CHECK(ABT_xstream_create(ABT_SCHED_NULL, &stream) == ABT_SUCCESS);
    alone_open(NULL, NULL);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    quick_id = MARGO_REGISTER(pair.mid, "quick", void, void, quick);
    margo_push_prefinalize_callback(pair.mid, before_end, NULL);
    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    for (unsigned i = 0; i < CALLERS; i++)
        CHECK(ABT_thread_create(pool, caller, NULL, ABT_THREAD_ATTR_NULL,
                  &callers[i]) == ABT_SUCCESS);
    CHECK(ABT_thread_create_on_xstream(stream, ender, NULL,
              ABT_THREAD_ATTR_NULL, &thread) == ABT_SUCCESS);
    margo_wait_for_finalize(pair.mid);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    CHECK(atomic_load(&calls) >= CALLERS);
    CHECK(ABT_xstream_join(stream) == ABT_SUCCESS);
    CHECK(ABT_xstream_free(&stream) == ABT_SUCCESS);
    CHECK(ABT_finalize() == ABT_SUCCESS);
    return 0;
}
