/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever call to the system, to MPI or to libfabric fails once, in whichever
 * of two processes: calls end with a code, none is lost silently, the classes
 * close, and nothing stays behind. Call by call, the n-th one for n = 1, 2, ...
 * up to the number of them in a life without fault; without --full for some of
 * these numbers. */
#include <dirent.h>
#include <execinfo.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fault/inject/inject.h"
#include "fault/sweep/life.h"
#include "mercury.h"
#include "fault/sweep/pair.h"
#include "slow.h"

enum { FRAMES = 60, LINES_CAP = 1 << 14 };

static struct life_plan plan;
static bool is_full;
static bool is_loud;
static unsigned limit_s = 15;
static enum life_step armed_at; /* step from which calls are counted */

/* The case that runs: the n-th call fails in one process, or in none. */
static enum inject_call the_call;
static uint64_t the_n;
static unsigned the_rank;
static uint64_t often; /* one in so many calls fails, with seed `the_n` */
static unsigned long long seeds[2] = {1, 10};
static char case_text[256];
static atomic_uint findings;

static char lines[LINES_CAP];
static atomic_size_t lines_len;
static atomic_uint lines_count;

static uint64_t counted[INJECT_CALLS];
static uint64_t alone[INJECT_CALLS];

void complain(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    atomic_fetch_add(&findings, 1);
    fprintf(stderr, "sweep: FINDING process %u: %s: %s\n", plan.rank, case_text,
        text);
}

static int line_keep(FILE *stream, const char *format, ...)
{
    char line[1024];
    va_list args;
    int len = 0;
    size_t at = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    len = len < (int)sizeof(line) ? len : (int)sizeof(line) - 1;
    if (is_loud)
        fprintf(stderr, "process %u: %s", plan.rank, line);
    at = atomic_fetch_add(&lines_len, (size_t)len);
    if (at + (size_t)len < sizeof(lines))
        memcpy(lines + at, line, (size_t)len);
    atomic_fetch_add(&lines_count, 1);
    return len;
}

unsigned log_lines_seen(void)
{
    return atomic_load(&lines_count);
}

/* Calls nothing that may be locked in the code that it interrupts, but for
 * backtrace(), which was called before. */
static void on_signal(int number)
{
    void *frames[FRAMES];
    static const char *end;

    end = number == SIGALRM ? " does not end\n" : " crashed\n";
    (void)!write(STDERR_FILENO, "sweep: FINDING ", 15);
    (void)!write(STDERR_FILENO, case_text, strlen(case_text));
    (void)!write(STDERR_FILENO, end, strlen(end));
    (void)!write(STDERR_FILENO, lines, strlen(lines));
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
    if (number == SIGALRM && plan.by_mpi)
        (void)usleep(1000000); /* the other process writes, too */
    pair_abort();
}

static unsigned fds_count(void)
{
    DIR *all = opendir("/proc/self/fd");
    unsigned count = 0;

    while (all != NULL && readdir(all) != NULL)
        count++;
    (void)closedir(all);
    return count;
}

static void step_begin(enum life_step step, void *arg)
{
    (void)arg;
    if (often > 0 && the_n > 0 && step == LIFE_CLOSE)
        inject_arm(0, 0);
    else if (often > 0 && the_n > 0 && step == armed_at)
        inject_arm_often(often, the_n << 1 | plan.rank);
    else if (step == armed_at)
        inject_arm(the_call, plan.rank == the_rank ? the_n : 0);
}

bool fault_is_over(void)
{
    /* Of many none is the last. */
    bool is_over[2] = {inject_failed() > 0 && often == 0, false};

    pair_swap(&is_over[0], &is_over[1], sizeof(bool));
    return is_over[0] || is_over[1];
}

static void case_name(void)
{
    int len = snprintf(case_text, sizeof(case_text), "%s%s", plan.transport,
        armed_at == LIFE_OPEN   ? ""
        : armed_at == LIFE_CALL ? " --at call"
                                : " --at close");

    if (often > 0)
        snprintf(case_text + len, sizeof(case_text) - (size_t)len,
            " --often %llu --seed %llu", (unsigned long long)often,
            (unsigned long long)the_n);
    else
        snprintf(case_text + len, sizeof(case_text) - (size_t)len,
            " --only %s:%llu:%u", inject_name(the_call),
            (unsigned long long)the_n, the_rank);
}

