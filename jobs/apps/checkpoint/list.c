/* SPDX-License-Identifier: BSD-3-Clause */
/* List of the files to send: found by rank 0, the same on all ranks.
 *
 * It travels as one text of records, each an entry with its path, padded to
 * RECORD_ALIGN. All ranks sort it the same way. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    RECORD_ALIGN = 8,
    SHARE_LEN = 1 << 28, /* of one message: counts of MPI are ints */
};

static char *records;
static size_t records_len;

static size_t record_len(size_t path_len)
{
    return (sizeof(struct entry) + path_len + RECORD_ALIGN) &
           ~(size_t)(RECORD_ALIGN - 1);
}

static void entry_add(FILE *file, const FTSENT *found, size_t name)
{
    static const char zeros[RECORD_ALIGN];
    const struct stat *status = found->fts_statp;
    struct entry entry = {.mode = status->st_mode, .name = (uint32_t)name};
    size_t len = strlen(found->fts_path);

    if (S_ISREG(status->st_mode))
        entry.size = (uint64_t)status->st_size;
    fwrite(&entry, sizeof(entry), 1, file);
    fwrite(found->fts_path, len, 1, file);
    fwrite(zeros, record_len(len) - sizeof(entry) - len, 1, file);
    job.entry_count++;
}

static int entry_compare(const void *one, const void *other)
{
    const struct entry *a = *(const struct entry *const *)one;
    const struct entry *b = *(const struct entry *const *)other;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(a->path + a->name, b->path + b->name);
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
    switch (found->fts_info) {
    case FTS_F:
        entry_add(file, found, name);
        break;
    case FTS_D:
        if (out == NULL || !is_same(found->fts_statp, out))
            break;
        entry_skip(found, "the output directory");
        found->fts_number = 1;
        fts_set(walk, found, FTS_SKIP);
        break;
    case FTS_DP: /* kept only if it is empty, and not the file system */
        if (found->fts_number == 0 && found->fts_path[name] != '\0')
            entry_add(file, found, name);
        break;
    case FTS_SL:
        entry_skip(found, "a symbolic link");
        break;
    case FTS_DEFAULT:
        entry_skip(found, "no file or directory");
        break;
    default:
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

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* Adds what is below `root`, which may be a symbolic link: the user meant it.
 * False: no memory. */
static bool root_walk(FILE *file, char *root, const struct stat *out)
{
    size_t name = (size_t)(root_name(root) - root);
    char *paths[] = {root, NULL};
    FTS *walk =
        fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    FTSENT *found = NULL;

    if (walk == NULL)
        return false;
    while (!stop_is_asked() && (found = fts_read(walk)) != NULL)
        entry_visit(file, walk, found, name, out);
    fts_close(walk);
    return true;
}

/* Returns a copy that ends in a name, or NULL: reported. */
static char *root_read(const char *path)
{
    size_t len = strlen(path);
    char *root = NULL;
    const char *name = NULL;

    while (len > 1 && path[len - 1] == '/')
        len--;
    root = strndup(path, len);
    name = root == NULL ? "" : root_name(root);
    if (len == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
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
        const char *other = roots[i] == NULL ? NULL : root_name(roots[i]);

        if (other == NULL ||
            (strcmp(other, name) != 0 && *other != '\0' && *name != '\0'))
            continue;
        report(ERROR,
            "%s and %s would both be called \"%s\" in the output directory: "
            "send one at a time",
            roots[i], roots[last], name);
        return true;
    }
    if (out_dir == NULL ||
        snprintf(target, sizeof(target), "%s/%s", out_dir, name) >=
            (int)sizeof(target) ||
        stat(roots[last], &source) != 0 || stat(target, &there) != 0 ||
        !is_same(&source, &there))
        return false;
    report(
        ERROR, "%s: would be written onto itself in %s", roots[last], out_dir);
    return true;
}

/* On rank 0. False: reported, and nothing may be sent. */
static bool list_find(char *const *paths, int count, const char *out_dir)
{
    char **roots = calloc((size_t)count + 1, sizeof(*roots));
    FILE *file = open_memstream(&records, &records_len);
    bool has_memory = roots != NULL && file != NULL;
    bool is_fine = count > 0;
    struct stat out;
    bool has_out = out_dir != NULL && stat(out_dir, &out) == 0;

    if (count == 0)
        report(ERROR, "nothing to send: name files or directories");
    for (int i = 0; has_memory && is_fine && i < count; i++) {
        roots[i] = root_read(paths[i]);
        is_fine = roots[i] == NULL || !root_clashes(roots, i, out_dir);
    }
    for (int i = 0; has_memory && is_fine && i < count; i++)
        if (roots[i] != NULL)
            has_memory = root_walk(file, roots[i], has_out ? &out : NULL);
    if (file != NULL && fclose(file) != 0)
        has_memory = false;
    for (int i = 0; roots != NULL && i < count; i++)
        free(roots[i]);
    free(roots);
    if (!has_memory)
        report(ERROR, "no memory for the list of files");
    return has_memory && is_fine;
}

bool list_open(char *const *paths, int count, const char *out_dir)
{
    uint64_t lens[2] = {0};
    char *at = NULL;

    if (!all_agree(job.rank != 0 || list_find(paths, count, out_dir)))
        return false;
    lens[0] = records_len;
    lens[1] = job.entry_count;
    MPI_Bcast(lens, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    job.entry_count = lens[1];
    job.entries = malloc((lens[1] + 1) * sizeof(struct entry *));
    if (job.rank != 0)
        records = malloc(lens[0] + 1);
    if (!all_agree(records != NULL && job.entries != NULL)) {
        report(ERROR, "no memory on some rank for the list of files");
        return false;
    }
    for (uint64_t done = 0; done < lens[0]; done += SHARE_LEN)
        MPI_Bcast(records + done,
            (int)(lens[0] - done < SHARE_LEN ? lens[0] - done : SHARE_LEN),
            MPI_BYTE, 0, MPI_COMM_WORLD);
    at = records;
    for (uint64_t i = 0; i < job.entry_count; i++) {
        const struct entry *entry = (void *)at;

        job.entries[i] = entry;
        job.files += S_ISREG(entry->mode);
        job.bytes += entry->size;
        at += record_len(strlen(entry->path));
    }
    /* Biggest first, so that every n-th is a fair share. */
    qsort(job.entries, job.entry_count, sizeof(struct entry *), entry_compare);
    return true;
}

void list_close(void)
{
    free(job.entries);
    free(records);
}
