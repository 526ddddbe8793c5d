/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: files end at SHRINK_AT, whatever their status says, and
 * the one called VANISHED can no longer be opened. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef int (*open_fn)(const char *path, int flags, ...);

typedef ssize_t (*pread_fn)(int fd, void *bytes, size_t len, off_t offset);

ssize_t pread(int fd, void *bytes, size_t len, off_t offset)
{
    static pread_fn real;
    const char *at = getenv("SHRINK_AT");
    off_t end = at != NULL ? (off_t)atoll(at) : 0;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pread");
    if (at != NULL && offset >= end)
        return 0;
    if (at != NULL && (off_t)len > end - offset)
        len = (size_t)(end - offset);
    return real(fd, bytes, len, offset);
}

int open(const char *path, int flags, ...)
{
    static open_fn real;
    const char *vanished = getenv("VANISHED");
    mode_t mode = 0;
    va_list args;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (vanished != NULL && strcmp(path, vanished) == 0) {
        errno = ENOENT;
        return -1;
    }
    va_start(args, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(args, mode_t);
    va_end(args);
    return real(path, flags, mode);
}
