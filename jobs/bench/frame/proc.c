/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of /proc: memory, mapped segments, stolen time.
 *
 * A page of a shared mapping exists once some process has touched it. mincore()
 * tells of all such pages of a file in memory, not only of those that this
 * process has in its tables. */
#include "jobs/bench/frame/proc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/bench/frame/clock.h"

enum { LINE_CAP = 4608 };

/* Gives each line of a file to `take`. False: it cannot be read. */
static bool lines_read(
    const char *path, void (*take)(const char *line, void *arg), void *arg)
{
    FILE *file = fopen(path, "r");
    char line[LINE_CAP];

    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL)
        take(line, arg);
    fclose(file);
    return true;
}

static void rollup_take(const char *line, void *arg)
{
    struct smaps *smaps = arg;

    (void)sscanf(line, "Rss: %lf kB", &smaps->rss);
    (void)sscanf(line, "Pss: %lf kB", &smaps->pss);
    (void)sscanf(line, "Anonymous: %lf kB", &smaps->anonymous);
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

static void mapping_take(const char *line, void *arg)
{
    struct smaps *smaps = arg;
    uintptr_t start = 0;
    uintptr_t end = 0;
    char access[8] = "";

    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end, access) !=
            3 ||
        access[1] != 'w' || access[3] != 's')
        return;
    smaps->shared_len += (double)(end - start) / 1024.0;
    smaps->shared_touched += touched_kib(start, end);
}

bool smaps_read(struct smaps *ret_smaps)
{
    *ret_smaps = (struct smaps){.rss = -1.0, .pss = -1.0, .anonymous = -1.0};
    return lines_read("/proc/self/smaps_rollup", rollup_take, ret_smaps) &&
           ret_smaps->rss >= 0.0 && ret_smaps->pss >= 0.0 &&
           ret_smaps->anonymous >= 0.0 &&
           lines_read("/proc/self/maps", mapping_take, ret_smaps);
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

static void peak_take(const char *line, void *arg)
{
    (void)sscanf(line, "VmHWM: %lf kB", (double *)arg);
}

double smaps_peak(void)
{
    double peak = 0.0;

    return lines_read("/proc/self/status", peak_take, &peak) ? peak : 0.0;
}

struct segments {
    long pid;
    unsigned count;
};

static void segment_take(const char *line, void *arg)
{
    struct segments *segments = arg;
    long pid = 0;

    if (sscanf(line, "%*s %*s %*s %*s %*s /dev/shm/amalgam-%*u-%ld-", &pid) ==
            1 &&
        pid == segments->pid)
        segments->count++;
}

unsigned segments_count(long pid)
{
    struct segments segments = {pid, 0};

    (void)lines_read("/proc/self/maps", segment_take, &segments);
    return segments.count;
}

bool steal_parse(const char *line, unsigned long long *ret_ticks)
{
    /* user nice system idle iowait irq softirq, and stolen */
    return sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", ret_ticks) == 1;
}

static void ticks_take(const char *line, void *arg)
{
    (void)steal_parse(line, arg);
}

struct steal steal_now(void)
{
    unsigned long long ticks = 0;

    (void)lines_read("/proc/stat", ticks_take, &ticks);
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
