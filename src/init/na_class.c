/* SPDX-License-Identifier: BSD-3-Clause */
/* NA classes: classes without RPC that share their domains. NA_Initialize() is
 * in init.c. */

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/addr.h"
#include "init/init.h"
#include "mercury_address.h"
#include "mercury_class.h"
#include "na.h"

na_return_t NA_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch)
{
    if (major != NULL)
        *major = NA_VERSION_MAJOR;
    if (minor != NULL)
        *minor = NA_VERSION_MINOR;
    if (patch != NULL)
        *patch = NA_VERSION_PATCH;
    return NA_SUCCESS;
}

const char *NA_Error_to_string(na_return_t errnum)
{
#define X(name) [name] = #name,
    static const char *const names[] = {NA_RETURN_VALUES};
#undef X

    if ((unsigned)errnum >= (unsigned)NA_RETURN_MAX)
        return NULL;
    return names[errnum];
}

void NA_Set_log_level(const char *level)
{
    HG_Set_log_level(level);
}

na_return_t NA_Finalize(na_class_t *na_class)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(na_class))
        return NA_INVALID_ARG;
    if (amg_class_is_inherited(na_class->cls))
        return NA_SUCCESS;
    rc = amg_init_finalize(na_class->cls, false);
    if (rc == HG_SUCCESS || rc == HG_TIMEOUT ||
        rc == HG_HOSTUNREACH) /* the class is closed */
        amg_mem_free(na_class);
    return amg_na_code(rc);
}

void NA_Cleanup(void)
{
    HG_Cleanup();
}

const char *NA_Get_class_name(const na_class_t *na_class)
{
    if (!AMG_GIVEN(na_class))
        return NULL;
    return HG_Class_get_name(na_class->cls);
}

const char *NA_Get_class_protocol(const na_class_t *na_class)
{
    if (!AMG_GIVEN(na_class))
        return NULL;
    return HG_Class_get_protocol(na_class->cls);
}

bool NA_Is_listening(const na_class_t *na_class)
{
    return AMG_GIVEN(na_class) && HG_Class_is_listening(na_class->cls);
}

bool NA_Has_opt_feature(na_class_t *na_class, unsigned long flags)
{
    /* All features are of NA messages, which this class does not offer. */
    (void)na_class;
    (void)flags;
    return false;
}

/* A na_addr_t is an hg_addr_t of `cls` under another name. */
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

    if (!AMG_GIVEN(na_class) || !AMG_GIVEN(addr_p))
        return NA_INVALID_ARG;
    rc = HG_Addr_lookup2(na_class->cls, name, &addr);
    if (rc == HG_SUCCESS)
        *addr_p = na_addr_of(addr);
    return amg_na_code(rc);
}

void NA_Addr_free(na_class_t *na_class, na_addr_t *addr)
{
    if (!AMG_GIVEN(na_class))
        return;
    (void)HG_Addr_free(na_class->cls, addr_of(addr));
}

na_return_t NA_Addr_set_remove(na_class_t *na_class, na_addr_t *addr)
{
    if (!AMG_GIVEN(na_class))
        return NA_INVALID_ARG;
    return amg_na_code(HG_Addr_set_remove(na_class->cls, addr_of(addr)));
}

na_return_t NA_Addr_self(na_class_t *na_class, na_addr_t **addr_p)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(na_class) || !AMG_GIVEN(addr_p))
        return NA_INVALID_ARG;
    rc = HG_Addr_self(na_class->cls, &addr);
    if (rc == HG_SUCCESS)
        *addr_p = na_addr_of(addr);
    return amg_na_code(rc);
}

na_return_t NA_Addr_dup(
    na_class_t *na_class, na_addr_t *addr, na_addr_t **new_addr_p)
{
    hg_addr_t copy = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(na_class) || !AMG_GIVEN(new_addr_p))
        return NA_INVALID_ARG;
    rc = HG_Addr_dup(na_class->cls, addr_of(addr), &copy);
    if (rc == HG_SUCCESS)
        *new_addr_p = na_addr_of(copy);
    return amg_na_code(rc);
}

bool NA_Addr_cmp(na_class_t *na_class, na_addr_t *addr1, na_addr_t *addr2)
{
    if (!AMG_GIVEN(na_class))
        return false;
    return HG_Addr_cmp(na_class->cls, addr_of(addr1), addr_of(addr2)) !=
           HG_FALSE;
}

bool NA_Addr_is_self(na_class_t *na_class, na_addr_t *addr)
{
    if (!AMG_GIVEN(na_class) || !AMG_GIVEN(addr))
        return false;
    if (!AMG_CONTRACT(addr_of(addr)->cls == na_class->cls,
            "the address is of another class"))
        return false;
    return amg_addr_is_self(addr_of(addr));
}

na_return_t NA_Addr_to_string(
    na_class_t *na_class, char *buf, size_t *buf_size, na_addr_t *addr)
{
    hg_size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(na_class) || !AMG_GIVEN(buf_size))
        return NA_INVALID_ARG;
    len = *buf_size;
    rc = HG_Addr_to_string(na_class->cls, buf, &len, addr_of(addr));
    *buf_size = (size_t)len;
    return amg_na_code(rc);
}

na_return_t NA_Get_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p)
{
    return amg_na_code(
        HG_Get_na_protocol_info(info_string, na_protocol_info_p));
}

void NA_Free_protocol_info(struct na_protocol_info *na_protocol_info)
{
    HG_Free_na_protocol_info(na_protocol_info);
}
