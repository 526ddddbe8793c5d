/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the provider that an init string names, and a list of all providers
 * over which a domain can be opened, for amalgam_info.
 *
 * A protocol is a list of provider stacks, best first. Libfabric chooses the
 * stack of "tcp". Since 1.18 "tcp" has reliable datagrams of its own; before
 * 1.18 the layer ofi_rxm adds them, for a fifth more time per message. The
 * "net" of 1.17, which became the "tcp" of 1.18, needs no such layer, but the
 * descriptor of its queue does not work (ofi_wait.c); so only users that name
 * "net" get net. Two peers need the same stack, so addresses name the stack.
 *
 * The driver offers to meet all demands on memory (mr_mode) that it can, and
 * obeys those that libfabric returns. Once a provider is chosen, its name
 * matters in addresses and in is_of_tcp() alone. */
#include "ofi_backend/ofi_domain.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "na_types.h"
#include "ofi_backend/ofi_peer.h"
#include "transport/registry.h"

/* Oldest version that this driver accepts, and newest that this code knows. */
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
    NICS_CAP = 256,
    DEMANDS_CAP = 128,
    INIT_CAP = AMG_OFI_STACK_CAP + 8,
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

/* NOTE(not amg_mem): fi_freeinfo() frees the memory. */
static void *copy_of(const void *bytes, size_t len)
{
    void *copy = len == 0 ? NULL : malloc(len);

    if (copy != NULL)
        memcpy(copy, bytes, len);
    return copy;
}

static hg_return_t hints_make(const struct amg_open *how, const char *stack,
    const struct amg_ofi_auth *key, enum hints_level level,
    struct fi_info **ret_hints)
{
    struct fi_info *hints = amg_ofi_call->dupinfo(NULL);
    size_t stack_len = stack == NULL ? 0 : strlen(stack) + 1;
    size_t device_len = key->device[0] == '\0' ? 0 : strlen(key->device) + 1;
    uint8_t format = how->nic.addr_format;

    if (hints == NULL)
        return HG_NOMEM;
    demands_set(hints, level);
    hints->addr_format = format == NA_ADDR_IPV4   ? FI_SOCKADDR_IN
                         : format == NA_ADDR_IPV6 ? FI_SOCKADDR_IN6
                                                  : FI_FORMAT_UNSPEC;
    hints->fabric_attr->prov_name = copy_of(stack, stack_len);
    hints->domain_attr->name = copy_of(key->device, device_len);
    hints->domain_attr->auth_key = copy_of(key->bytes, key->len);
    hints->domain_attr->auth_key_size = key->len;
    if ((stack_len > 0 && hints->fabric_attr->prov_name == NULL) ||
        (device_len > 0 && hints->domain_attr->name == NULL) ||
        (key->len > 0 && hints->domain_attr->auth_key == NULL)) {
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
    const struct fi_tx_attr *tx = info->tx_attr;
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
    ret_facts->inject_len = tx->inject_size;
    /* 0: the provider did not say; one segment always works. */
    ret_facts->iov_max = tx->iov_limit == 0 ? 1 : tx->iov_limit;
    ret_facts->rma_iov_max = tx->rma_iov_limit == 0 ? 1 : tx->rma_iov_limit;
    ret_facts->key_max = key_len == 0 || key_len >= KEY_LEN_FULL
                             ? UINT64_MAX
                             : (1ull << 8 * key_len) - 1;
    ret_facts->piece_len = info->ep_attr->max_msg_size < PIECE_LEN_MAX
                               ? info->ep_attr->max_msg_size
                               : PIECE_LEN_MAX;
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
    if (code != 0)
        return code == -FI_ENOMEM ? HG_NOMEM : HG_OPNOTSUPPORTED;
    best = amg_ofi_bind_addr_best(search->how, bind, all, stack, by_nic);
    rc = HG_OPNOTSUPPORTED;
    if (best != NULL) {
        *ret_info = amg_ofi_call->dupinfo(best);
        rc = *ret_info == NULL ? HG_NOMEM : HG_SUCCESS;
    }
    amg_ofi_call->freeinfo(all);
    return rc;
}

static void refuse_log(const struct search *search)
{
    const struct amg_ofi_bind_addr *bind = &search->bind;
    const char *filter = getenv("FI_PROVIDER");
    bool has_where = bind->given[0] != '\0';

    AMG_LOG_ERROR("cls",
        "ofi: libfabric %u.%u has no provider for '%s'%s%s%s%s with reliable "
        "messages, remote reads and writes, and multi-receive buffers%s%s%s; "
        "see `amalgam_info` for those that can be opened",
        FI_MAJOR(amg_ofi_call->version()), FI_MINOR(amg_ofi_call->version()),
        search->protocol, has_where ? " at " : "", bind->given,
        bind->has_subnet ? " in subnet " : "",
        bind->has_subnet ? search->how->nic.ip_subnet : "",
        has_where ? "; is that an address, interface or NIC here?" : "",
        bind->unknown == NULL ? "" : " As a host: ",
        amg_ofi_text_of(bind->unknown));
    if (filter != NULL && filter[0] != '\0')
        AMG_LOG_ERROR(
            "cls", "ofi: FI_PROVIDER '%.80s' may hide the provider", filter);
    if (strcmp(search->protocol, "cxi") == 0)
        AMG_LOG_ERROR("cls",
            "ofi: cxi needs a VNI of the job (in Slurm by --network=job_vni); "
            "SLINGSHOT_VNIS is '%.80s'",
            amg_ofi_text_of(getenv("SLINGSHOT_VNIS")));
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
    for (unsigned i = 0;
         i < STACKS_MAX && stacks[i] != NULL && rc == HG_OPNOTSUPPORTED; i++)
        for (unsigned level = 0;
             level < HINTS_LEVELS && rc == HG_OPNOTSUPPORTED; level++)
            rc = query(search, stacks[i], level, by_nic, ret_info);
    return rc;
}

/* A name may be libfabric's name of a NIC, or name a host; the resolver, which
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

static const struct {
    int bit;
    const char *name;
} demand_names[] = {
    {FI_MR_LOCAL, "local memory, too"},
    {FI_MR_VIRT_ADDR, "virtual addresses"},
    {FI_MR_ALLOCATED, "allocated pages"},
    {FI_MR_PROV_KEY, "its own keys"},
    {FI_MR_ENDPOINT, "bound to the endpoint"},
};

/* Adds a word to a list with commas, unless the list has it or is full. */
static void word_add(char *list, size_t cap, const char *word)
{
    size_t used = strlen(list);
    size_t len = strlen(word);
    const char *at = list;

    while ((at = strstr(at, word)) != NULL) {
        if ((at == list || at[-1] == ' ') &&
            (at[len] == ',' || at[len] == '\0'))
            return;
        at += len;
    }
    if (used + len + sizeof(", ") <= cap)
        snprintf(list + used, cap - used, "%s%s", used == 0 ? "" : ", ", word);
}

static void demands_write(int mode, char *ret_text)
{
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof(demand_names) / sizeof(demand_names[0]); i++)
        if ((mode & demand_names[i].bit) != 0)
            word_add(ret_text, DEMANDS_CAP, demand_names[i].name);
    if (ret_text[0] == '\0')
        strcpy(ret_text, "none");
}

