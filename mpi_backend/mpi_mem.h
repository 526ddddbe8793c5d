/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: which is alive, and what peers may do with it. */
#ifndef AMG_MPI_BACKEND_MPI_MEM_H
#define AMG_MPI_BACKEND_MPI_MEM_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_entry.h"

/* Owned by who registered it, until unreg succeeded. */
struct amg_mpi_mem {
    struct amg_mem base;
    struct amg_mpi_key key;
    struct amg_list visits;  /* accesses of peers in motion */
    bool is_closed;          /* no new ones begin */
    struct amg_link leaving; /* of the desk: its entry is to be free */
    bool has_left;           /* the entry's door is closed */
    int visitor;             /* who was inside then; see mpi_entry.h */
    uint8_t flags;
    uint32_t count;
    struct amg_segment segments[];
};

/* The slots of the contract; unreg is in mpi_close.c. */
hg_return_t amg_mpi_mem_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
void amg_mpi_mem_key(const struct amg_mem *mem, struct amg_key *ret_key);

/* Writes the key's words into `access`. HG_INVALID_ARG: no key of ours. */
hg_return_t amg_mpi_mem_key_read(
    const struct amg_key *key, struct amg_mpi_access *access);

/* Is this access allowed? HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW: no. */
hg_return_t amg_mpi_mem_check_locked(const struct amg_mpi_domain *domain,
    const struct amg_mpi_access *access, enum amg_mem_flags direction,
    struct amg_mpi_mem **ret_mem, struct amg_place *ret_place);

/* The key is dead from now on. */
void amg_mpi_mem_close_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_mem *mem);

#endif
