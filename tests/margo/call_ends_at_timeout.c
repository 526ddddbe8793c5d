/* SPDX-License-Identifier: BSD-3-Clause */
/* A call with a timeout ends at it, in all forms; a later reply is dropped; and
 * the next call succeeds. */
#include "pair.h"

enum { SHORT_MS = 20 };

static hg_id_t hold_id;
static hg_id_t release_id;
static hg_id_t null_id;

/* Requests wait at a gate, and are answered when it opens. */
static ABT_mutex_memory gate_mutex = ABT_MUTEX_INITIALIZER;
static ABT_cond_memory gate_cond = ABT_COND_INITIALIZER;
static bool gate_is_open;
static unsigned held_count;

static void gate_set(bool is_open)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
    gate_is_open = is_open;
    ABT_cond_broadcast(ABT_COND_MEMORY_GET_HANDLE(&gate_cond));
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
}

/* Waits until all held requests have been answered. */
static void gate_drain(void)
{
    bool is_empty = false;

    while (!is_empty) {
        ABT_thread_yield();
        ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
        is_empty = held_count == 0;
        ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
    }
}

static void hold(hg_handle_t handle)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
    held_count++;
    while (!gate_is_open)
        ABT_cond_wait(ABT_COND_MEMORY_GET_HANDLE(&gate_cond),
            ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
    held_count--;
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&gate_mutex));
}
DEFINE_MARGO_RPC_HANDLER(hold)

static void release(hg_handle_t handle)
{
    gate_set(true);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(release)

static void null(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(null)

static void enrol(void)
{
    hold_id = MARGO_REGISTER(pair.mid, "hold", void, void, hold);
    release_id = MARGO_REGISTER(pair.mid, "release", void, void, release);
    null_id = MARGO_REGISTER(pair.mid, "null", void, void, null);
}

static void call(hg_id_t id)
{
    hg_handle_t handle = pair_handle(id);

    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void is_late(void *arg, hg_return_t ret)
{
    CHECK_RC(ret, HG_TIMEOUT);
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
}

/* The three forms, on one handle. */
static void forms_late(hg_handle_t handle)
{
    margo_request req = MARGO_REQUEST_NULL;
    ABT_eventual over = ABT_EVENTUAL_NULL;
    double before = ABT_get_wtime();

    CHECK_RC(margo_forward_timed(handle, NULL, SHORT_MS), HG_TIMEOUT);
    CHECK(ABT_get_wtime() - before >= SHORT_MS / 1000.0);
    CHECK_RC(margo_get_output(handle, NULL), HG_TIMEOUT);
    CHECK_RC(margo_iforward_timed(handle, NULL, SHORT_MS, &req), HG_SUCCESS);
    CHECK_RC(margo_wait(req), HG_TIMEOUT);
    CHECK(ABT_eventual_create(0, &over) == ABT_SUCCESS);
    CHECK_RC(margo_cforward_timed(handle, NULL, SHORT_MS, is_late, &over),
        HG_SUCCESS);
    CHECK(ABT_eventual_wait(over, NULL) == ABT_SUCCESS);
    CHECK(ABT_eventual_free(&over) == ABT_SUCCESS);
    /* So short that it may expire before the call starts. */
    CHECK_RC(margo_forward_timed(handle, NULL, 0.000001), HG_TIMEOUT);
}

static void other_is_late(void)
{
    hg_handle_t handle = pair_handle(hold_id);
    margo_request req = MARGO_REQUEST_NULL;

    forms_late(handle);
    call(release_id); /* now the replies are sent */
    call(null_id);
    CHECK_RC(margo_iforward(handle, NULL, &req), HG_SUCCESS);
    call(release_id);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

/* A call to self cannot be cancelled: the handle is busy until the reply
 * arrives, and usable afterwards. */
static void self_is_late(void)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_handle_t gone = HG_HANDLE_NULL;
    hg_return_t rc = HG_SUCCESS;

    CHECK_RC(margo_create(pair.mid, pair.self, hold_id, &handle), HG_SUCCESS);
    CHECK_RC(margo_forward_timed(handle, NULL, SHORT_MS), HG_TIMEOUT);
    CHECK_RC(margo_forward_timed(handle, NULL, SHORT_MS), HG_BUSY);
    /* Destroyed before its reply. */
    CHECK_RC(margo_create(pair.mid, pair.self, hold_id, &gone), HG_SUCCESS);
    CHECK_RC(margo_forward_timed(gone, NULL, SHORT_MS), HG_TIMEOUT);
    CHECK_RC(margo_destroy(gone), HG_SUCCESS);
    gate_set(true);
    while ((rc = margo_forward(handle, NULL)) == HG_BUSY)
        ABT_thread_yield();
    CHECK_RC(rc, HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void test(void)
{
    if (pair.rank == 1)
        other_is_late();
    pair_barrier();
    if (pair.rank == 1)
        self_is_late();
    pair_barrier();
    gate_drain();
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