/* Runs one life; returns whether a call failed in it. */
static bool case_run(enum inject_call call, uint64_t n, unsigned rank)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    struct life_result result;
    unsigned fds = fds_count();
    bool has_failed = false;

    the_call = call;
    the_n = n;
    the_rank = rank;
    case_name();
    memset(lines, 0, sizeof(lines));
    atomic_store(&lines_len, 0);
    atomic_store(&lines_count, 0);
    alarm(limit_s * TEST_SLOW);
    amg_mem_stats_get(&before);
    result = life_run(&plan, step_begin, NULL);
    has_failed = fault_is_over();
    for (unsigned i = 0; i < INJECT_CALLS; i++) {
        counted[i] = inject_count(i);
        alone[i] = inject_count_alone(i);
    }
    amg_mem_stats_get(&after);
    if (result.ended != result.accepted)
        complain("%u of %u calls ended", result.ended, result.accepted);
    if (n > 0 && after.live > before.live)
        complain("%llu blocks of memory are left",
            (unsigned long long)(after.live - before.live));
    /* Sockets that libfabric accepted as their peers gave up stay there. */
    if (n > 0 && fds_count() > fds && inject_count(INJECT_FI_GETINFO) == 0)
        complain("%u descriptors are left", fds_count() - fds);
    inject_arm(0, 0);
    if (n == 0 && (!result.is_open || result.failed > 0))
        complain("without a fault: %u calls failed", result.failed);
    if (is_loud && plan.rank == rank)
        fprintf(stderr, "%s: %s, %s, %u of %u failed\n", case_text,
            has_failed ? "hit" : "missed", result.is_open ? "open" : "not open",
            result.failed, result.accepted);
    return has_failed;
}

/* How many calls of each kind a life without a fault makes, in either process.
 * The first `ret_skipped` of them are left out: a rank that fails before it has
 * greeted the others leaves them waiting, as amalgam_init() says. */
static void counts_get(
    uint64_t ret_counts[INJECT_CALLS], uint64_t ret_skipped[INJECT_CALLS])
{
    uint64_t mine[2 * INJECT_CALLS];
    uint64_t theirs[2 * INJECT_CALLS];

    (void)case_run(INJECT_CALLS - 1, 0, 0); /* what happens once per process */
    (void)case_run(INJECT_CALLS - 1, 0, 0);
    memcpy(mine, counted, sizeof(counted));
    memcpy(mine + INJECT_CALLS, alone, sizeof(alone));
    pair_swap(mine, theirs, sizeof(theirs));
    for (unsigned i = 0; i < INJECT_CALLS; i++) {
        uint64_t here = mine[INJECT_CALLS + i];
        uint64_t there = theirs[INJECT_CALLS + i];

        ret_counts[i] = mine[i] > theirs[i] ? mine[i] : theirs[i];
        ret_skipped[i] = here > there ? here : there;
    }
}

static void call_sweep(enum inject_call call, uint64_t skipped, uint64_t count)
{
    uint64_t step = 1;
    unsigned hits = 0;
    unsigned turn = 0;

    for (uint64_t n = skipped + 1; n <= count; turn++) {
        for (unsigned rank = 0; rank < 2; rank++)
            if (is_full || rank == turn % 2)
                hits += case_run(call, n, rank);
        n += step;
        step = is_full ? 1 : 2 * step;
    }
    if (plan.rank == 0)
        printf("%s: %llu calls, %u faults\n", inject_name(call),
            (unsigned long long)count, hits);
    fflush(stdout);
}

static bool is_mpi(unsigned call)
{
    return call >= INJECT_MPI_FIRST && call < INJECT_OFI_FIRST;
}

