/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of /proc: memory, mapped segments, stolen time.
 *
 * A page of a shared mapping exists once some process has touched it. mincore()
 * tells of all such pages of a file in memory, not only of those that this
 * process has in its tables. */
#include "jobs/bench/frame/proc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/bench/frame/clock.h"

enum { LINE_CAP = 4608 };

bool proc_scan(const char *path, const char *format, ...)
{
    FILE *file = fopen(path, "r");
    char line[LINE_CAP];
    bool is_found = false;
    va_list args;

    if (file == NULL)
        return false;
    while (!is_found && fgets(line, sizeof(line), file) != NULL) {
        va_start(args, format);
        is_found = vsscanf(line, format, args) == 1;
        va_end(args);
    }
    fclose(file);
    return is_found;
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

bool smaps_read(struct smaps *ret_smaps)
{
    const char *rollup = "/proc/self/smaps_rollup";
    struct smaps smaps = {.rss = 0.0};
    bool is_read = proc_scan(rollup, "Rss: %lf kB", &smaps.rss) &&
                   proc_scan(rollup, "Anonymous: %lf kB", &smaps.anonymous);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[LINE_CAP];

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        uintptr_t start = 0;
        uintptr_t end = 0;
        char access[8] = "";

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end,
                access) != 3 ||
            access[1] != 'w' || access[3] != 's')
            continue;
        smaps.shared_len += (double)(end - start) / 1024.0;
        smaps.shared_touched += touched_kib(start, end);
    }
    *ret_smaps = smaps;
    return maps != NULL && fclose(maps) == 0 && is_read;
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
    double peak = 0.0;

    (void)proc_scan("/proc/self/status", "VmHWM: %lf kB", &peak);
    return peak;
}

unsigned segments_count(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[LINE_CAP];
    unsigned count = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, "/dev/shm/amalgam-") != NULL ||
                 strstr(line, "/dev/shm/#") != NULL;
    if (maps != NULL)
        fclose(maps);
    return count;
}

struct steal steal_now(void)
{
    unsigned long long ticks = 0;

    /* user nice system idle iowait irq softirq, and stolen */
    (void)proc_scan(
        "/proc/stat", "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks);
    return (struct steal){
        clock_now_us(), (double)ticks * 1e6 / (double)sysconf(_SC_CLK_TCK)};
}

double steal_since(const struct steal *before)
{
    struct steal now = steal_now();
    double cores_us =
        (now.at_us - before->at_us) * (double)sysconf(_SC_NPROCESSORS_ONLN);

    return cores_us > 0.0 ? (now.stolen_us - before->stolen_us) / cores_us
                          : 0.0;
}
