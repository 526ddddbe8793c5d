/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics, domains and address vectors; closing of all objects. */
#include <stdlib.h>
#include <string.h>

#include "ofi/shim/shim_flight.h"

int shim_open_fabric(
    struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric)
{
    struct shim_fabric *fabric = NULL;
    struct fid_fabric *real = NULL;
    int code = fi_fabric(attr, &real, NULL);

    if (code != 0)
        return code;
    fabric = shim_alloc(sizeof(*fabric));
    shim_object_init(
        &fabric->public.fid, &fabric->object, "fabric", &real->fid, NULL);
    *ret_fabric = &fabric->public;
    return 0;
}

int shim_open_domain(struct fid_fabric *fabric_fid, struct fi_info *info,
    struct fid_domain **ret_domain)
{
    struct shim_fabric *fabric = SHIM_OF(fabric_fid, fabric, "domain");
    struct shim_domain *domain = NULL;
    struct fid_domain *real = NULL;
    int code = fi_domain((struct fid_fabric *)(void *)fabric->object.real,
        shim_info_real(info, "domain"), &real, NULL);

    if (code != 0)
        return code;
    if (info->domain_attr->threading != FI_THREAD_DOMAIN)
        shim_breach("domain", "the shim knows FI_THREAD_DOMAIN only");
    domain = shim_alloc(sizeof(*domain));
    domain->next_key = (shim_dice() | 1) << 24;
    shim_object_init(&domain->public.fid, &domain->object, "domain", &real->fid,
        &fabric->object);
    domain->object.domain = domain;
    *ret_domain = &domain->public;
    return 0;
}

int shim_open_av(struct fid_domain *domain_fid, struct fi_av_attr *attr,
    struct fid_av **ret_av)
{
    struct shim_domain *domain = SHIM_OF(domain_fid, domain, "av_open");
    struct shim_av *av = NULL;
    struct fid_av *real = NULL;
    int code = 0;

    if (attr->type != FI_AV_TABLE)
        shim_breach("av_open", "only FI_AV_TABLE is on all providers");
    code = fi_av_open(
        (struct fid_domain *)(void *)domain->object.real, attr, &real, NULL);
    if (code != 0)
        return code;
    av = shim_alloc(sizeof(*av));
    shim_object_init(
        &av->public.fid, &av->object, "av", &real->fid, &domain->object);
    av->object.domain = domain;
    *ret_av = &av->public;
    return 0;
}

static struct fid_av *av_real(const struct shim_av *av)
{
    return (struct fid_av *)(void *)av->object.real;
}

int shim_av_insert(struct fid_av *fid, const void *addr, fi_addr_t *ret_addr)
{
    struct shim_av *av = SHIM_OF(fid, av, "av_insert");
    int count = 0;

    shim_enter(av->object.domain, "av_insert");
    count = fi_av_insert(av_real(av), addr, 1, ret_addr, 0, NULL);
    shim_leave(av->object.domain);
    return count;
}

int shim_av_remove(struct fid_av *fid, fi_addr_t addr)
{
    struct shim_av *av = SHIM_OF(fid, av, "av_remove");
    struct shim_domain *domain = av->object.domain;
    int code = 0;

    shim_enter(domain, "av_remove");
    /* The next peer at this index has no connection yet. */
    if (addr < domain->posts_count)
        domain->posts[addr] = 0;
    code = fi_av_remove(av_real(av), &addr, 1, 0);
    shim_leave(domain);
    return code;
}

/* Aborts while objects that depend on it are open. */
static void children_check(const struct shim_object *object)
{
    if (object->children > 0)
        shim_breach("close",
            "the %s has %u open objects that use it; libfabric says EBUSY",
            object->kind, object->children);
}

static void ep_closed(struct shim_ep *ep)
{
    if (ep->av != NULL)
        ep->av->object.children--;
    if (ep->cq != NULL)
        ep->cq->object.children--;
    shim_flight_drop_all(ep);
}

int shim_close(struct fid *fid)
{
    struct shim_object *object = shim_object_of(fid, NULL, "close");
    struct shim_domain *domain = object->domain;
    void *itself = fid;
    int code = 0;

    if (domain != NULL)
        shim_enter(domain, "close");
    children_check(object);
    if (strcmp(object->kind, "mr") == 0)
        shim_mr_closed(itself);
    if (object->real != NULL)
        code = fi_close(object->real);
    if (code != 0)
        shim_breach("close", "the real %s is not closed: %s", object->kind,
            fi_strerror(-code));
    if (strcmp(object->kind, "ep") == 0)
        ep_closed(itself);
    if (strcmp(object->kind, "cq") == 0)
        shim_cq_closed(itself);
    if (strcmp(object->kind, "domain") == 0)
        shim_flight_forget_all(itself);
    object->is_closed = true;
    if (object->parent != NULL)
        object->parent->children--;
    if (domain != NULL)
        shim_leave(domain);
    return 0;
}
