/* SPDX-License-Identifier: BSD-3-Clause */
/* Unrelated processes of one host that run the same test. */
#include "processes/processes.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "slow.h"

#define ENV_COUNT "TEST_PROCESSES"
#define ENV_RANK  "TEST_PROCESSES_RANK"
#define ENV_FD    "TEST_PROCESSES_FD"

enum {
    SWAP_CAP = 1 << 20, /* a list of 65536 segments; only touched pages count */
    ARGS_CAP = 4096,
    ARGS_MAX = 64,
    SHOWS_MAX = 16,
    SHOW_S = 40 * TEST_SLOW
};

/* Layout of the memory file. */
struct meeting {
    atomic_int has_failed;
    atomic_uint arrivals; /* at barriers, in total */
    struct {
        atomic_int pid;
        atomic_uint shows;
        char texts[SHOWS_MAX][PROCESSES_TEXT_CAP];
        atomic_uint swaps; /* number of swaps begun */
        unsigned char bytes[SWAP_CAP];
    } ranks[PROCESSES_MAX];
};

static struct meeting *meeting;
static int my_rank;
static int my_size;
static pid_t children[PROCESSES_MAX];

/* The pending operation. */
static enum { NOTHING, SWAP, BARRIER } pending;
static unsigned barriers;
static unsigned swaps;
static void *swap_into;
static size_t swap_len;

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void meeting_open(int fd)
{
    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (meeting == MAP_FAILED)
        fail("the tests' memory file");
}

/* Runs this program again, with the same arguments. */
static void run_again(int rank, int fd)
{
    static char args[ARGS_CAP];
    char *argv[ARGS_MAX] = {NULL};
    char text[16];
    int from = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t len = from < 0 ? -1 : read(from, args, sizeof(args) - 1);
    int argc = 0;

    if (len <= 0)
        fail("/proc/self/cmdline");
    for (ssize_t at = 0; at < len && argc < ARGS_MAX - 1;
         at += (ssize_t)strlen(args + at) + 1)
        argv[argc++] = args + at;
    snprintf(text, sizeof(text), "%d", rank);
    setenv(ENV_RANK, text, 1);
    snprintf(text, sizeof(text), "%d", fd);
    setenv(ENV_FD, text, 1);
    execv("/proc/self/exe", argv);
    fail("exec");
}

static void others_start(void)
{
    int fd = memfd_create("processes", 0);

    if (fd < 0 || ftruncate(fd, sizeof(struct meeting)) != 0)
        fail("the tests' memory file");
    meeting_open(fd);
    for (int rank = 1; rank < my_size; rank++) {
        children[rank] = fork();
        if (children[rank] < 0)
            fail("fork");
        if (children[rank] == 0)
            run_again(rank, fd);
    }
    close(fd);
}

void processes_start(int *ret_rank, int *ret_size)
{
    const char *count = getenv(ENV_COUNT);
    const char *rank = getenv(ENV_RANK);

    my_size = count == NULL ? 2 : atoi(count);
    if (my_size < 1 || my_size > PROCESSES_MAX) {
        fprintf(stderr, ENV_COUNT " is %d\n", my_size);
        exit(EXIT_FAILURE);
    }
    if (rank == NULL) {
        others_start();
    } else {
        /* No process outlives the first one. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        my_rank = atoi(rank);
        meeting_open(atoi(getenv(ENV_FD)));
        close(atoi(getenv(ENV_FD)));
    }
    atomic_store(&meeting->ranks[my_rank].pid, getpid());
    *ret_rank = my_rank;
    *ret_size = my_size;
}

void processes_stop(void)
{
    for (int rank = 1; rank < my_size && my_rank == 0; rank++) {
        int status = 0;

        if (waitpid(children[rank], &status, 0) != children[rank] ||
            !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
            fprintf(stderr, "process %d of the test failed\n", rank);
            exit(EXIT_FAILURE);
        }
    }
}

void processes_die(void)
{
    atomic_store(&meeting->has_failed, 1);
    exit(EXIT_FAILURE);
}

/* Ends this process if another one failed, or was killed. */
static void others_check(void)
{
    if (atomic_load(&meeting->has_failed))
        exit(EXIT_FAILURE);
}

void processes_swap_begin(const void *mine, void *ret_right, size_t len)
{
    if (len > SWAP_CAP) {
        fprintf(stderr, "%zu bytes to swap are more than %d\n", len, SWAP_CAP);
        processes_die();
    }
    memcpy(meeting->ranks[my_rank].bytes, mine, len);
    atomic_store(&meeting->ranks[my_rank].swaps, ++swaps);
    swap_into = ret_right;
    swap_len = len;
    pending = SWAP;
}

void processes_barrier_begin(void)
{
    atomic_fetch_add(&meeting->arrivals, 1u);
    barriers++;
    pending = BARRIER;
}

bool processes_is_done(void)
{
    int right = (my_rank + 1) % my_size;

    others_check();
    switch (pending) {
    case SWAP:
        if (atomic_load(&meeting->ranks[right].swaps) < swaps)
            return false;
        memcpy(swap_into, meeting->ranks[right].bytes, swap_len);
        break;
    case BARRIER:
        if (atomic_load(&meeting->arrivals) < barriers * (unsigned)my_size)
            return false;
        break;
    default:
        break;
    }
    pending = NOTHING;
    return true;
}

void processes_show(const char *text)
{
    unsigned shows = atomic_load(&meeting->ranks[my_rank].shows);

    if (shows > 0 &&
        strcmp(meeting->ranks[my_rank].texts[shows - 1], text) == 0)
        return;
    if (shows == SHOWS_MAX)
        processes_die();
    snprintf(
        meeting->ranks[my_rank].texts[shows], PROCESSES_TEXT_CAP, "%s", text);
    atomic_store(&meeting->ranks[my_rank].shows, shows + 1);
}

const char *processes_shown(int rank)
{
    unsigned shows = atomic_load(&meeting->ranks[my_rank].shows);
    time_t until = time(NULL) + SHOW_S;

    while (atomic_load(&meeting->ranks[rank].shows) < shows) {
        others_check();
        if (time(NULL) > until) {
            fprintf(stderr, "process %d has shown nothing\n", rank);
            processes_die();
        }
        sched_yield();
    }
    return meeting->ranks[rank].texts[shows - 1];
}

int processes_pid(int rank)
{
    int pid = 0;

    while ((pid = atomic_load(&meeting->ranks[rank].pid)) == 0)
        sched_yield();
    return pid;
}
