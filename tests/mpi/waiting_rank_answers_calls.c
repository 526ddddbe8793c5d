/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank answers calls while it waits for MPI by amalgam_test(), amalgam_wait()
 * or amalgam_barrier(), where no thread does: the awaited event happens after
 * its peers were answered. */
#include <pthread.h>
#include <string.h>

#include "ranks.h"

enum { TAG = 3, LEN = 100003, CALLS = 20, WAIT_MS = 30000 };

static struct ranks all;
static hg_id_t nest;   /* tries a barrier where none may begin */
static bool is_inside; /* the first thread is in a barrier */
static pthread_t main_thread;

/* Served by a thread of the library, or inside this rank's barrier, where no
 * other may begin. Returns whether it was one of these. */
static hg_return_t nest_serve(hg_handle_t handle)
{
    bool is_main = pthread_equal(pthread_self(), main_thread);
    int32_t was_tried = !is_main || is_inside;

    HG_Set_log_level("none");
    if (was_tried)
        EXPECT(is_main ? HG_BUSY : HG_OPNOTSUPPORTED, amalgam_barrier(all.cls));
    HG_Set_log_level("warning");
    OK(HG_Respond(handle, NULL, NULL, &was_tried));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

/* Calls until it was tried. */
static void nest_make(int rank)
{
    struct ranks_call call;
    int32_t was_tried = 0;

    while (!was_tried) {
        OK(ranks_begin(&all, &call, rank, nest, NULL));
        OK(ranks_wait(&call));
        OK(HG_Get_output(call.handle, &was_tried));
        OK(HG_Free_output(call.handle, &was_tried));
        ranks_end(&call);
    }
}

/* Calls that only progress of `rank` can answer. */
static void calls_make(int rank)
{
    for (uint64_t i = 0; i < CALLS; i++)
        ranks_echo(&all, rank, i);
    ranks_swap(&all, rank, LEN);
}

/* The calling rank releases the others when all of them have answered. */
static void others_release(void)
{
    for (int rank = 0; rank < all.size; rank++)
        if (rank != all.rank)
            calls_make(rank);
    for (int rank = 0; rank < all.size; rank++)
        if (rank != all.rank)
            MPI_Send(&rank, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD);
}

static void test_until_released(MPI_Request *request, MPI_Status *status)
{
    uint64_t deadline_ns = ranks_now_ns() + WAIT_MS * 1000000ull;
    int flag = 0;

    while (!flag) {
        OK(amalgam_test(all.cls, request, &flag, status));
        CHECK(ranks_now_ns() < deadline_ns);
    }
}

/* Each rank calls, in turn. */
static void requests_test(bool by_test)
{
    for (int caller = 0; caller < all.size; caller++) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;
        int count = -1;
        int got = -1;

        MPI_Barrier(MPI_COMM_WORLD);
        if (caller == all.rank) {
            others_release();
            continue;
        }
        MPI_Irecv(
            &got, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request);
        if (by_test)
            test_until_released(&request, &status);
        else
            OK(amalgam_wait(all.cls, &request, WAIT_MS, &status));
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(request == MPI_REQUEST_NULL && got == all.rank && count == 1);
        CHECK(status.MPI_SOURCE == caller && status.MPI_TAG == TAG);
    }
}

static void barrier_pass(void)
{
    hg_return_t rc = HG_TIMEOUT;

    while (rc == HG_TIMEOUT) {
        is_inside = true;
        rc = amalgam_barrier(all.cls);
        is_inside = false;
    }
    OK(rc);
}

static void barriers_test(void)
{
    for (int caller = 0; caller < all.size; caller++) {
        for (int rank = 0; caller == all.rank && rank < all.size; rank++) {
            if (rank == all.rank)
                continue;
            calls_make(rank);
            nest_make(rank);
        }
        barrier_pass();
    }
    CHECK(atomic_load(&all.echoed) == (unsigned)CALLS * (all.size - 1u));
}

/* All but the last rank time out, with a log line; then that one enters. */
static void missing_test(void)
{
    ranks_echo_t in = {1, all.rank};
    struct ranks_call call;

    if (all.rank == all.size - 1) {
        UNTIL(atomic_load(&all.noted) == (unsigned)all.size - 1u);
    } else {
        HG_Set_log_level("none");
        EXPECT(HG_TIMEOUT, amalgam_barrier(all.cls));
        HG_Set_log_level("warning");
        OK(ranks_begin(&all, &call, all.size - 1, all.note, &in));
        OK(ranks_wait(&call));
        ranks_end(&call);
    }
    barrier_pass();
    barrier_pass();
}

/* One rank closes during a barrier that no other enters. */
static void left_test(void)
{
    FILE *log = ranks_log_catch("warning");

    if (all.rank == 0)
        EXPECT(HG_TIMEOUT, amalgam_barrier(all.cls));
    ranks_close(&all);
    CHECK(ranks_log_has(log, "a barrier timed out here") ==
          (all.rank == 0 && all.size > 1));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    ranks_start(MPI_THREAD_FUNNELED);
    main_thread = pthread_self();
    ranks_open(&all, MPI_COMM_WORLD);
    nest = MERCURY_REGISTER(all.cls, "nest", void, int32_t, nest_serve);
    CHECK(nest != 0);
    ranks_meet(MPI_COMM_WORLD);
    if (strcmp(argv[1], "left") == 0) {
        left_test();
        return ranks_stop();
    }
    if (strcmp(argv[1], "test") == 0)
        requests_test(true);
    else if (strcmp(argv[1], "wait") == 0)
        requests_test(false);
    else if (strcmp(argv[1], "barrier") == 0)
        barriers_test();
    else if (strcmp(argv[1], "missing") == 0)
        missing_test();
    else
        CHECK(!"test, wait, barrier, missing or left");
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
