/* SPDX-License-Identifier: BSD-3-Clause */
/* A tasklet cannot wait: calls that would are refused, with a line, in the only
 * stream, where a wait would never end. It sleeps, posts calls, and asks for
 * the end of the instance. */
#include <string.h>

#include "alone.h"
#include "margo-bulk-pool.h"

enum { LEN = 64 };

static hg_id_t quick_id;
static margo_request request = MARGO_REQUEST_NULL;
static hg_handle_t handle = HG_HANDLE_NULL;
static margo_bulk_pool_t pool = MARGO_BULK_POOL_NULL;
static unsigned refused;

static void listen(void *uargs, const char *line)
{
    (void)uargs;
    refused += strstr(line, "tasklet") != NULL;
}

static void quick(hg_handle_t call)
{
    CHECK_RC(margo_respond(call, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(call), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(quick)

#define REFUSED(call)                                                          \
    do {                                                                       \
        unsigned before_ = refused;                                            \
        CHECK_RC(call, HG_OPNOTSUPPORTED);                                     \
        CHECK(refused == before_ + 1);                                         \
    } while (0)

static void tasklet(void *arg)
{
    size_t index = 0;
    hg_bulk_t bulk = HG_BULK_NULL;
    unsigned before = 0;

    (void)arg;
    REFUSED(margo_forward(handle, NULL));
    REFUSED(margo_forward_timed(handle, NULL, 1000));
    CHECK_RC(margo_iforward(handle, NULL, &request), HG_SUCCESS);
    REFUSED(margo_wait(request));
    REFUSED(margo_wait_any(1, &request, &index));
    before = refused;
    CHECK(margo_bulk_pool_get(pool, &bulk) == -1);
    CHECK(refused == before + 1);
    margo_thread_sleep(pair.mid, 1);
    margo_wait_for_finalize(pair.mid);
    CHECK(refused == before + 2);
}

static void end_tasklet(void *arg)
{
    (void)arg;
    margo_finalize(pair.mid);
}

static void run(void (*fn)(void *))
{
    ABT_task task = ABT_TASK_NULL;
    ABT_pool handlers = ABT_POOL_NULL;

    CHECK(margo_get_handler_pool(pair.mid, &handlers) == 0);
    CHECK(ABT_task_create(handlers, fn, NULL, &task) == ABT_SUCCESS);
    CHECK(ABT_task_free(&task) == ABT_SUCCESS);
}

int main(void)
{
    struct margo_logger logger = {
        NULL, listen, listen, listen, listen, listen, listen};
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    alone_open(NULL, NULL);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    quick_id = MARGO_REGISTER(pair.mid, "quick", void, void, quick);
    handle = alone_handle(quick_id);
    CHECK_RC(margo_bulk_pool_create(pair.mid, 1, LEN, HG_BULK_READWRITE, &pool),
        HG_SUCCESS);
    CHECK(margo_bulk_pool_get(pool, &bulk) == 0);
    run(tasklet);
    CHECK_RC(margo_wait(request), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(margo_bulk_pool_release(pool, bulk) == 0);
    CHECK(margo_bulk_pool_destroy(pool) == 0);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    run(end_tasklet);
    margo_wait_for_finalize(pair.mid);
    CHECK(ABT_finalize() == ABT_SUCCESS);
    return 0;
}
