/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the fake provider whose network is this process: open and
 * close. */
#include "ofi_fake_net.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static uint16_t next_port;

static struct object *object_make(size_t fclass)
{
    struct object *object = calloc(1, sizeof(*object));

    FUZZ_CHECK(object != NULL);
    object->fid.fclass = fclass;
    amg_list_init(&object->done);
    amg_list_init(&object->inbox);
    amg_list_init(&object->accesses);
    ofi_fake.live++;
    return object;
}

static void list_free(struct amg_list *list)
{
    struct amg_link *link = NULL;

    /* The link is the first member of all objects on such lists. */
    while ((link = amg_list_pop(list)) != NULL)
        free(link);
}

static int fake_close(struct fid *fid)
{
    struct object *object = object_of(fid);

    if (amg_link_is_listed(&object->link))
        amg_list_remove(&object->link);
    list_free(&object->done);
    list_free(&object->inbox);
    list_free(&object->accesses);
    free(object);
    ofi_fake.live--;
    return 0;
}

static ssize_t fake_cancel(struct fid_ep *ep, void *context)
{
    (void)ep;
    (void)context;
    return -FI_ENOENT;
}

static int fake_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
    struct fi_info *info = fi_dupinfo(hints);

    (void)version;
    (void)node;
    (void)service;
    (void)flags;
    FUZZ_CHECK(info != NULL);
    free(info->fabric_attr->prov_name);
    info->fabric_attr->prov_name = strdup("tcp");
    info->addr_format = FI_SOCKADDR_IN;
    info->domain_attr->mr_mode = 0;
    info->domain_attr->mr_key_size = 8;
    info->mode = 0;
    info->tx_attr->inject_size = OFI_FAKE_INJECT;
    info->tx_attr->iov_limit = OFI_FAKE_IOVS;
    info->tx_attr->rma_iov_limit = OFI_FAKE_IOVS;
    info->ep_attr->max_msg_size = UINT32_MAX;
    *ret_info = info;
    return 0;
}

static int fake_fabric(
    struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric)
{
    (void)attr;
    *ret_fabric = &object_make(FI_CLASS_FABRIC)->fabric;
    return 0;
}

static int fake_domain(struct fid_fabric *fabric, struct fi_info *info,
    struct fid_domain **ret_domain)
{
    struct object *object = object_make(FI_CLASS_DOMAIN);

    (void)fabric;
    (void)info;
    object->port = next_port; /* its memory is found by it */
    *ret_domain = &object->domain;
    return 0;
}

static int fake_endpoint(
    struct fid_domain *domain, struct fi_info *info, struct fid_ep **ret_ep)
{
    struct object *ep = object_make(FI_CLASS_EP);

    (void)info;
    ep->port = object_of(domain)->port;
    amg_list_push(&ofi_fake_eps, &ep->link);
    *ret_ep = &ep->ep;
    return 0;
}

static int fake_ep_bind(struct fid_ep *fid, struct fid *to, uint64_t flags)
{
    struct object *ep = object_of(fid);

    (void)flags;
    if (to->fclass == FI_CLASS_AV) {
        ep->of_av = object_of(to);
    } else {
        ep->of_cq = object_of(to);
        ep->of_cq->of_ep = ep;
    }
    return 0;
}

static int fake_enable(struct fid_ep *ep)
{
    (void)ep;
    return 0;
}

static int fake_getname(struct fid_ep *fid, void *ret_addr, size_t *len)
{
    struct sockaddr_in addr;

    FUZZ_CHECK(*len >= sizeof(addr));
    ofi_fake_addr(object_of(fid)->port, &addr);
    memcpy(ret_addr, &addr, sizeof(addr));
    *len = sizeof(addr);
    return 0;
}

static int fake_setopt(
    struct fid_ep *fid, int option, const void *value, size_t len)
{
    FUZZ_CHECK(option == FI_OPT_MIN_MULTI_RECV && len == sizeof(size_t));
    memcpy(&object_of(fid)->min_left, value, len);
    return 0;
}

static int fake_av_open(
    struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **ret_av)
{
    (void)domain;
    (void)attr;
    *ret_av = &object_make(FI_CLASS_AV)->av;
    return 0;
}

