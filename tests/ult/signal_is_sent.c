/* SPDX-License-Identifier: BSD-3-Clause */
/* A SIGSEGV that a process sends has the effect it had before ABT_init(): the
 * handler for stack overflows does not swallow it. */
#include "ult.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The waitpid() status of a process with that action that raises one. */
static int status_after(void (*action)(int number))
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, action);
        OK(ABT_init(0, NULL));
        raise(SIGSEGV);
        OK(ABT_finalize());
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

int main(void)
{
    int status = status_after(SIG_DFL);

    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = status_after(SIG_IGN);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
