/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of calls: an RPC or a provider that no process serves, odd arguments,
 * a handle in use. */
#include <math.h>
#include <stdatomic.h>

#include "echo.h"
#include "pair.h"

enum { NOBODY = 99 };

static hg_id_t unknown_id; /* registered by rank 1 alone */
static hg_id_t known_id;
static hg_id_t held_id;
static hg_id_t refused_id;
static _Atomic(hg_handle_t) held;

static void known(hg_handle_t handle)
{
    echo_t in;

    CHECK_RC(margo_get_input(handle, &in), HG_NO_MATCH);
    CHECK_RC(margo_respond(handle, &in), HG_NO_MATCH);
    CHECK_RC(margo_respond_timed(handle, NULL, -1.0), HG_INVALID_ARG);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(known)

static void hold(hg_handle_t handle)
{
    held = handle;
}
DEFINE_MARGO_RPC_HANDLER(hold)

static void release(hg_handle_t handle)
{
    hg_handle_t other = HG_HANDLE_NULL;

    while ((other = atomic_exchange(&held, HG_HANDLE_NULL)) == HG_HANDLE_NULL)
        ABT_thread_yield();
    CHECK_RC(margo_respond(other, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(other), HG_SUCCESS);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(release)

static hg_id_t release_id;

static void enrol(void)
{
    known_id = MARGO_REGISTER(pair.mid, "known", void, void, known);
    held_id = MARGO_REGISTER(pair.mid, "hold", void, void, hold);
    release_id = MARGO_REGISTER(pair.mid, "release", void, void, release);
    refused_id = MARGO_REGISTER(pair.mid, "refused", void, void, NULL);
    if (pair.rank == 1)
        unknown_id = MARGO_REGISTER(pair.mid, "unknown", echo_t, echo_t, NULL);
}

static void nobody_serves(void)
{
    hg_handle_t handle = pair_handle(unknown_id);
    echo_t echo = {1, "text"};

    CHECK_RC(margo_forward(handle, &echo), HG_NOENTRY);
    CHECK_RC(margo_get_output(handle, &echo), HG_NOENTRY);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);

    handle = pair_handle(known_id);
    CHECK_RC(margo_provider_forward(NOBODY, handle, NULL), HG_NOENTRY);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);

    handle = pair_handle(refused_id); /* registered there without a handler */
    CHECK_RC(margo_forward(handle, NULL), HG_NOENTRY);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);

    CHECK(margo_create(pair.mid, pair.other, 12345, &handle) != HG_SUCCESS);
}

static void is_over(void *arg, hg_return_t ret)
{
    (void)arg;
    (void)ret;
    CHECK(!"called although nothing was posted");
}