static void all_sweep(const char *only)
{
    uint64_t counts[INJECT_CALLS];
    uint64_t skipped[INJECT_CALLS];

    counts_get(counts, skipped);
    for (unsigned i = 0; i < INJECT_CALLS; i++) {
        if (counts[i] == 0 || inject_name(i)[0] == '\0' ||
            (only != NULL && strcmp(only, inject_name(i)) != 0))
            continue;
        /* Ranks whose collective opening meets a failed MPI may wait, as
         * amalgam_init() says. */
        if (only == NULL && is_mpi(i) != (armed_at == LIFE_CALL && plan.by_mpi))
            continue;
        call_sweep(i, skipped[i], counts[i]);
    }
}

static void only_run(char *only)
{
    char *colon = strchr(only, ':');
    unsigned long long n = 0;
    unsigned rank = 0;

    if (colon == NULL) {
        all_sweep(only);
        return;
    }
    *colon = '\0';
    if (sscanf(colon + 1, "%llu:%u", &n, &rank) != 2)
        exit(2);
    (void)case_run(INJECT_CALLS - 1, 0, 0);
    for (unsigned i = 0; i < INJECT_CALLS; i++)
        if (strcmp(inject_name(i), only) == 0)
            (void)case_run(i, n, rank);
}

/* Many calls fail, in both processes, until they close. */
static void seeds_run(unsigned long long first, unsigned long long last)
{
    (void)case_run(INJECT_CALLS - 1, 0, 0);
    for (unsigned long long seed = first; seed <= last; seed++)
        (void)case_run(INJECT_CALLS - 1, seed, 0);
    if (plan.rank == 0)
        printf("one of %llu calls: seeds %llu to %llu\n",
            (unsigned long long)often, first, last);
}

static void usage(void)
{
    fprintf(stderr,
        "sweep --transport NAME [--fork] [--full] [--at call|close]\n"
        "      [--only CALL[:N:PROCESS]] [--often N --seed FIRST[:LAST]]\n"
        "      [--loud] [--limit SECONDS]\n");
    exit(2);
}

static char *options_read(int argc, char **argv, bool *ret_by_fork)
{
    static const struct option known[] = {{"transport", 1, NULL, 't'},
        {"fork", 0, NULL, 'f'}, {"full", 0, NULL, 'a'}, {"at", 1, NULL, 'w'},
        {"only", 1, NULL, 'o'}, {"loud", 0, NULL, 'l'}, {"limit", 1, NULL, 's'},
        {"often", 1, NULL, 'n'}, {"seed", 1, NULL, 'd'}, {NULL, 0, NULL, 0}};
    char *only = NULL;
    int c = 0;

    *ret_by_fork = false;
    while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0)
        switch (c) {
        case 't':
            plan.transport = optarg;
            break;
        case 'f':
            *ret_by_fork = true;
            break;
        case 'a':
            is_full = true;
            break;
        case 'w':
            armed_at = strcmp(optarg, "call") == 0 ? LIFE_CALL : LIFE_CLOSE;
            break;
        case 'o':
            only = optarg;
            break;
        case 'l':
            is_loud = true;
            break;
        case 's':
            limit_s = (unsigned)atoi(optarg);
            break;
        case 'n':
            often = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            if (sscanf(optarg, "%llu:%llu", &seeds[0], &seeds[1]) == 1)
                seeds[1] = seeds[0];
            break;
        default:
            usage();
        }
    if (plan.transport == NULL)
        usage();
    return only;
}

int main(int argc, char **argv)
{
    bool by_fork = false;
    char *only = options_read(argc, argv, &by_fork);
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM};
    void *frame = NULL;

    (void)backtrace(&frame, 1);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], on_signal);
    plan.rank = pair_open(by_fork);
    plan.by_mpi = !by_fork;
    setenv("AMALGAM_FINALIZE_TIMEOUT_MS", "500", 0);
    HG_Set_log_func(line_keep);
    if (often > 0)
        seeds_run(seeds[0], seeds[1]);
    else if (only != NULL)
        only_run(only);
    else
        all_sweep(NULL);
    alarm(0);
    return pair_close(atomic_load(&findings) > 0);
}
