/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the files to send below the paths of the command line. */
#ifndef CHECKPOINT_WALK_H
#define CHECKPOINT_WALK_H

#include <stdbool.h>

#include "jobs/apps/checkpoint/list.h"

/* Adds all files and empty directories below `paths`, named as `cp -r` would
 * name them in the output directory. What cannot be read is reported as an
 * error and left out, symbolic links below a path and special files with a
 * note, and so is `out_dir`, where it lies in a path (NULL: it cannot).
 * False: nothing may be sent, the cause was reported. */
bool walk_paths(
    struct list *list, char *const *paths, int count, const char *out_dir);

#endif