static void odd_calls(void)
{
    hg_handle_t handle = pair_handle(known_id);
    hg_handle_t none = HG_HANDLE_NULL;
    margo_request req = MARGO_REQUEST_NULL;
    echo_t echo = {1, "text"};

    CHECK_RC(margo_forward(HG_HANDLE_NULL, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_forward_timed(handle, NULL, -1.0), HG_INVALID_ARG);
    CHECK_RC(margo_forward_timed(handle, NULL, NAN), HG_INVALID_ARG);
    CHECK_RC(margo_forward(handle, &echo), HG_NO_MATCH);
    CHECK_RC(margo_iforward(handle, NULL, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_cforward(handle, NULL, NULL, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_cforward_timed(handle, NULL, -5.0, is_over, NULL),
        HG_INVALID_ARG);
    CHECK_RC(margo_respond(handle, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_irespond(handle, NULL, &req), HG_INVALID_ARG);
    CHECK_RC(margo_create(MARGO_INSTANCE_NULL, pair.other, known_id, &none),
        HG_INVALID_ARG);
    CHECK_RC(
        margo_create(pair.mid, HG_ADDR_NULL, known_id, &none), HG_INVALID_ARG);
    CHECK_RC(
        margo_create(pair.mid, pair.other, known_id, NULL), HG_INVALID_ARG);
    CHECK(none == HG_HANDLE_NULL && req == MARGO_REQUEST_NULL);
    CHECK_RC(margo_ref_incr(HG_HANDLE_NULL), HG_INVALID_ARG);
    CHECK(margo_get_info(HG_HANDLE_NULL) == NULL);
    /* None of that has changed anything. */
    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &echo), HG_NO_MATCH);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void odd_requests(void)
{
    size_t index = 0;
    int flag = 0;

    CHECK_RC(margo_wait(MARGO_REQUEST_NULL), HG_INVALID_ARG);
    CHECK(margo_test(MARGO_REQUEST_NULL, &flag) == -1);
    CHECK_RC(margo_wait_any(1, NULL, &index), HG_INVALID_ARG);
    CHECK_RC(margo_wait_any(0, NULL, NULL), HG_INVALID_ARG);
    CHECK_RC(margo_wait_any(0, NULL, &index), HG_SUCCESS);
    CHECK(index == 0);
    CHECK(margo_request_get_handle(MARGO_REQUEST_NULL) == HG_HANDLE_NULL);
    CHECK(margo_request_get_type(MARGO_REQUEST_NULL) == MARGO_INVALID_REQUEST);
    CHECK(
        margo_request_get_instance(MARGO_REQUEST_NULL) == MARGO_INSTANCE_NULL);
    CHECK(margo_hg_handle_get_instance(HG_HANDLE_NULL) == MARGO_INSTANCE_NULL);
    CHECK(margo_hg_handle_get_handler_pool(HG_HANDLE_NULL) == ABT_POOL_NULL);
}

/* A handle whose call waits for its reply is busy, and usable afterwards. */
static void busy_handle(void)
{
    hg_handle_t handle = pair_handle(held_id);
    hg_handle_t other = pair_handle(release_id);
    margo_request req = MARGO_REQUEST_NULL;

    CHECK_RC(margo_iforward(handle, NULL, &req), HG_SUCCESS);
    CHECK_RC(margo_forward(handle, NULL), HG_BUSY);
    CHECK_RC(margo_forward(other, NULL), HG_SUCCESS);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
    CHECK_RC(margo_iforward(handle, NULL, &req), HG_SUCCESS);
    CHECK_RC(margo_forward(other, NULL), HG_SUCCESS);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
    CHECK_RC(margo_destroy(other), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

/* The loop would wait for itself: the call is refused. */
static void calls_in_the_loop(void *arg, hg_return_t ret)
{
    hg_handle_t handle = pair_handle(known_id);
    margo_request req = MARGO_REQUEST_NULL;

    CHECK_RC(ret, HG_SUCCESS);
    CHECK_RC(margo_forward(handle, NULL), HG_OTHER_ERROR);
    CHECK_RC(margo_iforward(handle, NULL, &req), HG_SUCCESS);
    CHECK_RC(margo_wait(req), HG_OTHER_ERROR);
    atomic_store((_Atomic(margo_request) *)arg, req); /* usable as before */
}

static void callback_blocks(void)
{
    hg_handle_t handle = pair_handle(known_id);
    _Atomic(margo_request) begun = MARGO_REQUEST_NULL;
    margo_request req = MARGO_REQUEST_NULL;
    hg_handle_t theirs = HG_HANDLE_NULL;

    CHECK_RC(
        margo_cforward(handle, NULL, calls_in_the_loop, &begun), HG_SUCCESS);
    while ((req = atomic_load(&begun)) == MARGO_REQUEST_NULL)
        ABT_thread_yield();
    theirs = margo_request_get_handle(req);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
    CHECK_RC(margo_destroy(theirs), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void test(void)
{
    odd_requests();
    callback_blocks();
    odd_calls();
    if (pair.rank == 1)
        nobody_serves();
    busy_handle();
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
