/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler whose RPC is deregistered while it holds its input can free that
 * and respond, and its caller can read the output, although the RPC was
 * deregistered there, too. Without a response its caller gets an error. A
 * request that has come, and whose handler has not begun, gets HG_NOENTRY. */
#include "alone.h"

static ABT_eventual gate;
static ABT_eventual begun;

static void numbered(hg_handle_t handle)
{
    uint64_t number = 0;

    CHECK_RC(margo_get_input(handle, &number), HG_SUCCESS);
    CHECK(ABT_eventual_set(begun, NULL, 0) == ABT_SUCCESS);
    CHECK(ABT_eventual_wait(gate, NULL) == ABT_SUCCESS);
    CHECK_RC(margo_free_input(handle, &number), HG_SUCCESS);
    number++;
    if (number != 1)
        CHECK_RC(margo_respond(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(numbered)

static void call(uint64_t number, hg_return_t wanted)
{
    hg_id_t id =
        MARGO_REGISTER(pair.mid, "numbered", uint64_t, uint64_t, numbered);
    hg_handle_t handle = alone_handle(id);
    margo_request request = MARGO_REQUEST_NULL;
    uint64_t answer = 0;

    CHECK(ABT_eventual_create(0, &gate) == ABT_SUCCESS);
    CHECK(ABT_eventual_create(0, &begun) == ABT_SUCCESS);
    CHECK_RC(margo_iforward(handle, &number, &request), HG_SUCCESS);
    CHECK(ABT_eventual_wait(begun, NULL) == ABT_SUCCESS);
    CHECK_RC(margo_deregister(pair.mid, id), HG_SUCCESS);
    CHECK(ABT_eventual_set(gate, NULL, 0) == ABT_SUCCESS);
    CHECK_RC(margo_wait(request), wanted);
    if (wanted == HG_SUCCESS) {
        CHECK_RC(margo_get_output(handle, &answer), HG_SUCCESS);
        CHECK(answer == number + 1);
        CHECK_RC(margo_free_output(handle, &answer), HG_SUCCESS);
    }
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(ABT_eventual_free(&gate) == ABT_SUCCESS);
    CHECK(ABT_eventual_free(&begun) == ABT_SUCCESS);
}

/* The request waits for its turn in the queue of HG. */
static void call_too_late(void)
{
    hg_id_t id =
        MARGO_REGISTER(pair.mid, "numbered", uint64_t, uint64_t, numbered);
    hg_handle_t handle = alone_handle(id);
    margo_request request = MARGO_REQUEST_NULL;
    uint64_t number = 1;

    CHECK_RC(margo_iforward(handle, &number, &request), HG_SUCCESS);
    CHECK_RC(HG_Progress(margo_get_context(pair.mid), 0), HG_SUCCESS);
    CHECK_RC(margo_deregister(pair.mid, id), HG_SUCCESS);
    CHECK_RC(margo_wait(request), HG_NOENTRY);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

int main(void)
{
    alone_open(NULL, NULL);
    call(5, HG_SUCCESS);
    call(0, HG_CANCELED);
    call(6, HG_SUCCESS);
    call_too_late();
    alone_close();
    return 0;
}
