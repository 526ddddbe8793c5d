/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of the report of amalgam_info.
 *
 * The other ranks of the node do not send their placement: rank 0 computes it
 * by the pure function that they use. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "base/mem.h"
#include "init/drivers.h"
#include "init/init.h"
#include "mercury.h"
#include "affinity/bind.h"
#include "affinity/topo.h"
#include "ranks.h"

#define LONG_IDLE_NS 10000000000ull /* longer than any spin or back-off */

static void address_learn(struct report *report)
{
    hg_size_t len = sizeof(report->address);
    hg_addr_t addr = HG_ADDR_NULL;

    if (HG_Addr_self(report->cls, &addr) != HG_SUCCESS)
        return;
    if (HG_Addr_to_string(report->cls, report->address, &len, addr) !=
        HG_SUCCESS)
        report->address[0] = '\0';
    HG_Addr_free(report->cls, addr);
}

/* How the progress thread or a call of the application waits, and what it does
 * after a long idle time. */
static void wait_learn(
    const struct amg_progress_config *config, struct report_rank *local)
{
    const struct amg_placement *placement = &local->placement;
    const struct amg_core_slot *slot =
        amg_policy_has_thread(placement->progress) ? &placement->slot : NULL;
    size_t cap = sizeof(local->wait);
    struct amg_wait_policy policy =
        amg_progress_config_wait(config, slot, local->wait, cap);
    struct amg_wait_step step = amg_wait_policy_next(&policy, LONG_IDLE_NS);
    size_t len = strlen(local->wait);

    if (step.kind != AMG_WAIT_SLEEP)
        return;
    if (step.ns == AMG_WAIT_FOR_EVER_NS)
        snprintf(local->wait + len, cap - len, "; idle: woken by a descriptor");
    else
        snprintf(local->wait + len, cap - len,
            "; idle: polls every %" PRIu64 " us", step.ns / 1000);
}

/* The placement without threads of the library: callers make progress. */
static struct amg_placement callers_of(const struct amg_progress_config *config)
{
    struct amg_placement placement = {
        .progress = AMALGAM_PROGRESS_CALLER,
        .is_oversubscribed = config->is_oversubscribed,
        .slot = {.cpu = -1, .rule = AMG_SLOT_UNPINNED},
    };

    snprintf(placement.reason, sizeof(placement.reason), "%s", config->reason);
    return placement;
}

/* The ranks of the node, each with its placement. */
static void locals_fill(struct report *report)
{
    const struct amg_progress_config *config = &report->cls->progress_config;
    struct amg_placement own;
    struct amg_affinity_ask ask;

    for (uint32_t i = 0; i < config->rank_count; i++) {
        struct report_rank *local = &report->locals[i];

        local->rank = config->ranks[i].rank;
        local->binding = config->ranks[i].binding;
        local->threads = config->ranks[i].threads;
        if (config->placement == NULL)
            local->placement = callers_of(config);
        else if (i == config->self)
            local->placement = *config->placement;
        else if (amg_progress_config_question(config, i, &ask))
            amg_policy_place(&ask, &local->placement);
    }
    report->self = config->self;
    if (!amg_progress_config_question(config, config->self, &ask))
        return;
    ask.is_mercury = false;
    amg_policy_place(&ask, &own);
    report->own_progress = own.progress;
}

/* This process only, where the other ranks are unknown. */
static void local_fill_alone(struct report *report)
{
    const struct amg_progress_config *config = &report->cls->progress_config;
    struct report_rank *local = &report->locals[0];

    local->binding = *amg_bind_process();
    local->threads = amg_bind_app_threads();
    local->placement =
        config->placement == NULL ? callers_of(config) : *config->placement;
    report->own_progress = local->placement.progress;
}

static bool locals_learn(struct report *report)
{
    uint32_t known = report->cls->progress_config.rank_count;

    report->machine = amg_topo_this();
    report->are_all_known = known > 0;
    report->local_count = known > 0 ? known : 1;
    report->locals =
        amg_mem_zalloc(report->local_count * sizeof(*report->locals));
    if (report->locals == NULL)
        return false;
    if (known > 0)
        locals_fill(report);
    else
        local_fill_alone(report);
    for (uint32_t i = 0; i < report->local_count; i++)
        wait_learn(&report->cls->progress_config, &report->locals[i]);
    return true;
}

