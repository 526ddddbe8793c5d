/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints, from open to enable. */
#include <string.h>

#include "ofi/shim/shim_objects.h"

static struct fid_ep *ep_real(const struct shim_ep *ep)
{
    return (struct fid_ep *)(void *)ep->object.real;
}

int shim_ep_open(
    struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **ret_ep)
{
    struct shim_domain *domain = SHIM_OF(domain_fid, domain, "endpoint");
    struct shim_ep *ep = NULL;
    struct fid_ep *real = NULL;
    int code = fi_endpoint((struct fid_domain *)(void *)domain->object.real,
        shim_info_real(info, "endpoint"), &real, NULL);

    if (code != 0)
        return code;
    ep = shim_alloc(sizeof(*ep));
    shim_object_init(
        &ep->public.fid, &ep->object, "ep", &real->fid, &domain->object);
    ep->object.domain = domain;
    *ret_ep = &ep->public;
    return 0;
}

int shim_ep_bind(struct fid_ep *fid, struct fid *other, uint64_t flags)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "ep_bind");
    struct shim_object *object = shim_object_of(other, NULL, "ep_bind");
    int code = 0;

    if (ep->is_enabled)
        shim_breach("ep_bind", "the endpoint is enabled already");
    if (object->domain != ep->object.domain)
        shim_breach("ep_bind", "the %s is of another domain", object->kind);
    code = fi_ep_bind(ep_real(ep), object->real, flags);
    if (code != 0)
        return code;
    if (strcmp(object->kind, "av") == 0)
        ep->av = (void *)other;
    if (strcmp(object->kind, "cq") == 0)
        ep->cq = (void *)other;
    object->children++;
    return 0;
}

int shim_ep_enable(struct fid_ep *fid)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "enable");
    int code = 0;

    if (ep->av == NULL || ep->cq == NULL)
        shim_breach("enable", "the endpoint has no %s",
            ep->av == NULL ? "address vector" : "completion queue");
    code = fi_enable(ep_real(ep));
    ep->is_enabled = code == 0;
    return code;
}

int shim_ep_getname(struct fid_ep *fid, void *addr, size_t *len)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "getname");

    if (!ep->is_enabled)
        shim_breach("getname", "the endpoint has no name before enable()");
    return fi_getname(&ep_real(ep)->fid, addr, len);
}

int shim_ep_setopt(
    struct fid_ep *fid, int option, const void *value, size_t len)
{
    struct shim_ep *ep = SHIM_OF(fid, ep, "setopt");

    if (option == FI_OPT_MIN_MULTI_RECV && shim_profile->is_single)
        return -FI_ENOPROTOOPT;
    if (option == FI_OPT_MIN_MULTI_RECV && len == sizeof(size_t))
        memcpy(&ep->min_multi_recv, value, len);
    return fi_setopt(&ep_real(ep)->fid, FI_OPT_ENDPOINT, option, value, len);
}
