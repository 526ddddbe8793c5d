/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: memory that may be registered, validity of keys and
 * descriptors. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ofi/shim/shim_flight.h"

enum { LOOK_PAGES = 1024 };

#define ACCESS_REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ACCESS_LOCAL  (FI_SEND | FI_RECV | FI_READ | FI_WRITE)

static bool demands(uint64_t bit)
{
    return (shim_profile->mr_mode & bit) != 0;
}

enum backing { BACKING_NONE, BACKING_PROMISED, BACKING_THERE };

/* Is the memory mapped, and backed by pages? */
static enum backing backing_look(const void *bytes, size_t len)
{
    size_t page_len = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)bytes / page_len * page_len;
    uintptr_t end = (uintptr_t)bytes + len;
    enum backing worst = BACKING_THERE;
    unsigned char states[LOOK_PAGES];

    while (at < end) {
        size_t count = (end - at + page_len - 1) / page_len;

        count = count < LOOK_PAGES ? count : LOOK_PAGES;
        if (mincore((void *)at, count * page_len, states) != 0)
            return BACKING_NONE;
        for (size_t i = 0; i < count; i++)
            if ((states[i] & 1) == 0)
                worst = BACKING_PROMISED;
        at += count * page_len;
    }
    return worst;
}

static void region_check(
    const void *bytes, size_t len, uint64_t access, uint64_t key)
{
    enum backing backing = BACKING_NONE;

    if (len == 0)
        shim_breach("mr_reg", "the memory at %p has no length", bytes);
    if (access == 0 || (access & ~(ACCESS_LOCAL | ACCESS_REMOTE)) != 0)
        shim_breach(
            "mr_reg", "the access %#llx is none", (unsigned long long)access);
    backing = backing_look(bytes, len);
    if (backing == BACKING_NONE)
        shim_breach(
            "mr_reg", "of the %zu bytes at %p not all are mapped", len, bytes);
    if (demands(FI_MR_ALLOCATED) && backing == BACKING_PROMISED)
        shim_breach("mr_reg",
            "FI_MR_ALLOCATED, and of the %zu bytes at %p not all have pages "
            "behind them",
            len, bytes);
    if (demands(FI_MR_PROV_KEY) && key != 0)
        shim_breach("mr_reg", "FI_MR_PROV_KEY, and key %#llx is asked for",
            (unsigned long long)key);
    if (!demands(FI_MR_PROV_KEY) && shim_profile->key_len < 8 &&
        key >> 8 * shim_profile->key_len != 0)
        shim_breach("mr_reg", "key %#llx has more than %zu bytes",
            (unsigned long long)key, shim_profile->key_len);
}

/* Memory for accesses by others is registered with the real provider, too. */
static int mr_real_open(struct shim_mr *mr, struct fid_mr **ret_real)
{
    struct shim_domain *domain = mr->object.domain;
    uint64_t key = demands(FI_MR_PROV_KEY) ? domain->next_key++ : mr->key;
    uint64_t access = mr->access & ACCESS_REMOTE;

    return fi_mr_reg((struct fid_domain *)(void *)domain->object.real, mr->base,
        mr->len, access, 0, key, 0, ret_real, NULL);
}

int shim_mr_reg(struct fid_domain *domain_fid, const void *bytes, size_t len,
    uint64_t access, uint64_t key, struct fid_mr **ret_mr)
{
    struct shim_domain *domain = SHIM_OF(domain_fid, domain, "mr_reg");
    struct shim_mr *mr = NULL;
    struct fid_mr *real = NULL;
    int code = 0;

    shim_enter(domain, "mr_reg");
    region_check(bytes, len, access, key);
    mr = shim_alloc(sizeof(*mr));
    mr->object.domain = domain;
    mr->base = bytes;
    mr->len = len;
    mr->access = access;
    mr->key = key;
    mr->is_enabled = !demands(FI_MR_ENDPOINT);
    if ((access & ACCESS_REMOTE) != 0)
        code = mr_real_open(mr, &real);
    shim_object_init(&mr->public.fid, &mr->object, "mr",
        real == NULL ? NULL : &real->fid, code == 0 ? &domain->object : NULL);
    mr->object.is_closed = code != 0;
    if (code == 0)
        *ret_mr = &mr->public;
    shim_leave(domain);
    return code;
}

