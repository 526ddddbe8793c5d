/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for libfabric that answers as the test demands. */
#include "fake.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "log_kept.h"
#include "ofi_backend/ofi_domain.h"

enum { INJECT_LEN = 64, NICS_MAX = 64 };

struct fake_look fake_look;
uint32_t fake_version;
struct amg_ofi_call fake_call;

static const struct fake_offer *offered;
static size_t offered_count;
static void look_note(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints)
{
    const char *universe = getenv("FI_UNIVERSE_SIZE");
    unsigned count = fake_look.count + 1;

    memset(&fake_look, 0, sizeof(fake_look));
    fake_look.count = count;
    fake_look.version = version;
    fake_look.flags = flags;
    fake_look.mr_mode = hints->domain_attr->mr_mode;
    fake_look.key_len = hints->domain_attr->auth_key_size;
    if (fake_look.key_len > 0 && fake_look.key_len <= sizeof(fake_look.key))
        memcpy(fake_look.key, hints->domain_attr->auth_key, fake_look.key_len);
    snprintf(
        fake_look.node, sizeof(fake_look.node), "%s", node == NULL ? "" : node);
    snprintf(fake_look.service, sizeof(fake_look.service), "%s",
        service == NULL ? "" : service);
    snprintf(fake_look.nic, sizeof(fake_look.nic), "%s",
        hints->domain_attr->name == NULL ? "" : hints->domain_attr->name);
    snprintf(fake_look.universe, sizeof(fake_look.universe), "%s",
        universe == NULL ? "" : universe);
}

static uint32_t format_of(const struct fake_offer *offer)
{
    if (offer->ip == NULL)
        return FI_ADDR_PSMX2;
    return strchr(offer->ip, ':') == NULL ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
}

/* As libfabric does: "tcp" matches every stack that begins with it. */
static bool is_allowed(const struct fake_offer *offer, const char *node,
    const struct fi_info *hints)
{
    const char *name = hints->fabric_attr->prov_name;
    size_t len = strlen(name);
    const struct fi_domain_attr *attr = hints->domain_attr;

    return strncmp(offer->stack, name, len) == 0 &&
           (offer->stack[len] == '\0' || offer->stack[len] == ';') &&
           (hints->addr_format == FI_FORMAT_UNSPEC ||
               hints->addr_format == format_of(offer)) &&
           (attr->name == NULL || strcmp(attr->name, offer->nic) == 0) &&
           (node == NULL ||
               (offer->ip != NULL && strcmp(offer->ip, node) == 0)) &&
           (offer->mode & ~hints->mode) == 0 &&
           (offer->mr_mode & ~attr->mr_mode & ~FI_MR_RAW) == 0 &&
           (offer->queue_max == 0 ||
               hints->tx_attr->size <= offer->queue_max) &&
           (!offer->has_threads || attr->data_progress != FI_PROGRESS_MANUAL);
}

static void addr_set(struct fi_info *info, const char *ip, const char *service)
{
    in_port_t port = htons(service == NULL ? 0 : (in_port_t)atoi(service));
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
    const void *addr = &four;
    size_t len = sizeof(four);

    if (ip == NULL)
        return;
    if (info->addr_format == FI_SOCKADDR_IN6) {
        (void)inet_pton(AF_INET6, ip, &six.sin6_addr);
        addr = &six;
        len = sizeof(six);
    } else {
        (void)inet_pton(AF_INET, ip, &four.sin_addr);
    }
    info->src_addr = malloc(len);
    if (info->src_addr == NULL)
        abort();
    memcpy(info->src_addr, addr, len);
    info->src_addrlen = len;
}

/* One for each offer; they live as long as the test. */
struct nic {
    struct fid_nic fid;
    struct fi_device_attr device;
    struct fi_bus_attr bus;
    struct fi_link_attr link;
};

static struct nic nics[NICS_MAX];

