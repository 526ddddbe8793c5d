/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to a killed rank end once by HG_Cancel(), and so do long replies to it,
 * with short and long arguments and replies; MPI reports no death. Short
 * replies have left. Run by apart.sh; the last rank dies. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "mercury_proc.h"
#include "ranks.h"

enum { SHORT = 10, LONG = 100000, PAIRS = 4, TURNS = 10000 };

typedef struct {
    uint64_t len;
    uint64_t answer_len;
} blob_t;

static struct ranks all;
static hg_id_t blob;
static struct ranks_call asked[PAIRS]; /* by this rank */
static struct ranks_call held[PAIRS];  /* of the other rank */
static unsigned held_count;

static hg_return_t hg_proc_blob(hg_proc_t proc, void *data)
{
    static char bytes[LONG];
    blob_t *in = data;
    hg_return_t rc = hg_proc_uint64_t(proc, &in->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &in->answer_len);
    if (rc != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE)
        return rc;
    return in->len > LONG ? HG_OVERFLOW : hg_proc_raw(proc, bytes, in->len);
}

static hg_return_t hold(hg_handle_t handle)
{
    CHECK(held_count < PAIRS);
    held[held_count++].handle = handle;
    return HG_SUCCESS;
}

/* Answers all; returns the number of long replies. */
static unsigned answer(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < PAIRS; i++) {
        blob_t in;
        blob_t out = {0, 0};

        OK(HG_Get_input(held[i].handle, &in));
        out.len = in.answer_len;
        OK(HG_Free_input(held[i].handle, &in));
        OK(HG_Respond(held[i].handle, ranks_done, &held[i], &out));
        count += out.len == LONG;
    }
    return count;
}

static unsigned done_count(const struct ranks_call calls[PAIRS])
{
    unsigned count = 0;

    for (unsigned i = 0; i < PAIRS; i++) {
        CHECK(calls[i].done <= 1);
        count += calls[i].done;
    }
    return count;
}

static void turn_often(void)
{
    for (int i = 0; i < TURNS; i++)
        ranks_turn();
}

/* Runs after the other rank is dead. */
static void outlive(void)
{
    unsigned count = answer();

    UNTIL(done_count(held) == PAIRS - count);
    turn_often();
    CHECK(done_count(held) == PAIRS - count && done_count(asked) == 0);
    for (unsigned i = 0; i < PAIRS; i++) {
        bool was_done = held[i].done == 1;

        OK(HG_Cancel(held[i].handle));
        OK(HG_Cancel(asked[i].handle));
        UNTIL(held[i].done == 1 && asked[i].done == 1);
        EXPECT(was_done ? HG_SUCCESS : HG_CANCELED, held[i].ret);
        EXPECT(HG_CANCELED, asked[i].ret);
    }
    turn_often();
    CHECK(done_count(held) == PAIRS && done_count(asked) == PAIRS);
    for (unsigned i = 0; i < PAIRS; i++) {
        OK(HG_Destroy(held[i].handle));
        ranks_end(&asked[i]);
    }
}

int main(void)
{
    int dead = 1;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    blob = HG_Register_name(all.cls, "blob", hg_proc_blob, hg_proc_blob, hold);
    ranks_meet(MPI_COMM_WORLD);
    for (unsigned i = 0; i < PAIRS; i++) {
        blob_t in = {i % 2 == 0 ? SHORT : LONG, i / 2 == 0 ? SHORT : LONG};

        OK(ranks_begin(&all, &asked[i], !all.rank, blob, &in));
    }
    UNTIL(held_count == PAIRS);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == dead)
        raise(SIGKILL);
    outlive();
    HG_Set_log_level("none"); /* warnings that name the dead rank are right */
    ranks_leave(&all);
    EXPECT(HG_TIMEOUT, amalgam_finalize(all.cls));
    ranks_survived(dead);
}
