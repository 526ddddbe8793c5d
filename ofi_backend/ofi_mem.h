/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory, and the leases that peers have of it. */
#ifndef AMG_OFI_BACKEND_OFI_MEM_H
#define AMG_OFI_BACKEND_OFI_MEM_H

#include "ofi_backend/ofi_msg.h"

/* Owned by core, from reg to unreg. */
struct amg_ofi_mem {
    struct amg_mem base;
    struct amg_ofi_domain *domain;
    uint32_t number; /* its place in the table */
    uint32_t count;
    uint8_t flags;
    uint32_t serial;        /* of its key */
    bool is_closed;         /* its key is invalid; peers may hold leases */
    struct fid_mr **mrs;    /* one per segment; NULL, too, before it is used */
    struct amg_list grants; /* leases that peers hold */
    struct amg_segment segments[];
};

/* The slots of the contract. */
hg_return_t amg_ofi_mem_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
void amg_ofi_mem_key(const struct amg_mem *base, struct amg_key *ret_key);

/* Invalidates its key, and asks all holders to return their leases. True: all
 * have. */
bool amg_ofi_mem_revoke_locked(struct amg_ofi_mem *mem);
void amg_ofi_mem_busy_log(const struct amg_ofi_mem *mem, unsigned timeout_ms);
/* It is revoked, and no peer holds a lease. */
void amg_ofi_mem_free_locked(struct amg_ofi_mem *mem);

/* The memory that a key names, or NULL. */
struct amg_ofi_mem *amg_ofi_mem_find_locked(
    const struct amg_ofi_domain *domain, const struct amg_ofi_key *key);

/* The registration of one segment (of a length), made if it is the first use:
 * it may be read from by puts and written to by gets of ours, as its flags have
 * it, and stays for as long as the memory is exposed. */
hg_return_t amg_ofi_mem_own_locked(
    struct amg_ofi_mem *mem, uint32_t segment, struct fid_mr **ret_mr);

/* Handlers of messages. */
void amg_ofi_mem_on_lease_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_mem_on_return_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);

/* The domain closes: deregisters memory that the user still exposes. */
void amg_ofi_mem_forget_all_locked(struct amg_ofi_domain *domain);

/* The peer is lost, with its leases. */
void amg_ofi_mem_lost_locked(struct amg_peer *peer);

#endif
