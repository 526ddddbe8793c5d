/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of files to send, the same on all ranks. */
#include "jobs/apps/checkpoint/list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* MPI counts are ints, so a long list travels in several messages. */
enum { SHARE_LEN = 1 << 28 };

bool list_add(struct list *list, const char *path, const char *name,
    uint64_t size, uint32_t mode)
{
    struct entry entry = {strdup(path), strdup(name), size, mode};

    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 256 : 2 * list->cap;
        struct entry *more = realloc(list->entries, cap * sizeof(*more));

        if (more != NULL) {
            list->entries = more;
            list->cap = cap;
        }
    }
    if (entry.path == NULL || entry.name == NULL || list->count == list->cap) {
        free(entry.path);
        free(entry.name);
        return false;
    }
    list->entries[list->count++] = entry;
    list->files += S_ISREG(mode);
    list->bytes += size;
    return true;
}

static int entry_compare(const void *one, const void *other)
{
    const struct entry *a = one;
    const struct entry *b = other;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

void list_sort(struct list *list)
{
    if (list->count > 0)
        qsort(
            list->entries, list->count, sizeof(*list->entries), entry_compare);
}

/* Bytes of the whole list as one message. */
static uint64_t packed_len(const struct list *list)
{
    uint64_t len = 0;
    size_t i = 0;

    for (i = 0; i < list->count; i++)
        len += sizeof(uint64_t) + sizeof(uint32_t) +
               strlen(list->entries[i].path) + 1 +
               strlen(list->entries[i].name) + 1;
    return len;
}

static void put(char **cursor, const void *bytes, size_t len)
{
    memcpy(*cursor, bytes, len);
    *cursor += len;
}

static void list_pack(const struct list *list, char *cursor)
{
    size_t i = 0;

    for (i = 0; i < list->count; i++) {
        const struct entry *entry = &list->entries[i];

        put(&cursor, &entry->size, sizeof(entry->size));
        put(&cursor, &entry->mode, sizeof(entry->mode));
        put(&cursor, entry->path, strlen(entry->path) + 1);
        put(&cursor, entry->name, strlen(entry->name) + 1);
    }
}

static bool list_unpack(struct list *list, const char *cursor, uint64_t len)
{
    const char *end = cursor + len;

    while (cursor < end) {
        uint64_t size = 0;
        uint32_t mode = 0;
        const char *path = NULL;
        const char *name = NULL;

        memcpy(&size, cursor, sizeof(size));
        cursor += sizeof(size);
        memcpy(&mode, cursor, sizeof(mode));
        cursor += sizeof(mode);
        path = cursor;
        name = path + strlen(path) + 1;
        cursor = name + strlen(name) + 1;
        if (!list_add(list, path, name, size, mode))
            return false;
    }
    return true;
}

static bool all_agree(bool is_fine, MPI_Comm comm)
{
    int mine = is_fine;
    int all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all != 0;
}

bool list_share(struct list *list, MPI_Comm comm)
{
    uint64_t len = 0;
    uint64_t done = 0;
    char *packed = NULL;
    int rank = 0;
    bool is_fine = true;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        len = packed_len(list);
    MPI_Bcast(&len, 1, MPI_UINT64_T, 0, comm);
    packed = malloc(len + 1);
    if (!all_agree(packed != NULL, comm)) {
        free(packed);
        return false;
    }
    if (rank == 0)
        list_pack(list, packed);
    for (done = 0; done < len; done += SHARE_LEN) {
        uint64_t now = len - done < SHARE_LEN ? len - done : SHARE_LEN;

        MPI_Bcast(packed + done, (int)now, MPI_BYTE, 0, comm);
    }
    if (rank != 0)
        is_fine = list_unpack(list, packed, len);
    free(packed);
    return all_agree(is_fine, comm);
}

void list_free(struct list *list)
{
    size_t i = 0;

    for (i = 0; i < list->count; i++) {
        free(list->entries[i].path);
        free(list->entries[i].name);
    }
    free(list->entries);
    memset(list, 0, sizeof(*list));
}
