/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is being read, and must stay as it is meanwhile. */
#ifndef CHECKPOINT_SOURCE_H
#define CHECKPOINT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "jobs/apps/checkpoint/list.h"

/* Lives in its user, zeroed before the first use. */
struct source {
    const struct entry *entry;
    int fd;
    struct stat status; /* when it was opened */
    uint64_t offset;    /* bytes read so far */
    XXH3_state_t *hash; /* of these; kept for the next file */
};

/* Each of these returns false when it failed, and has reported it. */
bool source_open(struct source *source, const struct entry *entry);
uint64_t source_size(const struct source *source);
/* The next `len` bytes, which are all there. With the last ones it looks
 * whether the file has changed since it was opened. */
bool source_read(struct source *source, void *ret_bytes, uint64_t len);
uint64_t source_hash(const struct source *source);
void source_close(struct source *source);
/* Frees what is kept. */
void source_fini(struct source *source);

#endif
