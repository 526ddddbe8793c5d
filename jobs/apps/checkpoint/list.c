/* SPDX-License-Identifier: BSD-3-Clause */
/* List of the files to send: found by rank 0, the same on all ranks. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* MPI counts are ints, so a long list travels in several messages. */
enum { SHARE_LEN = 1 << 28 };

/* A path of the command line. */
struct root {
    char path[PATH_MAX]; /* without slashes at its end; "" was reported */
    const char *name;    /* its last word, "" for the whole file system */
};

/* Makes room. False: no memory. */
static bool list_reserve(struct list *list, uint64_t count, uint64_t text_len)
{
    void *more = NULL;

    if (count > list->cap) {
        more = realloc(list->entries, 2 * count * sizeof(*list->entries));
        if (more == NULL)
            return false;
        list->entries = more;
        list->cap = 2 * count;
    }
    if (text_len > list->text_cap) {
        more = realloc(list->text, 2 * text_len);
        if (more == NULL)
            return false;
        list->text = more;
        list->text_cap = 2 * text_len;
    }
    return true;
}

static bool list_add(
    struct list *list, const char *path, size_t name, const struct stat *status)
{
    size_t len = strlen(path) + 1;
    struct entry entry = {.path = list->text_len,
        .name = (uint32_t)name,
        .mode = status->st_mode,
        .size = S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0};

    if (!list_reserve(list, list->count + 1, list->text_len + len))
        return false;
    memcpy(list->text + list->text_len, path, len);
    list->text_len += len;
    list->entries[list->count++] = entry;
    list->files += S_ISREG(status->st_mode);
    list->bytes += entry.size;
    return true;
}

static int entry_compare(const void *one, const void *other, void *text)
{
    const struct entry *a = one;
    const struct entry *b = other;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(
        (char *)text + a->path + a->name, (char *)text + b->path + b->name);
}

/* Reports that `found` is not copied: an error if the user has named it. */
static void entry_skip(const FTSENT *found, const char *why)
{
    if (found->fts_level == FTS_ROOTLEVEL)
        report_error("%s: not copied, it is %s", found->fts_path, why);
    else
        report_note("%s: skipped, it is %s", found->fts_path, why);
}

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Looks at one thing that the walk has found. False: no memory. */
static bool entry_visit(struct list *list, FTS *walk, FTSENT *found,
    size_t name, const struct stat *out)
{
    if (found->fts_info != FTS_DP)
        found->fts_parent->fts_number++;
    switch (found->fts_info) {
    case FTS_F:
        return list_add(list, found->fts_path, name, found->fts_statp);
    case FTS_D:
        if (out != NULL && is_same(found->fts_statp, out)) {
            entry_skip(found, "the output directory");
            found->fts_number = 1;
            fts_set(walk, found, FTS_SKIP);
        }
        return true;
    case FTS_DP: /* kept only if it is empty, and not the file system */
        return found->fts_number > 0 || found->fts_path[name] == '\0' ||
               list_add(list, found->fts_path, name, found->fts_statp);
    case FTS_SL:
        entry_skip(found, "a symbolic link");
        return true;
    case FTS_DEFAULT:
        entry_skip(found, "no file or directory");
        return true;
    default:
        report_error("%s: %s%s", found->fts_path,
            found->fts_info == FTS_DNR ? "cannot list the directory: " : "",
            strerror(found->fts_errno != 0 ? found->fts_errno : ENOENT));
        return true;
    }
}

/* Adds what is below `root`, which may be a symbolic link: the user meant it.
 * False: no memory. */
static bool root_walk(
    struct list *list, struct root *root, const struct stat *out)
{
    char *paths[] = {root->path, NULL};
    FTS *walk =
        fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    FTSENT *found = NULL;
    bool is_fine = walk != NULL;

    while (is_fine && !stop_is_asked() && (found = fts_read(walk)) != NULL)
        is_fine = entry_visit(
            list, walk, found, (size_t)(root->name - root->path), out);
    if (walk != NULL)
        fts_close(walk);
    return is_fine;
}

