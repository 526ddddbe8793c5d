/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, writes and removes whole files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "save_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end of `file`, whose length the file system may not know. */
static int stream_read(FILE *file, void **ret_bytes, size_t *ret_len)
{
    size_t cap = 64 * 1024;
    size_t len = 0;
    char *bytes = malloc(cap);

    while (bytes != NULL) {
        char *more = NULL;

        len += fread(bytes + len, 1, cap - len, file);
        if (ferror(file)) {
            free(bytes);
            return EIO;
        }
        if (len < cap) {
            *ret_bytes = bytes;
            *ret_len = len;
            return 0;
        }
        cap *= 2;
        more = realloc(bytes, cap);
        if (more == NULL)
            free(bytes);
        bytes = more;
    }
    return ENOMEM;
}

int file_read(const char *path, void **ret_bytes, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    int err = 0;

    if (file == NULL)
        return errno;
    if (fstat(fileno(file), &info) != 0)
        err = errno;
    else if (S_ISDIR(info.st_mode))
        err = EISDIR;
    else if (!S_ISREG(info.st_mode))
        err = EINVAL;
    else
        err = stream_read(file, ret_bytes, ret_len);
    fclose(file);
    return err;
}

int file_write(const char *path, const void *bytes, size_t len)
{
    char part[PATH_MAX];
    FILE *file = NULL;
    int err = 0;

    if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
        return ENAMETOOLONG;
    file = fopen(part, "wb");
    if (file == NULL)
        return errno;
    if (fwrite(bytes, 1, len, file) != len)
        err = errno;
    if (fclose(file) != 0 && err == 0)
        err = errno;
    if (err == 0 && rename(part, path) != 0)
        err = errno;
    if (err != 0)
        unlink(part);
    return err;
}

uint64_t file_checksum(const void *bytes, size_t len)
{
    const unsigned char *byte = bytes;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
    return sum;
}

int folder_create(char *ret_path, size_t cap)
{
    const char *base = getenv("TMPDIR");
    int len = snprintf(ret_path, cap, "%s/amalgam-save-XXXXXX",
        base == NULL || *base == '\0' ? "/tmp" : base);

    if (len < 0 || (size_t)len >= cap)
        return ENAMETOOLONG;
    return mkdtemp(ret_path) == NULL ? errno : 0;
}

int folder_destroy(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry = NULL;

    if (dir == NULL)
        return errno;
    /* The directories "." and ".." are no files, and stay. */
    while ((entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    return rmdir(path) == 0 ? 0 : errno;
}
