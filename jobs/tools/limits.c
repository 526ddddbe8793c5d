/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of the processes of a job, beside what their class needs. */
#include "limits.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Of a rank of the node: the descriptor that tells of its death, and its
 * doorbell; src/shm/shm_peer.c keeps at most 256 of each kind. */
enum { FILES_OF_LOCAL = 2, LOCALS_MAX = 256 };

static uint64_t limit_read(int resource)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};

    (void)getrlimit(resource, &limit);
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* Bytes that mlock() and drivers of networks have locked (proc(5)). */
static uint64_t locked_read(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[128];
    uint64_t all = 0;
    uint64_t kib = 0;

    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (sscanf(line, "VmLck: %" SCNu64, &kib) == 1 ||
            sscanf(line, "VmPin: %" SCNu64, &kib) == 1)
            all += kib * 1024;
    if (status != NULL)
        (void)fclose(status);
    return all;
}

static uint64_t files_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t count = 0;

    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        (void)closedir(dir);
    /* Without "." and "..", and the descriptor of the directory. */
    return count < 3 ? 0 : count - 3;
}

void limits_read(struct limits *ret_limits)
{
    *ret_limits = (struct limits){
        .locked = limit_read(RLIMIT_MEMLOCK),
        .locked_now = locked_read(),
        .files = limit_read(RLIMIT_NOFILE),
        .files_open = files_count(),
    };
    ret_limits->is_locking = ret_limits->locked_now > 0;
}

/* Whether the text has `provider`, and `end` behind it. */
static bool text_has(const char *text, const char *provider, const char *end)
{
    size_t len = strlen(provider);

    for (; (text = strstr(text, provider)) != NULL; text += len)
        if (strncmp(text + len, end, strlen(end)) == 0)
            return true;
    return false;
}

bool limits_is_by(const struct limits_ask *ask, const char *provider)
{
    return text_has(ask->reach, provider, " to ") ||
           text_has(ask->address, provider, "://");
}

/* Over TCP, a provider has a connection to each peer. */
static bool is_tcp(const char *provider)
{
    return strstr(provider, "tcp") != NULL ||
           strncmp(provider, "ofi+net", strlen("ofi+net")) == 0 ||
           strcmp(provider, "ofi+sockets") == 0;
}

void limits_need_files(
    struct limits *limits, const struct limits_ask *ask, const char *provider)
{
    uint32_t others = ask->local > 0 ? ask->local - 1 : 0;

    limits->files_need = limits->files_open;
    if (ask->shares_memory)
        limits->files_need +=
            FILES_OF_LOCAL * (others < LOCALS_MAX ? others : LOCALS_MAX);
    if (provider != NULL && is_tcp(provider) && ask->ranks > ask->local)
        limits->files_need += ask->ranks - ask->local;
}

/* Writes a line if /dev/shm has too little room. False: no line. */
static bool shm_advise(const struct limits *limits, char *ret_line)
{
    bool is_short = limits->shm_free < limits->shm_called;

    if (!limits->is_shm_known || limits->shm_free >= limits->shm_most)
        return false;
    snprintf(ret_line, LIMITS_TEXT_CAP,
        "/dev/shm: %" PRIu64 " bytes are free, and the ranks of the node take "
        "%" PRIu64 " more %s. Remove files of ended jobs there, or make it "
        "larger (mount -o remount,size=, docker run --shm-size)",
        limits->shm_free, is_short ? limits->shm_called : limits->shm_most,
        is_short ? "to call each other"
                 : "with long messages and bulk data, which else wait");
    return true;
}

unsigned limits_advise(const struct limits *limits,
    char ret_lines[LIMITS_ADVICE_MAX][LIMITS_TEXT_CAP])
{
    unsigned count = 0;

    if (limits->is_locking && limits->locked != UINT64_MAX)
        snprintf(ret_lines[count++], LIMITS_TEXT_CAP,
            "locked memory: the network locks what it transfers and what a "
            "program exposes, and %" PRIu64 " bytes are the most. ulimit -l "
            "unlimited in the shell that starts the job, or "
            "LimitMEMLOCK=infinity of slurmd",
            limits->locked);
    if (limits->files < limits->files_need)
        snprintf(ret_lines[count++], LIMITS_TEXT_CAP,
            "descriptors: the class needs %" PRIu64 " when all ranks have "
            "called each other, and %" PRIu64
            " are the most. ulimit -n %" PRIu64
            " in the shell that starts the job, or LimitNOFILE of slurmd",
            limits->files_need, limits->files, 2 * limits->files_need);
    if (shm_advise(limits, ret_lines[count]))
        count++;
    return count;
}