static void nics_write(
    const struct fi_info *all, const char *stack, char *ret_text)
{
    ret_text[0] = '\0';
    for (; all != NULL; all = all->next)
        if (strcmp(all->fabric_attr->prov_name, stack) == 0 &&
            all->domain_attr->name != NULL)
            word_add(ret_text, NICS_CAP, all->domain_attr->name);
}

static bool is_first(const struct fi_info *all, const struct fi_info *info)
{
    for (; all != info; all = all->next)
        if (strcmp(all->fabric_attr->prov_name, info->fabric_attr->prov_name) ==
            0)
            return false;
    return true;
}

/* Opens a domain over `stack`, and describes it to `each`. False: no domain. */
static bool stack_tell(const struct fi_info *all, const char *stack,
    void (*each)(const struct amg_provider *provider, void *arg), void *arg)
{
    const struct amg_open how = {
        .info = "", .protocol = stack, .is_listening = true, .max_contexts = 1};
    struct amg_domain *base = NULL;
    const struct amg_ofi_domain *domain = NULL;
    struct amg_limits limits;
    char init[INIT_CAP];
    char address[AMG_OFI_TEXT_CAP];
    char nics[NICS_CAP];
    char demands[DEMANDS_CAP];

    if (amg_ofi_transport.domain.open(&how, &base) != HG_SUCCESS)
        return false;
    domain = amg_ofi_domain_of(base);
    amg_ofi_transport.domain.limits(base, &limits);
    snprintf(init, sizeof(init), "ofi+%s", stack);
    nics_write(all, stack, nics);
    demands_write(domain->fi.info->domain_attr->mr_mode, demands);
    each(
        &(struct amg_provider){
            .init = init,
            .address = amg_ofi_peer_text(domain->self, address),
            .nics = nics,
            .demands = demands,
            .message_len = limits.request_len,
            .credits = limits.credits,
            .inject_len = domain->facts.inject_len,
            .piece_len = domain->facts.piece_len,
            .piece_segments = domain->facts.rma_iov_max,
            .key_len = (unsigned)domain->fi.info->domain_attr->mr_key_size,
            .can_sleep = domain->facts.can_sleep,
        },
        arg);
    amg_ofi_transport.domain.close(base);
    return true;
}

static void versions_tell(char *ret_loaded, char *ret_built, size_t cap)
{
    uint32_t there = amg_ofi_call->version();

    snprintf(ret_loaded, cap, "%u.%u", FI_MAJOR(there), FI_MINOR(there));
    snprintf(ret_built, cap, "%d.%d", FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

/* Results of libfabric for this driver; the caller frees them. NULL: none. */
static struct fi_info *select_all(void)
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

static unsigned providers_list(
    void (*each)(const struct amg_provider *provider, void *arg), void *arg)
{
    struct fi_info *all = select_all();
    unsigned count = 0;

    for (const struct fi_info *info = all; info != NULL; info = info->next)
        if (is_first(all, info) &&
            stack_tell(all, info->fabric_attr->prov_name, each, arg))
            count++;
    if (all != NULL)
        amg_ofi_call->freeinfo(all);
    return count;
}

static bool provider_has(const char *protocol, const char *info)
{
    const struct amg_open how = {.info = info,
        .protocol = protocol,
        .is_listening = true,
        .max_contexts = 1};
    struct fi_info *found = NULL;
    struct amg_ofi_facts facts;

    AMG_ASSERT(protocol != NULL && info != NULL);
    if (amg_ofi_select(&how, &found, &facts) != HG_SUCCESS)
        return false;
    amg_ofi_call->freeinfo(found);
    return true;
}

const struct amg_providers amg_ofi_providers = {
    .versions = versions_tell,
    .list = providers_list,
    .has = provider_has,
};
