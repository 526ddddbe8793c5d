/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared-memory driver: its operations table, the identifiers by which the
 * ranks of a node find each other, and memory that one of them refs with the
 * others. */
#ifndef AMG_SHM_SHM_TRANSPORT_H
#define AMG_SHM_SHM_TRANSPORT_H

#include <stdint.h>

#include "mercury_core_types.h"
#include "shm/shm_ring.h"
#include "transport/transport.h"

/* Identifier of a domain: plain bytes, valid on this node. */
struct amg_shm_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t incarnation; /* the random number in its segment */
};

/* `domain` is one that amg_shm_transport opened. */
void amg_shm_node_id(
    const struct amg_domain *domain, struct amg_shm_id *ret_id);

/* Maps the segment of that name and checks its incarnation; the peer comes with
 * a reference. HG_ADDRNOTAVAIL: no such segment here, or another one of that
 * name (containers share a node, but not its memory); HG_NOMEM; HG_NA_ERROR. */
hg_return_t amg_shm_node_find(struct amg_domain *domain,
    const struct amg_shm_id *id, struct amg_peer **ret_peer);

/* Whether this process may open the peer's descriptors through /proc. */
bool amg_shm_node_is_open_to_us(
    const struct amg_domain *domain, const struct amg_peer *peer);
/* Removes the name of the segment of `domain`, before it has a context. All
 * peers have mapped it and may open our descriptors. So a job that is killed
 * later leaves nothing in the file system. */
void amg_shm_node_unname(struct amg_domain *domain);

extern const struct amg_transport amg_shm_transport;

/* Removes the files that dead processes left in /dev/shm. */
void amg_shm_cleanup(void);

/* Identifier of memory of a node: plain bytes, valid on this node. */
struct amg_shm_node_mem_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t word; /* random, checked after mapping */
    uint64_t len;
};

/* Memory that one process of a node writes and the others read. Owned by the
 * process that created or mapped it; all zero: none. */
struct amg_shm_node_mem {
    struct amg_shm_node_mem_id id;
    void *bytes; /* NULL: not mapped */
    int fd;      /* at its creator while the file has a name; else -1 */
};

/* Creates `len` zero bytes for this process to write. False: the cause was
 * logged. */
bool amg_shm_node_mem_create(uint64_t len, struct amg_shm_node_mem *ret_mem);
/* The creator calls this after all users have mapped the memory, and does not
 * write to it any more. Removes the name of the file, so that nothing is left
 * when processes are killed. */
void amg_shm_node_mem_seal(struct amg_shm_node_mem *mem);
/* Maps the memory of another process for reading. False: it does not exist here
 * (containers share a node, but not its memory), or cannot be mapped. */
bool amg_shm_node_mem_map(
    const struct amg_shm_node_mem_id *id, struct amg_shm_node_mem *ret_mem);
void amg_shm_node_mem_fini(struct amg_shm_node_mem *mem);

#endif
