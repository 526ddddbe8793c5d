/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command line asks for. */
#include "jobs/bench/frame/options.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/duel.h"

enum {
    CALLS_LIMIT = 1000000,
    BATCHES_LIMIT = 1000,
    DEADLINE_LIMIT_S = 3600,
    DEADLINE_S = 60,
    TIME_LIMIT_S = 7 * 24 * 3600,
    PEERS = 64,
    RUNS_LIMIT = 100,
    SMOKE_BATCHES = 2,
    SMOKE_CALLS = 4,
    QUICK_BATCHES = 5,
    QUICK_PART = 10,     /* of the usual calls; but not fewer than */
    QUICK_CALLS_MIN = 8, /* these */
    QUICK_EACH = 4,
};

void options_print(FILE *stream)
{
    fprintf(stream,
        "  -t TRANSPORT   for instance mpi+p2p; AMALGAM_TRANSPORT, or the\n"
        "                 library chooses\n"
        "  --json FILE    write the rows there, too\n"
        "  --csv FILE     the same, as comma-separated values\n"
        "  --expect FILE  ratios that must hold: exit code 3 if they do not\n"
        "  --size BYTES   only this one, instead of all\n"
        "  -w CALLS       with rate and bulk: only so many in flight, at most "
        "%d\n"
        "  --peers N      with silent and memory: silent peers; %d\n"
        "  --calls N      in a batch; with count: in all\n"
        "  --quick        few batches and sizes\n"
        "  --smoke        looks whether all works; the figures say nothing\n"
        "  --near         between two ranks of one node, if there are several\n"
        "  --runs N       each row is the median of N; 1\n"
        "  --threads N    with rate: at most so many in each rank\n"
        "  --batches N    at least %d; %d\n"
        "  --deadline S   seconds that one batch may take; %d\n"
        "  --time S       seconds that the run may take: it ends after the "
        "row\n"
        "                 that is under way\n"
        "  --what WHAT    with count: rpc, or raw for the control\n",
        OPTIONS_WINDOW_MAX, PEERS, DUEL_BATCHES_MIN, DUEL_BATCHES, DEADLINE_S);
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
    return number_read(text, 0, OPTIONS_SIZE_MAX, &size);
}

static bool what_read(const char *text, struct options *options)
{
    options->what = text;
    return strcmp(text, "rpc") == 0 || strcmp(text, "raw") == 0 ||
           strcmp(text, "mpi") == 0;
}

/* One option that is a number; false when there is no such thing. */
static bool number_option_read(
    struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        unsigned min;
        unsigned max;
        unsigned *number;
    } numbers[] = {
        {"--calls", 1, CALLS_LIMIT, &options->calls},
        {"--batches", DUEL_BATCHES_MIN, BATCHES_LIMIT, &options->batches},
        {"--deadline", 1, DEADLINE_LIMIT_S, &options->deadline_s},
        {"--peers", 1, OPTIONS_PEERS_MAX, &options->peers},
        {"--runs", 1, RUNS_LIMIT, &options->runs},
        {"--time", 1, TIME_LIMIT_S, &options->time_s},
        {"--threads", 1, OPTIONS_THREADS_MAX, &options->threads},
        {"-w", 1, OPTIONS_WINDOW_MAX, &options->window},
    };

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(numbers[i].name, name) == 0)
            return number_read(
                value, numbers[i].min, numbers[i].max, numbers[i].number);
    return false;
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
    else if (strcmp(name, "--csv") == 0)
        options->csv = value;
    else if (strcmp(name, "--expect") == 0)
        options->expect = value;
    else if (strcmp(name, "--size") == 0)
        return size_read(value, options);
    else if (strcmp(name, "--what") == 0)
        return what_read(value, options);
    else
        return number_option_read(options, name, value);
    return true;
}

/* Few of everything, where nothing else was asked for. */
static void few_set(struct options *options)
{
    if (options->is_smoke && options->batches == 0)
        options->batches = SMOKE_BATCHES;
    if (options->is_smoke && options->calls == 0)
        options->calls = SMOKE_CALLS;
    if (options->is_quick && options->batches == 0)
        options->batches = QUICK_BATCHES;
}

unsigned options_calls(const struct options *options, unsigned usual)
{
    unsigned part = usual / QUICK_PART;

    if (!options->is_quick || options->calls != 0 || usual <= QUICK_CALLS_MIN)
        return usual;
    return part < QUICK_CALLS_MIN ? QUICK_CALLS_MIN : part;
}

bool options_takes(const struct options *options, unsigned index)
{
    return !options->is_quick || index % QUICK_EACH == 0;
}

unsigned options_pick(const struct options *options, unsigned usual,
    unsigned quick, unsigned smoke)
{
    if (options->is_smoke)
        return smoke;
    return options->is_quick ? quick : usual;
}

bool options_read(
    struct options *options, int argc, char **argv, const char **ret_wrong)
{
    const char *wanted = getenv("AMALGAM_TRANSPORT");

    options->deadline_s = DEADLINE_S;
    options->peers = PEERS;
    /* As jobs/run names it; only here it may be one that knows no ranks. */
    if (wanted != NULL && wanted[0] != '\0')
        options->transport = wanted;
    for (int i = 1; i < argc; i++) {
        *ret_wrong = argv[i];
        if (argv[i][0] != '-') {
            if (options->bench != NULL)
                return false;
            options->bench = argv[i];
        } else if (strcmp(argv[i], "--smoke") == 0) {
            options->is_smoke = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options->is_quick = true;
        } else if (strcmp(argv[i], "--near") == 0) {
            options->is_near = true;
        } else if (option_read(options, argv[i], argv[i + 1])) {
            i++;
        } else {
            return false;
        }
    }
    few_set(options);
    return true;
}
