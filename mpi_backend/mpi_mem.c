/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: which is alive, and what peers may do with it.
 *
 * A key is the place in the table of live memory, a serial number that is
 * never used twice, and a random number of this process, so that a key of
 * freed memory, or of another rank, fits nothing here. Where a window leads to
 * the memory, it says which, and where the entry is that guards it. */
#include "mpi_backend/mpi_mem.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "mpi_backend/mpi_public.h"
#include "mpi_backend/mpi_rma.h"

static_assert(sizeof(struct amg_mpi_key) <= AMG_KEY_LEN_MAX, "must fit a key");

static struct amg_mpi_mem *mem_of(const struct amg_mem *mem)
{
    return AMG_OBJECT(mem, struct amg_mpi_mem, base);
}

hg_return_t amg_mpi_mem_reg(struct amg_domain *base,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    struct amg_mpi_mem *mem =
        amg_mem_zalloc(sizeof(*mem) + count * sizeof(*segments));
    hg_return_t rc = HG_SUCCESS;

    if (mem == NULL)
        return HG_NOMEM;
    mem->base.transport = &amg_mpi_transport;
    mem->key.salt = (uint32_t)domain->salt;
    mem->flags = flags;
    mem->count = count;
    amg_list_init(&mem->visits);
    if (count > 0)
        memcpy(mem->segments, segments, count * sizeof(*segments));
    amg_bias_take(domain->lock);
    mem->key.serial = ++domain->mem_serial;
    rc = amg_table_add(&domain->mems, mem, 0, &mem->key.cookie);
    if (rc == HG_SUCCESS && domain->rma != NULL &&
        amg_mpi_comm_may_call(&domain->comm))
        amg_mpi_desk_open_locked(&domain->rma->desk, mem);
    amg_bias_give(domain->lock);
    if (rc != HG_SUCCESS) {
        amg_mem_free(mem);
        return rc;
    }
    *ret_mem = &mem->base;
    return HG_SUCCESS;
}

void amg_mpi_mem_key(const struct amg_mem *base, struct amg_key *ret_key)
{
    const struct amg_mpi_mem *mem = mem_of(base);

    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->len = sizeof(mem->key);
    memcpy(ret_key->bytes, &mem->key, sizeof(mem->key));
}

hg_return_t amg_mpi_mem_key_read(
    const struct amg_key *wire, struct amg_mpi_access *access)
{
    struct amg_mpi_key key;

    if (!AMG_CONTRACT(wire->len == sizeof(key)))
        return HG_INVALID_ARG;
    memcpy(&key, wire->bytes, sizeof(key));
    access->key_index = key.cookie;
    access->key_generation = key.serial;
    access->key_salt = key.salt | (uint64_t)key.entry << 32;
    return HG_SUCCESS;
}

hg_return_t amg_mpi_mem_check_locked(const struct amg_mpi_domain *domain,
    const struct amg_mpi_access *access, enum amg_mem_flags direction,
    struct amg_mpi_mem **ret_mem, struct amg_place *ret_place)
{
    struct amg_table_place *place =
        amg_table_find(&domain->mems, access->key_index, 0);
    struct amg_mpi_mem *mem = place == NULL ? NULL : place->object;
    struct amg_place asked;

    if (mem == NULL || mem->key.serial != access->key_generation ||
        mem->key.salt != (uint32_t)access->key_salt ||
        mem->key.entry != access->key_salt >> 32)
        return HG_NOENTRY;
    if ((mem->flags & direction) == 0)
        return HG_PERMISSION;
    asked = (struct amg_place){
        mem->segments, mem->count, access->segment, access->offset};
    if (access->segment >= mem->count || access->len == 0 ||
        access->offset > mem->segments[access->segment].len ||
        amg_place_left(&asked, access->len) < access->len)
        return HG_OVERFLOW;
    *ret_mem = mem;
    *ret_place = asked;
    return HG_SUCCESS;
}

void amg_mpi_mem_close_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_mem *mem)
{
    if (mem->is_closed)
        return;
    mem->is_closed = true;
    amg_table_remove(&domain->mems, mem->key.cookie);
    if (domain->rma != NULL)
        amg_mpi_desk_leave_locked(&domain->rma->desk, mem);
}
