/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: the rank PMI_RANK = NO_MAP_RANK finds no segment of the
 * others, by name or by its owner's descriptor. NO_PROC_RANK finds them by name
 * only, as in a container with its own processes. NO_PLACE_RANK finds no file
 * of them, as in a container with its own /dev/shm, nor the place where the
 * ranks of a node meet; NO_ROOM_RANK finds that, and has no room in it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fallocate(), RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef int (*open_fn)(const char *path, int flags, ...);
typedef int (*fallocate_fn)(int fd, int mode, off_t at, off_t len);

/* Is this the rank that the variable names? */
static int is_rank(const char *variable)
{
    const char *lost = getenv(variable);
    const char *mpich = getenv("PMI_RANK");
    const char *rank = mpich != NULL ? mpich : getenv("OMPI_COMM_WORLD_RANK");

    return lost != NULL && rank != NULL && strcmp(lost, rank) == 0;
}

static int is_lost(const char *path, int flags)
{
    if (strstr(path, "/dev/shm/amalgam-") != NULL)
        return is_rank("NO_PLACE_RANK") ||
               (is_rank("NO_MAP_RANK") && strstr(path, "-meet-") == NULL);
    /* The library's way to open them; MPI has its own. */
    return (is_rank("NO_MAP_RANK") || is_rank("NO_PROC_RANK")) &&
           (flags & O_NOCTTY) != 0 && strncmp(path, "/proc/", 6) == 0 &&
           strstr(path, "/fd/") != NULL;
}

/* Only the place is reserved by it, its head first. */
int fallocate(int fd, int mode, off_t at, off_t len)
{
    static fallocate_fn real;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fallocate");
    if (at > 0 && is_rank("NO_ROOM_RANK")) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, mode, at, len);
}

int open(const char *path, int flags, ...)
{
    static open_fn real;
    mode_t mode = 0;
    va_list args;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (is_lost(path, flags)) {
        errno = is_rank("NO_PLACE_RANK") ? EACCES : ENOENT;
        return -1;
    }
    va_start(args, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(args, mode_t);
    va_end(args);
    return real(path, flags, mode);
}
