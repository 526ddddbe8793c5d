/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process has of the system.
 *
 * MPI and the C library keep what they once needed, so no single number says
 * that something leaks. What grows in each of the last rounds does: rounds of a
 * plan differ in their contents only. */
#include "environment.h"

#include <dirent.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILES_MAX = 256,
    NAME_CAP = 128,
    LINE_CAP = 512,
    LAST = 3,           /* rounds that are compared */
    HEAP_NOISE = 16384, /* bytes: caches of malloc() count as used */
};

/* The thread sanitizer maps memory of its own as the process uses more. */
#ifdef __SANITIZE_THREAD__
enum { MAPPINGS_NOISE = 100 };
#else
enum { MAPPINGS_NOISE = 0 };
#endif

#define FOLDER "/dev/shm/"
#define PREFIX FOLDER "amalgam-"

struct system {
    long descriptors;
    long mappings;
    long heap;
};

static char files[FILES_MAX][NAME_CAP];
static unsigned files_count;
static struct system ends[LAST + 1]; /* of the last rounds, the newest first */

static void file_add(const char *name, size_t len)
{
    if (len >= NAME_CAP || files_count == FILES_MAX)
        return;
    for (unsigned i = 0; i < files_count; i++)
        if (strlen(files[i]) == len && memcmp(files[i], name, len) == 0)
            return;
    memcpy(files[files_count], name, len);
    files[files_count++][len] = '\0';
}

/* Calls `found` for each mapped file of the library, and counts all lines. */
static long mappings_read(void (*found)(const char *name, size_t len))
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[LINE_CAP];
    long count = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        const char *name = strstr(line, PREFIX);

        count++;
        if (name != NULL)
            found(name, strcspn(name, " \n"));
    }
    if (maps != NULL)
        (void)fclose(maps);
    return count;
}

static unsigned mapped;

static void mapped_count(const char *name, size_t len)
{
    (void)name;
    (void)len;
    mapped++;
}

void environment_look(void)
{
    files_count = 0;
    (void)mappings_read(file_add);
}

static long descriptors_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    long count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

void environment_closed(struct book *book)
{
    memmove(&ends[1], &ends[0], LAST * sizeof(ends[0]));
    mapped = 0;
    ends[0].mappings = mappings_read(mapped_count);
    ends[0].descriptors = descriptors_count();
    ends[0].heap = (long)mallinfo2().uordblks;
    if (mapped > 0)
        book_finding(book, "%u mappings are left of files " PREFIX "*", mapped);
    for (unsigned i = 0; i < files_count; i++)
        if (access(files[i], F_OK) == 0)
            book_finding(book, "%s is left", files[i]);
}

/* True: each of the last rounds left more than the one before. */
static int grew(const long *values, long noise)
{
    for (int i = 0; i < LAST; i++)
        if (values[i] <= values[i + 1] + noise)
            return 0;
    return 1;
}

static void compare(
    struct book *book, const char *what, size_t offset, long noise)
{
    long values[LAST + 1];

    for (int i = 0; i <= LAST; i++)
        memcpy(&values[i], (const char *)&ends[i] + offset, sizeof(long));
    if (grew(values, noise))
        book_finding(book, "%s grew in each round: %ld, %ld, %ld, %ld", what,
            values[3], values[2], values[1], values[0]);
}

void environment_rounds(struct book *book, unsigned rounds)
{
    if (rounds <= LAST)
        return;
    compare(book, "descriptors", offsetof(struct system, descriptors), 0);
    compare(
        book, "mappings", offsetof(struct system, mappings), MAPPINGS_NOISE);
    compare(
        book, "bytes of the heap", offsetof(struct system, heap), HEAP_NOISE);
}
