/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command line asks for. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "duel.h"

enum {
    CALLS_LIMIT = 1000000,
    BATCHES_LIMIT = 1000,
    DEADLINE_LIMIT_S = 3600,
    DEADLINE_S = 60,
    PEERS = 64,
    QUICK_BATCHES = 2,
    QUICK_CALLS = 4,
};

void options_print(FILE *stream)
{
    fprintf(stream,
        "  -t TRANSPORT   for instance mpi+p2p; AMALGAM_TRANSPORT, or the\n"
        "                 library chooses\n"
        "  --json FILE    write the rows there, too\n"
        "  --size BYTES   only this one, instead of all\n"
        "  -w CALLS       with rate and bulk: only so many in flight, at most "
        "%d\n"
        "  --peers N      with silent and memory: silent peers; %d\n"
        "  --calls N      in a batch; with count: in all\n"
        "  --quick        looks whether all works; the figures say nothing\n"
        "  --batches N    at least %d; %d\n"
        "  --deadline S   seconds that one batch may take; %d\n"
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
    else if (strcmp(name, "--size") == 0)
        return size_read(value, options);
    else if (strcmp(name, "--what") == 0)
        return what_read(value, options);
    else
        return number_option_read(options, name, value);
    return true;
}

/* Few of everything, where nothing else was asked for. */
static void quick_set(struct options *options)
{
    if (!options->is_quick)
        return;
    if (options->batches == 0)
        options->batches = QUICK_BATCHES;
    if (options->calls == 0)
        options->calls = QUICK_CALLS;
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
    *ret_wrong = "no benchmark is named";
    for (int i = 1; i < argc; i++) {
        *ret_wrong = argv[i];
        if (argv[i][0] != '-') {
            if (options->bench != NULL)
                return false;
            options->bench = argv[i];
        } else if (strcmp(argv[i], "--quick") == 0) {
            options->is_quick = true;
        } else if (option_read(options, argv[i], argv[i + 1])) {
            i++;
        } else {
            return false;
        }
    }
    quick_set(options);
    if (options->bench == NULL)
        *ret_wrong = "no benchmark is named";
    return options->bench != NULL;
}
