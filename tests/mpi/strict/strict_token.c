/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the ranks: with one thread in each, one rank runs at a time, and the
 * seed decides at each call of MPI, sleep and look at the clock which is next.
 * So a seed repeats the run, as far as the real MPI does (MPICH does; accesses
 * to windows of Open MPI 4 block until another rank calls MPI). A thread that
 * waits for another one of its process would keep the turn for ever: programs
 * with threads that call MPI cannot take turns.
 *
 * The ranks share a file: who may run, the clock, and the hash of all calls. A
 * rank without the turn sleeps on its word there. Real calls that block come in
 * two kinds. Some wait for ranks that make the same call (a meeting): a rank
 * enters it without the turn, and makes the real call when all have come; the
 * last one keeps the turn until all have returned, so that it does not matter
 * which returns first. Other calls wait for the progress of ranks without the
 * turn: these make some. Afterwards all ranks make progress until what was sent
 * has arrived, and each does so before its turn begins. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include "mpi/strict/strict_token.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS_MAX = 64,
    MEETINGS = 64,
    PROGRESS = 24, /* probes of a rank that are enough to take what is there */
    ROUNDS = 3, /* of all ranks, as one's progress is another one's message */
    /* Bits of `word`; the others count what wakes its rank otherwise. */
    TURN = 1,
    MEETING = 2, /* all ranks of its meeting have come */
    WAKES = 4,
    CALL_NS = 1000,
};

/* So many of 256 calls do not hand the turn on. */
static const unsigned keeps[] = {64, 160, 224, 250};

enum rank_state { RUNS, MEETS, IS_OVER };

struct shared {
    atomic_bool needs_progress;
    atomic_uint rounds; /* in which all ranks make progress */
    /* Read and written by the rank that has the turn. */
    uint64_t clock_ns;
    uint64_t trace;
    uint64_t calls;
    uint64_t drawn;
    struct {
        uint64_t key; /* 0: free */
        unsigned entered;
        atomic_uint returned;
        bool are_in[RANKS_MAX];
    } meetings[MEETINGS];
    struct {
        atomic_uint word;   /* futex */
        atomic_uint rounds; /* that it has made progress for */
        enum rank_state state;
    } ranks[RANKS_MAX];
};

static struct shared *shared; /* NULL: no turns */
static MPI_Comm ours = MPI_COMM_NULL;
static MPI_Group world = MPI_GROUP_NULL;
static _Thread_local bool is_main; /* the thread that takes turns */
static int traces;
/* Of the meeting that this rank is in; -1: none. */
static int meeting = -1;
static bool is_last;
static unsigned member_count;
static struct {
    uint64_t key;
    uint64_t count;
} histories[MEETINGS];

bool strict_token_is_mine(void)
{
    return shared != NULL && is_main;
}

static long futex(atomic_uint *word, int op, unsigned value)
{
    const struct timespec limit = {.tv_nsec = 100000000};

    return syscall(SYS_futex, word, op, value, &limit, NULL, 0);
}

static void probe(void)
{
    int flag = 0;

    (void)PMPI_Iprobe(MPI_ANY_SOURCE, 0, ours, &flag, MPI_STATUS_IGNORE);
}

static void progress(void)
{
    for (int i = 0; i < PROGRESS; i++)
        probe();
}

/* Sleeps until the bit is set, and clears it. */
static void bit_wait(unsigned bit)
{
    atomic_uint *word = &shared->ranks[strict_rank].word;
    atomic_uint *rounds = &shared->ranks[strict_rank].rounds;
    unsigned seen = 0;

    while (((seen = atomic_load(word)) & bit) == 0) {
        unsigned round = atomic_load(&shared->rounds);

        if (atomic_load(rounds) != round) {
            progress();
            atomic_store(rounds, round);
        } else if (atomic_load(&shared->needs_progress)) {
            probe();
            sched_yield();
        } else {
            (void)futex(word, FUTEX_WAIT, seen);
        }
    }
    atomic_fetch_and(word, ~bit);
}

static void turn_wait(void)
{
    bit_wait(TURN);
    progress();
}

static void rank_wake(int rank)
{
    atomic_fetch_add(&shared->ranks[rank].word, WAKES);
    (void)futex(&shared->ranks[rank].word, FUTEX_WAKE, 1);
}

/* After ranks without the turn were in MPI: all take what has been sent, so
 * that it does not matter how far they came. */
