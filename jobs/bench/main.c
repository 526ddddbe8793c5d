/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures calls and bulk transfers between two ranks beside raw controls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/report.h"
#include "jobs/bench/frame/watch.h"

static const struct bench {
    const char *name;
    void (*run)(struct pair *pair);
    bool is_in_all;
    enum {
        BENCH_OF_TWO,  /* by the two ranks, with their class open */
        BENCH_FIRST,   /* by the two ranks, before any class was open */
        BENCH_OF_TEAM, /* by all ranks, with no class open */
    } kind;
    const char *help;
} benches[] = {
    {"latency", bench_latency, true, BENCH_OF_TWO,
        "null calls; input of 8 B to 64 KiB; twice what fits"},
    {"rate", bench_rate, true, BENCH_OF_TWO,
        "null calls a second, 1 to 64 in flight"},
    {"bulk", bench_bulk, true, BENCH_OF_TWO,
        "pulls and pushes of 4 B to 64 MiB, and of blocks"},
    {"onecore", bench_onecore, true, BENCH_OF_TWO,
        "null calls between two ranks on one core"},
    {"idle", bench_idle, true, BENCH_OF_TWO,
        "what a waiting rank takes of a core"},
    {"overlap", bench_overlap, true, BENCH_OF_TWO,
        "calls to a rank that computes, and what its progress thread takes"},
    {"placement", bench_placement, true, BENCH_FIRST,
        "the library's choice beside all that can be asked for"},
    {"controls", bench_controls, true, BENCH_FIRST,
        "what the machine gives without the library"},
    {"wake", bench_wake, true, BENCH_OF_TWO,
        "null calls to a rank that sleeps"},
    {"silent", bench_silent, true, BENCH_OF_TWO,
        "null calls to a rank with many silent peers"},
    {"incast", bench_incast, true, BENCH_OF_TEAM,
        "all ranks call one: rate, fairness, and memory of that one"},
    {"histogram", bench_histogram, true, BENCH_OF_TEAM,
        "one-way updates of random ranks"},
    {"gather", bench_gather, true, BENCH_OF_TEAM,
        "one-way calls that ask random ranks for values"},
    {"group", bench_group, true, BENCH_OF_TEAM,
        "a call to all ranks, and the end of all calls"},
    {"scale", bench_scale, true, BENCH_OF_TEAM,
        "start and end of a class, and its memory, by the number of ranks"},
    {"margo", bench_margo, true, BENCH_OF_TWO,
        "Margo's calls and transfers beside those of HG"},
    {"ult", bench_ult, true, BENCH_OF_TWO,
        "user-level threads beside swapcontext()"},
    {"count", bench_count, false, BENCH_OF_TWO,
        "calls without a clock, to count what they cost"},
};

enum { BENCH_COUNT = sizeof(benches) / sizeof(benches[0]) };

static void usage(FILE *stream)
{
    fputs("amalgam_bench BENCH [option...]      by two ranks\n\n", stream);
    for (unsigned i = 0; i < BENCH_COUNT; i++)
        fprintf(stream, "  %-14s %s\n", benches[i].name, benches[i].help);
    fputs("  all            all of these but count\n\n", stream);
    options_print(stream);
    fputs("\nRanks beyond two take part in the benchmarks of all ranks, and "
          "sleep otherwise.\n",
        stream);
}

static bool is_asked(const struct options *options, const struct bench *bench)
{
    return strcmp(options->bench, "all") == 0
               ? bench->is_in_all
               : strcmp(options->bench, bench->name) == 0;
}

/* Is a benchmark asked for whose kind is from `first` to `last`? */
static bool kind_is_asked(
    const struct options *options, unsigned first, unsigned last)
{
    for (unsigned i = 0; i < BENCH_COUNT; i++)
        if (is_asked(options, &benches[i]) && benches[i].kind >= first &&
            benches[i].kind <= last)
            return true;
    return false;
}

/* Notes where the ranks run; figures of ranks that share cores say little. */
static void place_tell(struct pair *pair, const struct place *place)
{
    bool is_placed = place->cores[0] >= 0 && place->cores[1] >= 0;

    pair->is_one_machine = place->is_one_machine;
    snprintf(pair->cores, sizeof(pair->cores), is_placed ? "%d %d" : "shared",
        place->cores[0], place->cores[1]);
    if (pair->rank == 0 && !is_placed &&
        strcmp(pair->options->bench, "count") != 0)
        report_warn("the ranks share cores: their figures say little");
}

static void bench_run(struct pair *pair, unsigned number)
{
    pair->bench = benches[number].name;
    benches[number].run(pair);
}

/* A command to the ranks beyond two: to end, or the number of a benchmark. */
enum { COMMAND_END = -1, NAP_US = 100000 };

