/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table on all ranks: put, get and add, with every value verified.
 *
 * Every rank keeps a part of the table, in providers, and uses all of it, by
 * many user-level threads at once, on one stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_margo.h"
#include "jobs/apps/kv/client.h"
#include "jobs/apps/kv/meet.h"
#include "jobs/apps/kv/provider.h"
#include "jobs/apps/kv/wire.h"
#include "jobs/apps/kv/work.h"

enum { WORKERS_MAX = 1024, KEYS_MAX = 1000000 };

struct options {
    unsigned keys;      /* of each rank */
    unsigned workers;   /* of each rank */
    unsigned providers; /* of each rank */
};

/* All open objects of a rank. */
struct run {
    struct options options;
    int rank;
    int ranks;
    margo_instance_id mid;
    struct provider providers[KV_PROVIDERS_MAX];
    struct client client;
    struct meet meet;
    struct work work;
    double seconds;
};

static void usage(FILE *stream)
{
    fputs("kv [--keys N] [--workers N] [--providers N]\n\n"
          "  --keys N       keys of each rank; 60\n"
          "  --workers N    user-level threads of each rank; 8\n"
          "  --providers N  providers of each rank, each with a table; 2\n",
        stream);
}

static bool number_read(const char *text, unsigned max, unsigned *ret_number)
{
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || text[0] == '-' || number < 1 ||
        number > max)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

/* Returns the first invalid argument, or NULL. */
static const char *options_read(struct options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        bool is_known = i + 1 < argc;

        if (is_known && strcmp(argv[i], "--keys") == 0)
            is_known = number_read(argv[i + 1], KEYS_MAX, &options->keys);
        else if (is_known && strcmp(argv[i], "--workers") == 0)
            is_known = number_read(argv[i + 1], WORKERS_MAX, &options->workers);
        else if (is_known && strcmp(argv[i], "--providers") == 0)
            is_known =
                number_read(argv[i + 1], KV_PROVIDERS_MAX, &options->providers);
        else
            is_known = false;
        if (!is_known)
            return argv[i];
    }
    return NULL;
}

/* Ends all ranks. */
_Noreturn static void run_fail(const char *what, const char *why)
{
    fprintf(stderr, "kv: %s: %s\n", what, why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    abort();
}

static void run_check(hg_return_t ret, const char *what)
{
    if (ret != HG_SUCCESS)
        run_fail(what, HG_Error_to_string(ret));
}

static void run_open(struct run *run)
{
    run->mid = amalgam_margo_init(MPI_COMM_WORLD, NULL, NULL);
    if (run->mid == MARGO_INSTANCE_NULL)
        run_fail("amalgam_margo_init", "the lines above say why");
    /* Nothing is served before this thread waits for the first time. */
    for (unsigned i = 0; i < run->options.providers; i++)
        if (!provider_open(&run->providers[i], run->mid, (uint16_t)(i + 1)))
            run_fail("a provider", "the lines above say why");
    run_check(client_open(&run->client, run->mid, run->options.providers),
        "the client");
    run_check(meet_open(&run->meet, run->mid), "the meeting point");
    run->work = (struct work){
        .client = &run->client,
        .rank = (unsigned)run->rank,
        .ranks = (unsigned)run->ranks,
        .keys = run->options.keys,
        .workers = run->options.workers,
    };
    margo_get_handler_pool(run->mid, &run->work.pool);
    if (ABT_mutex_create(&run->work.lock) != ABT_SUCCESS)
        run_fail("the lock of the workers", "no memory");
}

/* The instance ends on all ranks together: all ranks serve until then. */
static void run_close(struct run *run)
{
    ABT_mutex_free(&run->work.lock);
    meet_close(&run->meet);
    client_close(&run->client);
    ABT_init(0, NULL); /* the tables' locks outlive the instance */
    margo_finalize_and_wait(run->mid);
    for (unsigned i = 0; i < run->options.providers; i++)
        provider_close(&run->providers[i]);
    if (run->meet.barrier != ABT_BARRIER_NULL)
        ABT_barrier_free(&run->meet.barrier);
    ABT_finalize();
}

static void run_steps(struct run *run)
{
    bool (*const steps[])(struct work *) = {
        work_fill, work_change, work_verify};
    double start = 0.0;

    run_check(meet_wait(&run->meet), "the start of all ranks");
    start = ABT_get_wtime();
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (!steps[i](&run->work))
            run_fail("the workers", "no memory");
        run_check(meet_wait(&run->meet), "the end of a step of all ranks");
    }
    run->seconds = ABT_get_wtime() - start;
}

/* Prints the sums of all ranks at rank 0. True: no error at any rank. */
static bool run_tell(const struct run *run)
{
    enum { COUNTS = sizeof(struct work_counts) / sizeof(uint64_t) };
    struct work_counts all;
    uint64_t calls = 0;

    MPI_Allreduce(
        &run->work.counts, &all, COUNTS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (run->rank == 0) {
        calls = all.puts + all.gets + all.adds;
        printf("%d ranks, %u providers and %u workers on each\n", run->ranks,
            run->options.providers, run->options.workers);
        printf("%llu puts, %llu gets, %llu adds; %llu values by bulk\n",
            (unsigned long long)all.puts, (unsigned long long)all.gets,
            (unsigned long long)all.adds, (unsigned long long)all.large);
        printf("%.3f s, %.0f calls a second, %.1f MB a second\n", run->seconds,
            (double)calls / run->seconds,
            (double)all.bytes / run->seconds * 1e-6);
        printf("%llu values wrong, %llu calls failed\n",
            (unsigned long long)all.wrong, (unsigned long long)all.failed);
    }
    return all.wrong == 0 && all.failed == 0;
}

int main(int argc, char **argv)
{
    static struct run run = {.options = {60, 8, 2}};
    const char *unknown = NULL;
    int level = 0;
    bool is_fine = false;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    unknown = options_read(&run.options, argc, argv);
    if (unknown != NULL) {
        if (run.rank == 0) {
            fprintf(stderr, "kv: %s?\n\n", unknown);
            usage(stderr);
        }
        MPI_Finalize();
        return 2;
    }
    run_open(&run);
    run_steps(&run);
    run_close(&run);
    is_fine = run_tell(&run);
    MPI_Finalize();
    return is_fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
