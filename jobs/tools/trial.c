/* SPDX-License-Identifier: BSD-3-Clause */
/* Trial of an init string in a child process, which may crash or hang. */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 30000, /* for one trial: MPI and some providers start slowly */
    TEXT_CAP = 8192,
    MS_PER_S = 1000,
    NS_PER_MS = 1000000
};

/* The output of a trial. */
struct said {
    char text[TEXT_CAP];
    size_t len;
};

static long long now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/* Reads more output, and keeps the last part of it. False: the end was reached.
 */
static bool said_read(struct said *said, int fd)
{
    ssize_t len = 0;

    if (said->len > TEXT_CAP / 2) {
        memmove(
            said->text, said->text + said->len / 2, said->len - said->len / 2);
        said->len -= said->len / 2;
    }
    len = read(fd, said->text + said->len, TEXT_CAP - 1 - said->len);
    if (len > 0)
        said->len += (size_t)len;
    return len > 0 || (len < 0 && errno == EINTR);
}

/* Copies the last line that is not empty; false: there is none. */
static bool said_last(struct said *said, char *ret_words, size_t cap)
{
    char *line = NULL;

    while (said->len > 0 && strchr("\r\n ", said->text[said->len - 1]) != NULL)
        said->len--;
    said->text[said->len] = '\0';
    line = strrchr(said->text, '\n');
    (void)snprintf(ret_words, cap, "%s", line == NULL ? said->text : line + 1);
    return said->len > 0;
}

/* Copies the first line with an error, which names the cause, or else the last
 * line. */
static bool said_cause(struct said *said, char *ret_words, size_t cap)
{
    static const char mark[] = "error: ";
    static const char outlet[] = "cls: "; /* that lines of the library have */
    char *start = NULL;

    said->text[said->len] = '\0';
    start = strstr(said->text, mark);
    if (start == NULL)
        return said_last(said, ret_words, cap);
    start += strlen(mark);
    if (strncmp(start, outlet, strlen(outlet)) == 0)
        start += strlen(outlet);
    (void)snprintf(ret_words, cap, "%.*s", (int)strcspn(start, "\r\n"), start);
    return true;
}

/* Called in the child; never returns. */
static void child_run(const char *name, int out, int err)
{
    int nothing = open("/dev/null", O_RDONLY);

    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)setenv("HG_LOG_LEVEL", "error", 0);
    (void)setenv("MARGO_LOG_LEVEL", "error", 0);
    (void)execl("/proc/self/exe", "margo-info", TRIAL_WORD, name, (char *)NULL);
    fprintf(stderr, "cannot start a child process: %s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

/* Reads until both pipes are closed. False: that took too long. */
static bool child_listen(struct said said[2], const int fds[2])
{
    struct pollfd polls[2] = {
        {.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
    long long deadline = now_ms() + TIMEOUT_MS;

    while (polls[0].fd >= 0 || polls[1].fd >= 0) {
        long long left = deadline - now_ms();

        if (left <= 0)
            return false;
        if (poll(polls, 2, (int)left) < 0 && errno != EINTR)
            return false;
        for (unsigned i = 0; i < 2; i++)
            if (polls[i].fd >= 0 && polls[i].revents != 0 &&
                !said_read(&said[i], polls[i].fd))
                polls[i].fd = -1;
    }
    return true;
}

/* The result of the child: its last line if it succeeded, else the reason. */
static bool child_judge(
    struct said said[2], int status, char *ret_words, size_t cap)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS &&
        said_last(&said[0], ret_words, cap))
        return true;
    if (WIFSIGNALED(status))
        (void)snprintf(ret_words, cap, "killed by signal %d (%s)",
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!said_cause(&said[1], ret_words, cap))
        (void)snprintf(ret_words, cap, "exit code %d", WEXITSTATUS(status));
    return false;
}

bool trial_run(const char *name, char *ret_words, size_t cap)
{
    static struct said said[2];
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int status = 0;
    bool is_over = false;
    pid_t child = -1;

    memset(said, 0, sizeof(said));
    (void)snprintf(ret_words, cap, "no memory for a process");
    if (pipe(out) != 0)
        return false;
    if (pipe(err) == 0)
        child = fork();
    if (child == 0)
        child_run(name, out[1], err[1]);
    (void)close(out[1]);
    (void)close(err[1]);
    if (child > 0) {
        int fds[2] = {out[0], err[0]};

        is_over = child_listen(said, fds);
        if (!is_over)
            (void)kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    (void)close(out[0]);
    (void)close(err[0]);
    if (child > 0 && !is_over)
        (void)snprintf(
            ret_words, cap, "not open after %d s", TIMEOUT_MS / MS_PER_S);
    return child > 0 && is_over && child_judge(said, status, ret_words, cap);
}
