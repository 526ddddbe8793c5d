/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine, the software and the ranks that figures were measured with.
 */
#include "jobs/bench/frame/machine.h"

#include <dirent.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { LINE_CAP = 256, PATH_CAP = 300 };

/* The text behind the colon of the first line of a file that begins so. */
static void line_find(const char *path, const char *key, char *ret_text)
{
    FILE *file = fopen(path, "r");
    char line[LINE_CAP];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *text = strchr(line, ':');

        if (text == NULL || strncmp(line, key, strlen(key)) != 0)
            continue;
        text += 1 + strspn(text + 1, " \t");
        snprintf(
            ret_text, MACHINE_TEXT_CAP, "%.*s", (int)strcspn(text, "\n"), text);
        break;
    }
    if (file != NULL)
        fclose(file);
}

static void mpi_read(struct machine *machine)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;

    MPI_Get_library_version(text, &len);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\t')
            *at = ' ';
    snprintf(machine->mpi, sizeof(machine->mpi), "%.*s",
        (int)strcspn(text, "\n"), text);
}

void machine_read(struct machine *ret_machine)
{
    struct utsname names;
    long pages = sysconf(_SC_PHYS_PAGES);

    *ret_machine = (struct machine){
        .cpu = "unknown",
        .cores = sysconf(_SC_NPROCESSORS_ONLN),
        .memory_mib = pages / 1024 * sysconf(_SC_PAGESIZE) / 1024,
        .amalgam = BENCH_VERSION,
        .libfabric = BENCH_LIBFABRIC,
        .hwloc = BENCH_HWLOC,
        .compiler = COMPILER,
        .build = BENCH_BUILD,
    };
    line_find("/proc/cpuinfo", "model name", ret_machine->cpu);
    if (uname(&names) == 0) {
        snprintf(ret_machine->host, MACHINE_TEXT_CAP, "%s", names.nodename);
        snprintf(ret_machine->kernel, MACHINE_TEXT_CAP, "%s %s %s",
            names.sysname, names.release, names.machine);
    }
    mpi_read(ret_machine);
}

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

struct machine_rank *machine_ranks(const struct world *world)
{
    struct machine_rank own;
    struct machine_rank *all = NULL;
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

/* The number of threads of this process that the library has named so. */
static unsigned threads_count(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry = NULL;
    unsigned count = 0;

    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        char path[PATH_CAP];
        char text[MACHINE_NAME_CAP] = "";
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

void machine_progress(char *ret_text, size_t cap)
{
    unsigned handlers = threads_count("amg-handler");

    snprintf(ret_text, cap, "%s",
        threads_count("amg-progress") > 0 ? "thread" : "caller");
    if (handlers > 0)
        snprintf(ret_text + strlen(ret_text), cap - strlen(ret_text),
            ", %u handler threads", handlers);
}
