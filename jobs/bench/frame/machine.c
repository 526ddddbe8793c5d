/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine and the software that figures were measured with.
 *
 * Libfabric tells its version itself once it is loaded. Until then it stays
 * away, since some benchmarks measure memory; what counts then is the version
 * that was built with, as with hwloc, which tells no more than that of its
 * interface. */
#include "jobs/bench/frame/machine.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { BITS = 8, BYTE = 0xff, LINE_CAP = 256 };

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

/* What a function without arguments of a loaded library returns. */
static bool number_ask(
    const char *library, const char *symbol, uint32_t *ret_number)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    void *found = handle == NULL ? NULL : dlsym(handle, symbol);
    uint32_t (*function)(void) = NULL;

    if (found != NULL) {
        memcpy(&function, &found, sizeof(found));
        *ret_number = function();
    }
    if (handle != NULL)
        dlclose(handle);
    return found != NULL;
}

void machine_read_loaded(struct machine *machine)
{
    uint32_t number = 0;

    if (number_ask("libfabric.so.1", "fi_version", &number))
        snprintf(machine->libfabric, sizeof(machine->libfabric), "%u.%u",
            number >> 2 * BITS, number & (BYTE << BITS | BYTE));
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
    machine_read_loaded(ret_machine);
}
