/* SPDX-License-Identifier: BSD-3-Clause */
/* NA classes: classes without RPC that share their domains. */

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/addr.h"
#include "init/init.h"
#include "mercury_address.h"
#include "mercury_class.h"
#include "na.h"
#include "transport/registry.h"

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
    if (amg_init_without_rpc(init, &na_class->cls) == HG_SUCCESS)
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
    if (!AMG_GIVEN(info_string))
        return NULL;
    if (na_init_info == NULL)
        return class_make(&init);
    if (version == 0 || version > LIBRARY_VERSION) {
        AMG_LOG_ERROR("cls",
            "the NA options have version %u.%u; this library knows versions up "
            "to %u.%u",
            NA_MAJOR(version), NA_MINOR(version), NA_VERSION_MAJOR,
            NA_VERSION_MINOR);
        return NULL;
    }
    /* No transport here supports the traffic class, which version 5.0 added. */
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

    if (!AMG_GIVEN(na_class))
        return NA_INVALID_ARG;
    if (amg_class_is_inherited(na_class->cls))
        return NA_SUCCESS;
    rc = amg_init_finalize(na_class->cls, false);
    if (rc == HG_SUCCESS || rc == HG_TIMEOUT) /* the class is closed */
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
    /* The features are those of messages, which this class does not offer. */
    (void)na_class;
    (void)flags;
    return false;
}

/* A na_addr_t is an address of the class below under another name. */
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

/* An element of the list, in one block of memory. */
struct protocol_entry {
    struct na_protocol_info info;
    char texts[]; /* what `info` points to */
};

static char *text_copy(char **room, const char *text, size_t len)
{
    char *copy = *room;

    memcpy(copy, text, len);
    copy[len] = '\0';
    *room += len + 1;
    return copy;
}

/* `scheme` is "class+protocol". */
static struct na_protocol_info *entry_create(
    const char *scheme, size_t len, const char *device)
{
    size_t class_len = strcspn(scheme, "+");
    size_t device_len = strlen(device);
    struct protocol_entry *entry =
        amg_mem_zalloc(sizeof(*entry) + len + 1 + device_len + 1);
    char *room = NULL;

    if (entry == NULL)
        return NULL;
    room = entry->texts;
    entry->info.class_name = text_copy(&room, scheme, class_len);
    entry->info.protocol_name =
        text_copy(&room, scheme + class_len + 1, len - class_len - 1);
    entry->info.device_name = text_copy(&room, device, device_len);
    return &entry->info;
}

/* Is `scheme` the user's choice: "class+protocol", or one of the two? */
static bool is_wanted(const char *scheme, size_t len, const struct amg_uri *uri)
{
    size_t class_len = strcspn(scheme, "+");
    size_t wanted_len = uri->scheme_len;

    if (uri->class_len > 0)
        return wanted_len == len && memcmp(scheme, uri->scheme, len) == 0;
    if (wanted_len == class_len && memcmp(scheme, uri->scheme, class_len) == 0)
        return true;
    return wanted_len == len - class_len - 1 &&
           memcmp(scheme + class_len + 1, uri->scheme, wanted_len) == 0;
}

/* Adds a driver's protocols at `*end`, and advances it. `uri` NULL: all. */
static hg_return_t driver_add(const struct amg_transport *transport,
    const struct amg_uri *uri, struct na_protocol_info ***end)
{
    const char *scheme = transport->schemes;
    size_t len = 0;

    for (; *scheme != '\0'; scheme += len) {
        scheme += strspn(scheme, " ");
        len = strcspn(scheme, " ");
        /* A scheme without a class is an alias of one with a class. */
        if (memchr(scheme, '+', len) == NULL)
            continue;
        if (uri != NULL && !is_wanted(scheme, len, uri))
            continue;
        **end = entry_create(scheme, len, transport->name);
        if (**end == NULL)
            return HG_NOMEM;
        *end = &(**end)->next;
    }
    return HG_SUCCESS;
}

hg_return_t HG_Get_na_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p)
{
    const struct amg_transport *all[AMG_ROUTE_COUNT + 1];
    struct na_protocol_info *list = NULL;
    struct na_protocol_info **end = &list;
    struct amg_uri uri;
    hg_return_t rc = HG_SUCCESS;
    unsigned i = 0;

    if (!AMG_GIVEN(na_protocol_info_p))
        return HG_INVALID_ARG;
    if (info_string != NULL && amg_uri_split(info_string, &uri) != HG_SUCCESS) {
        AMG_LOG_ERROR("cls", "'%s' is not an init string", info_string);
        return HG_INVALID_ARG;
    }
    amg_init_transports(info_string, all);
    for (i = 0; all[i] != NULL && rc == HG_SUCCESS; i++)
        rc = driver_add(all[i], info_string == NULL ? NULL : &uri, &end);
    if (rc == HG_SUCCESS && list == NULL)
        rc = HG_PROTONOSUPPORT;
    if (rc != HG_SUCCESS) {
        HG_Free_na_protocol_info(list);
        return rc;
    }
    *na_protocol_info_p = list;
    return HG_SUCCESS;
}

void HG_Free_na_protocol_info(struct na_protocol_info *na_protocol_info)
{
    while (na_protocol_info != NULL) {
        struct na_protocol_info *next = na_protocol_info->next;

        amg_mem_free(
            amg_container_of(na_protocol_info, struct protocol_entry, info));
        na_protocol_info = next;
    }
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
