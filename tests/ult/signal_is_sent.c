/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGSEGV that somebody sends does what it did before ABT_init(): the handler
 * that names overflows does not swallow it. */
#include "ult.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What waitpid() says of a process that had that action and is sent one. */
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
