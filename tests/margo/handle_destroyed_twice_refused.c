/* SPDX-License-Identifier: BSD-3-Clause */
/* A null handle may be destroyed; a second destroy of a handle, at its origin
 * or target, is logged and refused, and later handles are intact. A handler may
 * destroy its handle before it responds; the caller of one that never responds
 * gets an error when it returns. */
#include "alone.h"

static hg_id_t ids[4];

/* Its caller waits until it has answered. */
static void twice(hg_handle_t handle)
{
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_INVALID_ARG);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(twice)

static void answered(hg_handle_t handle)
{
    CHECK_RC(margo_ref_incr(handle), HG_SUCCESS);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_INVALID_ARG);
}
DEFINE_MARGO_RPC_HANDLER(answered)

static void first_destroyed(hg_handle_t handle)
{
    uint64_t number = 0;

    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_get_input(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &number), HG_SUCCESS);
    number++;
    ABT_thread_yield();
    CHECK_RC(margo_respond(handle, &number), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(first_destroyed)

static void silent(hg_handle_t handle)
{
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(silent)

static void at_the_origin(void)
{
    hg_handle_t first = alone_handle(ids[0]);
    hg_handle_t second = HG_HANDLE_NULL;

    CHECK_RC(margo_destroy(HG_HANDLE_NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(first), HG_SUCCESS);
    CHECK_RC(margo_destroy(first), HG_INVALID_ARG);
    first = alone_handle(ids[0]);
    second = alone_handle(ids[0]);
    CHECK(first != second);
    CHECK_RC(margo_forward(first, NULL), HG_SUCCESS);
    CHECK_RC(margo_forward(second, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(first), HG_SUCCESS);
    CHECK_RC(margo_destroy(second), HG_SUCCESS);
}

int main(void)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    uint64_t number = 1;

    alone_open(NULL, NULL);
    ids[0] = MARGO_REGISTER(pair.mid, "twice", void, void, twice);
    ids[1] = MARGO_REGISTER(pair.mid, "answered", void, void, answered);
    ids[2] = MARGO_REGISTER(
        pair.mid, "first_destroyed", uint64_t, uint64_t, first_destroyed);
    ids[3] = MARGO_REGISTER(pair.mid, "silent", void, void, silent);
    at_the_origin();
    for (unsigned i = 0; i < 10; i++) {
        alone_call(ids[0]);
        alone_call(ids[1]);
    }
    handle = alone_handle(ids[2]);
    CHECK_RC(margo_forward(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &number), HG_SUCCESS);
    CHECK(number == 2);
    CHECK_RC(margo_free_output(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    handle = alone_handle(ids[3]);
    CHECK_RC(margo_forward(handle, NULL), HG_CANCELED);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    alone_close();
    return 0;
}
