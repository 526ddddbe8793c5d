/* SPDX-License-Identifier: BSD-3-Clause */
/* This program as a small process of its own, without MPI.
 *
 * It opens a class, writes what that took to its standard output, a pipe, and
 * ends. */
#include "jobs/bench/frame/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/bench/frame/watch.h"
#include "mercury.h"

enum { WORDS = 4 };

extern char **environ;

int helper_main(int argc, char **argv)
{
    struct smaps both[2];
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;
    cpu_set_t all;

    if (argc != WORDS) {
        fputs("amalgam_bench: a helper's command line is ours alone\n", stderr);
        return 2;
    }
    /* It leaves the core of the process that started it. */
    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    watch_init(-1, (unsigned)strtoul(argv[2], NULL, 10), 0);
    guard_step("a helper process over %s", argv[3]);
    if (!smaps_read(&both[0]))
        return EXIT_FAILURE;
    cls = HG_Init(argv[3], HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL || !smaps_read(&both[1]) ||
        write(STDOUT_FILENO, both, sizeof(both)) != sizeof(both))
        return EXIT_FAILURE;
    HG_Context_destroy(context);
    return HG_Finalize(cls) == HG_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A helper that writes to `out`. 0 or errno. */
static int helper_spawn(
    int out, const char *info, unsigned deadline_s, pid_t *ret_pid)
{
    char deadline[16];
    char program[] = "/proc/self/exe";
    char *words[WORDS + 1] = {
        program, (char *)HELPER_WORD, deadline, (char *)info, NULL};
    posix_spawn_file_actions_t actions;
    int err = posix_spawn_file_actions_init(&actions);

    snprintf(deadline, sizeof(deadline), "%u", deadline_s);
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (err == 0)
        err = posix_spawn(ret_pid, program, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

bool helper_measure(const char *info, unsigned deadline_s,
    struct smaps *ret_before, struct smaps *ret_after)
{
    struct smaps both[2];
    int out[2] = {-1, -1};
    int status = -1;
    pid_t pid = 0;
    int err = pipe2(out, O_CLOEXEC) != 0 ? errno : 0;
    bool is_whole = false;

    if (err == 0)
        err = helper_spawn(out[1], info, deadline_s, &pid);
    close(out[1]);
    if (err == 0) {
        /* As it was written: at once, as it is less than a pipe holds. */
        is_whole = read(out[0], both, sizeof(both)) == sizeof(both);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(out[0]);
    if (!is_whole || status != 0) {
        fprintf(stderr, "amalgam_bench: a helper process over %s: %s\n", info,
            err != 0 ? strerror(err) : "failed");
        return false;
    }
    *ret_before = both[0];
    *ret_after = both[1];
    return true;
}
