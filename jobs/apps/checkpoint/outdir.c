/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory that the servers write into. */
#include "jobs/apps/checkpoint/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/apps/checkpoint/report.h"

enum {
    REMOVE_FDS = 16,  /* directories that a walk for removal keeps open */
    REMOVE_TRIES = 8, /* walks; servers of one node disturb each other */
};

/* On rank 0. An empty path says that it failed. */
static void path_choose(struct outdir *outdir, const char *wanted)
{
    const char *tmp = getenv("TMPDIR");
    int len = 0;

    if (wanted != NULL)
        len = snprintf(outdir->path, sizeof(outdir->path), "%s", wanted);
    else
        len = snprintf(outdir->path, sizeof(outdir->path),
            "%s/checkpoint.XXXXXX", tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    if (len == 0 || len >= (int)sizeof(outdir->path)) {
        report_error("the output directory's name has %d bytes; 1 to %zu are "
                     "allowed",
            len, sizeof(outdir->path) - 1);
        outdir->path[0] = '\0';
        return;
    }
    if (wanted == NULL && mkdtemp(outdir->path) == NULL) {
        report_error("cannot make the output directory %s: %s; name one "
                     "with -o",
            outdir->path, strerror(errno));
        outdir->path[0] = '\0';
    }
}

static int make_all(const char *path)
{
    char copy[PATH_MAX];
    char *slash = copy;

    snprintf(copy, sizeof(copy), "%s", path);
    while ((slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    return mkdir(copy, 0777) != 0 && errno != EEXIST ? errno : 0;
}

/* On a server. */
static bool dir_open(struct outdir *outdir)
{
    int error = make_all(outdir->path);

    if (error == 0) {
        outdir->fd = open(outdir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (outdir->fd < 0)
            error = errno;
        else if (faccessat(outdir->fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
            error = errno;
    }
    if (error != 0)
        report_error("cannot write to the output directory %s: %s",
            outdir->path, strerror(error));
    return error == 0;
}

bool outdir_open(
    struct outdir *outdir, const char *wanted, bool is_server, MPI_Comm comm)
{
    int is_fine = 0;
    int all_fine = 0;
    int rank = 0;

    memset(outdir, 0, sizeof(*outdir));
    outdir->fd = -1;
    outdir->is_fresh = wanted == NULL;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        path_choose(outdir, wanted);
    MPI_Bcast(outdir->path, sizeof(outdir->path), MPI_BYTE, 0, comm);
    is_fine = outdir->path[0] != '\0' && (!is_server || dir_open(outdir));
    MPI_Allreduce(&is_fine, &all_fine, 1, MPI_INT, MPI_MIN, comm);
    if (!all_fine && is_server && outdir->is_fresh)
        outdir_remove(outdir);
    return all_fine != 0;
}

static int remove_one(
    const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    (void)remove(path); /* the last look says whether all went */
    return 0;
}

void outdir_remove(struct outdir *outdir)
{
    unsigned i = 0;

    if (outdir->path[0] == '\0')
        return;
    for (i = 0; i < REMOVE_TRIES && access(outdir->path, F_OK) == 0; i++)
        nftw(outdir->path, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS);
    if (access(outdir->path, F_OK) == 0)
        report_note("cannot remove all of %s; please do", outdir->path);
}

void outdir_close(struct outdir *outdir)
{
    if (outdir->fd >= 0)
        close(outdir->fd);
    outdir->fd = -1;
}
