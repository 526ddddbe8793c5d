/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of the servers: the directory, partial files, and the signals that
 * must not leave any.
 *
 * All partial files stand in a list, so that a signal handler can remove them:
 * it runs on the one thread that also changes the list, by single pointers. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BASE_LEN = 200, /* of a long name, so that the addition fits too */
    NAME_TRIES = 1000,
    REMOVE_FDS = 16,   /* directories that a walk for removal keeps open */
    REMOVE_TRIES = 8,  /* walks; servers of one node disturb each other */
    STOP_LIMIT_S = 10, /* mpiexec waits longer than that before it kills */
};

struct partial {
    _Atomic(struct partial *) next;
    uint64_t number; /* of the file in the list of rank `from` */
    uint64_t len;    /* bytes written */
    int from;
    int root;
    int fd;
    char name[PATH_MAX];
    char path[PATH_MAX]; /* the temporary name */
};

static _Atomic(struct partial *) partials;
static volatile sig_atomic_t is_asked;

bool partial_name_is_safe(const char *name)
{
    for (;;) {
        size_t len = strcspn(name, "/");

        if (len == 0 || (len == 1 && name[0] == '.') ||
            (len == 2 && name[0] == '.' && name[1] == '.'))
            return false;
        if (name[len] == '\0')
            return true;
        name += len + 1;
    }
}

int partial_make_directories(int root, const char *name)
{
    char path[PATH_MAX];
    char *slash = path;

    if (snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
        return ENAMETOOLONG;
    while ((slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        if (mkdirat(root, path, 0777) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
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

/* Opens it under the next temporary name that is free: one may be left of a job
 * that was killed. Returns 0 or an errno. */
static int partial_open(struct partial *partial)
{
    static unsigned number;
    const char *name = partial->name;
    const char *slash = strrchr(name, '/');
    int folder_len = slash == NULL ? 0 : (int)(slash + 1 - name);

    for (unsigned tries = 0; tries < NAME_TRIES; tries++) {
        if (snprintf(partial->path, PATH_MAX, "%.*s.%.*s.partial.%d.%u",
                folder_len, name, (int)BASE_LEN, name + folder_len,
                partial->from, number++) >= PATH_MAX)
            return ENAMETOOLONG;
        partial->fd = openat(partial->root, partial->path,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (partial->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return errno;
}

int partial_create(int root, const char *name, int from, uint64_t number,
    struct partial **ret_partial)
{
    struct partial *partial = NULL;
    int error = partial_name_is_safe(name) ? 0 : EPERM;

    if (error == 0)
        error = partial_make_directories(root, name);
    if (error != 0)
        return error;
    partial = calloc(1, sizeof(*partial));
    if (partial == NULL)
        return ENOMEM;
    partial->root = root;
    partial->from = from;
    partial->number = number;
    snprintf(partial->name, PATH_MAX, "%s", name);
    error = partial_open(partial);
    if (error != 0) {
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

static void partial_free(struct partial *partial)
{
    _Atomic(struct partial *) *link = &partials;

    while (*link != partial)
        link = &(*link)->next;
    *link = partial->next;
    free(partial);
}

void partial_remove(struct partial *partial)
{
    if (partial == NULL)
        return;
    close(partial->fd);
    unlinkat(partial->root, partial->path, 0);
    partial_free(partial);
}

int partial_commit(struct partial *partial, uint32_t mode)
{
    int error = fchmod(partial->fd, mode & 0777) != 0 ? errno : 0;

    /* A file system may report only here that its disk is full. */
    if (close(partial->fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(partial->root, partial->path, partial->root,
                          partial->name) != 0)
        error = errno;
    if (error != 0)
        unlinkat(partial->root, partial->path, 0);
    partial_free(partial);
    return error;
}

void partial_remove_all(void)
{
    while (partials != NULL)
        partial_remove(partials);
}

/* Chooses the path on rank 0; leaves it empty on a reported error. */
static void path_choose(struct outdir *outdir, const char *wanted)
{
    const char *tmp = getenv("TMPDIR");
    int len = 0;

    if (wanted != NULL)
        len = snprintf(outdir->path, PATH_MAX, "%s", wanted);
    else
        len = snprintf(outdir->path, PATH_MAX, "%s/checkpoint.XXXXXX",
            tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (len > 0 && len < PATH_MAX &&
        (wanted != NULL || mkdtemp(outdir->path) != NULL))
        return;
    report_error("cannot make the output directory %s: %s; name one with -o",
        outdir->path,
        len > 0 && len < PATH_MAX ? strerror(errno) : "no path name");
    outdir->path[0] = '\0';
}

/* Makes and opens the directory on a server. False: reported. */
static bool dir_open(struct outdir *outdir)
{
    int error = partial_make_directories(AT_FDCWD, outdir->path);

    if (error == 0 && mkdir(outdir->path, 0777) != 0 && errno != EEXIST)
        error = errno;
    if (error == 0) {
        outdir->fd = open(outdir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (outdir->fd < 0 ||
            faccessat(outdir->fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
            error = errno;
    }
    if (error != 0)
        report_error("cannot write to the output directory %s: %s",
            outdir->path, strerror(error));
    return error == 0;
}

bool outdir_open(struct outdir *outdir, const char *wanted)
{
    bool is_fine = false;

    outdir->is_fresh = wanted == NULL;
    if (job.rank == 0)
        path_choose(outdir, wanted);
    MPI_Bcast(outdir->path, PATH_MAX, MPI_BYTE, 0, MPI_COMM_WORLD);
    is_fine = all_agree(
        outdir->path[0] != '\0' && (!is_server() || dir_open(outdir)));
    if (!is_fine && is_server() && outdir->is_fresh)
        outdir_remove(outdir);
    return is_fine;
}

static int remove_one(
    const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    (void)remove(path); /* outdir_remove() checks whether all went */
    return 0;
}

void outdir_remove(struct outdir *outdir)
{
    if (outdir->path[0] == '\0')
        return;
    for (int i = 0; i < REMOVE_TRIES && access(outdir->path, F_OK) == 0; i++)
        nftw(outdir->path, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS);
    if (access(outdir->path, F_OK) == 0)
        report_note("cannot remove all of %s; please do", outdir->path);
}

static void stop_ask(int signal_number)
{
    (void)signal_number;
    if (!is_asked)
        alarm(STOP_LIMIT_S);
    is_asked = 1;
}

static void stop_now(int signal_number)
{
    static const char text[] =
        "checkpoint: some rank does not come to the end; giving up\n";
    struct partial *partial = NULL;
    ssize_t done = 0;

    (void)signal_number;
    for (partial = partials; partial != NULL; partial = partial->next)
        unlinkat(partial->root, partial->path, 0);
    if (!is_asked)
        done = write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(is_asked ? STOP_CODE : done < 0 ? 2 : 1);
}

void stop_install(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART, .sa_handler = stop_ask};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = stop_now;
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
