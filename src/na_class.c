/* SPDX-License-Identifier: BSD-3-Clause */
/* An opaque network class: a class without RPC, whose transports others use. */
#include "na_class.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "init.h"
#include "mercury_class.h"
#include "na.h"

#define LIBRARY_VERSION NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR)

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

static na_class_t *class_make(const struct amg_init *init)
{
    na_class_t *na_class = amg_mem_alloc(sizeof(*na_class));

    if (na_class == NULL)
        return NULL;
    if (amg_init_medium(init, &na_class->medium) == HG_SUCCESS)
        return na_class;
    amg_mem_free(na_class);
    return NULL;
}

na_class_t *NA_Initialize_opt2(const char *info_string, bool listen,
    unsigned int version, const struct na_init_info *na_init_info)
{
    struct amg_init init = {.info = info_string, .how.is_listening = listen};
    struct na_init_info_4_0 info;

    /* Each version added fields at the end. */
    _Static_assert(sizeof(info) <= sizeof(*na_init_info) &&
                       offsetof(struct na_init_info_4_0, request_mem_device) ==
                           offsetof(struct na_init_info, request_mem_device),
        "the older options are the beginning of the newer ones");
    if (!AMG_CONTRACT(info_string != NULL))
        return NULL;
    if (na_init_info == NULL)
        return class_make(&init);
    if (version == 0 || version > LIBRARY_VERSION) {
        AMG_LOG_ERROR("cls",
            "NA options of version %u.%u; this library knows those up to %u.%u",
            NA_MAJOR(version), NA_MINOR(version), NA_VERSION_MAJOR,
            NA_VERSION_MINOR);
        return NULL;
    }
    /* The traffic class, which came with 5.0, is a wish that none of our
     * transports can honour. */
    memcpy(&info, na_init_info, sizeof(info));
    return amg_init_read_na(&info, &init) == HG_SUCCESS ? class_make(&init)
                                                        : NULL;
}

na_class_t *NA_Initialize_opt(const char *info_string, bool listen,
    const struct na_init_info *na_init_info)
{
    return NA_Initialize_opt2(
        info_string, listen, NA_VERSION(4, 0), na_init_info);
}

na_class_t *NA_Initialize(const char *info_string, bool listen)
{
    return NA_Initialize_opt2(info_string, listen, 0, NULL);
}

na_return_t NA_Finalize(na_class_t *na_class)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(na_class != NULL))
        return NA_INVALID_ARG;
    rc = amg_init_finalize(na_class->medium, false);
    /* Somebody else's absence is no error of this call. */
    if (rc != HG_SUCCESS && rc != HG_TIMEOUT)
        return amg_na_code(rc);
    amg_mem_free(na_class);
    return NA_SUCCESS;
}

void NA_Cleanup(void)
{
    HG_Cleanup();
}

const char *NA_Get_class_name(const na_class_t *na_class)
{
    if (!AMG_CONTRACT(na_class != NULL))
        return NULL;
    return HG_Class_get_name(na_class->medium);
}

const char *NA_Get_class_protocol(const na_class_t *na_class)
{
    if (!AMG_CONTRACT(na_class != NULL))
        return NULL;
    return HG_Class_get_protocol(na_class->medium);
}

bool NA_Is_listening(const na_class_t *na_class)
{
    return AMG_CONTRACT(na_class != NULL) &&
           HG_Class_is_listening(na_class->medium);
}

bool NA_Has_opt_feature(na_class_t *na_class, unsigned long flags)
{
    /* The features are those of messages, which this class does not offer. */
    (void)na_class;
    (void)flags;
    return false;
}
