/* SPDX-License-Identifier: BSD-3-Clause */
/* List of the providers that a class can use, for amalgam_info.
 *
 * The list has each stack over which a domain can be opened, with the
 * properties of that domain. */
#include "ofi_backend/ofi_domain.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "ofi_backend/ofi_peer.h"

enum {
    NICS_CAP = 256,
    DEMANDS_CAP = 128,
    INIT_CAP = AMG_OFI_STACK_CAP + 8,
};

static const struct {
    int bit;
    const char *name;
} demand_names[] = {
    {FI_MR_LOCAL, "also what is sent"},
    {FI_MR_VIRT_ADDR, "virtual addresses"},
    {FI_MR_ALLOCATED, "pages that are there"},
    {FI_MR_PROV_KEY, "its own keys"},
    {FI_MR_ENDPOINT, "bound to the endpoint"},
};

/* Adds a word to a list with commas that lacks it, if there is room. */
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

/* Opens a domain over the stack and describes it. False: the open failed. */
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

static unsigned providers_list(
    void (*each)(const struct amg_provider *provider, void *arg), void *arg)
{
    struct fi_info *all = amg_ofi_select_all();
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
