/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what this build offers, and what a class opened with it is like. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/class.h"
#include "init_plan.h"
#include "mercury.h"
#include "ranks.h"

enum { TEXT_CAP = 512 };

static void usage(FILE *stream)
{
    fputs("amalgam_info [-t TRANSPORT]\n\n"
          "  -t TRANSPORT  open a class over it; the library chooses\n",
        stream);
}

static void build_print(void)
{
    char offer[TEXT_CAP];
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;

    HG_Version_get(&major, &minor, &patch);
    printf("Amalgam %s, with the API of Mercury %u.%u.%u\n", INFO_VERSION,
        major, minor, patch);
    printf("Transports: %s\n", amg_init_offer(offer, sizeof(offer)));
}

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

static void environment_print(void)
{
    puts("Environment:");
    for (unsigned id = 0; id < AMG_ENV_COUNT; id++)
        variable_print((enum amg_env_id)id);
}

static void address_print(hg_class_t *cls)
{
    char text[TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t addr = HG_ADDR_NULL;

    if (HG_Addr_self(cls, &addr) != HG_SUCCESS)
        return;
    if (HG_Addr_to_string(cls, text, &len, addr) == HG_SUCCESS)
        printf("  own address        %s\n", text);
    HG_Addr_free(cls, addr);
}

/* What holds for each class, whatever it goes over. */
static void class_print(hg_class_t *cls, const char *transport)
{
    const struct amg_limits *limits = &cls->limits;
    struct amg_mem_stats mem;

    amg_mem_stats_get(&mem);
    printf("A class over \"%s\":\n", transport);
    printf("  transport          %s, protocol %s\n", HG_Class_get_name(cls),
        HG_Class_get_protocol(cls));
    printf("  reaches            %s\n", cls->reach);
    if (cls->reason[0] != '\0')
        printf("  bulk data          %s\n", cls->reason);
    printf("  input, output      %" PRIu64 ", %" PRIu64
           " bytes in a message; longer ones are pulled\n",
        HG_Class_get_input_eager_size(cls),
        HG_Class_get_output_eager_size(cls));
    printf("  unanswered calls   %" PRIu32 " to each peer\n", limits->credits);
    printf("  waiting            %s\n",
        !limits->is_spinning ? "sleeps on a descriptor"
        : limits->must_yield ? "looks, then sleeps between two looks"
                             : "looks without a pause: a core for each rank");
    printf("  heap memory        %" PRIu64 " bytes in %" PRIu64 " blocks\n",
        mem.bytes, mem.live);
    address_print(cls);
}

static void provider_print(const struct amg_provider *provider, void *arg)
{
    (void)arg;
    printf("  %s\n", provider->init);
    printf("      address          %s\n", provider->address);
    printf("      networks         %s\n", provider->nics);
    printf("      messages         %" PRIu32 " bytes, %" PRIu32
           " unanswered calls to each peer, up to %" PRIu64
           " bytes leave at once\n",
        provider->message_len, provider->credits, provider->inject_len);
    printf("      transfers        %" PRIu64 " bytes in %" PRIu64
           " segments at once, keys of %u bytes\n",
        provider->piece_len, provider->piece_segments, provider->key_len);
    printf("      exposed memory   %s\n", provider->demands);
    printf("      waiting          %s\n", provider->can_sleep
                                              ? "sleeps on a descriptor"
                                              : "looks, with pauses between");
}

/* Opens what there is, and says nothing of what cannot be opened. */
static void providers_print(void)
{
    const struct amg_providers *providers = NULL;
    char loaded[TEXT_CAP];
    char built[TEXT_CAP];

    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    providers = amg_init_providers();
    if (providers == NULL) {
        puts("Libfabric: its driver is not there");
        return;
    }
    providers->versions(loaded, built, sizeof(loaded));
    printf("Libfabric %s (built with %s), what can be opened here:\n", loaded,
        built);
    if (providers->list(provider_print, NULL) == 0)
        puts("  nothing");
}

int main(int argc, char **argv)
{
    const char *transport = ranks_transport();
    hg_class_t *cls = NULL;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (argc == 3 && strcmp(argv[1], "-t") == 0) {
        transport = argv[2];
    } else if (argc != 1) {
        usage(stderr);
        return 2;
    }
    /* First of all, for only then a process knows whether it is the first. */
    cls = HG_Init(transport, HG_TRUE);
    if (cls == NULL || ranks_own(cls) == 0) {
        build_print();
        environment_print();
    }
    if (cls == NULL)
        return EXIT_FAILURE;
    if (ranks_own(cls) == 0)
        class_print(cls, transport);
    ranks_print(cls);
    if (ranks_own(cls) == 0)
        providers_print();
    fflush(stdout);
    return HG_Finalize(cls) == HG_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
