/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the provider that an init string names.
 *
 * A protocol is a list of provider stacks, best first. Libfabric chooses the
 * stack of "tcp". Since 1.18 "tcp" has reliable datagrams of its own; before,
 * the layer ofi_rxm completes "tcp", which costs a fifth more time per message.
 * The "net" of 1.17 needs no such layer, but the descriptor of its queue does
 * not work; "net" is for users that name it, and became the "tcp" of 1.18. Two
 * peers need the same stack, so addresses name the stack.
 *
 * The driver offers to meet all demands on memory that it can, and obeys those
 * that libfabric returns. Only is_of_tcp() then uses the provider's name. */
#include "ofi_backend/ofi_select.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "na_types.h"

/* Oldest version that was tested; version that this code was written against.
 */
#define API_OLDEST FI_VERSION(1, 15)
#define API_NEWEST FI_VERSION(1, 20)

/* Demands on the provider; each level has fewer than the level before. */
enum hints_level {
    HINTS_ALL,    /* short queues, the fewest locks, no threads */
    HINTS_QUEUES, /* the provider chooses the length of its queues */
    HINTS_LEAST,  /* the provider also chooses its locks and threads */
    HINTS_LEVELS
};

enum {
    STACKS_MAX = 3,
    PIECE_LEN_MAX = 1 << 30,
    KEY_LEN_FULL = 8,
    QUEUE_LEN = 256, /* operations in flight; the default of 2048 costs tens of
                      * MiB (tcp;ofi_rxm: 75) */
};

/* Stacks of each protocol. Any other protocol is a stack by itself. Libfabric
 * must not complete a stack that ends in '!' by a further layer. */
static const struct {
    const char *protocol;
    const char *stacks[STACKS_MAX];
} protocols[] = {
    {"ofi", {"tcp"}},
    {"net", {"net!", "tcp!"}},
    {"tcp_rxm", {"tcp;ofi_rxm"}},
    {"sm", {"shm"}},
    {"verbs", {"verbs;ofi_rxm", "verbs"}},
    {"verbs_rxm", {"verbs;ofi_rxm"}},
    {"udp", {"udp;ofi_rxd"}},
};

/* A search for a provider. */
struct search {
    const struct amg_open *how;
    const char *protocol;
    struct amg_ofi_bind_addr bind;
    struct amg_ofi_auth key;
    uint32_t version;
};

/* The version of the API to request: the newest that the headers, the loaded
 * library and this code know. */
static hg_return_t version_choose(uint32_t *ret_version)
{
    static atomic_bool has_warned;
    uint32_t there = amg_ofi_call->version();
    uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    uint32_t version = FI_VERSION_LT(ours, API_NEWEST) ? ours : API_NEWEST;

    if (FI_VERSION_LT(there, API_OLDEST)) {
        AMG_LOG_ERROR("cls",
            "libfabric %u.%u is loaded, but %u.%u or newer is needed; put a "
            "newer one into LD_LIBRARY_PATH",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(API_OLDEST),
            FI_MINOR(API_OLDEST));
        return HG_OPNOTSUPPORTED;
    }
    if ((FI_MAJOR(there) != FI_MAJOR(ours) ||
            FI_MINOR(there) != FI_MINOR(ours)) &&
        !atomic_exchange_explicit(&has_warned, true, memory_order_relaxed))
        AMG_LOG_WARNING("cls",
            "libfabric %u.%u is loaded, and this library was built with %u.%u; "
            "on errors, see which one LD_LIBRARY_PATH and MPI load",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(ours), FI_MINOR(ours));
    *ret_version = FI_VERSION_LT(there, version) ? there : version;
    return HG_SUCCESS;
}

static uint32_t format_of(uint8_t wish)
{
    switch (wish) {
    case NA_ADDR_IPV4:
        return FI_SOCKADDR_IN;
    case NA_ADDR_IPV6:
        return FI_SOCKADDR_IN6;
    default:
        return FI_FORMAT_UNSPEC;
    }
}

