/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of amalgam_info as text: the build, the class, the ranks and
 * libfabric. */
#include <inttypes.h>
#include <stdio.h>

#include "base/env.h"
#include "init/init.h"
#include "mercury.h"
#include "writers.h"

static void variable_print(enum amg_env_id id)
{
    const struct amg_env_var *var = amg_env_var(id);
    const char *text = amg_env_text(id);

    printf("  %-28s ", var->name);
    if (var->max == 0)
        printf("%s", text == NULL ? "unset" : text);
    else
        printf("%" PRIu64 "%s%s%s (default %" PRIu64 ", from %" PRIu64
               " to %" PRIu64 ")",
            amg_env_number(id), var->unit[0] == '\0' ? "" : " ", var->unit,
            text == NULL ? "" : ", set", var->default_value, var->min,
            var->max);
    printf("\n      %s\n", var->help);
}

void text_build(void)
{
    char offer[REPORT_TEXT_CAP];
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;

    HG_Version_get(&major, &minor, &patch);
    printf("Amalgam %s, API of Mercury %u.%u.%u\n", INFO_VERSION, major, minor,
        patch);
    printf("Transports: %s\n", amg_init_offer(offer, sizeof(offer)));
    puts("Environment:");
    for (unsigned id = 0; id < AMG_ENV_COUNT; id++)
        variable_print((enum amg_env_id)id);
}

static void class_print(const struct report *report)
{
    hg_class_t *cls = report->cls;

    printf("A class over \"%s\":\n", report->transport);
    printf("  transport          %s, protocol %s\n", HG_Class_get_name(cls),
        HG_Class_get_protocol(cls));
    printf("  reaches            %s\n", cls->reach);
    if (cls->reason[0] != '\0')
        printf("  bulk data          %s\n", cls->reason);
    printf("  eager limit        input %" PRIu64 ", output %" PRIu64
           " bytes; longer ones are pulled, or take a longer message\n",
        HG_Class_get_input_eager_size(cls),
        HG_Class_get_output_eager_size(cls));
    printf("  credits            %" PRIu32 " unanswered calls per peer\n",
        cls->limits.credits);
    printf("  waiting            %s\n", report_waiting(cls));
    printf("  heap memory        %" PRIu64 " bytes in %" PRIu64 " blocks\n",
        report->memory.bytes, report->memory.live);
    if (report->address[0] != '\0')
        printf("  own address        %s\n", report->address);
}

static void ranks_print(const struct report *report)
{
    if (!report->is_over_mpi) {
        puts("  ranks              1 (not over MPI)");
        return;
    }
    printf("  ranks              %d\n", report->size);
    printf("  nodes              %u (by MPI)\n", report->node_count);
    for (uint32_t i = 0; report->node_count > 1 && i < report->node_count; i++)
        printf("      %-24s %u rank%s, the first is %u\n",
            report->nodes[i].host, report->nodes[i].ranks,
            report->nodes[i].ranks == 1 ? "" : "s", report->nodes[i].first);
    printf("  thread level       %s\n", report->thread_level);
    printf("  library            %s\n", report->library);
}

static void need_print(const char *when, uint64_t bytes, uint32_t ranks)
{
    printf("      %-16s %12" PRIu64 " %12" PRIu64 "\n", when, bytes,
        bytes * ranks);
}

static void shm_print(const struct report *report)
{
    const struct amg_shm_need *need = &report->need;

    printf("  /dev/shm           %" PRIu64 " bytes, %" PRIu64 " free\n",
        report->shm_total, report->shm_free);
    printf("      %-16s %12s %12s  ranks %" PRIu32 ", contexts of each %" PRIu32
           "\n",
        "bytes needed", "a rank", "the node", report->local_count,
        need->contexts);
    need_print("opened", need->opened, report->local_count);
    need_print("called by all", need->called, report->local_count);
    need_print("at most", need->most, report->local_count);
}

static void limit_print(
    const char *what, uint64_t limit, uint64_t used, const char *need)
{
    char most[24] = "unlimited";

    if (limit != UINT64_MAX)
        snprintf(most, sizeof(most), "%" PRIu64, limit);
    printf("      %-16s %12s %12" PRIu64 " %12s\n", what, most, used, need);
}

static void limits_print(const struct limits *limits)
{
    char lines[LIMITS_ADVICE_MAX][LIMITS_TEXT_CAP];
    unsigned count = limits_advise(limits, lines);
    char need[24];

    printf(
        "  limits               %12s %12s %12s\n", "limit", "in use", "needed");
    limit_print("locked bytes", limits->locked, limits->locked_now,
        limits->is_locking ? "all exposed" : "none");
    snprintf(need, sizeof(need), "%" PRIu64, limits->files_need);
    limit_print("descriptors", limits->files, limits->files_open, need);
    for (unsigned i = 0; i < count; i++)
        printf("  too small          %s\n", lines[i]);
    if (count == 0)
        puts("  too small          nothing");
}

static void provider_print(const struct amg_provider *provider)
{
    printf("  %s\n", provider->init);
    printf("      address          %s\n", provider->address);
    printf("      networks         %s\n", provider->nics);
    printf("      messages         %" PRIu32 " bytes, %" PRIu32
           " unanswered calls per peer, up to %" PRIu64 " bytes injected\n",
        provider->message_len, provider->credits, provider->inject_len);
    printf("      transfers        %" PRIu64 " bytes in %" PRIu64
           " segments per operation, keys of %u bytes\n",
        provider->piece_len, provider->piece_segments, provider->key_len);
    printf("      exposed memory   %s\n", provider->demands);
    printf("      waiting          %s\n",
        provider->can_sleep ? "blocks on a descriptor" : "polls with pauses");
}

static void providers_print(const struct report *report)
{
    if (!report->has_libfabric) {
        puts("Libfabric: driver not installed");
        return;
    }
    printf("Libfabric %s (built with %s), providers that can be opened here:\n",
        report->libfabric[0], report->libfabric[1]);
    for (unsigned i = 0; i < report->provider_count; i++)
        provider_print(&report->providers[i].facts);
    if (report->provider_count == 0)
        puts("  none");
}

void text_class(const struct report *report, const struct map *map)
{
    class_print(report);
    ranks_print(report);
    shm_print(report);
    limits_print(&report->limits);
    text_node(report, map);
    providers_print(report);
}
