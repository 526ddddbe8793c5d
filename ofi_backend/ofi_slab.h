/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of messages: slabs of one length, kept for reuse. */
#ifndef AMG_OFI_BACKEND_OFI_SLAB_H
#define AMG_OFI_BACKEND_OFI_SLAB_H

#include "ofi_backend/ofi_domain.h"

/* Memory that is registered at once, where the provider asks for that. */
struct amg_ofi_block {
    struct amg_ofi_block *next;
    struct fid_mr *mr; /* NULL: not needed */
    size_t cut_count;  /* slabs that were handed out before */
    size_t count;
    unsigned char *bytes; /* aligned to cache lines */
};

static inline struct amg_ofi_slab *amg_ofi_slab_of_buf(struct amg_buf *buf)
{
    return AMG_OBJECT(buf, struct amg_ofi_slab, buf);
}

static inline struct amg_ofi_slab *amg_ofi_slab_of_arrival(
    const struct amg_arrival *arrival)
{
    return AMG_OBJECT(arrival, struct amg_ofi_slab, arrival);
}

/* HG_NOMEM, or what registering returned. */
hg_return_t amg_ofi_slab_init(struct amg_ofi_domain *domain);
/* No message moves any more: the provider forgets the memory of all. */
void amg_ofi_slab_unreg_locked(struct amg_ofi_domain *domain);
void amg_ofi_slab_fini(struct amg_ofi_domain *domain);

/* NULL: no memory. */
struct amg_ofi_slab *amg_ofi_slab_get_locked(struct amg_ofi_domain *domain);
/* Ends its share of the peer, too. */
void amg_ofi_slab_put_locked(struct amg_ofi_slab *slab);

/* A block of `len` bytes for other uses of the provider. */
hg_return_t amg_ofi_block_make(struct amg_ofi_domain *domain, size_t len,
    uint64_t access, struct amg_ofi_block **ret_block);
void amg_ofi_block_free(struct amg_ofi_block *block);

#endif
