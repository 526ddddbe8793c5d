/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: the rank PMI_RANK = NO_MAP_RANK finds none of the
 * others' segments, by their names or their owners' descriptors, as in a
 * container with a /dev/shm of its own. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef int (*open_fn)(const char *path, int flags, ...);

static int is_lost(const char *path, int flags)
{
    const char *lost = getenv("NO_MAP_RANK");
    const char *rank = getenv("PMI_RANK");

    if (lost == NULL || rank == NULL || strcmp(lost, rank) != 0)
        return 0;
    if (strstr(path, "/dev/shm/amalgam-") != NULL)
        return 1;
    /* As the library opens them; MPI has its own. */
    return (flags & O_NOCTTY) != 0 && strncmp(path, "/proc/", 6) == 0 &&
           strstr(path, "/fd/") != NULL;
}

int open(const char *path, int flags, ...)
{
    static open_fn real;
    mode_t mode = 0;
    va_list args;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (is_lost(path, flags)) {
        errno = ENOENT;
        return -1;
    }
    va_start(args, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(args, mode_t);
    va_end(args);
    return real(path, flags, mode);
}
