/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand while a rank tortures the library. */
#include "faults.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault/inject/inject.h"

enum { TRIES = 10, LINE_CAP = 1024 };

static struct {
    void (*arm_often)(uint64_t one_in, uint64_t seed);
    void (*arm)(enum inject_call call, uint64_t n);
    uint64_t (*live)(void);
} inject;

static atomic_long lines; /* of losses in the log, in a round */
static atomic_long kept;
static uint64_t live; /* blocks of the library before a class opened */
static unsigned rounds;

/* Lines that come without a fault, too; they are not written. */
static const char *const expected[] = {
    "receives no more", "refused a ", "registered", "destroyed without", NULL};
/* Lines that tell of calls that are lost. */
static const char *const losses[] = {
    "lost", "dropped", "refused", "is not reached", "could not be sent", NULL};

static bool has_any(const char *line, const char *const *words)
{
    while (*words != NULL && strstr(line, *words) == NULL)
        words++;
    return *words != NULL;
}

static int line_take(FILE *stream, const char *format, ...)
{
    char line[LINE_CAP];
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (has_any(line, expected))
        return len;
    if (has_any(line, losses))
        atomic_fetch_add(&lines, 1);
    if (strstr(line, "it keeps the reply") != NULL)
        atomic_fetch_add(&kept, 1);
    fputs(line, stderr);
    return len;
}

static bool function_find(const char *name, void *ret_function)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    memcpy(ret_function, &found, sizeof(found));
    return found != NULL;
}

bool faults_start(void)
{
    if (!function_find("inject_arm_often", &inject.arm_often) ||
        !function_find("inject_arm", &inject.arm) ||
        !function_find("inject_live", &inject.live)) {
        fputs("torture: --faults needs libamalgam_inject in LD_PRELOAD\n",
            stderr);
        return false;
    }
    HG_Set_log_level("warning");
    HG_Set_log_func(line_take);
    return true;
}

long faults_kept(void)
{
    return atomic_load(&kept);
}

void faults_open(void)
{
    atomic_store(&lines, 0);
    atomic_store(&kept, 0);
    if (inject.live != NULL)
        live = inject.live();
}

void faults_arm(const struct world *world)
{
    if (world->options.faults > 0)
        inject.arm_often(world->options.faults, world->plan.hash + world->rank);
}

void faults_disarm(void)
{
    if (inject.arm != NULL)
        inject.arm(INJECT_ALLOC, 0);
}

/* The first round makes what a process makes once. */
void faults_closed(struct world *world)
{
    uint64_t left = inject.live == NULL ? 0 : inject.live();

    if (rounds++ > 0 && left > live)
        book_finding(
            world->book, "%" PRIu64 " blocks of memory are left", left - live);
}

void faults_compare(struct world *world)
{
    long sums[] = {(long)book_vanished(world->book), atomic_load(&lines)};

    exchange_sum(world->exchange, sums, 2);
    if (world->rank == 0 && sums[0] > 0 && sums[1] == 0)
        book_finding(world->book,
            "%ld one-way calls vanished, and no log says so", sums[0]);
}

bool faults_may_be(const struct world *world, int code)
{
    switch (code) {
    case HG_AGAIN:
    case HG_NOMEM:
    case HG_FAULT:
    case HG_PROTOCOL_ERROR:
    case HG_HOSTUNREACH:
    case HG_CANCELED:
    case HG_IO_ERROR:
    case HG_NA_ERROR:
        return world->options.faults > 0;
    default:
        return false;
    }
}

bool faults_again(const struct world *world, hg_return_t rc)
{
    static _Thread_local unsigned tries;

    tries = faults_may_be(world, (int)rc) && tries < TRIES ? tries + 1 : 0;
    return tries > 0;
}
