/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the provider that an init string names, and what it can do.
 *
 * A protocol is a list of provider stacks, best first: what "tcp" is, libfabric
 * knows best. Since 1.18 that speaks reliable datagrams by itself; before, it
 * is completed by the layer ofi_rxm, which costs a fifth more time per message.
 * The "net" of 1.17 has no such layer, but its queue's descriptor cannot be
 * slept upon; it is there for who asks for it by name, and became the "tcp"
 * of 1.18. Both sides have to use the same, so that addresses name it. */
#include "ofi_backend/ofi_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ofi_backend/ofi_auth.h"
#include "ofi_backend/ofi_hints.h"
#include "ofi_backend/ofi_nic.h"
#include "ofi_backend/ofi_text.h"
#include "ofi_backend/ofi_env.h"
#include "ofi_backend/ofi_where.h"

enum {
    STACKS_MAX = 3,
    PIECE_LEN_MAX = 1 << 30,
    KEY_LEN_FULL = 8,
};

/* What each protocol means. One that is not here means itself. A stack that
 * ends in '!' may not be completed by a further layer. */
static const struct {
    const char *protocol;
    const char *stacks[STACKS_MAX];
} protocols[] = {
    {"ofi", {"tcp"}},
    {"net", {"net!", "tcp!"}},
    {"verbs", {"verbs;ofi_rxm", "verbs"}},
    {"udp", {"udp;ofi_rxd"}},
};

/* What is looked for. */
struct search {
    const struct amg_open *how;
    const char *protocol;
    struct amg_ofi_where where;
    struct amg_ofi_auth key;
    uint32_t version;
};

hg_return_t amg_ofi_error(int code, const char *what)
{
    int positive = code < 0 ? -code : code;

    AMG_LOG_ERROR("ofi", "%s: %s (libfabric code %d)", what,
        amg_ofi_call->strerror(positive), positive);
    switch (positive) {
    case FI_ENOMEM:
        return HG_NOMEM;
    case FI_ENODATA:
    case FI_ENOSYS:
        return HG_OPNOTSUPPORTED;
    case FI_EADDRINUSE:
        return HG_ADDRINUSE;
    case FI_EADDRNOTAVAIL:
        return HG_ADDRNOTAVAIL;
    case FI_EACCES:
    case FI_EPERM:
        return HG_PERMISSION;
    default:
        return HG_NA_ERROR;
    }
}

/* NOTE(names): no field of a provider says so of the layer below another. */
static bool is_of_tcp(const struct fi_info *info)
{
    static const char *const names[] = {"tcp", "net", "sockets"};
    const char *stack = info->fabric_attr->prov_name;
    size_t len = strcspn(stack, ";");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == len && strncmp(stack, names[i], len) == 0)
            return info->addr_format == FI_SOCKADDR_IN ||
                   info->addr_format == FI_SOCKADDR_IN6;
    return false;
}

static void facts_read(
    const struct fi_info *info, struct amg_ofi_facts *ret_facts)
{
    int mode = info->domain_attr->mr_mode;
    size_t key_len = info->domain_attr->mr_key_size;

    memset(ret_facts, 0, sizeof(*ret_facts));
    snprintf(ret_facts->stack, sizeof(ret_facts->stack), "%s",
        info->fabric_attr->prov_name);
    ret_facts->needs_desc = (mode & FI_MR_LOCAL) != 0;
    ret_facts->is_virtual = (mode & FI_MR_VIRT_ADDR) != 0;
    ret_facts->makes_keys = (mode & FI_MR_PROV_KEY) != 0;
    ret_facts->needs_pages = (mode & FI_MR_ALLOCATED) != 0;
    ret_facts->binds_memory = (mode & FI_MR_ENDPOINT) != 0;
    ret_facts->addr_format = info->addr_format;
    ret_facts->is_tcp = is_of_tcp(info);
    ret_facts->inject_len = info->tx_attr->inject_size;
    /* 0: the provider did not say; one piece always goes. */
    ret_facts->iov_max =
        info->tx_attr->iov_limit == 0 ? 1 : info->tx_attr->iov_limit;
    ret_facts->rma_iov_max =
        info->tx_attr->rma_iov_limit == 0 ? 1 : info->tx_attr->rma_iov_limit;
    ret_facts->key_max = key_len == 0 || key_len >= KEY_LEN_FULL
                             ? UINT64_MAX
                             : (1ull << 8 * key_len) - 1;
    ret_facts->piece_len = info->ep_attr->max_msg_size < PIECE_LEN_MAX
                               ? info->ep_attr->max_msg_size
                               : PIECE_LEN_MAX;
}