static void demands_set(struct fi_info *hints, enum hints_level level)
{
    AMG_ASSERT(level < HINTS_LEVELS);
    hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                  FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    if (level < HINTS_QUEUES) {
        hints->tx_attr->size = QUEUE_LEN;
        hints->rx_attr->size = QUEUE_LEN;
    }
    if (level < HINTS_LEAST) {
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    }
}

/* NOTE(not amg_mem): fi_freeinfo() frees the memory of key_set() and
 * names_set(). */
static hg_return_t key_set(
    struct fi_info *hints, const struct amg_ofi_auth *key)
{
    if (key->len == 0)
        return HG_SUCCESS;
    hints->domain_attr->auth_key = malloc(key->len);
    if (hints->domain_attr->auth_key == NULL)
        return HG_NOMEM;
    memcpy(hints->domain_attr->auth_key, key->bytes, key->len);
    hints->domain_attr->auth_key_size = key->len;
    return HG_SUCCESS;
}

static hg_return_t names_set(
    struct fi_info *hints, const char *stack, const char *device)
{
    if (stack != NULL) {
        hints->fabric_attr->prov_name = strdup(stack);
        if (hints->fabric_attr->prov_name == NULL)
            return HG_NOMEM;
    }
    if (device[0] == '\0')
        return HG_SUCCESS;
    hints->domain_attr->name = strdup(device);
    return hints->domain_attr->name == NULL ? HG_NOMEM : HG_SUCCESS;
}

static hg_return_t hints_make(const struct amg_open *how, const char *stack,
    const struct amg_ofi_auth *key, enum hints_level level,
    struct fi_info **ret_hints)
{
    struct fi_info *hints = amg_ofi_call->dupinfo(NULL);

    if (hints == NULL)
        return HG_NOMEM;
    demands_set(hints, level);
    hints->addr_format = format_of(how->nic.addr_format);
    if (names_set(hints, stack, key->device) != HG_SUCCESS ||
        key_set(hints, key) != HG_SUCCESS) {
        amg_ofi_call->freeinfo(hints);
        return HG_NOMEM;
    }
    *ret_hints = hints;
    return HG_SUCCESS;
}

/* NOTE(names): no field of fi_info tells whether a provider uses TCP. */
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

    AMG_ASSERT(key_len <= KEY_LEN_FULL);
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
    /* 0: the provider did not say; one segment always works. */
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

/* Is this result the requested stack? */
static bool is_stack(const char *name, const char *stack)
{
    size_t len = strcspn(stack, "!");

    return strncmp(name, stack, len) == 0 &&
           (name[len] == '\0' || (name[len] == ';' && stack[len] != '!'));
}

/* The best result of the first stack that fits; of equal results the first.
 * With `by_nic`, only results of the NIC that the user named. */
