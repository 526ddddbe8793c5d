/* SPDX-License-Identifier: BSD-3-Clause */
/* This program as a small process of its own, without MPI.
 *
 * Standard input and output are pipes: a helper writes when it is done, and
 * sleeps in read() until the other end is closed, also by the death of the
 * process that started it. */
#include "jobs/bench/frame/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/bench/frame/watch.h"
#include "mercury.h"

enum { WORDS = 5, PROGRESS_MS = 100 };

extern char **environ;

/* Helpers leave the core of the process that started them. */
static void cores_free(void)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (unsigned core = 0; core < CPU_SETSIZE; core++)
        CPU_SET(core, &all);
    sched_setaffinity(0, sizeof(all), &all);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    *(hg_return_t *)info->arg = info->ret;
    return HG_SUCCESS;
}

static hg_return_t call_once(
    hg_class_t *cls, hg_context_t *context, hg_addr_t addr)
{
    hg_id_t id = HG_Register_name(cls, "bench null", NULL, NULL, NULL);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ended = HG_RETURN_MAX; /* no call ends with this */
    hg_return_t ret = HG_Create(context, addr, id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Forward(handle, call_ended, &ended, NULL);
    while (ret == HG_SUCCESS && ended == HG_RETURN_MAX) {
        unsigned count = 0;

        HG_Progress(context, PROGRESS_MS);
        HG_Trigger(context, 0, 1, &count);
    }
    HG_Destroy(handle);
    return ret == HG_SUCCESS ? ended : ret;
}

static int contact_main(const char *info, const char *address)
{
    hg_class_t *cls = HG_Init(info, HG_FALSE);
    hg_context_t *context = cls == NULL ? NULL : HG_Context_create(cls);
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t ret = HG_NOMEM;
    char byte = 0;
    ssize_t len = 0;

    if (context != NULL)
        ret = HG_Addr_lookup2(cls, address, &addr);
    if (ret == HG_SUCCESS)
        ret = call_once(cls, context, addr);
    if (ret != HG_SUCCESS) {
        fprintf(stderr, "amalgam_bench: a helper cannot call %s: %s\n", address,
            HG_Error_to_string(ret));
        return EXIT_FAILURE;
    }
    if (write(STDOUT_FILENO, "r", 1) != 1)
        return EXIT_FAILURE;
    guard_rest();
    /* Until the other end of standard input is closed. */
    while (
        (len = read(STDIN_FILENO, &byte, 1)) > 0 || (len < 0 && errno == EINTR))
        ;
    guard_step("the end of a helper process");
    HG_Addr_free(cls, addr);
    HG_Context_destroy(context);
    return HG_Finalize(cls) == HG_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int measure_main(const char *info)
{
    struct smaps both[2];
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;

    if (!smaps_read(&both[0]))
        return EXIT_FAILURE;
    cls = HG_Init(info, HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL || !smaps_read(&both[1]))
        return EXIT_FAILURE;
    if (write(STDOUT_FILENO, both, sizeof(both)) != sizeof(both))
        return EXIT_FAILURE;
    HG_Context_destroy(context);
    return HG_Finalize(cls) == HG_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}

int helper_main(int argc, char **argv)
{
    if (argc != WORDS) {
        fputs("amalgam_bench: a helper's command line is ours alone\n", stderr);
        return 2;
    }
    cores_free();
    watch_init(-1, (unsigned)strtoul(argv[2], NULL, 10), 0);
    guard_step("a helper process over %s", argv[3]);
    return argv[4][0] == '\0' ? measure_main(argv[3])
                              : contact_main(argv[3], argv[4]);
}

/* One helper with these as its standard input and output. 0 or errno. */
static int helper_spawn(int in, int out, const char *info, const char *address,
    unsigned deadline_s, pid_t *ret_pid)
{
    char deadline[16];
    char program[] = "/proc/self/exe";
    char *words[WORDS + 1] = {program, (char *)HELPER_WORD, deadline,
        (char *)info, (char *)address, NULL};
    posix_spawn_file_actions_t actions;
    int err = posix_spawn_file_actions_init(&actions);

    snprintf(deadline, sizeof(deadline), "%u", deadline_s);
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (err == 0)
        err = posix_spawn(ret_pid, program, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

bool helpers_start(struct helpers *ret_helpers, unsigned count,
    const char *info, const char *address, unsigned deadline_s)
{
    struct helpers helpers = {.pids = calloc(count, sizeof(pid_t))};
    int hold[2] = {-1, -1};
    int news[2] = {-1, -1};
    int err = helpers.pids == NULL ? ENOMEM : 0;

    if (err == 0 &&
        (pipe2(hold, O_CLOEXEC) != 0 || pipe2(news, O_CLOEXEC) != 0))
        err = errno;
    helpers.hold = hold[1];
    helpers.news = news[0];
    for (; err == 0 && helpers.count < count; helpers.count++) {
        err = helper_spawn(hold[0], news[1], info, address, deadline_s,
            &helpers.pids[helpers.count]);
        if (err != 0)
            break;
    }
    close(hold[0]);
    close(news[1]);
    if (err == 0 && fcntl(news[0], F_SETFL, O_NONBLOCK) != 0)
        err = errno;
    *ret_helpers = helpers;
    if (err == 0)
        return true;
    fprintf(stderr, "amalgam_bench: %u of %u helper processes: %s\n",
        helpers.count, count, strerror(err));
    while (!helpers_stop(ret_helpers))
        sched_yield();
    return false;
}

bool helpers_are_ready(struct helpers *helpers, bool *ret_has_failed)
{
    char bytes[64];
    ssize_t len = read(helpers->news, bytes, sizeof(bytes));

    *ret_has_failed = false;
    if (len > 0)
        helpers->ready += (unsigned)len;
    if (helpers->ready >= helpers->count)
        return true;
    /* Their last one has gone, without a word. */
    if (len == 0)
        *ret_has_failed = true;
    for (unsigned i = 0; i < helpers->count; i++)
        if (helpers->pids[i] > 0 &&
            waitpid(helpers->pids[i], NULL, WNOHANG) == helpers->pids[i]) {
            helpers->pids[i] = 0;
            *ret_has_failed = true;
        }
    return false;
}

bool helpers_stop(struct helpers *helpers)
{
    bool is_over = true;

    if (helpers->hold >= 0)
        close(helpers->hold);
    helpers->hold = -1;
    for (unsigned i = 0; i < helpers->count; i++) {
        if (helpers->pids[i] > 0 &&
            waitpid(helpers->pids[i], NULL, WNOHANG) != 0)
            helpers->pids[i] = 0;
        is_over = is_over && helpers->pids[i] == 0;
    }
    if (!is_over)
        return false;
    if (helpers->news >= 0)
        close(helpers->news);
    free(helpers->pids);
    *helpers = (struct helpers){.hold = -1, .news = -1};
    return true;
}

bool helper_measure(const char *info, unsigned deadline_s,
    struct smaps *ret_before, struct smaps *ret_after)
{
    struct smaps both[2];
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out[2] = {-1, -1};
    int status = -1;
    pid_t pid = 0;
    int err = in < 0 || pipe2(out, O_CLOEXEC) != 0 ? errno : 0;
    bool is_whole = false;

    if (err == 0)
        err = helper_spawn(in, out[1], info, "", deadline_s, &pid);
    close(in);
    close(out[1]);
    if (err == 0) {
        /* As it was written: at once, as it is less than a pipe holds. */
        is_whole = read(out[0], both, sizeof(both)) == sizeof(both);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(out[0]);
    if (err != 0 || !is_whole || status != 0) {
        fprintf(stderr, "amalgam_bench: a helper process over %s: %s\n", info,
            err != 0 ? strerror(err) : "failed");
        return false;
    }
    *ret_before = both[0];
    *ret_after = both[1];
    return true;
}
