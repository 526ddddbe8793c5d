/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures calls and bulk transfers between two ranks beside raw MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benches.h"
#include "duel.h"
#include "pin.h"
#include "rows.h"

static const struct bench {
    const char *name;
    void (*run)(struct pair *pair);
    const char *help;
} benches[] = {
    {"latency", bench_latency, "null calls, then 8 B to 64 KiB of input"},
    {"bulk", bench_bulk, "pulls of 64 KiB, 1 MiB and 16 MiB"},
    {"count", bench_count, "calls without a clock, to count what they cost"},
};

/* So much as still fits into memory. */
enum {
    SIZE_LIMIT = 256 * 1024 * 1024,
    CALLS_LIMIT = 1000000,
    BATCHES_LIMIT = 1000,
};

enum { BENCH_COUNT = sizeof(benches) / sizeof(benches[0]) };

static void usage(FILE *stream)
{
    fputs("amalgam_bench BENCH [option...]      by two ranks\n\n", stream);
    for (unsigned i = 0; i < BENCH_COUNT; i++)
        fprintf(stream, "  %-14s %s\n", benches[i].name, benches[i].help);
    fprintf(stream,
        "\n"
        "  -t TRANSPORT   for instance mpi+p2p; the library chooses\n"
        "  --json FILE    write the rows there, too\n"
        "  --size BYTES   only this one, instead of all\n"
        "  --calls N      in a batch; with count: in all\n"
        "  --batches N    at least %d; %d\n"
        "  --what WHAT    with count: rpc, or mpi for the control\n",
        DUEL_BATCHES_MIN, DUEL_BATCHES);
}

/* A whole number from `min` to `max`; false when `text` is none. */
static bool number_read(
    const char *text, unsigned min, unsigned max, unsigned *ret_number)
{
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || text[0] == '-' || number < min ||
        number > max)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

static bool size_read(const char *text, struct options *options)
{
    static unsigned size;

    options->size = &size;
    return number_read(text, 0, SIZE_LIMIT, &size);
}

static bool what_read(const char *text, struct options *options)
{
    options->what = text;
    return strcmp(text, "rpc") == 0 || strcmp(text, "mpi") == 0;
}

/* One option with its value; false when there is no such thing. */
static bool option_read(
    struct options *options, const char *name, const char *value)
{
    if (value == NULL)
        return false;
    if (strcmp(name, "-t") == 0)
        options->transport = value;
    else if (strcmp(name, "--json") == 0)
        options->json = value;
    else if (strcmp(name, "--calls") == 0)
        return number_read(value, 1, CALLS_LIMIT, &options->calls);
    else if (strcmp(name, "--batches") == 0)
        return number_read(
            value, DUEL_BATCHES_MIN, BATCHES_LIMIT, &options->batches);
    else if (strcmp(name, "--size") == 0)
        return size_read(value, options);
    else if (strcmp(name, "--what") == 0)
        return what_read(value, options);
    else
        return false;
    return true;
}

/* The benchmark that the command line names, or NULL. */
static const struct bench *options_read(
    struct options *options, int argc, char **argv, const char **ret_wrong)
{
    *ret_wrong = "no benchmark is named";
    for (int i = 1; i < argc; i++) {
        *ret_wrong = argv[i];
        if (argv[i][0] != '-') {
            if (options->bench != NULL)
                return NULL;
            options->bench = argv[i];
        } else if (option_read(options, argv[i], argv[i + 1])) {
            i++;
        } else {
            return NULL;
        }
    }
    for (unsigned i = 0; options->bench != NULL && i < BENCH_COUNT; i++)
        if (strcmp(benches[i].name, options->bench) == 0)
            return &benches[i];
    if (options->bench != NULL)
        *ret_wrong = options->bench;
    return NULL;
}

/* Says where the ranks are; figures of ranks without cores say little. */
static void place_print(int rank, int core)
{
    int cores[2] = {-1, -1};

    MPI_Gather(&core, 1, MPI_INT, cores, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    if (cores[0] >= 0 && cores[1] >= 0)
        fprintf(stderr, "Rank 0 is on core %d, rank 1 on core %d.\n", cores[0],
            cores[1]);
    else
        fputs(
            "The ranks share cores: expect figures that say little.\n", stderr);
}

/* Between the start and the end of MPI. */
static int bench_run(
    const struct bench *bench, const struct options *options, int rank)
{
    struct pair pair = {.rank = rank, .options = options};
    struct pin pin;
    int rc = EXIT_FAILURE;
    int core = pin_set(&pin);
    int is_ready = rank != 0 || rows_open(options->json);

    MPI_Bcast(&is_ready, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!is_ready || !pair_open(&pair))
        goto restore;
    if (bench->run != bench_count)
        place_print(rank, core);
    bench->run(&pair);
    if (rank != 0 || rows_close())
        rc = EXIT_SUCCESS;
    pair_close(&pair);

restore:
    pin_restore(&pin);
    return rc;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    const struct bench *bench = NULL;
    const char *wrong = NULL;
    int level = 0;
    int rank = 0;
    int size = 0;
    int rc = 2;

    /* As the library does where it starts MPI itself. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        if (rank == 0)
            usage(stdout);
        rc = EXIT_SUCCESS;
        goto end_mpi;
    }
    bench = options_read(&options, argc, argv, &wrong);
    if (bench == NULL) {
        if (rank == 0) {
            fprintf(stderr, "amalgam_bench: %s?\n\n", wrong);
            usage(stderr);
        }
        goto end_mpi;
    }
    if (size != 2) {
        if (rank == 0)
            fprintf(stderr,
                "amalgam_bench: measures between 2 ranks, and these are %d: "
                "start it with -n 2\n",
                size);
        goto end_mpi;
    }
    rc = bench_run(bench, &options, rank);

end_mpi:
    MPI_Finalize();
    return rc;
}
