/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles are kept for later calls, carry the program's data, and live until
 * their last reference. */
#include <stdatomic.h>

#include "pair.h"

enum { MORE_THAN_KEPT = 100 };

static hg_id_t null_id;
static atomic_int freed;

static void data_free(void *data)
{
    freed += *(int *)data;
}

static void null(hg_handle_t handle)
{
    static int one = 1;

    CHECK(margo_hg_handle_get_instance(handle) == pair.mid);
    CHECK(margo_hg_handle_get_handler_pool(handle) != ABT_POOL_NULL);
    CHECK(margo_get_info(handle)->id == null_id);
    /* No data of the previous call of this handle are left. */
    CHECK(margo_get_data(handle) == NULL);
    CHECK_RC(margo_set_data(handle, &one, data_free), HG_SUCCESS);
    CHECK(margo_get_data(handle) == &one);
    CHECK_RC(margo_ref_incr(handle), HG_SUCCESS);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(margo_get_data(handle) == &one);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(null)

static void enrol(void)
{
    null_id = MARGO_REGISTER(pair.mid, "null", void, void, null);
}

static void data_is_freed_once(void)
{
    hg_handle_t handle = pair_handle(null_id);
    int ten = 10;
    int hundred = 100;

    freed = 0;
    CHECK(margo_get_data(handle) == NULL);
    CHECK_RC(margo_set_data(handle, &ten, data_free), HG_SUCCESS);
    CHECK_RC(margo_set_data(handle, &hundred, data_free), HG_SUCCESS);
    CHECK(freed == 10);
    CHECK_RC(margo_ref_incr(handle), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(freed == 10 && margo_get_data(handle) == &hundred);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(freed == 110);
    CHECK_RC(margo_set_data(HG_HANDLE_NULL, NULL, NULL), HG_INVALID_ARG);
    CHECK(margo_get_data(HG_HANDLE_NULL) == NULL);
}

/* The handle that was returned last is reused first, and has no data. */
static void kept_and_more(void)
{
    hg_handle_t handles[MORE_THAN_KEPT];
    hg_handle_t first = pair_handle(null_id);

    CHECK_RC(margo_forward(first, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(first), HG_SUCCESS);
    CHECK(pair_handle(null_id) == first);
    CHECK(margo_get_data(first) == NULL);
    CHECK_RC(margo_destroy(first), HG_SUCCESS);
    for (int i = 0; i < MORE_THAN_KEPT; i++) {
        handles[i] = pair_handle(null_id);
        CHECK_RC(margo_forward(handles[i], NULL), HG_SUCCESS);
    }
    for (int i = 0; i < MORE_THAN_KEPT; i++)
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
}

static void current_rpc_id(void)
{
    hg_id_t id = 0;

    CHECK_RC(margo_set_current_rpc_id(pair.mid, null_id), HG_SUCCESS);
    CHECK_RC(margo_get_current_rpc_id(pair.mid, &id), HG_SUCCESS);
    CHECK(id == null_id);
    CHECK_RC(margo_get_current_rpc_id(pair.mid, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_set_current_rpc_id(pair.mid, 0), HG_SUCCESS);
}

static void test(void)
{
    data_is_freed_once();
    pair_barrier();
    freed = 0;
    pair_barrier();
    kept_and_more();
    current_rpc_id();
    pair_barrier();
    CHECK(freed == MORE_THAN_KEPT + 1); /* of calls served here */
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