static const struct fi_info *info_best(const struct search *search,
    const struct fi_info *all, const char *stack, bool by_nic)
{
    const struct fi_info *best = NULL;
    const char *first = NULL;
    int best_rank = 0;

    for (; all != NULL; all = all->next) {
        const char *name = all->fabric_attr->prov_name;
        int rank = amg_ofi_bind_addr_rank(&search->bind, all);

        if (!is_stack(name, stack) || rank < 0 ||
            (by_nic && !amg_ofi_bind_addr_is_nic(&search->bind, all)) ||
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

/* Asks libfabric once; HG_OPNOTSUPPORTED: no result, which is not logged. */
static hg_return_t query(const struct search *search, const char *stack,
    enum hints_level level, bool by_nic, struct fi_info **ret_info)
{
    const struct amg_ofi_bind_addr *bind = &search->bind;
    const char *node = by_nic || bind->host[0] == '\0' ? NULL : bind->host;
    const char *service = bind->port[0] == '\0' ? NULL : bind->port;
    const struct fi_info *best = NULL;
    struct fi_info *hints = NULL;
    struct fi_info *all = NULL;
    char name[AMG_OFI_STACK_CAP];
    hg_return_t rc = HG_SUCCESS;
    int code = 0;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(stack, "!"), stack);
    rc = hints_make(search->how, name, &search->key, level, &hints);
    if (rc != HG_SUCCESS)
        return rc;
    code = amg_ofi_env_getinfo(search->version, node, service, hints, &all);
    amg_ofi_call->freeinfo(hints);
    if (code == -FI_ENOMEM)
        return HG_NOMEM;
    if (code != 0)
        return HG_OPNOTSUPPORTED;
    best = info_best(search, all, stack, by_nic);
    if (best != NULL && !by_nic)
        best = amg_ofi_nic_nearest(search->how, &search->bind, best);
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

    for (unsigned level = 0; level < HINTS_LEVELS && rc == HG_OPNOTSUPPORTED;
         level++)
        rc = query(search, stack, level, by_nic, ret_info);
    return rc;
}

/* Possible causes, for the log. */
static void hint_write(const struct search *search, char *ret_text, size_t cap)
{
    const char *filter = getenv("FI_PROVIDER");
    const char *vnis = getenv("SLINGSHOT_VNIS");
    size_t used = 0;

    ret_text[0] = '\0';
    if (search->bind.given[0] != '\0')
        used = (size_t)snprintf(ret_text, cap,
            "; is that an address, interface or NIC of this machine?%s%s",
            search->bind.unknown == NULL ? "" : " As a host: ",
            search->bind.unknown == NULL ? "" : search->bind.unknown);
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
        "ofi: no provider for '%s'%s%s%s%s that has reliable messages, "
        "remote reads and writes, and multi-receive buffers; libfabric %u.%u "
        "is in use%s; see `amalgam_info` for those that can be opened",
        search->protocol, search->bind.given[0] == '\0' ? "" : " at ",
        search->bind.given, search->bind.has_subnet ? " in subnet " : "",
        search->bind.has_subnet ? how->nic.ip_subnet : "", FI_MAJOR(there),
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

/* A name may be libfabric's name of a NIC, or of a host; the resolver, which
 * may take long, is called only if the name is no NIC. */
static hg_return_t search_do(struct search *search, struct fi_info **ret_info)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (search->bind.is_name)
        rc = stacks_try(search, true, ret_info);
    if (rc == HG_OPNOTSUPPORTED && search->bind.is_name)
        amg_ofi_bind_addr_resolve(&search->bind);
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
    hg_return_t rc = amg_ofi_bind_addr_read(how, &search.bind);

    if (rc == HG_SUCCESS)
        rc = amg_ofi_auth_read(how, search.bind.given, &search.key);
    if (rc == HG_SUCCESS)
        rc = version_choose(&search.version);
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
    if (search.bind.is_any)
        AMG_LOG_WARNING("cls",
            "%s is no address that others can call: the address of %s is used; "
            "name an interface or host to use another one, and give clients "
            "the string of HG_Addr_to_string()",
            search.bind.given,
            (*ret_info)->domain_attr->name == NULL
                ? "one interface"
                : (*ret_info)->domain_attr->name);
    return HG_SUCCESS;
}

struct fi_info *amg_ofi_select_all(void)
{
    const struct amg_open how = {.info = ""};
    const struct amg_ofi_auth none = {.len = 0};
    struct fi_info *hints = NULL;
    struct fi_info *all = NULL;
    uint32_t version = 0;

    if (version_choose(&version) != HG_SUCCESS ||
        hints_make(&how, NULL, &none, HINTS_LEAST, &hints) != HG_SUCCESS)
        return NULL;
    if (amg_ofi_env_getinfo(version, NULL, NULL, hints, &all) != 0)
        all = NULL;
    amg_ofi_call->freeinfo(hints);
    return all;
}
