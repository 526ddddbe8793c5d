/* SPDX-License-Identifier: BSD-3-Clause */
/* A burst of calls takes two messages each way, as the counters tell, and is
 * served in order, also one-way calls; a call at a time is never packed. With
 * "off" nothing is. */
#include <string.h>

#include "ranks.h"

enum { BURST = 24, SINGLES = 10 };

static struct ranks all;
static hg_id_t count_id;  /* one-way */
static uint64_t expected; /* the next value of a one-way call */
static bool is_off;

static hg_return_t count(hg_handle_t handle)
{
    ranks_echo_t in;

    OK(HG_Get_input(handle, &in));
    CHECK(in.value == expected++);
    OK(HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static struct hg_diag_counters look(void)
{
    struct hg_diag_counters counters;

    OK(HG_Class_get_counters(all.cls, &counters));
    return counters;
}

static void burst(hg_id_t id)
{
    static struct ranks_call calls[BURST];
    struct hg_diag_counters before = look();
    struct hg_diag_counters after;

    memset(calls, 0, sizeof(calls));
    for (uint64_t i = 0; i < BURST; i++) {
        ranks_echo_t in = {i, all.rank};

        OK(ranks_begin(&all, &calls[i], 0, id, &in));
    }
    for (int i = 0; i < BURST; i++)
        OK(ranks_wait(&calls[i]));
    for (int i = 0; i < BURST; i++)
        ranks_end(&calls[i]);
    after = look();
    CHECK(after.rpc_req_sent_count - before.rpc_req_sent_count == BURST);
    CHECK(after.packed_msg_count - before.packed_msg_count == (is_off ? 0 : 1));
    CHECK(after.packed_call_count - before.packed_call_count ==
          (is_off ? 0 : BURST - 1));
}

static void origin(void)
{
    struct hg_diag_counters before;

    for (int i = 0; i < SINGLES; i++)
        ranks_echo(&all, 0, 1);
    before = look();
    CHECK(before.packed_msg_count == 0 && before.packed_call_count == 0);
    burst(all.echo);
    ranks_turn(); /* so that nothing is under way */
    burst(count_id);
}

/* The replies to the calls of one message leave together, but for the first of
 * a poll. */
static void target_check(void)
{
    struct hg_diag_counters counters;

    UNTIL(expected == BURST); /* the last ones may be on their way */
    counters = look();
    CHECK(counters.packed_msg_count <= counters.packed_call_count / 2);
    CHECK((counters.packed_call_count > BURST / 2) == !is_off);
}

int main(int argc, char **argv)
{
    is_off = argc > 1 && strcmp(argv[1], "off") == 0;
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    count_id = MERCURY_REGISTER(all.cls, "count", ranks_echo_t, void, count);
    OK(HG_Registered_disable_response(all.cls, count_id, HG_TRUE));
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 1)
        origin();
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0)
        target_check();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
