/* SPDX-License-Identifier: BSD-3-Clause */
/* With max_concurrent_rpcs, no more handlers run at once: further requests
 * wait, and all are served in the end. */
#include "alone.h"

enum { CAP = 4, CALLS = 200, PARTS = 3 };

static unsigned running;
static unsigned most;
static unsigned served;
static ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;

static void slow(hg_handle_t handle)
{
    ABT_mutex lock = ABT_MUTEX_MEMORY_GET_HANDLE(&mutex);

    ABT_mutex_lock(lock);
    running++;
    most = running > most ? running : most;
    ABT_mutex_unlock(lock);
    /* Lets other handlers start, if they can. */
    for (unsigned i = 0; i < PARTS; i++)
        ABT_thread_yield();
    margo_thread_sleep(pair.mid, 1);
    ABT_mutex_lock(lock);
    running--;
    served++;
    ABT_mutex_unlock(lock);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(slow)

int main(void)
{
    static margo_request requests[CALLS];
    static hg_handle_t handles[CALLS];
    hg_id_t id = 0;

    alone_open(
        "{\"amalgam\":{\"max_concurrent_rpcs\":4},\"rpc_thread_count\":2}",
        NULL);
    id = MARGO_REGISTER(pair.mid, "slow", void, void, slow);
    for (unsigned i = 0; i < CALLS; i++) {
        handles[i] = alone_handle(id);
        CHECK_RC(margo_iforward(handles[i], NULL, &requests[i]), HG_SUCCESS);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK_RC(margo_wait(requests[i]), HG_SUCCESS);
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
    }
    CHECK(served == CALLS);
    CHECK(most <= CAP);
    CHECK(most > 1);
    alone_close();
    return 0;
}
