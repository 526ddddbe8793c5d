/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: the rank PMI_RANK = NO_MAP_RANK finds none of the
 * others' segments, as in a container with a /dev/shm of its own. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef int (*open_fn)(const char *path, int flags, ...);

static int is_lost(const char *path)
{
    const char *lost = getenv("NO_MAP_RANK");
    const char *rank = getenv("PMI_RANK");

    return lost != NULL && rank != NULL && strcmp(lost, rank) == 0 &&
           strstr(path, "/dev/shm/amalgam-") != NULL;
}

int open(const char *path, int flags, ...)
{
    static open_fn real;
    mode_t mode = 0;
    va_list args;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (is_lost(path)) {
        errno = ENOENT;
        return -1;
    }
    va_start(args, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(args, mode_t);
    va_end(args);
    return real(path, flags, mode);
}