static int fake_av_insert(
    struct fid_av *fid, const void *bytes, fi_addr_t *ret_addr)
{
    struct object *av = object_of(fid);
    struct sockaddr_in addr;

    memcpy(&addr, bytes, sizeof(addr));
    FUZZ_CHECK(addr.sin_family == AF_INET && addr.sin_port != 0);
    for (unsigned i = 0; i < OFI_FAKE_ADDRS; i++)
        if (av->ports[i] == 0) {
            av->ports[i] = ntohs(addr.sin_port);
            *ret_addr = i;
            return 1;
        }
    return -FI_ENOMEM;
}

static int fake_av_remove(struct fid_av *fid, fi_addr_t addr)
{
    FUZZ_CHECK(addr < OFI_FAKE_ADDRS && object_of(fid)->ports[addr] != 0);
    object_of(fid)->ports[addr] = 0;
    return 0;
}

static int fake_cq_open(
    struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **ret_cq)
{
    (void)domain;
    (void)attr;
    *ret_cq = &object_make(FI_CLASS_CQ)->cq;
    return 0;
}

static int fake_cq_wait_fd(struct fid_cq *cq, int *ret_fd)
{
    (void)cq;
    (void)ret_fd;
    return -FI_ENOSYS;
}

static int fake_cq_trywait(struct fid_fabric *fabric, struct fid_cq *cq)
{
    (void)fabric;
    (void)cq;
    return 0;
}

static int fake_mr_reg(struct fid_domain *domain, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    struct object *mr = object_make(FI_CLASS_MR);

    mr->port = object_of(domain)->port;
    mr->base = (uint8_t *)(uintptr_t)bytes;
    mr->len = len;
    mr->access = access;
    mr->key = key;
    amg_list_push(&ofi_fake_mrs, &mr->link);
    *ret_mr = &mr->mr;
    return 0;
}

static int fake_mr_bind(struct fid_mr *mr, struct fid *fid)
{
    (void)mr;
    (void)fid;
    return -FI_ENOSYS;
}

static int fake_mr_enable(struct fid_mr *mr)
{
    (void)mr;
    return -FI_ENOSYS;
}

static uint64_t fake_mr_key(struct fid_mr *mr)
{
    return object_of(mr)->key;
}

static void *fake_mr_desc(struct fid_mr *mr)
{
    (void)mr;
    return NULL;
}

void ofi_fake_port(uint16_t port)
{
    next_port = port;
}

void ofi_fake_addr(uint16_t port, struct sockaddr_in *ret_addr)
{
    memset(ret_addr, 0, sizeof(*ret_addr));
    ret_addr->sin_family = AF_INET;
    ret_addr->sin_port = htons(port);
    ret_addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static const struct amg_ofi_call fake_call = {
    .version = fi_version,
    .strerror = fi_strerror,
    .getinfo = fake_getinfo,
    .dupinfo = fi_dupinfo,
    .freeinfo = fi_freeinfo,
    .fabric = fake_fabric,
    .domain = fake_domain,
    .close = fake_close,
    .endpoint = fake_endpoint,
    .ep_bind = fake_ep_bind,
    .enable = fake_enable,
    .getname = fake_getname,
    .setopt = fake_setopt,
    .av_open = fake_av_open,
    .av_insert = fake_av_insert,
    .av_remove = fake_av_remove,
    .cq_open = fake_cq_open,
    .cq_read = ofi_fake_cq_read,
    .cq_readerr = ofi_fake_cq_readerr,
    .cq_wait_fd = fake_cq_wait_fd,
    .cq_trywait = fake_cq_trywait,
    .recvmsg = ofi_fake_recvmsg,
    .send = ofi_fake_send,
    .inject = ofi_fake_inject,
    .readmsg = ofi_fake_readmsg,
    .writemsg = ofi_fake_writemsg,
    .cancel = fake_cancel,
    .mr_reg = fake_mr_reg,
    .mr_bind = fake_mr_bind,
    .mr_enable = fake_mr_enable,
    .mr_key = fake_mr_key,
    .mr_desc = fake_mr_desc,
};

void ofi_fake_use(void)
{
    amg_list_init(&ofi_fake_eps);
    amg_list_init(&ofi_fake_mrs);
    amg_ofi_call_set(&fake_call);
}