static void all_settle(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        unsigned round = atomic_fetch_add(&shared->rounds, 1) + 1;

        for (int rank = 0; rank < strict_size; rank++)
            if (rank != strict_rank && shared->ranks[rank].state != IS_OVER)
                rank_wake(rank);
        progress();
        for (int rank = 0; rank < strict_size; rank++)
            while (rank != strict_rank &&
                   shared->ranks[rank].state != IS_OVER &&
                   atomic_load(&shared->ranks[rank].rounds) != round)
                sched_yield();
    }
    progress();
}

/* A rank that can run; -1: none. `but` is not taken. */
static int rank_draw(int but)
{
    int can[RANKS_MAX];
    unsigned count = 0;

    for (int i = 0; i < strict_size; i++)
        if (i != but && shared->ranks[i].state == RUNS)
            can[count++] = i;
    if (count == 0)
        return -1;
    return can[strict_mix(strict_seed() + 7, ++shared->drawn) % count];
}

static void bit_set(int rank, unsigned bit)
{
    atomic_fetch_or(&shared->ranks[rank].word, bit);
    rank_wake(rank);
}

static void turn_pass(int but)
{
    int next = rank_draw(but);

    if (next < 0 || next == strict_rank)
        return;
    bit_set(next, TURN);
    turn_wait();
}

void strict_token_turn(void)
{
    if (!strict_token_is_mine())
        return;
    shared->clock_ns += CALL_NS;
    shared->calls++;
    shared->trace = strict_mix(shared->trace, (uint64_t)strict_rank);
    if (traces == 2)
        fprintf(stderr, "strict: %llu: rank %d: %s at %llu, %llu drawn\n",
            (unsigned long long)shared->calls, strict_rank, strict_call(),
            (unsigned long long)shared->clock_ns,
            (unsigned long long)shared->drawn);
    for (const char *at = strict_call(); *at != '\0'; at++)
        shared->trace = strict_mix(shared->trace, (uint64_t)*at);
    if (strict_mix(strict_seed() + 13, ++shared->drawn) % 256 >=
        keeps[strict_seed() % 4])
        turn_pass(-1);
}

void strict_token_yield(void)
{
    if (strict_token_is_mine())
        turn_pass(strict_rank);
}

uint64_t strict_token_clock(uint64_t more_ns)
{
    shared->clock_ns += more_ns;
    return shared->clock_ns;
}

/* Rank 0 makes the file; nothing of it stays after the processes. */
void *strict_shared_open(size_t len)
{
    char path[64] = "";
    void *bytes = NULL;
    int fd = -1;

    if (strict_rank == 0) {
        fd = memfd_create("strict", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)len) != 0)
            abort();
        snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), fd);
    }
    (void)PMPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (strict_rank != 0)
        fd = open(path, O_RDWR | O_CLOEXEC);
    bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || bytes == MAP_FAILED)
        abort();
    (void)PMPI_Barrier(MPI_COMM_WORLD);
    (void)close(fd);
    return bytes;
}

void strict_token_begin(void)
{
    const char *text = getenv(STRICT_ENV_TRACE);

    traces = text == NULL ? 0 : atoi(text);
    text = getenv(STRICT_ENV_TOKEN);
    if (text == NULL || text[0] != '1' || strict_size > RANKS_MAX)
        return;
    (void)PMPI_Comm_dup(MPI_COMM_WORLD, &ours);
    (void)PMPI_Comm_group(MPI_COMM_WORLD, &world);
    shared = strict_shared_open(sizeof(*shared));
    is_main = true;
    if (strict_rank != 0)
        turn_wait();
}

static void trace_print(void)
{
    if (traces == 0)
        return;
    printf("strict: seed %llu calls %llu trace %016llx\n",
        (unsigned long long)strict_seed(), (unsigned long long)shared->calls,
        (unsigned long long)shared->trace);
    fflush(stdout);
}

void strict_token_end(void)
{
    int next = -1;

    if (!strict_token_is_mine())
        return;
    shared->ranks[strict_rank].state = IS_OVER;
    next = rank_draw(-1);
    if (next < 0)
        trace_print();
    else
        bit_set(next, TURN);
    is_main = false;
    shared = NULL; /* stays mapped, for the others */
    (void)PMPI_Group_free(&world);
    (void)PMPI_Comm_free(&ours);
}

/* How often this process has met there. */
static uint64_t history_next(uint64_t key)
{
    for (unsigned i = 0; i < MEETINGS; i++) {
        if (histories[i].key == 0)
            histories[i].key = key;
        if (histories[i].key == key)
            return ++histories[i].count;
    }
    abort();
}

