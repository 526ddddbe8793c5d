/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of the servers: the directory, partial files, and the signals that
 * must not leave any.
 *
 * All partial files stand in a list, so that a signal handler can remove them:
 * it runs on the one thread that also changes the list, by single pointers. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BASE_LEN = 200,    /* of a long name, so that the addition fits too */
    REMOVE_TRIES = 8,  /* walks; servers of one node disturb each other */
    STOP_LIMIT_S = 10, /* mpiexec waits longer than that before it kills */
};

struct partial {
    _Atomic(struct partial *) next;
    uint64_t number; /* of the file in the list of rank `from` */
    uint64_t len;    /* bytes written */
    int from;
    int fd;
    char name[PATH_MAX];
    char path[PATH_MAX + 64]; /* the temporary name */
};

static _Atomic(struct partial *) partials;
static volatile sig_atomic_t is_asked;

bool partial_name_is_safe(const char *name)
{
    for (;;) {
        size_t len = strcspn(name, "/");

        if (len == 0 || (len <= 2 && strspn(name, ".") == len))
            return false;
        if (name[len] == '\0')
            return true;
        name += len + 1;
    }
}

int directories_make(int root, const char *path, size_t len)
{
    char part[PATH_MAX] = "";

    for (size_t i = 0; i < len; i++) {
        if (i + 1 >= sizeof(part))
            return ENAMETOOLONG;
        part[i] = path[i];
        if ((i + 1 == len || path[i + 1] == '/') &&
            mkdirat(root, part, 0777) != 0 && errno != EEXIST)
            return errno;
    }
    return 0;
}

struct partial *partial_find(int from, uint64_t number)
{
    struct partial *partial = partials;

    while (
        partial != NULL && (partial->from != from || partial->number != number))
        partial = partial->next;
    return partial;
}

uint64_t partial_len(const struct partial *partial)
{
    return partial->len;
}

int partial_create(
    const char *name, int from, uint64_t number, struct partial **ret_partial)
{
    static unsigned serial;
    const char *slash = strrchr(name, '/');
    size_t folder_len = slash == NULL ? 0 : (size_t)(slash + 1 - name);
    struct partial *partial = NULL;
    int error = ENAMETOOLONG;

    if (!partial_name_is_safe(name))
        return EPERM;
    if (strlen(name) < PATH_MAX)
        error = directories_make(job.out_fd, name, folder_len);
    if (error != 0)
        return error;
    partial = calloc(1, sizeof(*partial));
    if (partial == NULL)
        return ENOMEM;
    partial->number = number;
    partial->from = from;
    strcpy(partial->name, name);
    do { /* a name may be taken by what is left of a job that was killed */
        snprintf(partial->path, sizeof(partial->path),
            "%.*s.%.*s.partial.%d.%u", (int)folder_len, name, (int)BASE_LEN,
            name + folder_len, from, serial++);
        partial->fd = openat(job.out_fd, partial->path,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    } while (partial->fd < 0 && errno == EEXIST);
    if (partial->fd < 0) {
        error = errno;
        free(partial);
        return error;
    }
    partial->next = partials;
    partials = partial;
    *ret_partial = partial;
    return 0;
}

int partial_write(
    struct partial *partial, const void *bytes, size_t len, uint64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t now = pwrite(partial->fd, (const char *)bytes + done,
            len - done, (off_t)(offset + done));

        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        done += (size_t)now;
    }
    partial->len += len;
    return 0;
}

void partial_remove(struct partial *partial)
{
    _Atomic(struct partial *) *link = &partials;

    if (partial == NULL)
        return;
    if (partial->fd >= 0)
        close(partial->fd);
    unlinkat(job.out_fd, partial->path, 0);
    while (*link != partial)
        link = &(*link)->next;
    *link = partial->next;
    free(partial);
}

int partial_commit(struct partial *partial, uint32_t mode)
{
    int error = fchmod(partial->fd, mode & 0777) != 0 ? errno : 0;

    /* A file system may report only here that its disk is full. */
    if (close(partial->fd) != 0 && error == 0)
        error = errno;
    partial->fd = -1;
    if (error == 0 &&
        renameat(job.out_fd, partial->path, job.out_fd, partial->name) != 0)
        error = errno;
    if (error == 0)
        partial->path[0] = '\0'; /* nothing is left to unlink */
    partial_remove(partial);
    return error;
}

void partial_remove_all(void)
{
    while (partials != NULL)
        partial_remove(partials);
}

/* Chooses the path on rank 0. False: reported. */
static bool path_choose(const char *wanted)
{
    const char *tmp = getenv("TMPDIR");
    const char *path = tmp != NULL && *tmp != '\0' ? tmp : "/tmp";
    int len =
        snprintf(job.out_path, PATH_MAX, "%s%s", wanted != NULL ? wanted : path,
            wanted != NULL ? "" : "/checkpoint.XXXXXX");

    errno = ENAMETOOLONG;
    if (len < PATH_MAX && (wanted != NULL || mkdtemp(job.out_path) != NULL))
        return true;
    report(ERROR,
        "cannot make the output directory %s: %s; name one with -o DIR",
        job.out_path, strerror(errno));
    return false;
}

/* Makes and opens the directory on a server. False: reported. */
static bool dir_open(void)
{
    int error = directories_make(AT_FDCWD, job.out_path, strlen(job.out_path));

    if (error == 0) {
        job.out_fd = open(job.out_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (job.out_fd < 0 ||
            faccessat(job.out_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
            error = errno;
    }
    if (error != 0)
        report(ERROR, "cannot write to the output directory %s: %s",
            job.out_path, strerror(error));
    return error == 0;
}

bool outdir_open(const char *wanted)
{
    bool is_fine = false;

    job.out_is_fresh = wanted == NULL;
    if (!all_agree(job.rank != 0 || path_choose(wanted)))
        return false;
    MPI_Bcast(job.out_path, PATH_MAX, MPI_BYTE, 0, MPI_COMM_WORLD);
    is_fine = all_agree(!is_server() || dir_open());
    if (!is_fine)
        outdir_close(job.out_is_fresh);
    return is_fine;
}

void outdir_close(bool is_removed)
{
    if (!is_server())
        return;
    for (int i = 0;
         i < REMOVE_TRIES && is_removed && access(job.out_path, F_OK) == 0;
         i++) {
        char *paths[] = {job.out_path, NULL};
        FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        FTSENT *found = NULL;

        while (walk != NULL && (found = fts_read(walk)) != NULL)
            if (found->fts_info != FTS_D)
                (void)remove(found->fts_path); /* checked below */
        if (walk != NULL)
            fts_close(walk);
    }
    if (is_removed && access(job.out_path, F_OK) == 0)
        report(NOTE, "cannot remove all of %s; please do", job.out_path);
    if (job.out_fd > 0)
        close(job.out_fd);
}

static void on_signal(int number)
{
    static const char text[] =
        "checkpoint: some rank does not come to the end; giving up\n";
    struct partial *partial = NULL;
    ssize_t done = 0;

    if (number != SIGALRM) {
        if (!is_asked)
            alarm(STOP_LIMIT_S);
        is_asked = 1;
        return;
    }
    for (partial = partials; partial != NULL; partial = partial->next)
        unlinkat(job.out_fd, partial->path, 0);
    if (!is_asked)
        done = write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(is_asked ? STOP_CODE : done < 0 ? 2 : 1);
}

void stop_install(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART, .sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
}

bool stop_is_asked(void)
{
    return is_asked != 0;
}

void stop_watch(unsigned seconds)
{
    if (!is_asked)
        alarm(seconds);
}
