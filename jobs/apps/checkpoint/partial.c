/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is being written, under a name of its own until it is whole.
 *
 * The names of those that exist stand in a table, so that a signal handler can
 * remove them: it runs on the one thread that also changes the table, and an
 * entry is written and cleared as one pointer. */
#include "jobs/apps/checkpoint/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LIVE_MAX = 4096, /* files being written at once by a server */
    BASE_LEN = 200,  /* of a long name, so that the addition fits too */
    NAME_TRIES = 1000,
};

/* Room for a name with the addition. */
#define PATH_CAP(name) (strlen(name) + 64)

/* Owned by whoever created it, until commit or remove. */
struct partial {
    int root;
    int fd;
    unsigned slot; /* in `live` */
    char *name;
    char path[]; /* the temporary name */
};

static _Atomic(struct partial *) live[LIVE_MAX];

bool partial_name_is_safe(const char *name)
{
    const char *word = name;

    for (;;) {
        size_t len = strcspn(word, "/");

        if (len == 0 || (len == 1 && word[0] == '.') ||
            (len == 2 && word[0] == '.' && word[1] == '.'))
            return false;
        if (word[len] == '\0')
            return true;
        word += len + 1;
    }
}

int partial_make_directories(int root, const char *name)
{
    char *path = strdup(name);
    char *slash = path;
    int error = 0;

    if (path == NULL)
        return ENOMEM;
    while (error == 0 && (slash = strchr(slash, '/')) != NULL) {
        *slash = '\0';
        if (mkdirat(root, path, 0777) != 0 && errno != EEXIST)
            error = errno;
        *slash++ = '/';
    }
    free(path);
    return error;
}

static struct partial *partial_new(int root, const char *name)
{
    struct partial *partial = malloc(sizeof(*partial) + PATH_CAP(name));

    if (partial == NULL)
        return NULL;
    partial->root = root;
    partial->fd = -1;
    partial->slot = LIVE_MAX;
    partial->path[0] = '\0';
    partial->name = strdup(name);
    if (partial->name == NULL) {
        free(partial);
        return NULL;
    }
    return partial;
}

/* Under the next temporary name that is free: one may be left of a job that was
 * killed. Returns 0 or an errno. */
static int partial_open(struct partial *partial, int rank)
{
    static unsigned number;
    const char *name = partial->name;
    const char *slash = strrchr(name, '/');
    int folder_len = slash == NULL ? 0 : (int)(slash + 1 - name);
    unsigned tries = 0;

    for (tries = 0; tries < NAME_TRIES; tries++) {
        snprintf(partial->path, PATH_CAP(name), "%.*s.%.*s.partial.%d.%u",
            folder_len, name, (int)BASE_LEN, name + folder_len, rank, number++);
        partial->fd = openat(partial->root, partial->path,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (partial->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return errno;
}

static bool live_add(struct partial *partial)
{
    unsigned i = 0;

    for (i = 0; i < LIVE_MAX; i++) {
        if (atomic_load_explicit(&live[i], memory_order_relaxed) == NULL) {
            partial->slot = i;
            atomic_store_explicit(&live[i], partial, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

static void partial_free(struct partial *partial)
{
    if (partial->slot < LIVE_MAX)
        atomic_store_explicit(&live[partial->slot], NULL, memory_order_relaxed);
    if (partial->fd >= 0)
        close(partial->fd);
    free(partial->name);
    free(partial);
}

void partial_remove(struct partial *partial)
{
    if (partial == NULL)
        return;
    unlinkat(partial->root, partial->path, 0);
    partial_free(partial);
}

int partial_create(
    int root, const char *name, int rank, struct partial **ret_partial)
{
    struct partial *partial = NULL;
    int error = 0;

    if (!partial_name_is_safe(name))
        return EPERM;
    error = partial_make_directories(root, name);
    if (error != 0)
        return error;
    partial = partial_new(root, name);
    if (partial == NULL)
        return ENOMEM;
    error = partial_open(partial, rank);
    if (error != 0) {
        partial_free(partial);
        return error;
    }
    if (!live_add(partial)) {
        partial_remove(partial);
        return EMFILE;
    }
    *ret_partial = partial;
    return 0;
}

int partial_write(struct partial *partial, const void *bytes, size_t len)
{
    const char *cursor = bytes;

    while (len > 0) {
        ssize_t done = write(partial->fd, cursor, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        cursor += done;
        len -= (size_t)done;
    }
    return 0;
}

int partial_commit(struct partial *partial, uint32_t mode)
{
    int fd = partial->fd;
    int error = 0;

    partial->fd = -1;
    if (fchmod(fd, mode & 0777) != 0)
        error = errno;
    /* A file system may report only here that its disk is full. */
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(partial->root, partial->path, partial->root,
                          partial->name) != 0)
        error = errno;
    if (error != 0)
        partial_remove(partial);
    else
        partial_free(partial);
    return error;
}

void partial_remove_all(void)
{
    unsigned i = 0;

    for (i = 0; i < LIVE_MAX; i++) {
        struct partial *partial =
            atomic_load_explicit(&live[i], memory_order_relaxed);

        if (partial != NULL)
            unlinkat(partial->root, partial->path, 0);
    }
}
