/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of libfabric that a domain is made of, and registered memory.
 *
 * If the driver may choose the keys of memory, the driver counts up from a
 * random number of at least 256 (Slingshot reserves smaller keys), so that the
 * key of freed memory, also of a former process at this address, does not soon
 * name other memory. Memory that belongs to an endpoint is bound to the
 * endpoint before the key is read. */
#include "ofi_backend/ofi_ep.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    KEY_FIRST = 256,
    KEY_TRIES = 64,   /* keys that may still be in use after a wrap */
    BLOCK_ALIGN = 64, /* a cache line */
    CQ_LEN = 1024,
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

/* Some providers register only memory that has pages. */
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
    if (domain->facts.needs_desc)
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

static hg_return_t enable_error(
    int code, const struct amg_open *how, const struct amg_ofi_domain *domain)
{
    const char *remedy = "is it an address of this machine?";
    char key[AMG_OFI_AUTH_TEXT_CAP];
    char what[400];

    if (amg_ofi_auth_text(domain->fi.info, key)[0] != '\0')
        remedy = "may this user have that service and VNI? "
                 "AMALGAM_SLINGSHOT_VNI chooses one of SLINGSHOT_VNIS";
    if (code == -FI_EADDRINUSE)
        remedy = "another program uses that port; name another one, or none to "
                 "get a free one";
    snprintf(what, sizeof(what), "opening ofi+%s at '%s'%s; %s",
        domain->facts.stack, how->info == NULL ? "" : how->info, key, remedy);
    return amg_ofi_error(code, what);
}

/* Opens the completion queue; with a descriptor if the provider has one. */
static int cq_make(struct amg_ofi_domain *domain, bool no_block)
{
    struct fi_cq_attr attr = {
        .size = CQ_LEN,
        .format = FI_CQ_FORMAT_DATA,
        .wait_obj = no_block ? FI_WAIT_NONE : FI_WAIT_FD,
    };
    int code = 0;

    domain->wait.fd = -1;
    code = amg_ofi_call->cq_open(domain->fi.domain, &attr, &domain->fi.cq);
    if (code == 0 && !no_block &&
        amg_ofi_call->cq_wait_fd(domain->fi.cq, &domain->wait.fd) == 0) {
        domain->facts.can_sleep = true;
        return 0;
    }
    domain->wait.fd = -1;
    if (code == 0 && no_block)
        return 0;
    /* The provider has no descriptor, and may say so only now. */
    if (code == 0)
        (void)amg_ofi_call->close(&domain->fi.cq->fid);
    domain->fi.cq = NULL;
    attr.wait_obj = FI_WAIT_NONE;
    return amg_ofi_call->cq_open(domain->fi.domain, &attr, &domain->fi.cq);
}

static int objects_make(struct amg_ofi_domain *domain, bool no_block)
{
    struct fi_av_attr av_attr = {
        .type = FI_AV_TABLE, .count = domain->fi.universe};
    int code =
        amg_ofi_call->fabric(domain->fi.info->fabric_attr, &domain->fi.fabric);

    if (code == 0)
        code = amg_ofi_call->domain(
            domain->fi.fabric, domain->fi.info, &domain->fi.domain);
    if (code == 0)
        code =
            amg_ofi_call->av_open(domain->fi.domain, &av_attr, &domain->fi.av);
    if (code == 0)
        code = cq_make(domain, no_block);
    if (code == 0)
        code = amg_ofi_call->endpoint(
            domain->fi.domain, domain->fi.info, &domain->fi.ep);
    if (code == 0)
        code = amg_ofi_call->ep_bind(domain->fi.ep, &domain->fi.av->fid, 0);
    if (code == 0)
        code = amg_ofi_call->ep_bind(
            domain->fi.ep, &domain->fi.cq->fid, FI_TRANSMIT | FI_RECV);
    return code;
}

/* Has the provider release a buffer when the longest message no longer fits. If
 * the provider cannot do that, each buffer takes one message. */
static int multi_set(struct amg_ofi_domain *domain)
{
    size_t room = domain->receive_max;
    int code = amg_ofi_call->setopt(
        domain->fi.ep, FI_OPT_MIN_MULTI_RECV, &room, sizeof(room));

    domain->facts.is_multi = code == 0;
    if (code != -FI_ENOPROTOOPT && code != -FI_ENOSYS &&
        code != -FI_EOPNOTSUPP && code != -FI_EINVAL)
        return code;
    AMG_LOG_INFO("ofi", "ofi+%s receives one message per buffer (%s)",
        domain->facts.stack, amg_ofi_call->strerror(-code));
    return 0;
}

hg_return_t amg_ofi_ep_open(struct amg_ofi_domain *domain,
    const struct amg_open *how, uint8_t *ret_addr, uint16_t *ret_len)
{
    size_t addr_len = AMG_OFI_ADDR_MAX;
    int code = objects_make(domain, how->nic.no_block);

    /* The option of multi_set(), before enable, ends the process (shm,
     * 1.17). */
    if (code == 0)
        code = amg_ofi_call->enable(domain->fi.ep);
    if (code == 0)
        code = multi_set(domain);
    if (code != 0)
        return enable_error(code, how, domain);
    code = amg_ofi_call->getname(domain->fi.ep, ret_addr, &addr_len);
    if (code != 0 || addr_len > AMG_OFI_ADDR_MAX)
        return amg_ofi_error(
            code != 0 ? code : -FI_ETOOSMALL, "asking for the own address");
    if (amg_ofi_addr_is_any(domain->facts.addr_format, ret_addr)) {
        AMG_LOG_ERROR("cls",
            "ofi+%s listens at every interface and cannot say where others "
            "reach it; name an interface or host, as in tcp://eth0",
            domain->facts.stack);
        return HG_ADDRNOTAVAIL;
    }
    *ret_len = (uint16_t)addr_len;
    return HG_SUCCESS;
}

static void object_close(struct fid *fid, const char *what)
{
    int code = amg_ofi_call->close(fid);

    if (code != 0)
        (void)amg_ofi_error(code, what);
}

void amg_ofi_ep_close_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->fi.ep != NULL)
        object_close(&domain->fi.ep->fid, "closing the endpoint");
    domain->fi.ep = NULL;
}

void amg_ofi_ep_fini_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(domain->fi.ep == NULL);
    while (domain->in.block != NULL) {
        struct amg_ofi_block *block = domain->in.block;

        domain->in.block = block->next;
        amg_ofi_block_free_locked(domain, block);
    }
    if (domain->fi.cq != NULL)
        object_close(&domain->fi.cq->fid, "closing the completion queue");
    if (domain->fi.av != NULL)
        object_close(&domain->fi.av->fid, "closing the address vector");
    if (domain->fi.domain != NULL)
        object_close(&domain->fi.domain->fid, "closing the domain");
    if (domain->fi.fabric != NULL)
        object_close(&domain->fi.fabric->fid, "closing the fabric");
    if (domain->fi.info != NULL)
        amg_ofi_call->freeinfo(domain->fi.info);
}
