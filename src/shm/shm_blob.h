/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory that one process of a node writes and the others read. */
#ifndef AMG_SHM_SHM_BLOB_H
#define AMG_SHM_SHM_BLOB_H

#include <stdint.h>

#include "mercury_core_types.h"
#include "shm/shm_ring.h"

/* Identifier of a blob: plain bytes, valid on this node. */
struct amg_shm_blob_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t word; /* random, checked after mapping */
    uint64_t len;
};

/* Owned by the process that created or mapped it. */
struct amg_shm_blob {
    struct amg_shm_blob_id id;
    void *base; /* the mapping: a head, then the bytes; NULL: none */
    int fd;     /* at its creator while the file has a name; else -1 */
};

/* Creates a blob of `len` zero bytes for this process to write. HG_NOMEM: not
 * enough memory; HG_NA_ERROR. */
hg_return_t amg_shm_blob_create(uint64_t len, struct amg_shm_blob *ret_blob);
/* Called by the creator after all users have mapped the blob. Removes the name,
 * so that nothing is left when processes are killed; the blob is not written
 * any more. */
void amg_shm_blob_seal(struct amg_shm_blob *blob);
/* Maps the blob of another process for reading. HG_ADDRNOTAVAIL: it does not
 * exist here (containers share a node, but not its memory); HG_NOMEM. */
hg_return_t amg_shm_blob_map(
    const struct amg_shm_blob_id *id, struct amg_shm_blob *ret_blob);
/* Accepts a blob without a mapping. */
void amg_shm_blob_fini(struct amg_shm_blob *blob);

void *amg_shm_blob_bytes(const struct amg_shm_blob *blob);

#endif
