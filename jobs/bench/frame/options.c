/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the command line. */
#include "jobs/bench/frame/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEADLINE_S = 60,
    PEERS = 64,
    SMOKE_BATCHES = 2,
    SMOKE_CALLS = 4,
    QUICK_BATCHES = 5,
    QUICK_PART = 10,     /* of the usual calls; but not fewer than */
    QUICK_CALLS_MIN = 8, /* these */
    QUICK_EACH = 4,
};

#define AT(member) offsetof(struct options, member)

/* The options, the kind of their value, and the member that takes it. */
static const struct option {
    const char *name;
    enum { TEXT, NUMBER, FLAG } kind;
    size_t offset;
    unsigned min;
    unsigned max;
} all[] = {
    {"-t", TEXT, AT(transport), 0, 0},
    {"--json", TEXT, AT(json), 0, 0},
    {"--csv", TEXT, AT(csv), 0, 0},
    {"--expect", TEXT, AT(expect), 0, 0},
    {"--what", TEXT, AT(what), 0, 0},
    {"--calls", NUMBER, AT(calls), 1, 1000000},
    {"--batches", NUMBER, AT(batches), OPTIONS_BATCHES_MIN, 1000},
    {"--deadline", NUMBER, AT(deadline_s), 1, 3600},
    {"--peers", NUMBER, AT(peers), 1, 512},
    {"--runs", NUMBER, AT(runs), 1, 100},
    {"--time", NUMBER, AT(time_s), 1, 7 * 24 * 3600},
    {"--threads", NUMBER, AT(threads), 1, OPTIONS_THREADS_MAX},
    {"-w", NUMBER, AT(window), 1, OPTIONS_WINDOW_MAX},
    {"--smoke", FLAG, AT(is_smoke), 0, 0},
    {"--quick", FLAG, AT(is_quick), 0, 0},
    {"--near", FLAG, AT(is_near), 0, 0},
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
        OPTIONS_WINDOW_MAX, PEERS, OPTIONS_BATCHES_MIN, OPTIONS_BATCHES,
        DEADLINE_S);
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

/* The option at argv[*at], and its value behind it. False: it is not known. */
static bool option_read(struct options *options, char **argv, int *at)
{
    static unsigned size;
    const char *name = argv[*at];
    const char *value = argv[*at + 1];

    if (strcmp(name, "--size") == 0 && value != NULL) {
        options->size = &size;
        *at += 1;
        return number_read(value, 0, OPTIONS_SIZE_MAX, &size);
    }
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        void *member = (char *)options + all[i].offset;

        if (strcmp(all[i].name, name) != 0)
            continue;
        if (all[i].kind == FLAG)
            return *(bool *)member = true;
        if (value == NULL)
            return false;
        *at += 1;
        if (all[i].kind == NUMBER)
            return number_read(value, all[i].min, all[i].max, member);
        *(const char **)member = value;
        return true;
    }
    return false;
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
        if (argv[i][0] == '-' ? !option_read(options, argv, &i)
                              : options->bench != NULL)
            return false;
        if ((*ret_wrong)[0] != '-')
            options->bench = *ret_wrong;
    }
    *ret_wrong = "--what";
    few_set(options);
    return options->what == NULL || strcmp(options->what, "rpc") == 0 ||
           strcmp(options->what, "raw") == 0 ||
           strcmp(options->what, "mpi") == 0;
}
