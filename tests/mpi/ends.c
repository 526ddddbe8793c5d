/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves how a job ends whose MPI the library started; run by ends.sh.
 *
 *   early   rank 1 is done long before the others: they finish their work
 *   die     rank 1 calls exit(3): the job ends at once with that code
 *   late    the same, after all have closed their classes
 *   open    rank 1 returns from main with its class open: calls to it end
 *   gone    the same by all ranks */
#include <mercury.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "amalgam.h"

enum { WORK_MS = 500, LIMIT_S = 50, TRIGGER_MAX = 16 };

static hg_class_t *cls;
static hg_context_t *context;
static int rank;
static int size;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    _exit(EXIT_FAILURE);
}

static void turn(void)
{
    unsigned count = 0;

    (void)HG_Progress(context, 1);
    (void)HG_Trigger(context, 0, TRIGGER_MAX, &count);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void work(void)
{
    for (double end_ms = now_ms() + WORK_MS; now_ms() < end_ms;)
        turn();
}

static hg_return_t note(const struct hg_cb_info *info)
{
    *(int *)info->arg = (int)info->ret;
    return HG_SUCCESS;
}

/* How a call to rank 1 ends. */
static int call(hg_id_t id)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    int ended = -1;

    if (amalgam_addr_rank(cls, 1, &addr) != HG_SUCCESS ||
        HG_Create(context, addr, id, &handle) != HG_SUCCESS ||
        HG_Forward(handle, note, &ended, NULL) != HG_SUCCESS)
        fail("cannot call");
    while (ended < 0)
        turn();
    (void)HG_Destroy(handle);
    (void)HG_Addr_free(cls, addr);
    return ended;
}

static hg_return_t answer(hg_handle_t handle)
{
    (void)HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static void say(const char *what)
{
    printf("rank %d %s\n", rank, what);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    hg_id_t id = 0;

    alarm(LIMIT_S);
    cls = HG_Init(getenv("AMALGAM_TRANSPORT"), HG_TRUE);
    context = HG_Context_create(cls);
    if (context == NULL || amalgam_class_ranks(cls, &rank, &size) != HG_SUCCESS)
        fail("cannot open");
    id = HG_Register_name(cls, "nothing", NULL, NULL, answer);
    if (rank == 1 && strcmp(mode, "die") == 0)
        exit(3);
    if ((rank == 1 && strcmp(mode, "open") == 0) || strcmp(mode, "gone") == 0) {
        say("leaves its class open");
        return EXIT_SUCCESS;
    }
    while (strcmp(mode, "die") == 0)
        turn();
    while (strcmp(mode, "open") == 0 && call(id) != HG_CANCELED)
        continue;
    if (rank != 1)
        work();
    (void)HG_Context_destroy(context);
    if (HG_Finalize(cls) != HG_SUCCESS)
        fail("cannot close");
    if (rank != 1)
        say("has done its work");
    return rank == 1 && strcmp(mode, "late") == 0 ? 3 : EXIT_SUCCESS;
}
