/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NIC a result of libfabric is of, and which of several is near.
 *
 * Only NICs that are alike are compared: of one network, which is what
 * libfabric names a fabric for, equally fast, and with addresses of the same
 * kind. So ranks that take different ones reach each other, and nobody takes a
 * slow NIC because it is near. What is not alike stands in libfabric's order.
 * The machine is asked only where there is a choice. */
#include "ofi_backend/ofi_nic.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum { WHY_CAP = 128 };

/* Those that can be chosen, each once. */
struct choice {
    const struct fi_info *infos[AMG_NICS_ALIKE_MAX];
    struct amg_nic_id nics[AMG_NICS_ALIKE_MAX];
    uint32_t count;
};

static bool is_same_text(const char *one, const char *other)
{
    if (one == NULL || other == NULL)
        return one == other;
    return strcmp(one, other) == 0;
}

static void text_copy(const char *text, char *ret_text)
{
    snprintf(ret_text, AMG_NIC_TEXT_CAP, "%s", text == NULL ? "" : text);
}

static bool is_same_ip(const struct sockaddr *one, const struct sockaddr *other)
{
    const struct sockaddr_in *four = (const void *)one;
    const struct sockaddr_in *other_four = (const void *)other;
    const struct sockaddr_in6 *six = (const void *)one;
    const struct sockaddr_in6 *other_six = (const void *)other;

    if (other == NULL || one->sa_family != other->sa_family)
        return false;
    if (one->sa_family == AF_INET)
        return four->sin_addr.s_addr == other_four->sin_addr.s_addr;
    return one->sa_family == AF_INET6 &&
           memcmp(&six->sin6_addr, &other_six->sin6_addr,
               sizeof(six->sin6_addr)) == 0 &&
           (six->sin6_scope_id == 0 ||
               six->sin6_scope_id == other_six->sin6_scope_id);
}

/* The interface that has the address; "": none has, or it is no IP address. */
static void iface_read(const struct fi_info *info, char *ret_iface)
{
    struct ifaddrs *all = NULL;

    ret_iface[0] = '\0';
    if (info->src_addr == NULL ||
        (info->addr_format != FI_SOCKADDR_IN &&
            info->addr_format != FI_SOCKADDR_IN6 &&
            info->addr_format != FI_SOCKADDR) ||
        getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
        if (is_same_ip(info->src_addr, at->ifa_addr)) {
            text_copy(at->ifa_name, ret_iface);
            break;
        }
    freeifaddrs(all);
}

void amg_ofi_nic_read(const struct fi_info *info, struct amg_nic_id *ret_nic)
{
    const struct fi_device_attr *device =
        info->nic == NULL ? NULL : info->nic->device_attr;
    const struct fi_bus_attr *bus =
        info->nic == NULL ? NULL : info->nic->bus_attr;
    const char *name = device == NULL ? NULL : device->name;

    memset(ret_nic, 0, sizeof(*ret_nic));
    text_copy(name == NULL ? info->domain_attr->name : name, ret_nic->name);
    iface_read(info, ret_nic->iface);
    if (bus != NULL && bus->bus_type == FI_BUS_PCI)
        snprintf(ret_nic->bus, sizeof(ret_nic->bus), "%04x:%02x:%02x.%x",
            bus->attr.pci.domain_id, bus->attr.pci.bus_id,
            bus->attr.pci.device_id, bus->attr.pci.function_id);
}

/* 0: the provider does not say. */
static size_t speed_of(const struct fi_info *info)
{
    return info->nic == NULL || info->nic->link_attr == NULL
               ? 0
               : info->nic->link_attr->speed;
}

static bool is_down(const struct fi_info *info)
{
    return info->nic != NULL && info->nic->link_attr != NULL &&
           info->nic->link_attr->state == FI_LINK_DOWN;
}

static bool is_alike(const struct amg_ofi_where *where,
    const struct fi_info *first, const struct fi_info *other)
{
    return is_same_text(
               first->fabric_attr->prov_name, other->fabric_attr->prov_name) &&
           is_same_text(first->fabric_attr->name, other->fabric_attr->name) &&
           first->addr_format == other->addr_format &&
           amg_ofi_where_rank(where, first) ==
               amg_ofi_where_rank(where, other) &&
           speed_of(first) == speed_of(other) &&
           (is_down(first) || !is_down(other));
}

static bool is_same_nic(
    const struct amg_nic_id *one, const struct amg_nic_id *other)
{
    if (one->bus[0] != '\0' && other->bus[0] != '\0')
        return strcmp(one->bus, other->bus) == 0;
    return strcmp(one->name, other->name) == 0;
}

static void choice_add(struct choice *choice, const struct fi_info *info)
{
    struct amg_nic_id *nic = &choice->nics[choice->count];

    amg_ofi_nic_read(info, nic);
    for (uint32_t i = 0; i < choice->count; i++)
        if (is_same_nic(&choice->nics[i], nic))
            return;
    choice->infos[choice->count++] = info;
}

const struct fi_info *amg_ofi_nic_nearest(const struct amg_open *how,
    const struct amg_ofi_where *where, const struct fi_info *first)
{
    struct choice choice = {.count = 0};
    char why[WHY_CAP] = "";
    uint32_t chosen = 0;

    if (how->nic_nearest == NULL || (where->wish[0] != '\0' && !where->is_any))
        return first;
    for (const struct fi_info *at = first;
         at != NULL && choice.count < AMG_NICS_ALIKE_MAX; at = at->next)
        if (is_alike(where, first, at))
            choice_add(&choice, at);
    if (choice.count < 2)
        return first;
    chosen = how->nic_nearest(
        choice.nics, choice.count, how->nic_turn, why, sizeof(why));
    if (chosen >= choice.count)
        snprintf(why, sizeof(why),
            "libfabric's first, as the machine knows none of them");
    chosen = chosen < choice.count ? chosen : 0;
    AMG_LOG_INFO("ofi", "%s is used, of %u NICs alike: it is %s",
        choice.nics[chosen].name, choice.count, why);
    return choice.infos[chosen];
}