static int meeting_find(uint64_t key)
{
    int free_one = -1;

    for (int i = 0; i < MEETINGS; i++) {
        if (shared->meetings[i].key == key)
            return i;
        if (shared->meetings[i].key == 0 && free_one < 0)
            free_one = i;
    }
    if (free_one < 0)
        abort();
    memset(&shared->meetings[free_one], 0, sizeof(shared->meetings[0]));
    shared->meetings[free_one].key = key;
    return free_one;
}

/* The ranks of the world that meet, in any order; has the turn. */
static void meeting_enter(const int *ranks, int count)
{
    uint64_t key = strict_mix(strlen(strict_call()), (uint64_t)count);
    uint64_t members = 0;
    int next = -1;

    for (int i = 0; i < count; i++)
        members += strict_mix((uint64_t)ranks[i], 99);
    key = strict_mix(key, members) | 1;
    key = strict_mix(key, history_next(key)) | 1;
    meeting = meeting_find(key);
    member_count = (unsigned)count;
    shared->meetings[meeting].are_in[strict_rank] = true;
    is_last = ++shared->meetings[meeting].entered == member_count;
    if (is_last) {
        for (int i = 0; i < count; i++)
            if (ranks[i] != strict_rank)
                bit_set(ranks[i], MEETING);
        return;
    }
    shared->ranks[strict_rank].state = MEETS;
    next = rank_draw(-1);
    if (next >= 0)
        bit_set(next, TURN);
    bit_wait(MEETING);
}

static void meeting_leave(void)
{
    int at = meeting;

    meeting = -1;
    if (!is_last) {
        atomic_fetch_add(&shared->meetings[at].returned, 1);
        turn_wait();
        return;
    }
    while (atomic_load(&shared->meetings[at].returned) < member_count - 1)
        sched_yield();
    for (int i = 0; i < strict_size; i++)
        if (shared->meetings[at].are_in[i])
            shared->ranks[i].state = RUNS;
    shared->meetings[at].key = 0;
    all_settle();
}

unsigned strict_meet_open_group(MPI_Group group)
{
    int ranks[RANKS_MAX];
    int ours_of[RANKS_MAX];
    int count = 0;

    if (!strict_token_is_mine())
        return strict_open();
    (void)PMPI_Group_size(group, &count);
    for (int i = 0; i < count; i++)
        ours_of[i] = i;
    (void)PMPI_Group_translate_ranks(group, count, ours_of, world, ranks);
    meeting_enter(ranks, count);
    return strict_open();
}

unsigned strict_meet_open(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group far = MPI_GROUP_NULL;
    MPI_Group both = MPI_GROUP_NULL;
    unsigned depth = 0;
    int is_inter = 0;

    if (!strict_token_is_mine())
        return strict_open();
    (void)PMPI_Comm_group(comm, &group);
    (void)PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter) {
        (void)PMPI_Comm_remote_group(comm, &far);
        (void)PMPI_Group_union(group, far, &both);
        (void)PMPI_Group_free(&far);
        (void)PMPI_Group_free(&group);
        group = both;
    }
    depth = strict_meet_open_group(group);
    (void)PMPI_Group_free(&group);
    return depth;
}

unsigned strict_meet_open_window(MPI_Win window)
{
    MPI_Group group = MPI_GROUP_NULL;
    unsigned depth = 0;

    if (!strict_token_is_mine())
        return strict_open();
    (void)PMPI_Win_get_group(window, &group);
    depth = strict_meet_open_group(group);
    (void)PMPI_Group_free(&group);
    return depth;
}

void strict_meet_close(unsigned depth)
{
    strict_close(depth);
    if (strict_token_is_mine() && meeting >= 0)
        meeting_leave();
}

unsigned strict_poke_open(void)
{
    if (strict_token_is_mine()) {
        atomic_store(&shared->needs_progress, true);
        for (int i = 0; i < strict_size; i++)
            rank_wake(i);
    }
    return strict_open();
}

void strict_poke_close(unsigned depth)
{
    strict_close(depth);
    if (!strict_token_is_mine())
        return;
    atomic_store(&shared->needs_progress, false);
    all_settle();
}

/* All ranks meet, and rank 0 goes on: what follows does not depend on the turns
 * before. */
void strict_token_reseed(uint64_t seed)
{
    bool was_last = false;

    if (strict_token_is_mine()) {
        unsigned depth = strict_meet_open(MPI_COMM_WORLD);

        was_last = is_last;
        (void)PMPI_Barrier(MPI_COMM_WORLD);
        strict_meet_close(depth);
    }
    if (was_last) {
        trace_print();
        shared->trace = 0;
        shared->calls = 0;
        shared->drawn = 0;
    }
    strict_choice_seed(seed);
    if (!was_last || strict_rank == 0)
        return;
    bit_set(0, TURN);
    turn_wait();
}
