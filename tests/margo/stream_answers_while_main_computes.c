/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance with a progress stream answers while main() computes, repeatedly,
 * and also after a stream was added that shares the pool of main(). An OS
 * thread makes the calls, and main() continues when they were answered. */
#include <pthread.h>
#include <stdatomic.h>

#include "alone.h"

enum { TURNS = 10, CALLS = 3 };

static hg_id_t id;
static atomic_uint answered;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void *calls_make(void *arg)
{
    unsigned i = 0;

    for (i = 0; i < CALLS; i++)
        alone_call(id);
    atomic_fetch_add(&answered, 1);
    return arg;
}

static void turns(void)
{
    pthread_t thread;
    unsigned i = 0;

    for (i = 0; i < TURNS; i++) {
        unsigned before = atomic_load(&answered);
        volatile unsigned work = 0;

        CHECK(pthread_create(&thread, NULL, calls_make, NULL) == 0);
        while (atomic_load(&answered) == before)
            work = work + 1;
        CHECK(pthread_join(thread, NULL) == 0);
        /* main() waits in between, so its stream makes the progress. */
        alone_call(id);
        margo_thread_sleep(pair.mid, i % 3 * 4);
    }
}

int main(void)
{
    struct margo_xstream_info info;

    alone_open("{\"use_progress_thread\":true,\"rpc_thread_count\":1}", NULL);
    id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    turns();
    CHECK_RC(margo_add_xstream_from_json(pair.mid,
                 "{\"name\":\"more\",\"scheduler\":{\"pools\":["
                 "\"__primary__\"]}}",
                 &info),
        HG_SUCCESS);
    turns();
    CHECK_RC(margo_remove_xstream(pair.mid, "more"), HG_SUCCESS);
    turns();
    alone_close();
    return 0;
}
