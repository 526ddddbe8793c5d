/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells programs which protocols this process can open. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "init_plan.h"
#include "mercury_class.h"
#include "na.h"
#include "na_class.h"
#include "transport/uri.h"

/* One element of the list, in one block of memory. */
struct entry {
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
    struct entry *entry =
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

/* Is it what the user asks for: "class+protocol", or one of the two? */
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

/* Adds what a driver offers at `*end`, and moves that. `uri` NULL: all. */
static hg_return_t driver_add(const struct amg_transport *transport,
    const struct amg_uri *uri, struct na_protocol_info ***end)
{
    const char *scheme = transport->schemes;
    size_t len = 0;

    for (; *scheme != '\0'; scheme += len) {
        scheme += strspn(scheme, " ");
        len = strcspn(scheme, " ");
        /* A word without a class is a short name for one that has it. */
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

    if (!AMG_CONTRACT(na_protocol_info_p != NULL))
        return HG_INVALID_ARG;
    if (info_string != NULL && amg_uri_split(info_string, &uri) != HG_SUCCESS) {
        AMG_LOG_ERROR("cls", "'%s' is no init string", info_string);
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

        amg_mem_free(AMG_OBJECT(na_protocol_info, struct entry, info));
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
