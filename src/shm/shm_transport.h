/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared-memory driver: its operations table, the functions by which the ranks
 * of a node find each other, and memory that the ranks share. */
#ifndef AMG_SHM_SHM_TRANSPORT_H
#define AMG_SHM_SHM_TRANSPORT_H

#include <stdint.h>

#include "mercury_core_types.h"
#include "shm/shm_files.h"
#include "transport/transport.h"

/* The identifier of a domain that amg_shm_transport opened. */
void amg_shm_node_id(
    const struct amg_domain *domain, struct amg_shm_id *ret_id);

/* Checks whether this process can share memory with the owner of a segment:
 * maps the segment, checks the incarnation, unmaps the segment.
 * `ret_needs_name`: this process can open the file only by its name, not by the
 * owner's descriptor. HG_ADDRNOTAVAIL: no such segment here, or another segment
 * of that name (containers of one node may have a /dev/shm each); HG_NOMEM;
 * HG_AGAIN: no descriptor is left; HG_PROTOCOL_ERROR; HG_NA_ERROR. */
hg_return_t amg_shm_node_check(const struct amg_domain *domain,
    const struct amg_shm_id *id, bool *ret_needs_name);
/* Unlinks the file of our segment, so that a job that is killed later leaves no
 * file. Called before `domain` has a context, and only if amg_shm_node_check()
 * set `ret_needs_name` to false at every rank of the node. */
void amg_shm_node_unname(struct amg_domain *domain);

/* Takes ownership of `ranks`: the `count` ranks of the node, sorted, in memory
 * of amg_mem_alloc(). Called once, after this rank's amg_shm_node_check(). */
void amg_shm_node_join(
    struct amg_domain *domain, struct amg_shm_rank *ranks, uint32_t count);
/* The peer of another rank of the node, with a reference. The peer's segment is
 * mapped when this process first sends to the peer or receives from it.
 * HG_NOENTRY: no other rank of the node has that number; HG_NOMEM. */
hg_return_t amg_shm_node_peer(
    struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer);
/* The rank of a peer; UINT32_MAX: the peer is no rank of the node. */
uint32_t amg_shm_node_rank(
    const struct amg_domain *domain, const struct amg_peer *peer);

extern const struct amg_transport amg_shm_transport;

/* Bytes of /dev/shm that the segment of one rank takes. */
struct amg_shm_need {
    uint32_t contexts; /* of each rank */
    uint64_t opened;   /* after the open */
    uint64_t called;   /* after all ranks called each context */
    uint64_t most;     /* at most: with long messages and bulk data */
};

/* For a class opened by `how` on a node of `ranks` ranks. */
void amg_shm_node_need(
    const struct amg_open *how, uint32_t ranks, struct amg_shm_need *ret_need);

/* Identifier of memory of a node: plain bytes, valid on this node. */
struct amg_shm_node_mem_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t word; /* random, checked after mapping */
    uint64_t len;
};

/* Memory that one process of a node writes and the others read. Owned by the
 * process that created or mapped the memory; all zero: no memory. */
struct amg_shm_node_mem {
    struct amg_shm_node_mem_id id;
    void *bytes; /* NULL: not mapped */
    int fd;      /* at the creator, while the file has a name; else -1 */
};

/* Creates `len` zero bytes for this process to write. False: not possible; the
 * cause was logged. */
bool amg_shm_node_mem_create(uint64_t len, struct amg_shm_node_mem *ret_mem);
/* Called by the creator after all users have mapped the memory: removes the
 * name of the file, so that killed processes leave no file, and makes the
 * memory read-only. */
void amg_shm_node_mem_seal(struct amg_shm_node_mem *mem);
/* Maps the memory of another process for reading. False: no such memory here
 * (containers may have a /dev/shm each), or the memory cannot be mapped. */
bool amg_shm_node_mem_map(
    const struct amg_shm_node_mem_id *id, struct amg_shm_node_mem *ret_mem);
void amg_shm_node_mem_fini(struct amg_shm_node_mem *mem);

#endif
