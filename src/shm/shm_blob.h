/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that one process of a node writes, and the others read. */
#ifndef AMG_SHM_SHM_BLOB_H
#define AMG_SHM_SHM_BLOB_H

#include <stdint.h>

#include "mercury_core_types.h"
#include "shm/shm_ring.h"

/* Which one: plain bytes, valid on this node. */
struct amg_shm_blob_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t word; /* a random one, which is read back */
    uint64_t len;
};

/* Owned by whoever made or mapped it. */
struct amg_shm_blob {
    struct amg_shm_blob_id id;
    void *base; /* the mapping: a head, and then the bytes; NULL: none */
    int fd;     /* while it has a name, at who made it; -1 */
};

/* Makes one of `len` bytes, which are zero, for this process to write.
 * HG_NOMEM: there is not so much memory; HG_NA_ERROR. */
hg_return_t amg_shm_blob_create(uint64_t len, struct amg_shm_blob *ret_blob);
/* By who made it: all that are to map it have done so. It has no name from now
 * on, so that nothing stays behind when processes are killed, and is not
 * written any more. */
void amg_shm_blob_seal(struct amg_shm_blob *blob);
/* Maps another process's one, for reading. HG_ADDRNOTAVAIL: there is no such
 * one here (containers share a node, but not its memory); HG_NOMEM. */
hg_return_t amg_shm_blob_map(
    const struct amg_shm_blob_id *id, struct amg_shm_blob *ret_blob);
/* Fine with one that has no mapping. */
void amg_shm_blob_fini(struct amg_shm_blob *blob);

void *amg_shm_blob_bytes(const struct amg_shm_blob *blob);

#endif
