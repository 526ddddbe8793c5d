/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this process has, as the kernel counts it.
 *
 * A page of a shared mapping exists once some process has touched it. mincore()
 * tells of all such pages of a file in memory, not only of those that this
 * process has in its tables. */
#include "jobs/bench/base/smaps.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE_CAP = 4608 };

static bool rollup_read(struct smaps *smaps)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[LINE_CAP];
    unsigned found = 0;

    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "Rss: %lf kB", &smaps->rss) == 1)
            found |= 1;
        if (sscanf(line, "Pss: %lf kB", &smaps->pss) == 1)
            found |= 2;
        if (sscanf(line, "Anonymous: %lf kB", &smaps->anonymous) == 1)
            found |= 4;
    }
    fclose(file);
    return found == 7;
}

/* KiB of the pages that exist in [start, end). */
static double touched_kib(uintptr_t start, uintptr_t end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t count = (end - start) / page;
    unsigned char *is_there = malloc(count);
    size_t touched = 0;

    if (is_there == NULL)
        return 0.0;
    if (mincore((void *)start, end - start, is_there) == 0)
        for (size_t i = 0; i < count; i++)
            touched += is_there[i] & 1u;
    free(is_there);
    return (double)touched * (double)page / 1024.0;
}

static bool shared_read(struct smaps *smaps)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[LINE_CAP];

    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL) {
        uintptr_t start = 0;
        uintptr_t end = 0;
        char access[8] = "";

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end,
                access) != 3 ||
            access[1] != 'w' || access[3] != 's')
            continue;
        smaps->shared_len += (double)(end - start) / 1024.0;
        smaps->shared_touched += touched_kib(start, end);
    }
    fclose(file);
    return true;
}

bool smaps_read(struct smaps *ret_smaps)
{
    *ret_smaps = (struct smaps){0};
    return rollup_read(ret_smaps) && shared_read(ret_smaps);
}

bool smaps_peak_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool is_done = false;

    if (file == NULL)
        return false;
    is_done = fputs("5", file) >= 0; /* proc(5): resets the high water mark */
    return fclose(file) == 0 && is_done;
}

double smaps_peak(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[LINE_CAP];
    double peak = 0.0;

    if (file == NULL)
        return 0.0;
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmHWM: %lf kB", &peak) == 1)
            break;
    fclose(file);
    return peak;
}
