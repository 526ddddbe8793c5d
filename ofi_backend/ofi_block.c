/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory.
 *
 * If the driver may choose the keys of memory, the driver counts up from a
 * random 32-bit number, so that the key of freed memory, or of a former process
 * at this address, does not soon name other memory. If the number is too large
 * for a key, counting starts at 256: Slingshot reserves smaller keys. With
 * FI_MR_ENDPOINT, a registration has a key only when bound and enabled. */
#include "ofi_backend/ofi_ep.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    KEY_FIRST = 256,
    KEY_TRIES = 64,   /* keys tried, as some may be in use after a wrap */
    BLOCK_ALIGN = 64, /* a cache line */
};

static uint64_t key_next_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->facts.makes_keys)
        return 0;
    if (domain->mems.next_key < KEY_FIRST ||
        domain->mems.next_key >= domain->facts.key_max)
        domain->mems.next_key = KEY_FIRST;
    return domain->mems.next_key++;
}

static int mr_attach(struct amg_ofi_domain *domain, struct fid_mr *mr)
{
    int code = amg_ofi_call->mr_bind(mr, &domain->fi.ep->fid);

    if (code == 0)
        code = amg_ofi_call->mr_enable(mr);
    return code;
}

/* Allocates the pages, if the provider registers only memory that has pages. */
static hg_return_t pages_back(const struct amg_ofi_domain *domain,
    const void *base, uint64_t len, uint64_t access)
{
    bool is_written = (access & (FI_RECV | FI_READ | FI_REMOTE_WRITE)) != 0;
    hg_return_t rc = HG_SUCCESS;

    if (!domain->facts.needs_pages)
        return HG_SUCCESS;
    rc = amg_pages_back(base, len, is_written);
    if (rc != HG_INVALID_ARG)
        return rc;
    AMG_LOG_ERROR("ofi",
        "of %llu bytes of memory at %p, not all can be %s by this process; is "
        "it freed already, or constant?",
        (unsigned long long)len, base, is_written ? "written" : "read");
    return HG_NA_ERROR;
}

hg_return_t amg_ofi_reg_locked(struct amg_ofi_domain *domain, const void *base,
    uint64_t len, uint64_t access, struct fid_mr **ret_mr)
{
    struct fid_mr *mr = NULL;
    hg_return_t rc = pages_back(domain, base, len, access);
    int code = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(len > 0 && domain->fi.domain != NULL);
    if (rc != HG_SUCCESS)
        return rc;
    for (unsigned i = 0; i < KEY_TRIES; i++) {
        code = amg_ofi_call->mr_reg(
            domain->fi.domain, base, len, access, key_next_locked(domain), &mr);
        if (code != -FI_ENOKEY && code != -FI_EKEYREJECTED)
            break;
    }
    if (code == 0 && domain->facts.binds_memory) {
        code = mr_attach(domain, mr);
        if (code != 0)
            (void)amg_ofi_call->close(&mr->fid);
    }
    if (code != 0)
        return amg_ofi_error(
            code, "registering memory (see ulimit -l, and the NIC's limits)");
    *ret_mr = mr;
    return HG_SUCCESS;
}

void amg_ofi_unreg_locked(struct amg_ofi_domain *domain, struct fid_mr *mr)
{
    int code = mr == NULL ? 0 : amg_ofi_call->close(&mr->fid);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (code != 0)
        (void)amg_ofi_error(code, "ending the registration of memory");
}

hg_return_t amg_ofi_block_make_locked(struct amg_ofi_domain *domain, size_t len,
    uint64_t access, struct amg_ofi_block **ret_block)
{
    size_t head_len = (sizeof(struct amg_ofi_block) + BLOCK_ALIGN - 1) /
                      BLOCK_ALIGN * BLOCK_ALIGN;
    struct amg_ofi_block *block =
        amg_mem_alloc_aligned(BLOCK_ALIGN, head_len + len);
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(len > 0);
    if (block == NULL)
        return HG_NOMEM;
    *block = (struct amg_ofi_block){
        .bytes = (unsigned char *)block + head_len,
    };
    /* FI_RECV: a block that is only sent gets its own pages, too. A page that
     * was only read may be the kernel's zero page, until the first write. */
    if (domain->facts.needs_desc)
        rc = pages_back(domain, block->bytes, len, FI_RECV);
    if (rc == HG_SUCCESS && domain->facts.needs_desc)
        rc = amg_ofi_reg_locked(domain, block->bytes, len, access, &block->mr);
    if (rc != HG_SUCCESS) {
        amg_mem_free(block);
        return rc;
    }
    *ret_block = block;
    return HG_SUCCESS;
}

void amg_ofi_block_free_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_block *block)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (block == NULL)
        return;
    amg_ofi_unreg_locked(domain, block->mr);
    amg_mem_free(block);
}

void amg_ofi_blocks_unreg_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_block *block)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (; block != NULL; block = block->next) {
        amg_ofi_unreg_locked(domain, block->mr);
        block->mr = NULL;
    }
}
