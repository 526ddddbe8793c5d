/* SPDX-License-Identifier: BSD-3-Clause */
/* What the results tell of each rank. */
#include "jobs/bench/frame/ranks.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CAP = 300, TAG = 12 };

/* The cores that this thread may use, as "0-3,8". */
static void cores_write(char *ret_text, size_t cap)
{
    cpu_set_t set;
    size_t len = 0;

    snprintf(ret_text, cap, "unknown");
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    for (int core = 0; core < CPU_SETSIZE && len < cap; core++) {
        int last = core;

        if (!CPU_ISSET((unsigned)core, &set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((unsigned)last + 1, &set))
            last++;
        len += (size_t)snprintf(ret_text + len, cap - len,
            last > core ? "%s%d-%d" : "%s%d", len == 0 ? "" : ",", core, last);
        core = last;
    }
}

struct results_rank *ranks_gather(const struct world *world)
{
    struct results_rank own;
    struct results_rank *all = NULL;
    int is_room = 1;

    memset(&own, 0, sizeof(own));
    gethostname(own.host, sizeof(own.host) - 1);
    cores_write(own.cores, sizeof(own.cores));
    if (world->rank == 0) {
        all = calloc((size_t)world->size, sizeof(*all));
        is_room = all != NULL;
    }
    MPI_Bcast(&is_room, 1, MPI_INT, 0, world->comm);
    if (is_room)
        MPI_Gather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, 0,
            world->comm);
    return all;
}

/* How many threads of this process the library has called so. */
static unsigned threads_count(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry = NULL;
    unsigned count = 0;

    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        char path[PATH_CAP];
        char text[RESULTS_NAME_CAP] = "";
        FILE *file = NULL;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file == NULL)
            continue;
        if (fgets(text, sizeof(text), file) != NULL &&
            strncmp(text, name, strlen(name)) == 0)
            count++;
        fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

void ranks_see_progress(const struct pair *pair)
{
    char own[RESULTS_NAME_CAP];
    char other[RESULTS_NAME_CAP];
    unsigned handlers = threads_count("amg-handler");

    snprintf(own, sizeof(own), "%s",
        threads_count("amg-progress") > 0 ? "thread" : "caller");
    if (handlers > 0)
        snprintf(own + strlen(own), sizeof(own) - strlen(own),
            ", %u handler threads", handlers);
    if (pair->rank >= 2)
        return;
    if (pair->rank == 1) {
        MPI_Send(own, sizeof(own), MPI_CHAR, 0, TAG, pair->comm);
        return;
    }
    MPI_Recv(
        other, sizeof(other), MPI_CHAR, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
    results_say_progress(0, own);
    results_say_progress(1, other);
}
