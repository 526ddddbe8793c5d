/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler that overflows its stack ends the process by SIGSEGV, after a log
 * line; no other memory is overwritten. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"

enum { TEXT_CAP = 8192, DEPTH = 1 << 30 };

/* Recursion that is no tail call: each level has bytes of its own. */
static unsigned deeper(unsigned level)
{
    volatile char bytes[512];

    memset((char *)bytes, (int)level, sizeof(bytes));
    return level == 0 ? 0 : deeper(level - 1) + (unsigned)bytes[level % 512];
}

static void greedy(hg_handle_t handle)
{
    printf("%u\n", deeper(DEPTH));
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(greedy)

/* The child: its standard error output goes to `fd`. */
static void overflow(int fd)
{
    hg_id_t id = 0;

    CHECK(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
    alone_open("{\"argobots\":{\"abt_thread_stacksize\":65536}}", NULL);
    id = MARGO_REGISTER(pair.mid, "greedy", void, void, greedy);
    alone_call(id);
    _exit(0);
}

int main(void)
{
    char text[TEXT_CAP];
    size_t len = 0;
    ssize_t got = 0;
    int ends[2];
    int status = 0;
    pid_t child = -1;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 77; /* sanitizers have their own report */
#endif
    CHECK(pipe(ends) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        overflow(ends[1]);
    close(ends[1]);
    while (len < sizeof(text) - 1 &&
           (got = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    CHECK(waitpid(child, &status, 0) == child);
    fputs(text, stderr);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
    CHECK(strstr(text, "stack") != NULL);
    CHECK(strstr(text, "65536") != NULL);
    return 0;
}
