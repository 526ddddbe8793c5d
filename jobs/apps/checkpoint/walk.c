/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the files to send below the paths of the command line. */
#include "jobs/apps/checkpoint/walk.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "jobs/apps/checkpoint/report.h"
#include "jobs/apps/checkpoint/stop.h"

/* One walk; lives on the stack of walk_paths(). */
struct walk {
    struct list *list;
    bool has_out;    /* the output directory is there already */
    struct stat out; /* then this one */
    bool is_out_of_memory;
};

static void entry_visit(
    struct walk *walk, const char *path, const char *name, bool is_given);

static bool is_no_dot(const char *word)
{
    return strcmp(word, ".") != 0 && strcmp(word, "..") != 0;
}

static int dirent_filter(const struct dirent *entry)
{
    return is_no_dot(entry->d_name);
}

static void add(struct walk *walk, const char *path, const char *name,
    const struct stat *status)
{
    uint64_t size = S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0;

    if (!list_add(walk->list, path, name, size, status->st_mode))
        walk->is_out_of_memory = true;
}

/* "folder/word", or "word" where there is no folder. */
static bool join(char *ret_path, const char *folder, const char *word)
{
    size_t len = strlen(folder);
    const char *slash = len == 0 || folder[len - 1] == '/' ? "" : "/";

    return snprintf(ret_path, PATH_MAX, "%s%s%s", folder, slash, word) <
           PATH_MAX;
}

/* All in one directory; no descriptor stays open while it goes deeper. */
static void directory_visit(struct walk *walk, const char *path,
    const char *name, const struct stat *status)
{
    struct dirent **found = NULL;
    int count = scandir(path, &found, dirent_filter, alphasort);
    int i = 0;

    if (count < 0) {
        report_error(
            "%s: cannot list the directory: %s", path, strerror(errno));
        return;
    }
    if (count == 0 && *name != '\0')
        add(walk, path, name, status);
    for (i = 0; i < count; i++) {
        char *below = malloc(2 * (size_t)PATH_MAX);

        if (below == NULL)
            walk->is_out_of_memory = true;
        else if (!join(below, path, found[i]->d_name) ||
                 !join(below + PATH_MAX, name, found[i]->d_name))
            report_error("%s/%s: the path has more than %d bytes", path,
                found[i]->d_name, PATH_MAX - 1);
        else if (!walk->is_out_of_memory && !stop_is_asked())
            entry_visit(walk, below, below + PATH_MAX, false);
        free(below);
        free(found[i]);
    }
    free(found);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Says that `path` is not copied: an error if the user has named it. */
static void entry_skip(const char *path, const char *why, bool is_given)
{
    if (is_given)
        report_error("%s: not copied, it is %s", path, why);
    else
        report_note("%s: skipped, it is %s", path, why);
}

/* A path of the command line may be a symbolic link: it was meant. */
static void entry_visit(
    struct walk *walk, const char *path, const char *name, bool is_given)
{
    struct stat status;

    if ((is_given ? stat(path, &status) : lstat(path, &status)) != 0) {
        report_error("%s: %s", path, strerror(errno));
        return;
    }
    if (S_ISREG(status.st_mode)) {
        add(walk, path, name, &status);
    } else if (S_ISDIR(status.st_mode)) {
        if (walk->has_out && is_same(&status, &walk->out))
            entry_skip(path, "the output directory", is_given);
        else
            directory_visit(walk, path, name, &status);
    } else if (S_ISLNK(status.st_mode)) {
        entry_skip(path, "a symbolic link", is_given);
    } else {
        entry_skip(path, "no file or directory", is_given);
    }
}

/* A path of the command line. */
struct root {
    bool is_bad;         /* reported, not to be walked */
    char name[PATH_MAX]; /* its last word, "" for the whole file system */
};

/* False: reported. */
static bool root_name(const char *path, struct root *root)
{
    char whole[PATH_MAX];
    size_t len = strlen(path);
    const char *slash = NULL;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0 || len >= sizeof(whole)) {
        report_error("\"%s\" is no path", path);
        return false;
    }
    snprintf(whole, sizeof(whole), "%.*s", (int)len, path);
    slash = strrchr(whole, '/');
    if (!is_no_dot(slash == NULL ? whole : slash + 1)) {
        if (realpath(path, whole) == NULL) {
            report_error("%s: %s", path, strerror(errno));
            return false;
        }
        slash = strrchr(whole, '/');
    }
    snprintf(root->name, sizeof(root->name), "%s",
        slash == NULL ? whole : slash + 1);
    return true;
}

/* Whether the output of a path would replace what is read from there. */
static bool is_onto_itself(
    const char *path, const char *name, const char *out_dir)
{
    char target[PATH_MAX];
    struct stat source;
    struct stat there;

    if (out_dir == NULL || !join(target, out_dir, name) ||
        stat(path, &source) != 0 || stat(target, &there) != 0 ||
        !is_same(&source, &there))
        return false;
    report_error("%s: would be written onto itself in %s", path, out_dir);
    return true;
}

/* The names of two paths must differ, and then so do all names below them.
 * The whole file system has all names. */
static bool is_taken(const struct root *roots, int i, char *const *paths)
{
    int k = 0;

    for (k = 0; k < i; k++) {
        const char *other = roots[k].name;

        if (roots[k].is_bad)
            continue;
        if (strcmp(other, roots[i].name) == 0 || *other == '\0' ||
            *roots[i].name == '\0') {
            report_error("%s and %s would both be called \"%s\" in the output "
                         "directory: send one at a time",
                paths[k], paths[i], roots[i].name);
            return true;
        }
    }
    return false;
}

bool walk_paths(
    struct list *list, char *const *paths, int count, const char *out_dir)
{
    struct root *roots = calloc((size_t)count + 1, sizeof(*roots));
    struct walk walk = {.list = list};
    bool is_fine = roots != NULL;
    int i = 0;

    if (count == 0) {
        report_error("nothing to send: name files or directories");
        is_fine = false;
    }
    walk.has_out = out_dir != NULL && stat(out_dir, &walk.out) == 0;
    for (i = 0; is_fine && i < count; i++) {
        roots[i].is_bad = !root_name(paths[i], &roots[i]);
        is_fine = roots[i].is_bad ||
                  (!is_taken(roots, i, paths) &&
                      !is_onto_itself(paths[i], roots[i].name, out_dir));
    }
    for (i = 0; is_fine && i < count; i++)
        if (!roots[i].is_bad)
            entry_visit(&walk, paths[i], roots[i].name, true);
    if (roots == NULL || walk.is_out_of_memory) {
        report_error("no memory for the list of files");
        is_fine = false;
    }
    free(roots);
    if (is_fine)
        list_sort(list);
    return is_fine;
}
