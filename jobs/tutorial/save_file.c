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

/* How many bytes a regular file has. */
static int file_len(FILE *file, size_t *ret_len)
{
    struct stat info;

    if (fstat(fileno(file), &info) != 0)
        return errno;
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    if (!S_ISREG(info.st_mode))
        return EINVAL;
    *ret_len = (size_t)info.st_size;
    return 0;
}

int file_read(const char *path, void **ret_bytes, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    void *bytes = NULL;
    size_t len = 0;
    int err = 0;

    if (file == NULL)
        return errno;
    err = file_len(file, &len);
    if (err != 0)
        goto close_file;
    bytes = malloc(len + 1); /* so that an empty file has memory too */
    err = ENOMEM;
    if (bytes == NULL)
        goto close_file;
    err = EIO; /* also when the file has shrunk meanwhile */
    if (fread(bytes, 1, len, file) != len)
        goto free_bytes;
    fclose(file);
    *ret_bytes = bytes;
    *ret_len = len;
    return 0;

free_bytes:
    free(bytes);
close_file:
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
    /* The directories "." and ".." are no files, and so they stay. */
    while ((entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    return rmdir(path) == 0 ? 0 : errno;
}