/* Is this result the stack that was asked for? */
static bool is_stack(const char *name, const char *stack)
{
    size_t len = strcspn(stack, "!");

    return strncmp(name, stack, len) == 0 &&
           (name[len] == '\0' || (name[len] == ';' && stack[len] != '!'));
}

/* The result that fits best; of several alike libfabric's own order holds, and
 * its first stack. With `by_nic`, only the NIC that the user named. */
static const struct fi_info *info_best(const struct search *search,
    const struct fi_info *all, const char *stack, bool by_nic)
{
    const struct fi_info *best = NULL;
    const char *first = NULL;
    int best_rank = 0;

    for (; all != NULL; all = all->next) {
        const char *name = all->fabric_attr->prov_name;
        int rank = amg_ofi_where_rank(&search->where, all);

        if (!is_stack(name, stack) || rank < 0 ||
            (by_nic && !amg_ofi_where_is_nic(&search->where, all)) ||
            (first != NULL && strcmp(first, name) != 0))
            continue;
        first = name;
        if (best != NULL && rank >= best_rank)
            continue;
        best = all;
        best_rank = rank;
    }
    return best;
}

/* One look; HG_OPNOTSUPPORTED: it is not there, which is not logged. */
static hg_return_t look(const struct search *search, const char *stack,
    enum amg_ofi_hints_level level, bool by_nic, struct fi_info **ret_info)
{
    const struct amg_ofi_where *where = &search->where;
    const char *node = by_nic || where->host[0] == '\0' ? NULL : where->host;
    const char *service = where->port[0] == '\0' ? NULL : where->port;
    bool is_named = node != NULL || service != NULL;
    const struct fi_info *best = NULL;
    struct fi_info *hints = NULL;
    struct fi_info *all = NULL;
    char name[AMG_OFI_STACK_CAP];
    hg_return_t rc = HG_SUCCESS;
    int code = 0;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(stack, "!"), stack);
    rc = amg_ofi_hints_make(search->how, name, &search->key, level, &hints);
    if (rc != HG_SUCCESS)
        return rc;
    amg_ofi_env_begin();
    code = amg_ofi_call->getinfo(
        search->version, node, service, is_named ? FI_SOURCE : 0, hints, &all);
    amg_ofi_env_end();
    amg_ofi_call->freeinfo(hints);
    if (code == -FI_ENOMEM)
        return HG_NOMEM;
    if (code != 0)
        return HG_OPNOTSUPPORTED;
    best = info_best(search, all, stack, by_nic);
    if (best != NULL && !by_nic)
        best = amg_ofi_nic_nearest(search->how, &search->where, best);
    rc = HG_OPNOTSUPPORTED;
    if (best != NULL) {
        *ret_info = amg_ofi_call->dupinfo(best);
        rc = *ret_info == NULL ? HG_NOMEM : HG_SUCCESS;
    }
    amg_ofi_call->freeinfo(all);
    return rc;
}

static hg_return_t stack_try(const struct search *search, const char *stack,
    bool by_nic, struct fi_info **ret_info)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    for (unsigned level = 0;
         level < AMG_OFI_HINTS_LEVELS && rc == HG_OPNOTSUPPORTED; level++)
        rc = look(search, stack, level, by_nic, ret_info);
    return rc;
}

/* What else may be the cause. */
static void hint_write(const struct search *search, char *ret_text, size_t cap)
{
    const char *filter = getenv("FI_PROVIDER");
    const char *vnis = getenv("SLINGSHOT_VNIS");
    size_t used = 0;

    ret_text[0] = '\0';
    if (search->where.wish[0] != '\0')
        used = (size_t)snprintf(ret_text, cap,
            "; is that an address, interface or NIC of this machine?%s%s",
            search->where.unknown == NULL ? "" : " As a host: ",
            search->where.unknown == NULL ? "" : search->where.unknown);
    if (filter != NULL && filter[0] != '\0')
        used += (size_t)snprintf(ret_text + used, cap - used,
            "; FI_PROVIDER is '%.80s' and hides all others from this process",
            filter);
    if (strcmp(search->protocol, "cxi") != 0 || used >= cap)
        return;
    if (vnis == NULL || vnis[0] == '\0')
        snprintf(ret_text + used, cap - used,
            "; SLINGSHOT_VNIS is unset: without a VNI nothing is reached, so "
            "start the job with one (in Slurm by --network=job_vni)");
    else
        snprintf(
            ret_text + used, cap - used, "; SLINGSHOT_VNIS is %.80s", vnis);
}

