/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering memory with the provider, by what it demands.
 *
 * Where keys are ours to choose they are counted up, from anywhere beyond the
 * first 256 (Slingshot gives small ones a meaning of their own), so that the
 * key of memory that is gone, of the process that was here before, too, does
 * not soon name other memory. Where memory belongs to endpoints it is bound
 * before its key is read. */
#include "ofi_backend/ofi_reg.h"

#include "base/log.h"
#include "base/pages.h"
#include "ofi_backend/ofi_select.h"

enum {
    KEY_FIRST = 256,
    KEY_TRIES = 64, /* keys that may still be in use after a wrap */
};

static uint64_t key_next_locked(struct amg_ofi_domain *domain)
{
    if (domain->facts.makes_keys)
        return 0;
    if (domain->next_key < KEY_FIRST ||
        domain->next_key >= domain->facts.key_max)
        domain->next_key = KEY_FIRST;
    return domain->next_key++;
}

static int mr_attach(struct amg_ofi_domain *domain, struct fid_mr *mr)
{
    int code = amg_ofi_call->mr_bind(mr, &domain->ep->fid);

    if (code == 0)
        code = amg_ofi_call->mr_enable(mr);
    return code;
}

/* Some want pages behind memory that they are to know. */
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

    if (rc != HG_SUCCESS)
        return rc;
    for (unsigned i = 0; i < KEY_TRIES; i++) {
        code = amg_ofi_call->mr_reg(
            domain->fid, base, len, access, key_next_locked(domain), &mr);
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

void amg_ofi_unreg_locked(struct fid_mr *mr)
{
    int code = mr == NULL ? 0 : amg_ofi_call->close(&mr->fid);

    if (code != 0)
        (void)amg_ofi_error(code, "ending the registration of memory");
}
