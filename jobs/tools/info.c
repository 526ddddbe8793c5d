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

static void provider_print(const struct amg_transport *ofi, const char *scheme)
{
    const struct amg_open how = {
        .info = "",
        .protocol = strchr(scheme, '+') + 1,
        .is_listening = true,
        .max_contexts = 1,
    };
    struct amg_domain *domain = NULL;
    struct amg_peer *self = NULL;
    struct amg_limits limits;
    char text[TEXT_CAP] = "";
    size_t len = sizeof(text);

    if (ofi->domain.open(&how, &domain) != HG_SUCCESS)
        return;
    ofi->domain.limits(domain, &limits);
    self = ofi->addr.self(domain);
    (void)ofi->addr.format(domain, self, text, &len);
    ofi->addr.drop(domain, self);
    ofi->domain.close(domain);
    printf("  %-18s %s\n      %" PRIu32 " bytes in a message, %" PRIu32
           " calls, waiting %s\n",
        scheme, text, limits.request_len, limits.credits,
        limits.is_spinning ? "looks without a pause"
                           : "sleeps on a descriptor");
}

/* Opens what each init string names, and says nothing of those that fail. */
static void providers_print(void)
{
    const struct amg_transport *all[AMG_ROUTE_COUNT + 1];
    const struct amg_transport *ofi = NULL;
    char schemes[TEXT_CAP];
    char *next = schemes;
    char *scheme = NULL;

    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    amg_init_transports("ofi+tcp", all);
    for (unsigned i = 0; all[i] != NULL; i++)
        if (strcmp(all[i]->name, "ofi") == 0)
            ofi = all[i];
    if (ofi == NULL)
        return;
    puts("Providers of libfabric that can be opened here:");
    snprintf(schemes, sizeof(schemes), "%s", ofi->schemes);
    while ((scheme = strtok_r(next, " ", &next)) != NULL)
        if (strchr(scheme, '+') != NULL)
            provider_print(ofi, scheme);
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