static void provider_add(const struct amg_provider *provider, void *arg)
{
    struct report *report = arg;
    struct report_provider *more = amg_mem_realloc(report->providers,
        (report->provider_count + 1) * sizeof(*report->providers));
    const char *texts[] = {
        provider->init, provider->address, provider->nics, provider->demands};

    if (more == NULL)
        return;
    report->providers = more;
    more += report->provider_count++;
    more->facts = *provider;
    for (unsigned i = 0; i < 4; i++)
        snprintf(more->texts[i], sizeof(more->texts[i]), "%s", texts[i]);
}

/* Lists the providers that can be opened; logs nothing about the others. */
static void providers_learn(struct report *report)
{
    const struct amg_providers *providers = NULL;

    hg_log_set_level(HG_LOG_LEVEL_NONE);
    providers = amg_driver_providers();
    if (providers == NULL)
        return;
    report->has_libfabric = true;
    providers->versions(
        report->libfabric[0], report->libfabric[1], REPORT_FIELD_CAP);
    providers->list(provider_add, report);
    /* Set last, because the array moved while it grew. */
    for (unsigned i = 0; i < report->provider_count; i++) {
        struct report_provider *one = &report->providers[i];

        one->facts.init = one->texts[0];
        one->facts.address = one->texts[1];
        one->facts.nics = one->texts[2];
        one->facts.demands = one->texts[3];
    }
}

static void shm_learn(struct report *report)
{
    struct statvfs status;

    amg_shm_node_need(
        &report->cls->plan.how, report->local_count, &report->need);
    if (statvfs("/dev/shm", &status) != 0)
        return;
    report->shm_total = (uint64_t)status.f_blocks * status.f_frsize;
    report->shm_free = (uint64_t)status.f_bavail * status.f_frsize;
}

/* Finds the needs of the class; after the providers and /dev/shm. */
static void needs_learn(struct report *report)
{
    hg_class_t *cls = report->cls;
    struct limits *limits = &report->limits;
    const struct amg_shm_need *need = &report->need;
    const struct limits_ask ask = {
        .reach = cls->reach,
        .address = report->address,
        .ranks = (uint32_t)report->size,
        .local = report->local_count,
        .shares_memory = cls->domains[AMG_ROUTE_SHM] != NULL,
    };
    const char *provider = NULL;

    for (unsigned i = 0; i < report->provider_count; i++) {
        const struct amg_provider *facts = &report->providers[i].facts;

        if (!limits_is_by(&ask, facts->init))
            continue;
        provider = facts->init;
        if (strstr(facts->demands, "allocated pages") != NULL)
            limits->is_locking = true;
    }
    limits_need_files(limits, &ask, provider);
    limits->is_shm_known = report->shm_total > 0;
    limits->shm_free = report->shm_free;
    if (!ask.shares_memory)
        return;
    limits->shm_called = (need->called - need->opened) * ask.local;
    limits->shm_most = (need->most - need->opened) * ask.local;
}

bool report_make(struct report *report, hg_class_t *cls, const char *transport)
{
    *report = (struct report){.cls = cls, .transport = transport};
    amg_mem_stats_get(&report->memory);
    limits_read(&report->limits);
    if (!ranks_learn(report))
        return false;
    if (report->rank != 0)
        return true;
    if (!locals_learn(report))
        return false;
    amg_init_offer(report->offer, sizeof(report->offer));
    address_learn(report);
    shm_learn(report);
    providers_learn(report);
    needs_learn(report);
    return true;
}

void report_fini(struct report *report)
{
    amg_mem_free(report->nodes);
    amg_mem_free(report->locals);
    amg_mem_free(report->providers);
}

const char *report_waiting(const hg_class_t *cls)
{
    if (!cls->limits.is_spinning)
        return "blocks on a descriptor";
    return cls->limits.must_yield
               ? "polls, then sleeps between polls (no descriptor)"
               : "polls without a pause, with pauses when idle (no descriptor)";
}
