/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers what amalgam_info knows.
 *
 * The map of the node is not asked for: each rank's place comes of the same
 * pure function, which is asked once more for every rank of it. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/wait_policy.h"
#include "init/plan.h"
#include "mercury.h"
#include "place/bind.h"
#include "place/topo.h"
#include "ranks.h"

#define LONG_IDLE_NS 10000000000ull /* far beyond all that is looked for */

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

/* What it does when nothing has come for long. */
static const char *idle_of(const hg_class_t *cls,
    const struct amg_placement *placement, char *ret_text, size_t cap)
{
    const struct amg_wait_policy pace = {
        .hint = cls->drive.wait,
        .core = amg_policy_has_thread(placement->progress)
                    ? (placement->seat.is_dedicated ? AMG_CORE_DEDICATED
                                                    : AMG_CORE_SHARED)
                    : (cls->drive.is_crowded ? AMG_CORE_SHARED : AMG_CORE_OWN),
        .is_not_pollable = cls->limits.is_spinning,
        .no_block = cls->plan.no_block,
        .must_yield = cls->limits.must_yield,
        .spin_ns = amg_env_number(AMG_ENV_SPIN_US) * 1000,
    };
    struct amg_wait_step step = amg_wait_policy_next(&pace, LONG_IDLE_NS);

    if (step.kind != AMG_WAIT_PAUSE && step.kind != AMG_WAIT_SLEEP)
        return "";
    if (step.ns == UINT64_MAX)
        return "; a descriptor wakes it";
    snprintf(
        ret_text, cap, "; idle, it looks every %" PRIu64 " us", step.ns / 1000);
    return ret_text;
}

/* Of who looks for news there: the progress thread, or who calls. */
static void wait_learn(const hg_class_t *cls, struct report_rank *local)
{
    const struct amg_placement *placement = &local->placement;
    char idle[REPORT_HOST_CAP];

    snprintf(local->wait, sizeof(local->wait), "%s%s",
        amg_policy_has_thread(placement->progress)
            ? amg_drive_wait_words(&cls->drive, &placement->seat)
            : amg_drive_caller_words(&cls->drive),
        idle_of(cls, placement, idle, sizeof(idle)));
}

/* Where nothing had to be placed: the callers drive. */
static struct amg_placement callers_of(const struct amg_drive *drive)
{
    struct amg_placement placement = {
        .progress = AMALGAM_PROGRESS_CALLER,
        .is_crowded = drive->is_crowded,
        .seat = {.cpu = -1, .rule = AMG_SEAT_UNPINNED},
    };

    snprintf(placement.reason, sizeof(placement.reason), "%s", drive->reason);
    return placement;
}

/* The ranks of the node, each with its place in the map. */
static void locals_fill(struct report *report)
{
    const struct amg_drive *drive = &report->cls->drive;
    struct amg_placement own;
    struct amg_place_ask ask;

    for (uint32_t i = 0; i < drive->rank_count; i++) {
        struct report_rank *local = &report->locals[i];

        local->rank = drive->ranks[i].rank;
        local->binding = drive->ranks[i].binding;
        local->threads = drive->ranks[i].threads;
        if (drive->placement == NULL)
            local->placement = callers_of(drive);
        else if (i == drive->self)
            local->placement = *drive->placement;
        else if (amg_drive_question(report->cls, i, &ask))
            amg_policy_place(&ask, &local->placement);
    }
    report->self = drive->self;
    if (!amg_drive_question(report->cls, drive->self, &ask))
        return;
    ask.is_mercury = false;
    amg_policy_place(&ask, &own);
    report->own_progress = own.progress;
}

/* This process alone, where others are not known. */
static void local_fill_alone(struct report *report)
{
    const struct amg_drive *drive = &report->cls->drive;
    struct report_rank *local = &report->locals[0];

    local->binding = *amg_bind_process();
    local->threads = amg_bind_app_threads();
    local->placement =
        drive->placement == NULL ? callers_of(drive) : *drive->placement;
    report->own_progress = local->placement.progress;
}

static bool locals_learn(struct report *report)
{
    uint32_t known = report->cls->drive.rank_count;

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
        wait_learn(report->cls, &report->locals[i]);
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

/* Opens what there is, and says nothing of what cannot be opened. */
static void providers_learn(struct report *report)
{
    const struct amg_providers *providers = NULL;

    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    providers = amg_init_providers();
    if (providers == NULL)
        return;
    report->has_libfabric = true;
    providers->versions(
        report->libfabric[0], report->libfabric[1], REPORT_FIELD_CAP);
    providers->list(provider_add, report);
    /* Only now, as the array has moved while it grew. */
    for (unsigned i = 0; i < report->provider_count; i++) {
        struct report_provider *one = &report->providers[i];

        one->facts.init = one->texts[0];
        one->facts.address = one->texts[1];
        one->facts.nics = one->texts[2];
        one->facts.demands = one->texts[3];
    }
}

bool report_make(struct report *report, hg_class_t *cls, const char *transport)
{
    *report = (struct report){.cls = cls, .transport = transport};
    amg_mem_stats_get(&report->memory);
    if (!ranks_learn(report))
        return false;
    if (report->rank != 0)
        return true;
    if (!locals_learn(report))
        return false;
    amg_init_offer(report->offer, sizeof(report->offer));
    address_learn(report);
    providers_learn(report);
    return true;
}

void report_fini(struct report *report)
{
    amg_mem_free(report->nodes);
    amg_mem_free(report->locals);
    amg_mem_free(report->providers);
}