static int nic_close(struct fid *fid)
{
    (void)fid;
    return 0;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
    if (command != FI_DUP)
        return -FI_ENOSYS;
    *(struct fid **)arg = fid;
    return 0;
}

static struct fi_ops nic_ops = {
    .size = sizeof(nic_ops), .close = nic_close, .control = nic_control};

static struct fid_nic *nic_make(const struct fake_offer *offer)
{
    struct nic *nic = &nics[offer - offered];

    if (offer->device == NULL)
        return NULL;
    if (offer - offered >= NICS_MAX)
        abort();
    *nic = (struct nic){
        .fid = {.fid = {.fclass = FI_CLASS_NIC, .ops = &nic_ops},
            .device_attr = &nic->device,
            .bus_attr = &nic->bus,
            .link_attr = &nic->link},
        .device.name = (char *)(uintptr_t)offer->device,
        .bus = {.bus_type = FI_BUS_PCI,
            .attr.pci = {.bus_id = offer->bus,
                .device_id = 3,
                .function_id = 1}},
        .link = {.speed = offer->speed,
            .state = offer->is_down ? FI_LINK_DOWN : FI_LINK_UP},
    };
    return &nic->fid;
}

static struct fi_info *info_make(const struct fake_offer *offer,
    const char *service, const struct fi_info *hints)
{
    struct fi_info *info = fi_allocinfo();

    if (info == NULL)
        abort();
    info->caps = hints->caps;
    info->mode = offer->mode;
    info->addr_format = format_of(offer);
    addr_set(info, offer->ip, service);
    info->fabric_attr->prov_name = strdup(offer->stack);
    info->fabric_attr->name =
        offer->fabric == NULL ? NULL : strdup(offer->fabric);
    info->nic = nic_make(offer);
    info->domain_attr->name = strdup(offer->nic);
    info->domain_attr->mr_mode = offer->mr_mode;
    info->domain_attr->mr_key_size = offer->key_len == 0 ? 8 : offer->key_len;
    info->domain_attr->auth_key_size = hints->domain_attr->auth_key_size;
    if (info->domain_attr->auth_key_size > 0) {
        info->domain_attr->auth_key = malloc(info->domain_attr->auth_key_size);
        if (info->domain_attr->auth_key == NULL)
            abort();
        memcpy(info->domain_attr->auth_key, hints->domain_attr->auth_key,
            info->domain_attr->auth_key_size);
    }
    info->tx_attr->inject_size = INJECT_LEN;
    info->tx_attr->iov_limit = 1;
    info->ep_attr->max_msg_size = SIZE_MAX;
    return info;
}

static int fake_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
    struct fi_info **end = ret_info;

    look_note(version, node, service, flags, hints);
    *ret_info = NULL;
    for (size_t i = 0; i < offered_count; i++)
        if (is_allowed(&offered[i], node, hints)) {
            *end = info_make(&offered[i], service, hints);
            end = &(*end)->next;
        }
    return *ret_info == NULL ? -FI_ENODATA : 0;
}

static uint32_t fake_version_of(void)
{
    return fake_version;
}

void fake_start(const struct fake_offer *offers, size_t count)
{
    amg_ofi_call_set(NULL);
    fake_call = *amg_ofi_call;
    offered = offers;
    offered_count = count;
    fake_version = fi_version();
    if (offers != NULL) {
        fake_call.getinfo = fake_getinfo;
        fake_call.version = fake_version_of;
    }
    amg_ofi_call_set(&fake_call);
    memset(&fake_look, 0, sizeof(fake_look));
    fake_log_clear();
    hg_log_set_func(log_keep);
    amg_ofi_env_forget();
}

void fake_stop(void)
{
    amg_ofi_call_set(NULL);
    hg_log_set_func(NULL);
}

bool fake_has_logged(const char *text)
{
    return log_has(text);
}

void fake_log_clear(void)
{
    log_clear();
}
