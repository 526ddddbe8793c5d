/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line of the torture programs. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 20 };

static void usage(const char *program)
{
    fprintf(stderr,
        "usage: %s --transport T [option value]...\n"
        "  --transport T      shm, auto, mpi, mpi+p2p, mpi+rma, ofi+tcp,\n"
        "                     na+sm, tcp, self\n"
        "  --seed N[:M]       the seeds to run (1)\n"
        "  --fork N           N processes without MPI; else mpiexec starts it\n"
        "  --rounds R         openings of a seed\n"
        "  --calls C          calls that each rank makes by itself\n"
        "  --ops MASK         kinds of calls (plan.h)\n"
        "  --ways MASK        what their origins do\n"
        "  --handlers MASK    what their targets do\n"
        "  --ends MASK        how the classes end\n"
        "  --threads N, --contexts N, --classes N\n"
        "  --level N          of MPI's threads, 0 (single) to 3 (multiple)\n"
        "  --plan-part A/B    only part A (from 0) of B of each rank's calls\n"
        "  --limit SECONDS    that nothing may stand still (20)\n"
        "  --faults N         of torture_hg: one in N calls that the library "
        "makes fails\n"
        "What is not named follows from the seed.\n",
        program);
}

/* Reads a number, and what follows `separator` into a second one. */
static bool numbers_read(
    const char *text, char separator, uint64_t *ret_first, uint64_t *ret_second)
{
    char *end = NULL;

    errno = 0;
    *ret_first = strtoull(text, &end, 0);
    if (end == text || errno != 0)
        return false;
    if (*end == '\0')
        return true;
    if (separator == '\0' || *end != separator)
        return false;
    text = end + 1;
    *ret_second = strtoull(text, &end, 0);
    return end != text && *end == '\0' && errno == 0;
}

struct name {
    const char *text;
    unsigned *number;
    uint32_t *mask;
};

/* Options whose value is one number. */
static bool number_take(
    struct plan_options *options, const char *name, const char *value)
{
    const struct name names[] = {
        {"--fork", &options->fork, NULL},
        {"--rounds", &options->rounds, NULL},
        {"--calls", &options->calls, NULL},
        {"--threads", &options->threads, NULL},
        {"--contexts", &options->contexts, NULL},
        {"--classes", &options->classes, NULL},
        {"--level", &options->level, NULL},
        {"--limit", &options->limit_s, NULL},
        {"--faults", &options->faults, NULL},
        {"--ops", NULL, &options->ops},
        {"--ways", NULL, &options->ways},
        {"--handlers", NULL, &options->handlers},
        {"--ends", NULL, &options->ends},
    };
    uint64_t number = 0;
    uint64_t none = 0;

    if (!numbers_read(value, '\0', &number, &none) || number > UINT32_MAX)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].text) == 0) {
            if (names[i].number != NULL)
                *names[i].number = (unsigned)number;
            else
                *names[i].mask = (uint32_t)number;
            return true;
        }
    return false;
}

static bool option_take(
    struct plan_options *options, const char *name, const char *value)
{
    uint64_t first = 0;
    uint64_t second = 0;

    if (strcmp(name, "--transport") == 0) {
        options->transport = value;
        return true;
    }
    if (strcmp(name, "--seed") == 0) {
        if (!numbers_read(value, ':', &first, &second))
            return false;
        options->seed = first;
        options->seed_last = strchr(value, ':') == NULL ? first : second;
        return options->seed <= options->seed_last;
    }
    if (strcmp(name, "--plan-part") == 0) {
        if (!numbers_read(value, '/', &first, &second) || second == 0 ||
            first >= second || second > UINT32_MAX)
            return false;
        options->part = (unsigned)first;
        options->parts = (unsigned)second;
        return true;
    }
    return number_take(options, name, value);
}

bool options_read(int argc, char **argv, struct plan_options *ret_options)
{
    struct plan_options options = {
        .seed = 1,
        .seed_last = 1,
        .ops = UINT32_MAX,
        .ways = UINT32_MAX,
        .handlers = UINT32_MAX,
        .ends = UINT32_MAX,
        .level = PLAN_LEVEL_ANY,
        .limit_s = LIMIT_S,
        .parts = 1,
    };

    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !option_take(&options, argv[i], argv[i + 1])) {
            fprintf(stderr, "%s: not understood: %s\n", argv[0], argv[i]);
            usage(argv[0]);
            return false;
        }
    if (options.transport == NULL || options.level > PLAN_LEVEL_ANY ||
        options.fork > PLAN_RANKS_MAX || options.contexts > PLAN_CONTEXTS_MAX ||
        options.classes > PLAN_CLASSES_MAX) {
        usage(argv[0]);
        return false;
    }
    *ret_options = options;
    return true;
}
