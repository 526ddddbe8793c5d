/* SPDX-License-Identifier: BSD-3-Clause */
/* List of the files to send: found by rank 0, the same on all ranks.
 *
 * It travels as text of "SIZE MODE NAME PATH" with a zero byte after each path;
 * NAME is where in the path its name in the output begins. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARE_LEN = 1 << 28 }; /* of one message: counts of MPI are ints */

static char *text;
static size_t text_len;

static void entry_add(FILE *file, const FTSENT *found, size_t name)
{
    const struct stat *status = found->fts_statp;
    bool is_file = S_ISREG(status->st_mode);

    fprintf(file, "%jd %u %zu %s%c", is_file ? (intmax_t)status->st_size : 0,
        status->st_mode, name, found->fts_path, '\0');
    job.entry_count++;
}

/* Takes an entry from `at`, and returns the end of its text. */
static char *entry_read(struct entry *entry, char *at)
{
    size_t name = 0;
    int len = 0;

    sscanf(at, "%" SCNu64 "%u%zu%n", &entry->size, &entry->mode, &name, &len);
    entry->path = at + len + 1;
    entry->name = entry->path + name;
    job.files += S_ISREG(entry->mode);
    job.bytes += entry->size;
    return at + len + strlen(at + len) + 1;
}

static int entry_compare(const void *one, const void *other)
{
    const struct entry *a = one;
    const struct entry *b = other;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Reports that `found` is not copied: an error if the user has named it. */
static void entry_skip(const FTSENT *found, const char *why)
{
    if (found->fts_level == FTS_ROOTLEVEL)
        report(ERROR, "%s: not copied, it is %s", found->fts_path, why);
    else
        report(NOTE, "%s: skipped, it is %s", found->fts_path, why);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Looks at one thing that the walk has found. */
static void entry_visit(
    FILE *file, FTS *walk, FTSENT *found, size_t name, const struct stat *out)
{
    if (found->fts_info != FTS_DP)
        found->fts_parent->fts_number++;
    if (found->fts_info == FTS_F) {
        entry_add(file, found, name);
    } else if (found->fts_info == FTS_D) {
        if (!is_same(found->fts_statp, out))
            return;
        entry_skip(found, "the output directory");
        found->fts_number = 1;
        fts_set(walk, found, FTS_SKIP);
    } else if (found->fts_info == FTS_DP) {
        /* Kept only if it is empty, and not the file system. */
        if (found->fts_number == 0 && found->fts_path[name] != '\0')
            entry_add(file, found, name);
    } else if (found->fts_info == FTS_SL) {
        entry_skip(found, "a symbolic link");
    } else if (found->fts_info == FTS_DEFAULT) {
        entry_skip(found, "no file or directory");
    } else {
        report(ERROR, "%s: %s%s", found->fts_path,
            found->fts_info == FTS_DNR ? "cannot list the directory: " : "",
            strerror(found->fts_errno != 0 ? found->fts_errno : ENOENT));
    }
}

/* The last word of a path of the command line; "" for the whole file system. */
static const char *root_name(const char *root)
{
    const char *slash = strrchr(root, '/');

    return slash == NULL ? root : slash + 1;
}

/* Returns a copy that ends in a name, or NULL: reported. */
static char *root_read(const char *path)
{
    size_t len = strlen(path);
    char *root = NULL;

    while (len > 1 && path[len - 1] == '/')
        len--;
    root = strndup(path, len);
    if (root != NULL && (len == 0 || strcmp(root_name(root), ".") == 0 ||
                            strcmp(root_name(root), "..") == 0)) {
        free(root);
        root = realpath(path, NULL);
    }
    if (root == NULL)
        report(ERROR, "\"%s\": %s", path, strerror(errno));
    return root;
}

/* Whether the output of the last root would replace what is read from there, or
 * what an earlier one sends: the names of two roots must differ, and then so do
 * those below them. The whole file system has all names. */
static bool root_clashes(char *const *roots, int last, const char *out_dir)
{
    const char *name = root_name(roots[last]);
    char target[PATH_MAX];
    struct stat source;
    struct stat there;

    for (int i = 0; i < last; i++) {
        const char *other = root_name(roots[i]);

        if (strcmp(other, name) != 0 && *other != '\0' && *name != '\0')
            continue;
        report(ERROR,
            "%s and %s would both be called \"%s\" in the output directory: "
            "send one at a time",
            roots[i], roots[last], name);
        return true;
    }
    snprintf(
        target, sizeof(target), "%s/%s", out_dir == NULL ? "" : out_dir, name);
    if (out_dir == NULL || stat(roots[last], &source) != 0 ||
        stat(target, &there) != 0 || !is_same(&source, &there))
        return false;
    report(
        ERROR, "%s: would be written onto itself in %s", roots[last], out_dir);
    return true;
}

/* On rank 0. False: reported, and nothing may be sent. */
static bool list_find(char *const *paths, int count, const char *out_dir)
{
    char **roots = calloc((size_t)count + 1, sizeof(*roots));
    FILE *file = open_memstream(&text, &text_len);
    struct stat out = {.st_ino = 0};
    bool is_fine = count > 0;
    FTS *walk = NULL;
    FTSENT *found = NULL;
    size_t name = 0;
    int last = 0;

    if (count == 0)
        report(ERROR, "nothing to send: name files or directories");
    if (out_dir != NULL)
        (void)stat(out_dir, &out);
    for (int i = 0; roots != NULL && is_fine && i < count; i++) {
        roots[last] = root_read(paths[i]);
        if (roots[last] != NULL)
            is_fine = !root_clashes(roots, last++, out_dir);
    }
    if (file != NULL && is_fine && last > 0)
        walk =
            fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    while (walk != NULL && !stop_is_asked && (found = fts_read(walk)) != NULL) {
        if (found->fts_level == FTS_ROOTLEVEL)
            name = (size_t)(root_name(found->fts_path) - found->fts_path);
        entry_visit(file, walk, found, name, &out);
    }
    if (file == NULL || fclose(file) != 0 || roots == NULL ||
        (is_fine && last > 0 && walk == NULL)) {
        report(ERROR, "no memory for the list of files");
        is_fine = false;
    }
    if (walk != NULL)
        fts_close(walk);
    for (int i = 0; i < last; i++)
        free(roots[i]);
    free(roots);
    return is_fine;
}

bool list_open(char *const *paths, int count, const char *out_dir)
{
    uint64_t lens[2] = {0};
    char *at = NULL;

    if (!all_agree(job.rank != 0 || list_find(paths, count, out_dir)))
        return false;
    lens[0] = text_len;
    lens[1] = job.entry_count;
    MPI_Bcast(lens, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    job.entry_count = lens[1];
    job.entries = malloc((lens[1] + 1) * sizeof(*job.entries));
    if (job.rank != 0)
        text = malloc(lens[0] + 1);
    if (!all_agree(text != NULL && job.entries != NULL)) {
        report(ERROR, "no memory on some rank for the list of files");
        return false;
    }
    for (uint64_t done = 0; done < lens[0]; done += SHARE_LEN)
        MPI_Bcast(text + done,
            (int)(lens[0] - done < SHARE_LEN ? lens[0] - done : SHARE_LEN),
            MPI_BYTE, 0, MPI_COMM_WORLD);
    at = text;
    for (uint64_t i = 0; i < job.entry_count; i++)
        at = entry_read(&job.entries[i], at);
    /* Biggest first, so that every n-th is a fair share. */
    qsort(job.entries, lens[1], sizeof(*job.entries), entry_compare);
    return true;
}
