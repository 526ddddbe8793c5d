/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of a network class: those of the class it is made of. */
#include "base/assert.h"
#include "core/addr.h"
#include "mercury_address.h"
#include "na.h"
#include "na_class.h"

/* A na_addr_t is an address of the medium under another name. */
static na_addr_t *na_addr_of(hg_addr_t addr)
{
    return (na_addr_t *)addr;
}

static hg_addr_t addr_of(na_addr_t *addr)
{
    return (hg_addr_t)addr;
}

na_return_t NA_Addr_lookup(
    na_class_t *na_class, const char *name, na_addr_t **addr_p)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(na_class != NULL && addr_p != NULL))
        return NA_INVALID_ARG;
    rc = HG_Addr_lookup2(na_class->medium, name, &addr);
    if (rc == HG_SUCCESS)
        *addr_p = na_addr_of(addr);
    return amg_na_code(rc);
}

void NA_Addr_free(na_class_t *na_class, na_addr_t *addr)
{
    if (!AMG_CONTRACT(na_class != NULL))
        return;
    (void)HG_Addr_free(na_class->medium, addr_of(addr));
}

na_return_t NA_Addr_set_remove(na_class_t *na_class, na_addr_t *addr)
{
    if (!AMG_CONTRACT(na_class != NULL))
        return NA_INVALID_ARG;
    return amg_na_code(HG_Addr_set_remove(na_class->medium, addr_of(addr)));
}

na_return_t NA_Addr_self(na_class_t *na_class, na_addr_t **addr_p)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(na_class != NULL && addr_p != NULL))
        return NA_INVALID_ARG;
    rc = HG_Addr_self(na_class->medium, &addr);
    if (rc == HG_SUCCESS)
        *addr_p = na_addr_of(addr);
    return amg_na_code(rc);
}

na_return_t NA_Addr_dup(
    na_class_t *na_class, na_addr_t *addr, na_addr_t **new_addr_p)
{
    hg_addr_t copy = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(na_class != NULL && new_addr_p != NULL))
        return NA_INVALID_ARG;
    rc = HG_Addr_dup(na_class->medium, addr_of(addr), &copy);
    if (rc == HG_SUCCESS)
        *new_addr_p = na_addr_of(copy);
    return amg_na_code(rc);
}

bool NA_Addr_cmp(na_class_t *na_class, na_addr_t *addr1, na_addr_t *addr2)
{
    if (!AMG_CONTRACT(na_class != NULL))
        return false;
    return HG_Addr_cmp(na_class->medium, addr_of(addr1), addr_of(addr2)) !=
           HG_FALSE;
}

bool NA_Addr_is_self(na_class_t *na_class, na_addr_t *addr)
{
    if (!AMG_CONTRACT(na_class != NULL && addr != NULL))
        return false;
    if (!AMG_CONTRACT(addr_of(addr)->cls == na_class->medium))
        return false;
    return amg_addr_is_self(addr_of(addr));
}

na_return_t NA_Addr_to_string(
    na_class_t *na_class, char *buf, size_t *buf_size, na_addr_t *addr)
{
    hg_size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(na_class != NULL && buf_size != NULL))
        return NA_INVALID_ARG;
    len = *buf_size;
    rc = HG_Addr_to_string(na_class->medium, buf, &len, addr_of(addr));
    *buf_size = (size_t)len;
    return amg_na_code(rc);
}
