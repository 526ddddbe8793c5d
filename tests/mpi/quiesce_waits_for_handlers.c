/* SPDX-License-Identifier: BSD-3-Clause */
/* A quiescence waits for a handler that has answered and destroyed its handle,
 * for a call that the program keeps, also one that its origin has cancelled,
 * and for a one-way handler: quiesce_waits_for_handlers KIND.
 *
 *   turns    the handler makes progress, and then calls on
 *   thread   it runs in a service thread until another thread has waited in
 *            vain; AMALGAM_PROGRESS=thread
 *   note     the same for a one-way call without a handle
 *   held     the program keeps the call until a wait has timed out
 *   cancel   the same, and the origin cancels the call before */
#include <sched.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "ranks.h"

enum { TURNS = 500, WAIT_MS = 100, LONG_MS = 30000 };

static struct ranks all;
static const char *kind;
static hg_id_t run;
static hg_id_t note;
static atomic_bool has_begun;
static atomic_bool may_end;
static atomic_bool has_ended;
static hg_handle_t held;

static void late_part(void)
{
    struct ranks_call call;

    if (strcmp(kind, "turns") != 0) {
        while (!atomic_load(&may_end))
            sched_yield();
    } else {
        for (int i = 0; i < TURNS; i++)
            ranks_turn();
        OK(ranks_begin(
            &all, &call, all.size - 1, all.note, &(ranks_echo_t){1, all.rank}));
        UNTIL(atomic_load(&call.done) > 0);
        ranks_end(&call);
    }
    atomic_store(&has_ended, true);
}

static hg_return_t run_serve(hg_handle_t handle)
{
    if (strcmp(kind, "held") == 0 || strcmp(kind, "cancel") == 0) {
        held = handle;
        atomic_store(&has_begun, true);
        return HG_SUCCESS;
    }
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    atomic_store(&has_begun, true);
    late_part();
    return HG_SUCCESS;
}

/* Each rank asks after its quiescence: all handlers have ended. */
static hg_return_t ask_serve(hg_handle_t handle)
{
    CHECK(atomic_load(&has_ended));
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void note_serve(
    hg_class_t *cls, int from_rank, const void *arg, size_t len)
{
    (void)cls;
    (void)from_rank;
    (void)arg;
    (void)len;
    atomic_store(&has_begun, true);
    late_part();
}

/* Rank 0 waits until the last rank has left ranks_meet(), in which that rank
 * runs handlers in this thread. */
static void last_await(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    if (all.rank == all.size - 1)
        MPI_Isend(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    if (all.rank == all.size - 1)
        MPI_Request_free(&request);
    if (all.rank != 0)
        return;
    MPI_Irecv(NULL, 0, MPI_BYTE, all.size - 1, 0, MPI_COMM_WORLD, &request);
    while (flag == 0)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

/* At rank 0. */
static void call_last(struct ranks_call *call)
{
    hg_addr_t addr = HG_ADDR_NULL;

    memset(call, 0, sizeof(*call));
    if (strcmp(kind, "note") == 0) {
        OK(amalgam_addr_rank(all.cls, all.size - 1, &addr));
        OK(amalgam_forward_oneway(all.context, addr, note, NULL, 0));
        OK(HG_Addr_free(all.cls, addr));
        return;
    }
    OK(ranks_begin(&all, call, all.size - 1, run, NULL));
}

/* At the last rank, whose handler has begun. */
static void end_let(void)
{
    EXPECT(HG_TIMEOUT, amalgam_quiesce(all.cls, WAIT_MS));
    CHECK(!atomic_load(&has_ended));
    atomic_store(&may_end, true);
    if (held == HG_HANDLE_NULL)
        return;
    OK(HG_Respond(held, NULL, NULL, NULL));
    OK(HG_Destroy(held));
    atomic_store(&has_ended, true);
}

int main(int argc, char **argv)
{
    struct ranks_call call = {0};
    struct ranks_call asked = {0};
    hg_id_t ask = 0;
    bool is_last = false;
    bool is_apart = false;

    kind = argc > 1 ? argv[1] : "turns";
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    is_last = all.rank == all.size - 1;
    is_apart = strcmp(kind, "thread") == 0 || strcmp(kind, "note") == 0;
    run = HG_Register_name(all.cls, "run", NULL, NULL, run_serve);
    ask = HG_Register_name(all.cls, "ask", NULL, NULL, ask_serve);
    note = amalgam_register_oneway(all.cls, "run_note", note_serve);
    ranks_meet(MPI_COMM_WORLD);
    last_await();
    if (all.rank == 0)
        call_last(&call);
    /* Without progress here the service thread runs the handler. */
    while (is_last && is_apart && !atomic_load(&has_begun))
        sched_yield();
    if (strcmp(kind, "cancel") == 0) {
        UNTIL(!is_last || atomic_load(&has_begun));
        ranks_meet(MPI_COMM_WORLD);
        if (all.rank == 0)
            OK(HG_Cancel(call.handle));
        ranks_meet(MPI_COMM_WORLD);
    }
    if (is_last && strcmp(kind, "turns") != 0) {
        UNTIL(atomic_load(&has_begun));
        end_let();
    }
    OK(amalgam_quiesce(all.cls, LONG_MS));
    OK(ranks_begin(&all, &asked, all.size - 1, ask, NULL));
    OK(ranks_wait(&asked));
    ranks_end(&asked);
    if (is_last)
        CHECK(strcmp(kind, "turns") != 0 || atomic_load(&all.noted) == 1);
    if (all.rank == 0 && call.handle != HG_HANDLE_NULL) {
        CHECK(atomic_load(&call.done) == 1);
        EXPECT(
            strcmp(kind, "cancel") == 0 ? HG_CANCELED : HG_SUCCESS, call.ret);
        ranks_end(&call);
    }
    ranks_close(&all);
    return ranks_stop();
}
