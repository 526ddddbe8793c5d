/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: HG's, of the class of an instance. */
#include "base/assert.h"
#include "margo/instance.h"
#include "mercury.h"

static bool is_open(margo_instance_id mid)
{
    return AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && mid->hg_class != NULL);
}

hg_return_t margo_addr_lookup(
    margo_instance_id mid, const char *name, hg_addr_t *addr)
{
    struct margo_monitor_lookup_args told = {.name = name};

    if (!is_open(mid) || !AMG_CONTRACT(name != NULL && addr != NULL))
        return HG_INVALID_ARG;
    AMG_MARGO_TELL(mid, lookup, MARGO_MONITOR_FN_START, &told);
    told.ret = HG_Addr_lookup2(mid->hg_class, name, &told.addr);
    AMG_MARGO_TELL(mid, lookup, MARGO_MONITOR_FN_END, &told);
    if (told.ret == HG_SUCCESS)
        *addr = told.addr;
    return told.ret;
}

hg_return_t margo_addr_free(margo_instance_id mid, hg_addr_t addr)
{
    if (!is_open(mid))
        return HG_INVALID_ARG;
    return addr == HG_ADDR_NULL ? HG_SUCCESS
                                : HG_Addr_free(mid->hg_class, addr);
}

hg_return_t margo_addr_self(margo_instance_id mid, hg_addr_t *addr)
{
    struct margo_monitor_lookup_args told = {.name = NULL};

    if (!is_open(mid) || !AMG_CONTRACT(addr != NULL))
        return HG_INVALID_ARG;
    AMG_MARGO_TELL(mid, lookup, MARGO_MONITOR_FN_START, &told);
    told.ret = HG_Addr_self(mid->hg_class, &told.addr);
    AMG_MARGO_TELL(mid, lookup, MARGO_MONITOR_FN_END, &told);
    if (told.ret == HG_SUCCESS)
        *addr = told.addr;
    return told.ret;
}

hg_return_t margo_addr_dup(
    margo_instance_id mid, hg_addr_t addr, hg_addr_t *new_addr)
{
    if (!is_open(mid) ||
        !AMG_CONTRACT(addr != HG_ADDR_NULL && new_addr != NULL))
        return HG_INVALID_ARG;
    return HG_Addr_dup(mid->hg_class, addr, new_addr);
}

hg_bool_t margo_addr_cmp(
    margo_instance_id mid, hg_addr_t addr1, hg_addr_t addr2)
{
    return is_open(mid) ? HG_Addr_cmp(mid->hg_class, addr1, addr2) : HG_FALSE;
}

hg_return_t margo_addr_set_remove(margo_instance_id mid, hg_addr_t addr)
{
    if (!is_open(mid) || !AMG_CONTRACT(addr != HG_ADDR_NULL))
        return HG_INVALID_ARG;
    return HG_Addr_set_remove(mid->hg_class, addr);
}

hg_return_t margo_addr_to_string(
    margo_instance_id mid, char *buf, hg_size_t *buf_size, hg_addr_t addr)
{
    if (!is_open(mid) ||
        !AMG_CONTRACT(buf_size != NULL && addr != HG_ADDR_NULL))
        return HG_INVALID_ARG;
    return HG_Addr_to_string(mid->hg_class, buf, buf_size, addr);
}
