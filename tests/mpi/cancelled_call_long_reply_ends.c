/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of a cancelled call can finish its long reply: it learns that no
 * pull will come, and its callback runs. So it does if the reply is short
 * enough to follow its announcement. */
#include "ranks.h"

enum { TIMES = 20, LONG_LEN = 50000, LONGER_LEN = 100000 };

MERCURY_GEN_PROC(go_t, ((uint32_t)(number)))

static struct ranks all;
static hg_id_t ask_id;
static hg_id_t go_id;
static hg_handle_t kept;
static unsigned answered;
static char bytes[LONGER_LEN];
static hg_size_t reply_len = LONG_LEN;

static hg_return_t hg_proc_long(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_FREE ? HG_SUCCESS
                                           : hg_proc_raw(proc, data, reply_len);
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    CHECK(kept == HG_HANDLE_NULL);
    kept = handle;
    return HG_SUCCESS;
}

static hg_return_t answer_ended(const struct hg_cb_info *info)
{
    OK(info->ret);
    answered++;
    return HG_SUCCESS;
}

/* Replies after its caller has cancelled. */
static hg_return_t go_serve(hg_handle_t handle)
{
    CHECK(kept != HG_HANDLE_NULL);
    OK(HG_Respond(kept, answer_ended, NULL, bytes));
    OK(HG_Destroy(kept));
    kept = HG_HANDLE_NULL;
    OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static void cancel_one(uint32_t number)
{
    go_t in = {number};
    struct ranks_call ask;
    struct ranks_call go;

    OK(ranks_begin(&all, &ask, 1, ask_id, NULL));
    ranks_echo(&all, 1, number); /* arrives after it, so that one is there */
    OK(HG_Cancel(ask.handle));
    EXPECT(HG_CANCELED, ranks_wait(&ask));
    OK(ranks_begin(&all, &go, 1, go_id, &in));
    OK(ranks_wait(&go));
    ranks_end(&go);
    ranks_end(&ask);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ask_id = HG_Register_name(all.cls, "ask", NULL, hg_proc_long, ask_serve);
    go_id = MERCURY_REGISTER(all.cls, "go", go_t, void, go_serve);
    for (unsigned round = 1; round <= 2; round++) {
        ranks_meet(MPI_COMM_WORLD);
        if (all.rank == 0)
            for (uint32_t i = 0; i < TIMES; i++)
                cancel_one(i);
        if (all.rank == 1)
            UNTIL(answered == round * TIMES);
        ranks_meet(MPI_COMM_WORLD);
        reply_len = LONGER_LEN;
    }
    ranks_close(&all);
    return ranks_stop();
}
