/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the command line. */
#include "jobs/bench/frame/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMOKE_BATCHES = 2,
    SMOKE_CALLS = 4,
    QUICK_BATCHES = 5,
    QUICK_PART = 10, /* of the usual calls; at least QUICK_CALLS_MIN */
    QUICK_CALLS_MIN = 8,
    QUICK_EACH = 4,
};

#define AT(member) offsetof(struct options, member)
#define TEXT_OF(x) #x
#define IN_TEXT(x) TEXT_OF(x)
#define DEADLINE_S 60
#define PEERS      64

/* The options, the kind of their value, the member that takes it, the least and
 * the most of a number; and what --help says. */
static const struct option {
    const char *name;
    enum { TEXT, NUMBER, FLAG, SIZE } kind;
    size_t offset;
    unsigned min;
    unsigned max;
    const char *help;
} all[] = {
    {"-t", TEXT, AT(transport), 0, 0,
        "TRANSPORT   for instance mpi+p2p; AMALGAM_TRANSPORT, or the\n"
        "                 library chooses"},
    {"--json", TEXT, AT(json), 0, 0, "FILE    write the rows there, too"},
    {"--csv", TEXT, AT(csv), 0, 0,
        "FILE     write the rows as comma-separated values"},
    {"--expect", TEXT, AT(expect), 0, 0,
        "FILE  ratios that must hold: exit code 3 if they do not"},
    {"--size", SIZE, AT(size), 0, OPTIONS_SIZE_MAX,
        "BYTES   only this size, instead of all sizes"},
    {"-w", NUMBER, AT(window), 1, OPTIONS_WINDOW_MAX,
        "CALLS       with rate and bulk: only so many in flight, at most 64"},
    {"--peers", NUMBER, AT(peers), 1, 512,
        "N      with silent: the number of silent peers; " IN_TEXT(PEERS)},
    {"--calls", NUMBER, AT(calls), 1, 1000000,
        "N      in a batch; with count: in all"},
    {"--quick", FLAG, AT(is_quick), 0, 0, "       few batches and sizes"},
    {"--smoke", FLAG, AT(is_smoke), 0, 0,
        "       checks that all works; the figures say nothing"},
    {"--near", FLAG, AT(is_near), 0, 0,
        "        between two ranks of one node, if there are several"},
    {"--runs", NUMBER, AT(runs), 1, 100,
        "N       each row is the median of N; 1"},
    {"--threads", NUMBER, AT(threads), 1, OPTIONS_THREADS_MAX,
        "N    with rate: at most so many in each rank"},
    {"--batches", NUMBER, AT(batches), OPTIONS_BATCHES_MIN, OPTIONS_BATCHES_MAX,
        "N    at least 15; 21"},
    {"--deadline", NUMBER, AT(deadline_s), 1, 3600,
        "S   seconds that one batch may take; " IN_TEXT(DEADLINE_S)},
    {"--time", NUMBER, AT(time_s), 1, 7 * 24 * 3600,
        "S       seconds that the run may take: it ends after the row\n"
        "                 that is under way"},
    {"--what", TEXT, AT(what), 0, 0,
        "WHAT    with count: rpc, or raw for the control"},
};

enum { COUNT = sizeof(all) / sizeof(all[0]) };

void options_print(FILE *stream)
{
    for (unsigned i = 0; i < COUNT; i++)
        fprintf(stream, "  %s %s\n", all[i].name, all[i].help);
}

/* Reads the option argv[*at] and the value after it. False: the option is not
 * known, or its value is wrong. */
static bool option_read(struct options *options, char **argv, int *at)
{
    static unsigned size;
    const char *value = argv[*at + 1];
    const struct option *option = all;
    void *member = NULL;
    char *end = NULL;
    unsigned long number = 0;

    while (option < all + COUNT && strcmp(option->name, argv[*at]) != 0)
        option++;
    if (option == all + COUNT || (option->kind != FLAG && value == NULL))
        return false;
    member = (char *)options + option->offset;
    if (option->kind == FLAG)
        return *(bool *)member = true;
    *at += 1;
    if (option->kind == TEXT) {
        *(const char **)member = value;
        return true;
    }
    number = strtoul(value, &end, 10);
    if (end == value || *end != '\0' || value[0] == '-' ||
        number < option->min || number > option->max)
        return false;
    if (option->kind == SIZE) {
        *(const unsigned **)member = &size;
        member = &size;
    }
    *(unsigned *)member = (unsigned)number;
    return true;
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
    /* jobs/run names the transport there; it need not be one of ranks. */
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
    if (options->batches == 0)
        options->batches =
            options_pick(options, 0, QUICK_BATCHES, SMOKE_BATCHES);
    if (options->is_smoke && options->calls == 0)
        options->calls = SMOKE_CALLS;
    *ret_wrong = "--what";
    return options->what == NULL || strcmp(options->what, "rpc") == 0 ||
           strcmp(options->what, "raw") == 0;
}