int shim_mr_bind(struct fid_mr *fid, struct fid *other)
{
    struct shim_mr *mr = SHIM_OF(fid, mr, "mr_bind");
    struct shim_object *object = shim_object_of(other, "ep", "mr_bind");

    mr->ep = (void *)other;
    if (!demands(FI_MR_ENDPOINT))
        shim_breach("mr_bind", "memory is bound, and FI_MR_ENDPOINT not set");
    if (object->domain != mr->object.domain || !mr->ep->is_enabled)
        shim_breach("mr_bind", "the endpoint is not enabled, or of another "
                               "domain");
    object->children++;
    return 0;
}

int shim_mr_enable(struct fid_mr *fid)
{
    struct shim_mr *mr = SHIM_OF(fid, mr, "mr_enable");

    if (mr->ep == NULL)
        shim_breach("mr_enable", "the memory is bound to no endpoint");
    mr->is_enabled = true;
    return 0;
}

uint64_t shim_mr_key(struct fid_mr *fid)
{
    struct shim_mr *mr = SHIM_OF(fid, mr, "mr_key");

    if (!mr->is_enabled)
        shim_breach("mr_key", "the key is read before bind and enable");
    if ((mr->access & ACCESS_REMOTE) == 0)
        shim_breach("mr_key", "nobody else may access this memory");
    if (!demands(FI_MR_PROV_KEY))
        return mr->key;
    if (mr->page == NULL)
        mr->page = shim_book_add((uintptr_t)mr->base, mr->len, mr->access,
            fi_mr_key((struct fid_mr *)(void *)mr->object.real),
            shim_profile->key_len);
    return mr->page->key;
}

void *shim_mr_desc(struct fid_mr *fid)
{
    struct shim_mr *mr = SHIM_OF(fid, mr, "mr_desc");

    if (!mr->is_enabled)
        shim_breach("mr_desc", "the descriptor is read before bind and enable");
    return mr;
}

void shim_mr_closed(struct shim_mr *mr)
{
    const struct shim_flight *flight = mr->object.domain->flights;

    for (; flight != NULL; flight = flight->next)
        for (unsigned i = 0; i < flight->count; i++)
            if (flight->mrs[i] == mr && !flight->is_cancelled)
                shim_breach("close",
                    "a post in flight uses the %zu bytes at %p, whose "
                    "registration ends",
                    mr->len, (const void *)mr->base);
    if (mr->page != NULL)
        shim_book_remove(mr->page);
    mr->page = NULL;
    if (mr->ep != NULL)
        mr->ep->object.children--;
}

struct shim_mr *shim_mr_check(const struct shim_ep *ep, const void *desc,
    const void *bytes, size_t len, uint64_t access, const char *call)
{
    struct shim_mr *mr = NULL;
    const unsigned char *at = bytes;

    if (len == 0)
        return NULL;
    if (backing_look(bytes, len) == BACKING_NONE)
        shim_breach(
            call, "of the %zu bytes at %p not all are mapped", len, bytes);
    if (desc == NULL && !demands(FI_MR_LOCAL))
        return NULL;
    if (desc == NULL)
        shim_breach(call, "the %zu bytes at %p have no descriptor", len, bytes);
    mr = shim_object_find_mr(desc);
    if (mr == NULL)
        shim_breach(call, "the descriptor %p is of no registration", desc);
    if (mr->object.is_closed)
        shim_breach(call, "the registration of the %zu bytes at %p is closed",
            len, bytes);
    if (mr->object.domain != ep->object.domain ||
        (mr->ep != NULL && mr->ep != ep))
        shim_breach(call, "the descriptor belongs to another endpoint");
    if (at < mr->base || len > mr->len || at + len > mr->base + mr->len)
        shim_breach(call,
            "the %zu bytes at %p are not all within the %zu registered at %p",
            len, bytes, mr->len, (const void *)mr->base);
    if ((mr->access & access) != access)
        shim_breach(call, "the access %#llx is not among the registered %#llx",
            (unsigned long long)access, (unsigned long long)mr->access);
    return mr;
}
