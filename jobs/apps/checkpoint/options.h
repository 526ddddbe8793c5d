/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#ifndef CHECKPOINT_OPTIONS_H
#define CHECKPOINT_OPTIONS_H

#include <stdbool.h>

struct options {
    const char *out_dir; /* NULL: a fresh one, removed at the end */
    int servers;         /* how many ranks serve */
    int depth;           /* files that a sender has under way at once */
    int wait_s;          /* how long a server may take to answer */
    char *const *paths;  /* of argv, or the project's own tree */
    int path_count;      /* 0: nothing was named, and there is no such tree */
    char **own;          /* holds the paths where none was named */
};

/* The same on all ranks; rank 0 speaks. Returns false when the process is to
 * end with `*ret_code`: the line was wrong, or only help was asked for. */
bool options_read(struct options *options, int argc, char **argv, int rank,
    int size, int *ret_code);
/* Frees the list that options_read() may have made. */
void options_free(struct options *options);

#endif
