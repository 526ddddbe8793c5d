/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory that one process of a node writes and the others read.
 *
 * It is a file in /dev/shm, whose name is gone once all that need it have
 * mapped it. While it has one, who made it holds an flock on it: so a name that
 * a killed process left is removed with the rest of its files (shm_files.c).
 * The pages are taken before the first byte is written: where there are too
 * few, that is an error, not the end of the process. */
#include "shm/shm_blob.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/shm_files.h"

#define FOLDER "/dev/shm"

enum {
    HEAD_LEN = AMG_SHM_LINE, /* the word, and nothing else */
    NAME_TRIES = 16,
};

static uint64_t word_draw(void)
{
    uint64_t word = 0;

    if (getrandom(&word, sizeof(word), GRND_NONBLOCK) !=
            (ssize_t)sizeof(word) ||
        word == 0)
        word = amg_clock_ns() | 1u;
    return word;
}

static uint64_t file_len(uint64_t len)
{
    return HEAD_LEN + len;
}

/* A new file, locked before it has a name. -1: `errno` says why. */
static int file_open(char ret_name[AMG_SHM_NAME_CAP])
{
    static atomic_uint next;
    char path[AMG_SHM_PATH_CAP];
    char link[AMG_SHM_PATH_CAP];
    int fd = open(FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int err = 0;

    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_SH) != 0)
        goto close_fd;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        snprintf(ret_name, AMG_SHM_NAME_CAP, "table-%d-%u", (int)getpid(),
            atomic_fetch_add_explicit(&next, 1, memory_order_relaxed));
        amg_shm_files_path(ret_name, path);
        if (linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
            return fd;
        if (errno != EEXIST)
            break;
    }

close_fd:
    err = errno;
    close(fd);
    errno = err;
    return -1;
}

static void file_remove(const struct amg_shm_blob *blob)
{
    char path[AMG_SHM_PATH_CAP];

    amg_shm_files_path(blob->id.name, path);
    amg_shm_files_remove(path, blob->fd);
}

hg_return_t amg_shm_blob_create(uint64_t len, struct amg_shm_blob *ret_blob)
{
    struct amg_shm_blob blob = {.id = {.len = len, .word = word_draw()}};
    int err = 0;

    blob.fd = file_open(blob.id.name);
    if (blob.fd < 0) {
        err = errno;
        goto out;
    }
    err = posix_fallocate(blob.fd, 0, (off_t)file_len(len));
    if (err != 0)
        goto remove_file;
    blob.base = mmap(
        NULL, file_len(len), PROT_READ | PROT_WRITE, MAP_SHARED, blob.fd, 0);
    if (blob.base == MAP_FAILED) {
        err = errno;
        goto remove_file;
    }
    memcpy(blob.base, &blob.id.word, sizeof(blob.id.word));
    *ret_blob = blob;
    return HG_SUCCESS;

remove_file:
    file_remove(&blob);
    close(blob.fd);
out:
    AMG_LOG_WARNING("shm", "cannot make a table of %" PRIu64 " bytes: %s", len,
        strerror(err));
    return err == ENOSPC || err == ENOMEM ? HG_NOMEM : HG_NA_ERROR;
}

void amg_shm_blob_seal(struct amg_shm_blob *blob)
{
    if (blob->fd < 0)
        return;
    file_remove(blob);
    close(blob->fd);
    blob->fd = -1;
    (void)mprotect(blob->base, file_len(blob->id.len), PROT_READ);
}

hg_return_t amg_shm_blob_map(
    const struct amg_shm_blob_id *id, struct amg_shm_blob *ret_blob)
{
    struct amg_shm_blob blob = {.id = *id, .fd = -1};
    char path[AMG_SHM_PATH_CAP];
    struct stat status;
    int fd = -1;

    amg_shm_files_path(id->name, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return HG_ADDRNOTAVAIL;
    if (fstat(fd, &status) != 0 || status.st_uid != geteuid() ||
        (uint64_t)status.st_size != file_len(id->len)) {
        close(fd);
        return HG_ADDRNOTAVAIL;
    }
    blob.base = mmap(NULL, file_len(id->len), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (blob.base == MAP_FAILED)
        return HG_NOMEM;
    if (memcmp(blob.base, &id->word, sizeof(id->word)) != 0) {
        munmap(blob.base, file_len(id->len));
        return HG_ADDRNOTAVAIL;
    }
    *ret_blob = blob;
    return HG_SUCCESS;
}

void amg_shm_blob_fini(struct amg_shm_blob *blob)
{
    if (blob->base == NULL)
        return;
    amg_shm_blob_seal(blob);
    munmap(blob->base, file_len(blob->id.len));
    blob->base = NULL;
}

void *amg_shm_blob_bytes(const struct amg_shm_blob *blob)
{
    return (char *)blob->base + HEAD_LEN;
}