/* Leaves the path empty, and reports it, where it cannot be taken. */
static void root_read(struct root *root, const char *path)
{
    size_t len = strlen(path);
    const char *slash = NULL;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0 || len >= sizeof(root->path)) {
        report_error("\"%s\" is no path", path);
        return;
    }
    snprintf(root->path, sizeof(root->path), "%.*s", (int)len, path);
    slash = strrchr(root->path, '/');
    root->name = slash == NULL ? root->path : slash + 1;
    if (strcmp(root->name, ".") != 0 && strcmp(root->name, "..") != 0)
        return;
    if (realpath(path, root->path) == NULL) {
        report_error("%s: %s", path, strerror(errno));
        root->path[0] = '\0';
        return;
    }
    root->name = strrchr(root->path, '/') + 1;
}

/* Whether the output of `root` would replace what is read from there, or what
 * an earlier path sends: the names of two paths must differ, and then so do
 * those below them. The whole file system has all names. */
static bool root_clashes(const struct root *roots, int i, const char *out_dir)
{
    const struct root *root = &roots[i];
    char target[PATH_MAX];
    struct stat source;
    struct stat there;

    for (int k = 0; k < i; k++) {
        const struct root *other = &roots[k];

        if (other->path[0] == '\0' ||
            (strcmp(other->name, root->name) != 0 && *other->name != '\0' &&
                *root->name != '\0'))
            continue;
        report_error("%s and %s would both be called \"%s\" in the output "
                     "directory: send one at a time",
            other->path, root->path, root->name);
        return true;
    }
    if (out_dir == NULL ||
        snprintf(target, sizeof(target), "%s/%s", out_dir, root->name) >=
            (int)sizeof(target) ||
        stat(root->path, &source) != 0 || stat(target, &there) != 0 ||
        !is_same(&source, &there))
        return false;
    report_error("%s: would be written onto itself in %s", root->path, out_dir);
    return true;
}

bool list_find(
    struct list *list, char *const *paths, int count, const char *out_dir)
{
    struct root *roots = calloc((size_t)count + 1, sizeof(*roots));
    bool has_memory = roots != NULL;
    bool is_fine = count > 0;
    struct stat out;
    bool has_out = out_dir != NULL && stat(out_dir, &out) == 0;

    if (count == 0)
        report_error("nothing to send: name files or directories");
    for (int i = 0; has_memory && is_fine && i < count; i++) {
        root_read(&roots[i], paths[i]);
        is_fine = roots[i].path[0] == '\0' || !root_clashes(roots, i, out_dir);
    }
    for (int i = 0; has_memory && is_fine && i < count; i++)
        if (roots[i].path[0] != '\0')
            has_memory = root_walk(list, &roots[i], has_out ? &out : NULL);
    free(roots);
    if (!has_memory)
        report_error("no memory for the list of files");
    /* Biggest first, so that every n-th is a fair share. */
    if (list->count > 0)
        qsort_r(list->entries, list->count, sizeof(*list->entries),
            entry_compare, list->text);
    return has_memory && is_fine;
}

static void bytes_share(void *bytes, uint64_t len)
{
    for (uint64_t done = 0; done < len; done += SHARE_LEN)
        MPI_Bcast((char *)bytes + done,
            (int)(len - done < SHARE_LEN ? len - done : SHARE_LEN), MPI_BYTE, 0,
            MPI_COMM_WORLD);
}

bool list_share(struct list *list)
{
    uint64_t facts[] = {list->count, list->text_len, list->files, list->bytes};

    bytes_share(facts, sizeof(facts));
    list->count = facts[0];
    list->text_len = facts[1];
    list->files = facts[2];
    list->bytes = facts[3];
    if (!all_agree(list_reserve(list, list->count, list->text_len)))
        return false;
    bytes_share(list->entries, list->count * sizeof(*list->entries));
    bytes_share(list->text, list->text_len);
    return true;
}

void list_free(struct list *list)
{
    free(list->entries);
    free(list->text);
    memset(list, 0, sizeof(*list));
}

bool all_agree(bool is_fine)
{
    int mine = is_fine;
    int all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}