static void refuse_log(const struct search *search)
{
    const struct amg_open *how = search->how;
    uint32_t there = amg_ofi_call->version();
    char hint[448];

    hint_write(search, hint, sizeof(hint));
    AMG_LOG_ERROR("cls",
        "ofi: no provider for '%s'%s%s%s%s that passes reliable messages, "
        "remote reads and writes, and multi-receive buffers; libfabric %u.%u "
        "is in use%s; see `amalgam_info` for those that can be opened",
        search->protocol, search->where.wish[0] == '\0' ? "" : " at ",
        search->where.wish, search->where.has_subnet ? " in subnet " : "",
        search->where.has_subnet ? how->ip_subnet : "", FI_MAJOR(there),
        FI_MINOR(there), hint);
}

static hg_return_t stacks_try(
    const struct search *search, bool by_nic, struct fi_info **ret_info)
{
    const char *itself[STACKS_MAX] = {search->protocol};
    const char *const *stacks = itself;
    hg_return_t rc = HG_OPNOTSUPPORTED;

    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
        if (strcmp(protocols[i].protocol, search->protocol) == 0)
            stacks = protocols[i].stacks;
    for (unsigned i = 0; i < STACKS_MAX && stacks[i] != NULL; i++) {
        rc = stack_try(search, stacks[i], by_nic, ret_info);
        if (rc != HG_OPNOTSUPPORTED)
            return rc;
    }
    return rc;
}

/* A name may be that of a NIC, as libfabric calls it, or of a host; the
 * resolver, who may take long, is asked for those that are no NIC's. */
static hg_return_t search_do(struct search *search, struct fi_info **ret_info)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (search->where.is_name)
        rc = stacks_try(search, true, ret_info);
    if (rc == HG_OPNOTSUPPORTED && search->where.is_name)
        amg_ofi_where_resolve(&search->where);
    if (rc == HG_OPNOTSUPPORTED)
        rc = stacks_try(search, false, ret_info);
    if (rc == HG_OPNOTSUPPORTED)
        refuse_log(search);
    return rc;
}

hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts)
{
    struct search search = {
        .how = how,
        .protocol = how->protocol == NULL ? "tcp" : how->protocol,
    };
    hg_return_t rc = amg_ofi_where_read(how, &search.where);

    if (rc == HG_SUCCESS)
        rc = amg_ofi_auth_read(how, search.where.wish, &search.key);
    if (rc == HG_SUCCESS)
        rc = amg_ofi_hints_version(&search.version);
    if (rc == HG_SUCCESS)
        rc = search_do(&search, ret_info);
    if (rc != HG_SUCCESS)
        return rc;
    if (((*ret_info)->domain_attr->mr_mode & FI_MR_RAW) != 0 ||
        (*ret_info)->domain_attr->mr_key_size > KEY_LEN_FULL) {
        AMG_LOG_ERROR("cls",
            "ofi: %s has keys of more than 8 bytes "
            "(FI_MR_RAW), which this driver cannot pass on",
            (*ret_info)->fabric_attr->prov_name);
        amg_ofi_call->freeinfo(*ret_info);
        *ret_info = NULL;
        return HG_OPNOTSUPPORTED;
    }
    facts_read(*ret_info, ret_facts);
    if (search.where.is_any)
        AMG_LOG_WARNING("cls",
            "%s is no address that others can call: that of %s is taken; name "
            "an interface or host to be reached elsewhere, and give clients "
            "what HG_Addr_to_string() says",
            search.where.wish,
            (*ret_info)->domain_attr->name == NULL
                ? "one interface"
                : (*ret_info)->domain_attr->name);
    return HG_SUCCESS;
}
