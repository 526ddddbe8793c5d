/* SPDX-License-Identifier: BSD-3-Clause */
/* A child that a rank forks is no rank: however it ends, and whatever it does
 * with the class it inherits, the job goes on. forked_child_spares_job
 * program|library DOES: the program has started MPI, or the library; DOES is
 * what the child does
 *
 *   exit CODE   exit(CODE)
 *   exec        starts another program
 *   close       destroys the context and finalizes the class
 *   finalize    the same by amalgam_finalize()
 *   call        calls the other ranks, which is refused
 *   own         opens a class of its own over na+sm, and calls itself
 *   again       asks for a class between ranks, which is refused */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

#include "../slow.h"

enum { CHILD_LIMIT_S = 20 * TEST_SLOW, CHILD_CODE = 5 };

/* Ends the child, if what it needs does not hold. */
static void child_need(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "child: %s\n", what);
    _exit(EXIT_FAILURE);
}

#define NEED(expr) child_need((expr), #expr)

static void child_close(struct ranks *all)
{
    NEED(HG_Context_destroy(all->context) == HG_SUCCESS);
    NEED(HG_Finalize(all->cls) == HG_SUCCESS);
}

/* All of these are refused at once. */
static void child_call(struct ranks *all, hg_handle_t made, hg_addr_t addr)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned count = 0;
    char bytes[8] = "";
    void *place = bytes;
    hg_size_t len = sizeof(bytes);
    hg_bulk_t bulk = HG_BULK_NULL;

    NEED(HG_Forward(made, NULL, NULL, NULL) == HG_OPNOTSUPPORTED);
    NEED(
        HG_Create(all->context, addr, all->echo, &handle) == HG_OPNOTSUPPORTED);
    NEED(HG_Progress(all->context, 1000) == HG_OPNOTSUPPORTED);
    NEED(HG_Trigger(all->context, 1000, 1, &count) == HG_OPNOTSUPPORTED);
    NEED(HG_Bulk_create(all->cls, 1, &place, &len, HG_BULK_READWRITE, &bulk) ==
         HG_OPNOTSUPPORTED);
    NEED(amalgam_barrier(all->cls) == HG_OPNOTSUPPORTED);
    NEED(amalgam_forward_oneway(all->context, addr, all->note, NULL, 0) ==
         HG_OPNOTSUPPORTED);
    NEED(HG_Destroy(made) == HG_SUCCESS);
    NEED(HG_Addr_free(all->cls, addr) == HG_SUCCESS);
}

static hg_return_t answer(hg_handle_t handle)
{
    NEED(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void child_own(void)
{
    struct ranks own = {.cls = HG_Init("na+sm", HG_TRUE)};
    struct ranks_call call = {.ret = HG_OTHER_ERROR};
    hg_addr_t self = HG_ADDR_NULL;
    hg_id_t id = 0;
    unsigned count = 0;

    NEED(own.cls != NULL);
    own.context = HG_Context_create(own.cls);
    NEED(own.context != NULL);
    id = HG_Register_name(own.cls, "own", NULL, NULL, answer);
    NEED(HG_Addr_self(own.cls, &self) == HG_SUCCESS);
    NEED(HG_Create(own.context, self, id, &call.handle) == HG_SUCCESS);
    NEED(HG_Forward(call.handle, ranks_done, &call, NULL) == HG_SUCCESS);
    while (atomic_load(&call.done) == 0) {
        (void)HG_Progress(own.context, 10);
        (void)HG_Trigger(own.context, 0, 1, &count);
    }
    NEED(call.ret == HG_SUCCESS);
    NEED(HG_Destroy(call.handle) == HG_SUCCESS);
    NEED(HG_Addr_free(own.cls, self) == HG_SUCCESS);
    NEED(HG_Context_destroy(own.context) == HG_SUCCESS);
    NEED(HG_Finalize(own.cls) == HG_SUCCESS);
}

static void child_run(
    struct ranks *all, const char *does, hg_handle_t made, hg_addr_t addr)
{
    alarm(CHILD_LIMIT_S);
    if (strcmp(does, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    if (strcmp(does, "close") == 0)
        child_close(all);
    if (strcmp(does, "finalize") == 0)
        NEED(amalgam_finalize(all->cls) == HG_SUCCESS);
    if (strcmp(does, "call") == 0)
        child_call(all, made, addr);
    if (strcmp(does, "own") == 0)
        child_own();
    if (strcmp(does, "again") == 0)
        NEED(HG_Init("mpi+p2p", HG_TRUE) == NULL);
}

/* Waits for the child, serves meanwhile, and returns its code. */
static int child_wait(pid_t child)
{
    int status = 0;
    pid_t ended = 0;

    UNTIL((ended = waitpid(child, &status, WNOHANG)) != 0);
    CHECK(ended == child);
    if (!WIFEXITED(status))
        fprintf(stderr, "the child ends by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    struct ranks all;
    bool is_library = argc > 2 && strcmp(argv[1], "library") == 0;
    int code = argc > 3 ? atoi(argv[3]) : CHILD_CODE;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t made = HG_HANDLE_NULL;
    pid_t child = 0;

    CHECK(argc > 2);
    ranks_limit(55);
    if (is_library) {
        ranks_adopt(&all, HG_Init(getenv("AMALGAM_TRANSPORT"), HG_TRUE));
    } else {
        ranks_start(MPI_THREAD_MULTIPLE);
        ranks_open(&all, MPI_COMM_WORLD);
    }
    ranks_exchange(&all);
    OK(amalgam_addr_rank(all.cls, (all.rank + 1) % all.size, &addr));
    OK(HG_Create(all.context, addr, all.echo, &made));
    OK(amalgam_barrier(all.cls));
    child = fork();
    if (child == 0) {
        child_run(&all, argv[2], made, addr);
        exit(code);
    }
    CHECK(child_wait(child) == code);
    ranks_meet(MPI_COMM_WORLD);
    ranks_exchange(&all);
    OK(HG_Destroy(made));
    OK(HG_Addr_free(all.cls, addr));
    ranks_leave(&all);
    OK(amalgam_finalize(all.cls));
    return is_library ? EXIT_SUCCESS : ranks_stop();
}
