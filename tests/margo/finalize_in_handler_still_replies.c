/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler ends the instance that serves it, itself or by a thread that it
 * joins: a user-level thread of its pool or of another stream, or an OS thread.
 * Its reply is still sent, also after that; margo_wait_for_finalize() returns,
 * and finalize callbacks run once. */
#include <pthread.h>

#include "alone.h"

enum way { BY_HANDLER, BY_THREAD, BY_STREAM, BY_OS_THREAD, WAYS };

static unsigned prefinalized;
static unsigned finalized;
static enum way way;

static void ender(void *arg)
{
    (void)arg;
    margo_finalize(pair.mid);
}

static void *os_ender(void *arg)
{
    ender(arg);
    return NULL;
}

static void end_by_pool(ABT_pool pool)
{
    ABT_thread thread = ABT_THREAD_NULL;

    CHECK(ABT_thread_create(pool, ender, NULL, ABT_THREAD_ATTR_NULL, &thread) ==
          ABT_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
}

static void end_by_stream(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(ABT_xstream_create(ABT_SCHED_NULL, &stream) == ABT_SUCCESS);
    CHECK(ABT_xstream_get_main_pools(stream, 1, &pool) == ABT_SUCCESS);
    end_by_pool(pool);
    CHECK(ABT_xstream_free(&stream) == ABT_SUCCESS);
}

static void end(void)
{
    ABT_pool pool = ABT_POOL_NULL;
    pthread_t thread;

    if (way == BY_HANDLER) {
        margo_finalize(pair.mid);
    } else if (way == BY_THREAD) {
        CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
        end_by_pool(pool);
    } else if (way == BY_STREAM) {
        end_by_stream();
    } else {
        CHECK(pthread_create(&thread, NULL, os_ender, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static void last(hg_handle_t handle)
{
    end();
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
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

static void end_once(void)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    hg_id_t id = 0;

    prefinalized = 0;
    finalized = 0;
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
}

int main(void)
{
    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    for (way = BY_HANDLER; way < WAYS; way++)
        end_once();
    CHECK(ABT_finalize() == ABT_SUCCESS);
    return 0;
}
