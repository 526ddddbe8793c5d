/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of another process of this machine.
 *
 * They are found under /proc. A number may mean another process there when the
 * two live in different containers; so the file has to be the one offered. */
#include "jobs/bench/base/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void reach_offer(int fd, struct reach *ret_reach)
{
    struct stat stat;

    *ret_reach = (struct reach){(int32_t)getpid(), -1, 0, 0};
    if (fd < 0 || fstat(fd, &stat) != 0)
        return;
    ret_reach->fd = fd;
    ret_reach->device = (uint64_t)stat.st_dev;
    ret_reach->inode = (uint64_t)stat.st_ino;
}

int reach_open(const struct reach *reach, int flags)
{
    char path[64];
    struct stat file;

    snprintf(
        path, sizeof(path), "/proc/%d/fd/%d", (int)reach->pid, (int)reach->fd);
    if (stat(path, &file) != 0)
        return -1;
    if ((uint64_t)file.st_dev != reach->device ||
        (uint64_t)file.st_ino != reach->inode) {
        errno = EXDEV;
        return -1;
    }
    return open(path, flags | O_CLOEXEC);
}
