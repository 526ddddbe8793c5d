/* SPDX-License-Identifier: BSD-3-Clause */
/* A call to a group with a long input ends, and so do long calls that the same
 * rank makes behind it, where the target has room for one long input at a time:
 * the input of the group is pulled first, while the others wait in the line of
 * their origin. */
#include "group_calls.h"

enum { CALLS = 4, ROUNDS = 20, LONG_LEN = 70000 };

static struct ranks all;
static hg_id_t id;
static unsigned ran;

static hg_return_t blob_serve(hg_handle_t handle)
{
    struct group_blob in = {0};

    OK(HG_Get_input(handle, &in));
    CHECK(in.is_right && in.len == LONG_LEN);
    ran++;
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

/* The group, and behind it calls to the next rank. */
static void round_run(uint32_t round)
{
    struct ranks_call calls[1 + CALLS];
    struct group_blob in = {LONG_LEN, round, false};
    int next = (all.rank + 1) % all.size;

    group_begin(&all, &calls[0], AMALGAM_GROUP_ALL, id, 0, &in);
    for (int i = 1; i <= CALLS; i++) {
        OK(ranks_begin(&all, &calls[i], next, id, &in));
    }
    for (int i = 0; i <= CALLS; i++) {
        OK(ranks_wait(&calls[i]));
        ranks_end(&calls[i]);
    }
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    id = HG_Register_name(all.cls, "blob", group_blob_code, NULL, blob_serve);
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t round = 0; round < ROUNDS; round++)
        round_run(round);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(ran == ROUNDS * ((unsigned)all.size + CALLS));
    ranks_close(&all);
    return ranks_stop();
}