static void command_tell(struct pair *pair, int command)
{
    MPI_Request request;

    if (pair->world->size == 2)
        return;
    guard_step("waking the ranks beyond two");
    MPI_Ibcast(&command, 1, MPI_INT, 0, pair->world->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    guard_rest();
}

/* MPI cannot sleep until a message comes, so these ranks test for a command ten
 * times a second: 64 such ranks take less than a hundredth of a core. */
static int command_await(const struct pair *pair)
{
    MPI_Request request;
    int command = 0;
    int is_here = 0;

    guard_rest();
    MPI_Ibcast(&command, 1, MPI_INT, 0, pair->world->comm, &request);
    while (MPI_Test(&request, &is_here, MPI_STATUS_IGNORE), !is_here)
        pause_us(NAP_US);
    return command;
}

static void kind_run(struct pair *pair, unsigned kind)
{
    for (unsigned i = 0; i < BENCH_COUNT; i++) {
        if (!is_asked(pair->options, &benches[i]) || benches[i].kind != kind)
            continue;
        if (limit_is_over(pair->comm))
            return;
        if (kind == BENCH_OF_TEAM)
            command_tell(pair, (int)i);
        bench_run(pair, i);
    }
}

/* Runs the benchmarks asked for; first those that need a process without a
 * class. False: no class can be opened. */
static bool benches_run(struct pair *pair)
{
    kind_run(pair, BENCH_FIRST);
    if (kind_is_asked(pair->options, BENCH_OF_TWO, BENCH_OF_TWO)) {
        if (!pair_open(pair, pair->options->transport))
            return false;
        kind_run(pair, BENCH_OF_TWO);
        pair_close(pair);
    }
    kind_run(pair, BENCH_OF_TEAM);
    return true;
}

/* By the two ranks, between the start and the end of MPI. */
static int two_run(
    struct pair *pair, const char *command, const struct place *place)
{
    int rc = EXIT_SUCCESS;
    bool is_done = false;

    if (pair->rank == 0)
        rc = report_open(pair->options, command, pair->world);
    MPI_Bcast(&rc, 1, MPI_INT, 0, pair->comm);
    if (rc != EXIT_SUCCESS)
        return rc;
    place_tell(pair, place);
    is_done = benches_run(pair);
    rc = is_done ? EXIT_SUCCESS : EXIT_FAILURE;
    if (pair->rank == 0)
        rc = report_close(is_done ? NULL : "no class could be opened");
    guard_rest();
    return rc;
}

/* By all ranks: the first two measure, the others sleep until a command. */
static int ranks_run(
    const struct options *options, const char *command, struct world *world)
{
    struct pin pin;
    struct pair pair = {
        .rank = world->rank,
        .options = options,
        .world = world,
    };
    struct place place;
    int next = COMMAND_END;
    int rc = EXIT_SUCCESS;

    watch_init(world->rank, options->deadline_s, options->time_s);
    MPI_Comm_split(world->comm, world->rank < 2 ? 0 : MPI_UNDEFINED,
        world->rank, &pair.comm);
    if (world->rank >= 2) {
        world_tell(world);
        while ((next = command_await(&pair)) != COMMAND_END)
            bench_run(&pair, (unsigned)next);
        return EXIT_SUCCESS;
    }
    pin_set(&pin, pair.comm, &place);
    pair.pin = &pin;
    world_tell(world);
    rc = two_run(&pair, command, &place);
    pin_restore(&pin);
    command_tell(&pair, COMMAND_END);
    MPI_Comm_free(&pair.comm);
    return rc;
}

/* Refuses a command line that names no known benchmark. */
static int bench_wrong_say(const char *bench, int rank)
{
    if (rank != 0)
        return REPORT_EXIT_USAGE;
    if (bench == NULL)
        fputs("amalgam_bench: no benchmark is named; there are", stderr);
    else
        fprintf(stderr, "amalgam_bench: no benchmark \"%s\"; there are", bench);
    for (unsigned i = 0; i < BENCH_COUNT; i++)
        fprintf(stderr, " %s,", benches[i].name);
    fputs(" all\n", stderr);
    return REPORT_EXIT_USAGE;
}

/* Is the number of ranks even, so that pairs can measure? */
static bool size_is_right(int rank, int size)
{
    if (rank == 0 && size == 1)
        fputs("amalgam_bench: measures between 2 ranks, and this is 1: start "
              "it with -n 2; if you did, use the mpiexec or srun --mpi (see "
              "srun --mpi=list) of the MPI that it was built with\n",
            stderr);
    else if (rank == 0 && size % 2 != 0)
        fprintf(stderr,
            "amalgam_bench: %d ranks are an odd number: start it with -n %d\n",
            size, size - 1);
    return size % 2 == 0;
}

/* The words of the command line, in one line; to be freed. */
static char *command_join(int argc, char **argv)
{
    char *command = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&command, &len);

    for (int i = 0; stream != NULL && i < argc; i++)
        fprintf(stream, i == 0 ? "%s" : " %s", argv[i]);
    if (stream == NULL || fclose(stream) != 0)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    return command;
}

static int command_run(int argc, char **argv, int rank, int size)
{
    char *command = NULL;
    struct options options = {0};
    struct world world;
    const char *wrong = NULL;
    int rc = 0;

    if (!world_is_same(argc, argv))
        return REPORT_EXIT_USAGE;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        if (rank == 0)
            usage(stdout);
        return EXIT_SUCCESS;
    }
    if (!options_read(&options, argc, argv, &wrong)) {
        if (rank == 0)
            fprintf(
                stderr, "amalgam_bench: %s? See amalgam_bench --help\n", wrong);
        return REPORT_EXIT_USAGE;
    }
    if (options.bench == NULL || !kind_is_asked(&options, 0, BENCH_OF_TEAM))
        return bench_wrong_say(options.bench, rank);
    if (!size_is_right(rank, size))
        return REPORT_EXIT_USAGE;
    world_make(options.is_near, &world);
    command = command_join(argc, argv);
    rc = ranks_run(&options, command, &world);
    world_free(&world);
    free(command);
    return rc;
}

int main(int argc, char **argv)
{
    int level = 0;
    int rank = 0;
    int size = 0;
    int rc = 0;

    /* The level that the library requests if it starts MPI itself. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rc = command_run(argc, argv, rank, size);
    guard_step("the end of MPI");
    MPI_Finalize();
    return rc;
}
