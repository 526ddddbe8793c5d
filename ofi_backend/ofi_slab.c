/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of messages: slabs of one length, kept for reuse.
 *
 * There are as many as were ever in use at once: messages on their way out,
 * replies, and requests of peers that the user has not released, which the
 * credits bound. What came in is copied out of the buffers it was received in
 * (a message of 4 KiB in 0.1 us), so that a handler that keeps its request
 * never keeps a whole buffer from being posted again. What no message filled
 * is never touched. */
#include "ofi_backend/ofi_slab.h"

#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_reg.h"

enum {
    SLAB_ALIGN = 64,        /* a cache line, on all machines we know */
    CREDITS_RESERVED = 128, /* at most so many are reserved for */
    SLABS_SPARE = 32, /* of the first block, for what credits do not bound */
    SLABS_MORE = 2,   /* in each later block: what is bounded stays so */
};

static size_t aligned(size_t len)
{
    return (len + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
}

static size_t slab_len(const struct amg_ofi_domain *domain)
{
    return aligned(sizeof(struct amg_ofi_slab) + domain->room_len);
}

hg_return_t amg_ofi_block_make(struct amg_ofi_domain *domain, size_t len,
    uint64_t access, struct amg_ofi_block **ret_block)
{
    size_t head_len = aligned(sizeof(struct amg_ofi_block));
    struct amg_ofi_block *block =
        amg_mem_alloc_aligned(SLAB_ALIGN, head_len + len);
    hg_return_t rc = HG_SUCCESS;

    if (block == NULL)
        return HG_NOMEM;
    *block = (struct amg_ofi_block){
        .bytes = (unsigned char *)block + head_len,
    };
    if (domain->facts.needs_desc)
        rc = amg_ofi_reg_locked(domain, block->bytes, len, access, &block->mr);
    if (rc != HG_SUCCESS) {
        amg_mem_free(block);
        return rc;
    }
    *ret_block = block;
    return HG_SUCCESS;
}

void amg_ofi_block_free(struct amg_ofi_block *block)
{
    if (block == NULL)
        return;
    amg_ofi_unreg_locked(block->mr);
    amg_mem_free(block);
}

static hg_return_t slabs_make(struct amg_ofi_domain *domain, size_t count)
{
    struct amg_ofi_block *block = NULL;
    hg_return_t rc = amg_ofi_block_make(domain, count * slab_len(domain),
        FI_SEND | FI_RECV | FI_READ | FI_WRITE, &block);

    if (rc != HG_SUCCESS)
        return rc;
    block->count = count;
    block->next = domain->blocks;
    domain->blocks = block;
    return HG_SUCCESS;
}

/* The newest block is the only one with slabs left to cut. */
static struct amg_ofi_slab *slab_make(struct amg_ofi_domain *domain)
{
    struct amg_ofi_block *block = domain->blocks;
    struct amg_ofi_slab *slab = NULL;

    if (block->cut_count == block->count) {
        if (slabs_make(domain, SLABS_MORE) != HG_SUCCESS)
            return NULL;
        block = domain->blocks;
    }
    slab = (void *)(block->bytes + block->cut_count * slab_len(domain));
    block->cut_count++;
    slab->post.link = (struct amg_link){NULL, NULL};
    slab->domain = domain;
    slab->post.ep = NULL;
    slab->post.op = NULL;
    slab->peer = NULL;
    slab->block = block;
    slab->post.wants_reply = false;
    slab->has_credit = false;
    slab->header = (struct amg_ofi_header){.kind = 0};
    slab->buf.data = slab->data;
    slab->buf.cap = domain->room_len - (uint32_t)sizeof(slab->header);
    slab->arrival.link = (struct amg_link){NULL, NULL};
    domain->slab_count++;
    return slab;
}

hg_return_t amg_ofi_slab_init(struct amg_ofi_domain *domain)
{
    unsigned credits = domain->calls.flow.limit;

    if (credits > CREDITS_RESERVED)
        credits = CREDITS_RESERVED;
    return slabs_make(domain, 2 * credits + SLABS_SPARE);
}

void amg_ofi_slab_unreg_locked(struct amg_ofi_domain *domain)
{
    struct amg_ofi_block *block = domain->blocks;

    for (; block != NULL; block = block->next) {
        amg_ofi_unreg_locked(block->mr);
        block->mr = NULL;
    }
    for (block = domain->receive_block; block != NULL; block = block->next) {
        amg_ofi_unreg_locked(block->mr);
        block->mr = NULL;
    }
}

void amg_ofi_slab_fini(struct amg_ofi_domain *domain)
{
    while (domain->slabs != NULL) {
        domain->slabs = domain->slabs->next;
        domain->slab_count--;
    }
    if (domain->slab_count > 0) {
        AMG_LOG_WARNING("ofi",
            "%zu messages were still in use when the class was closed; the "
            "memory of all is not given back",
            domain->slab_count);
        return;
    }
    while (domain->blocks != NULL) {
        struct amg_ofi_block *block = domain->blocks;

        domain->blocks = block->next;
        amg_ofi_block_free(block);
    }
}

struct amg_ofi_slab *amg_ofi_slab_get_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = domain->slabs;

    if (link == NULL)
        return slab_make(domain);
    domain->slabs = link->next;
    link->next = NULL;
    return AMG_OBJECT(link, struct amg_ofi_slab, post.link);
}

void amg_ofi_slab_put_locked(struct amg_ofi_slab *slab)
{
    if (slab->peer != NULL)
        amg_ofi_peer_drop_locked(slab->peer);
    slab->peer = NULL;
    slab->post.op = NULL;
    slab->has_credit = false;
    slab->post.wants_reply = false;
    slab->post.link.next = slab->domain->slabs;
    slab->domain->slabs = &slab->post.link;
}
