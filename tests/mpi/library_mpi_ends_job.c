/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends of a job whose MPI the library initialized; run by a script of the same
 * name: library_mpi_ends_job MODE FIFO
 *
 *   early   rank 1 closes before rank 0 has done its work, which lasts until
 *           rank 1 has logged twice which rank it waits for; it must not leave
 *           before. FIFO is its stderr, which rank 0 reads
 *   die     rank 1 calls exit(3): the job ends at once with that code
 *   late    the same, after all have closed their classes
 *   open    rank 1 returns from main with its class open: calls to it end
 *   gone    the same by all ranks */
#include <fcntl.h>
#include <mercury.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amalgam.h"

#include "../slow.h"

enum {
    SAID_MIN = 2,
    LIMIT_S = 50 * TEST_SLOW,
    TRIGGER_MAX = 16,
    LINE_CAP = 1024
};

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

/* Does not block: the other rank may not have opened it yet. */
static int fifo_open(const char *path, int flags)
{
    int fd = open(path, flags | O_NONBLOCK);

    if (fd < 0)
        fail("cannot open the FIFO");
    return fd;
}

static void stderr_move(const char *path)
{
    int fd = fifo_open(path, O_RDWR);

    if (dup2(fd, STDERR_FILENO) < 0)
        fail("cannot move stderr");
    (void)close(fd);
    fprintf(stderr, "rank %d closes its class\n", rank);
}

/* Works until rank 1 has said twice that it waits. */
static void work(const char *path)
{
    char text[LINE_CAP];
    size_t len = 0;
    int fd = fifo_open(path, O_RDONLY);
    int said = 0;
    ssize_t got = 0;

    for (bool has_begun = false; said < SAID_MIN; turn()) {
        got = read(fd, text + len, 1);
        if (got == 0 && has_begun)
            fail("rank 1 left before rank 0 had done its work");
        if (got <= 0)
            continue;
        has_begun = true;
        if (text[len++] != '\n' && len < LINE_CAP - 1)
            continue;
        text[len] = '\0';
        fputs(text, stderr);
        said += strstr(text, "waiting for them") != NULL;
        len = 0;
    }
}

static hg_return_t note(const struct hg_cb_info *info)
{
    *(int *)info->arg = (int)info->ret;
    return HG_SUCCESS;
}

/* Result of a call to rank 1. */
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
    const char *mode = argc == 3 ? argv[1] : "";
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
    if (strcmp(mode, "open") == 0) {
        int ended = HG_SUCCESS;

        while (ended == HG_SUCCESS)
            ended = call(id);
        if (ended != HG_NOENTRY && ended != HG_HOSTUNREACH)
            fail("a call to a rank that has ended has another code");
    }
    if (strcmp(mode, "early") == 0 && rank == 0)
        work(argv[2]);
    if (strcmp(mode, "early") == 0 && rank == 1)
        stderr_move(argv[2]);
    (void)HG_Context_destroy(context);
    if (HG_Finalize(cls) != HG_SUCCESS)
        fail("cannot close");
    if (rank != 1)
        say("has done its work");
    return rank == 1 && strcmp(mode, "late") == 0 ? 3 : EXIT_SUCCESS;
}
