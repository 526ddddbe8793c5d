/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is being written, under a name of its own until it is whole. */
#ifndef CHECKPOINT_PARTIAL_H
#define CHECKPOINT_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct partial;

/* Whether a name from another rank stays below the output directory: relative,
 * without empty, "." and ".." components. */
bool partial_name_is_safe(const char *name);

/* Makes the directories down to `name`, below the directory `root`. Returns 0
 * or an errno. */
int partial_make_directories(int root, const char *name);

/* Opens a file for `name`, called `.NAME.partial.RANK.NUMBER` beside it for
 * now. Returns 0 or an errno. `root` stays the caller's, and open. */
int partial_create(
    int root, const char *name, int rank, struct partial **ret_partial);
/* Appends. Returns 0 or an errno. */
int partial_write(struct partial *partial, const void *bytes, size_t len);
/* Gives it its name and mode, and frees it; whatever had the name is replaced.
 * Returns 0, or an errno, and then nothing is left. */
int partial_commit(struct partial *partial, uint32_t mode);
/* Removes the file, and frees it. NULL is fine. */
void partial_remove(struct partial *partial);

/* Removes the files of all partials; for a signal handler. */
void partial_remove_all(void);

#endif
