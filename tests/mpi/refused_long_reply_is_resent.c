/* SPDX-License-Identifier: BSD-3-Clause */
/* A long reply that a thread was refused can be sent again by one that may call
 * MPI, and the first attempt leaves no memory exposed. */
#include <pthread.h>

#include "ranks.h"

enum { LONG_LEN = 50000 };

static struct ranks all;
static hg_id_t ask_id;
static char bytes[LONG_LEN];
static hg_return_t refused;
static unsigned answered;

static hg_return_t hg_proc_long(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_FREE ? HG_SUCCESS
                                           : hg_proc_raw(proc, data, LONG_LEN);
}

static void *respond(void *arg)
{
    refused = HG_Respond(arg, NULL, NULL, bytes);
    return NULL;
}

static hg_return_t answer_ended(const struct hg_cb_info *info)
{
    OK(info->ret);
    answered++;
    return HG_SUCCESS;
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, respond, handle) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    EXPECT(HG_OPNOTSUPPORTED, refused);
    OK(HG_Respond(handle, answer_ended, NULL, bytes));
    return HG_Destroy(handle);
}

int main(void)
{
    struct ranks_call call;

    ranks_start(MPI_THREAD_SINGLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ask_id = HG_Register_name(all.cls, "ask", NULL, hg_proc_long, ask_serve);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0) {
        OK(ranks_begin(&all, &call, 1, ask_id, NULL));
        OK(ranks_wait(&call));
        ranks_end(&call);
    }
    if (all.rank == 1)
        UNTIL(answered == 1);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
