/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#include "jobs/apps/checkpoint/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is sent where nothing is named: this project, if its source is where
 * the build found it, without what was built in it. */
static const char *const own_tree[] = {"README.md", "CMakeLists.txt",
    "CHANGELOG.md", "LICENSE", "include", "src", "mpi_backend", "ofi_backend",
    "jobs", "tests", "slurm"};

enum {
    OWN_COUNT = sizeof(own_tree) / sizeof(own_tree[0]),
    USAGE_CODE = 2,
    DEPTH_DEFAULT = 4,
    DEPTH_MAX = 64,
    WAIT_S_DEFAULT = 60,
    WAIT_S_MAX = 86400,
};

static const char usage[] =
    "checkpoint [-o DIR] [-s SERVERS] [-d DEPTH] [-w SECONDS] [PATH...]\n"
    "\n"
    "  PATH        files and directories to send; this project's own tree\n"
    "  -o DIR      where the servers write; a fresh directory, which is\n"
    "              removed when all files in it were verified\n"
    "  -s SERVERS  so many of the ranks serve, the first; a quarter of them\n"
    "  -d DEPTH    files that each sender has under way at once; 4\n"
    "  -w SECONDS  how long a server may take to answer; 60\n";

/* False: `text` is no number from 1 to `max`. */
static bool number_read(const char *text, int max, int *ret_number)
{
    char *end = NULL;
    long number = strtol(text, &end, 10);

    if (end == text || *end != '\0' || number < 1 || number > max)
        return false;
    *ret_number = (int)number;
    return true;
}

static bool option_read(
    struct options *options, int letter, const char *value, int rank, int size)
{
    int max = 0;
    int *number = NULL;

    if (letter == 'o') {
        options->out_dir = value;
        return true;
    }
    if (letter == 's') {
        number = &options->servers;
        max = size > 1 ? size - 1 : 1;
    } else if (letter == 'd') {
        number = &options->depth;
        max = DEPTH_MAX;
    } else if (letter == 'w') {
        number = &options->wait_s;
        max = WAIT_S_MAX;
    } else {
        return false;
    }
    if (number_read(value, max, number))
        return true;
    if (rank == 0)
        fprintf(stderr,
            "checkpoint: -%c %s: a number from 1 to %d is wanted%s\n", letter,
            value, max,
            letter == 's' ? ", so that a rank is left to send" : "");
    return false;
}

/* Leaves the list empty where there is no memory or no such tree. */
static void own_paths(struct options *options)
{
    char *text = NULL;
    int i = 0;

    options->own = calloc(OWN_COUNT, sizeof(*options->own) + PATH_MAX);
    if (options->own == NULL)
        return;
    text = (char *)(options->own + OWN_COUNT);
    for (i = 0; i < OWN_COUNT; i++, text += PATH_MAX) {
        snprintf(text, PATH_MAX, "%s/%s", CHECKPOINT_TREE, own_tree[i]);
        if (access(text, F_OK) == 0)
            options->own[options->path_count++] = text;
    }
    options->paths = options->own;
}

bool options_read(struct options *options, int argc, char **argv, int rank,
    int size, int *ret_code)
{
    int letter = 0;

    memset(options, 0, sizeof(*options));
    options->servers = size >= 8 ? size / 4 : 1;
    options->depth = DEPTH_DEFAULT;
    options->wait_s = WAIT_S_DEFAULT;
    opterr = rank == 0;
    while ((letter = getopt(argc, argv, "+o:s:d:w:h")) != -1) {
        if (letter == 'h') {
            if (rank == 0)
                fputs(usage, stdout);
            *ret_code = 0;
            return false;
        }
        if (!option_read(options, letter, optarg, rank, size)) {
            if (rank == 0 && letter == '?')
                fputs(usage, stderr);
            *ret_code = USAGE_CODE;
            return false;
        }
    }
    options->paths = argv + optind;
    options->path_count = argc - optind;
    if (options->path_count == 0)
        own_paths(options);
    return true;
}

void options_free(struct options *options)
{
    free(options->own);
    options->own = NULL;
}
