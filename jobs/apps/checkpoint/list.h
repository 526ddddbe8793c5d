/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of files to send, the same on all ranks. */
#ifndef CHECKPOINT_LIST_H
#define CHECKPOINT_LIST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One file, or one empty directory. */
struct entry {
    char *path;    /* where the sender finds it */
    char *name;    /* below the output directory */
    uint64_t size; /* as listed; the file may have changed since */
    uint32_t mode; /* as of stat() */
};

/* Owned by main(), which frees it at the end. */
struct list {
    struct entry *entries;
    size_t count;
    size_t cap;
    uint64_t files; /* the others are empty directories */
    uint64_t bytes;
};

/* Copies both texts. False: no memory. */
bool list_add(struct list *list, const char *path, const char *name,
    uint64_t size, uint32_t mode);
/* Biggest first, so that every n-th is a fair share. */
void list_sort(struct list *list);
/* Collective: gives the list of rank 0 to all. False: no memory, on every
 * rank. */
bool list_share(struct list *list, MPI_Comm comm);
void list_free(struct list *list);

#endif
