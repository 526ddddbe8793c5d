/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler that blocks at rank 1, which has called margo_finalize(), is
 * reported once, by rank 0 that waits for its answer: with the call, the
 * handler and the end of the instance; and rank 1 tells in which function the
 * thread of the handler is blocked. The handler ends when it is reported. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "margo_ranks.h"
#include "mercury_log.h"

enum { TAG = 9 };

static struct mranks all;
static ABT_eventual may_end;
static atomic_int reports, ends, finalizes, handlers, threads;

static int log_read(FILE *stream, const char *format, ...)
{
    char text[4096];
    va_list args;

    (void)stream;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fputs(text, stderr);
    reports += strstr(text, "who waits for whom") != NULL;
    finalizes += strstr(text, "waits in margo_finalize()") != NULL;
    handlers += strstr(text, "runs 1 handler, \"block\"") != NULL;
    threads += strstr(text, "(ABT_eventual_wait") != NULL;
    if (strstr(text, "its handlers have not answered") != NULL && ends++ == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    return 0;
}

static void block_ult(hg_handle_t handle)
{
    OK(ABT_eventual_wait(may_end, NULL));
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(block_ult)

static void *word_await(void *arg)
{
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(ABT_eventual_set(may_end, NULL, 0));
    return arg;
}

int main(void)
{
    pthread_t thread;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, NULL);
    OK(ABT_eventual_create(0, &may_end));
    id = MARGO_REGISTER(all.mid, "block", void, void, block_ult);
    mranks_exchange(&all);
    hg_log_set_func(log_read);
    if (all.rank == 1) {
        OK(pthread_create(&thread, NULL, word_await, NULL));
    } else if (all.rank == 0) {
        hg_handle_t handle = HG_HANDLE_NULL;

        OK(margo_create(all.mid, all.addrs[1], id, &handle));
        OK(margo_forward(handle, NULL));
        OK(margo_destroy(handle));
    }
    mranks_close(&all);
    if (all.rank == 1)
        OK(pthread_join(thread, NULL));
    CHECK(reports == (all.rank == 0));
    CHECK(all.rank != 0 || (finalizes == 1 && handlers == 1 && ends == 1));
    CHECK((threads == 1) == (all.rank == 1));
    OK(ABT_eventual_free(&may_end));
    return ranks_stop();
}
