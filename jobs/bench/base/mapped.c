/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files of /dev/shm this process has mapped. */
#include "jobs/bench/base/mapped.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_CAP = 4608 };

static bool has_file(const struct mapped *mapped, uint64_t file)
{
    for (uint32_t i = 0; i < mapped->count; i++)
        if (mapped->files[i] == file)
            return true;
    return false;
}

void mapped_read(const struct mapped *without, struct mapped *ret_mapped)
{
    char line[LINE_CAP];
    FILE *maps = fopen("/proc/self/maps", "r");

    ret_mapped->count = 0;
    if (maps == NULL)
        return;
    while (fgets(line, sizeof(line), maps) != NULL &&
           ret_mapped->count < MAPPED_MAX) {
        uint64_t file = 0;

        /* address perms offset device inode path */
        if (strstr(line, " /dev/shm/") == NULL ||
            sscanf(line, "%*s %*s %*s %*s %" SCNu64, &file) != 1 ||
            has_file(ret_mapped, file))
            continue;
        if (without == NULL || !has_file(without, file))
            ret_mapped->files[ret_mapped->count++] = file;
    }
    fclose(maps);
}

bool mapped_meet(const struct mapped *one, const struct mapped *other)
{
    for (uint32_t i = 0; i < one->count; i++)
        if (has_file(other, one->files[i]))
            return true;
    return false;
}
