/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of init strings, addresses, subnets and options that Mercury takes,
 * and some that it refuses, one by one: which class each opens, if any. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mercury.h"

enum { CAP = 256 };

static unsigned failures;

/* `name`: of the class and its protocol; NULL: refused. */
static const struct {
    const char *info;
    const char *name;
    const char *protocol;
} strings[] = {
    {NULL, NULL, NULL}, {"", NULL, NULL}, {"na+sm", "na", "sm"},
    {"sm", "na", "sm"}, {"na+sm://", "na", "sm"},
    {"na+sm://amg-forms.1", "na", "sm"}, {"sm://amg-forms_2", "na", "sm"},
    {"na+sm://a/b", NULL, NULL}, {"nonsense", NULL, NULL}, {"na", NULL, NULL},
    {"na+", NULL, NULL}, {"+sm", NULL, NULL}, {"na+sm+x", NULL, NULL},
    {"na+tcp", NULL, NULL}, {"NA+SM", NULL, NULL}, {" sm", NULL, NULL},
    {"sm:/x", NULL, NULL},
#ifdef AMALGAM_HAS_OFI
    {"tcp", "ofi", "tcp"}, {"ofi+tcp", "ofi", "tcp"}, {"tcp://", "ofi", "tcp"},
    {"ofi+tcp://", "ofi", "tcp"}, {"tcp://127.0.0.1", "ofi", "tcp"},
    {"tcp://127.0.0.1:0", "ofi", "tcp"}, {"ofi+tcp://:0", "ofi", "tcp"},
    {"ofi+tcp://0.0.0.0", "ofi", "tcp"}, {"tcp://lo", "ofi", "tcp"},
    {"tcp://lo:0", "ofi", "tcp"}, {"tcp://localhost:0", "ofi", "tcp"},
    {"ofi+tcp://lo/", "ofi", "tcp"}, {"ofi+tcp://lo/:0", "ofi", "tcp"},
    {"ofi+tcp://lo/127.0.0.1", "ofi", "tcp"},
    {"ofi+tcp://lo/127.0.0.1:0", "ofi", "tcp"},
    {"tcp;ofi_rxm", "ofi", "tcp;ofi_rxm"},
    {"ofi+tcp;ofi_rxm://lo", "ofi", "tcp;ofi_rxm"},
    {"tcp_rxm", "ofi", "tcp_rxm"},
    {"ofi+tcp_rxm://127.0.0.1", "ofi", "tcp_rxm"}, {"ucx+all", "ofi", "tcp"},
    {"bmi+tcp", "ofi", "tcp"}, {"ofi+nowhere", NULL, NULL},
    {"tcp://127.0.0.1:65536", NULL, NULL}, {"tcp://127.0.0.1:x", NULL, NULL},
    {"tcp://127.0.0.1:1:1", NULL, NULL},
    {"tcp://192.0.2.254", NULL, NULL}, /* of no machine */
#endif
};

static hg_class_t *open_with(const char *info, struct hg_init_info *options)
{
    return HG_Init_opt2(info, HG_TRUE, HG_VERSION(2, 4), options);
}

/* Closes the class, which is NULL if it was refused. */
static void expect(hg_class_t *cls, bool opens, const char *info,
    const char *what, const char *value)
{
    if ((cls != NULL) != opens) {
        fprintf(stderr, "%s, %s %s: %s\n", info == NULL ? "NULL" : info, what,
            value, opens ? "is refused" : "is taken");
        failures++;
    }
    if (cls != NULL)
        (void)HG_Finalize(cls);
}

static void strings_try(void)
{
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        hg_class_t *cls = HG_Init(strings[i].info, HG_TRUE);

        if (cls != NULL && strings[i].name != NULL &&
            (strcmp(HG_Class_get_name(cls), strings[i].name) != 0 ||
                strcmp(HG_Class_get_protocol(cls), strings[i].protocol) != 0)) {
            fprintf(stderr, "%s is %s, %s\n", strings[i].info,
                HG_Class_get_name(cls), HG_Class_get_protocol(cls));
            failures++;
        }
        expect(cls, strings[i].name != NULL, strings[i].info, "the string", "");
    }
}

/* Looks up each prefix with what follows "://" in the class's own address. */
static void lookups_try(
    const char *info, const char *const *prefixes, hg_return_t code)
{
    hg_class_t *cls = HG_Init(info, HG_TRUE);
    char own[CAP] = "";
    hg_size_t len = CAP;
    hg_addr_t self = HG_ADDR_NULL;

    if (cls == NULL || HG_Addr_self(cls, &self) != HG_SUCCESS ||
        HG_Addr_to_string(cls, own, &len, self) != HG_SUCCESS)
        exit(1);
    for (; *prefixes != NULL; prefixes++) {
        hg_addr_t addr = HG_ADDR_NULL;
        char text[2 * CAP];
        hg_return_t rc = HG_SUCCESS;

        snprintf(text, sizeof(text), "%s%s", *prefixes, strstr(own, "://") + 3);
        rc = HG_Addr_lookup2(cls, text, &addr);
        if (rc != code ||
            (rc == HG_SUCCESS && HG_Addr_cmp(cls, addr, self) != HG_TRUE)) {
            fprintf(stderr, "%s: %s\n", text, HG_Error_to_string(rc));
            failures++;
        }
        (void)HG_Addr_free(cls, addr);
    }
    (void)HG_Addr_free(cls, self);
    (void)HG_Finalize(cls);
}

static void addresses_try(void)
{
    static const char *const sm[] = {"na+sm://", "sm://", NULL};
    static const char *const not_sm[] = {"", "na+", NULL};

    lookups_try("na+sm", sm, HG_SUCCESS);
    lookups_try("na+sm", not_sm, HG_INVALID_ARG);
#ifdef AMALGAM_HAS_OFI
    static const char *const tcp[] = {"ofi+tcp;ofi_rxm://", "tcp;ofi_rxm://",
        "ofi+tcp_rxm://", "tcp_rxm://", "ofi+tcp://", "tcp://", NULL};
    static const char *const not_tcp[] = {"na+sm://", "nonsense://", NULL};

    lookups_try("ofi+tcp;ofi_rxm://127.0.0.1", tcp, HG_SUCCESS);
    lookups_try("tcp://127.0.0.1", not_tcp, HG_PROTONOSUPPORT);
#endif
}

#ifdef AMALGAM_HAS_OFI
/* A libfabric without the provider shm has none by its other name. */
static void other_name_try(void)
{
    hg_class_t *cls = HG_Init("ofi+shm", HG_TRUE);
    bool opens = cls != NULL;

    expect(cls, opens, "ofi+shm", "the string", "");
    expect(HG_Init("ofi+sm", HG_TRUE), opens, "ofi+sm", "the string", "");
}

static void subnets_try(void)
{
    static const char *const taken[] = {"127.0.0.0/8", "127.0.0.1/32",
        "127.0.0.1", "127.0.0", "127.0", "127", "127.0/16", "127/8", ""};
    static const char *const refused[] = {"x", "127.", "127..0", ".127", "300",
        "127.0.0.0.1", "127.0.0.0/33", "127.0.0.0/", "127.0.0.0/x",
        "198.51.100"}; /* the last is of no machine */
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        info.na_init_info.ip_subnet = taken[i];
        expect(
            open_with("ofi+tcp", &info), true, "ofi+tcp", "subnet", taken[i]);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        info.na_init_info.ip_subnet = refused[i];
        expect(open_with("ofi+tcp", &info), false, "ofi+tcp", "subnet",
            refused[i]);
    }
}
#endif

/* One row sets one option. */
#define TRY(opens, option)                                                     \
    do {                                                                       \
        struct hg_init_info info = HG_INIT_INFO_INITIALIZER;                   \
                                                                               \
        info.option;                                                           \
        expect(open_with("na+sm", &info), opens, "na+sm", "option", #option);  \
    } while (0)

static void options_try(void)
{
    struct hg_init_info plain = HG_INIT_INFO_INITIALIZER;

    TRY(true, na_init_info.progress_mode = NA_NO_BLOCK | NA_NO_RETRY);
    TRY(true, na_init_info.thread_mode = NA_THREAD_MODE_SINGLE);
    TRY(true, na_init_info.max_contexts = 255);
    TRY(true, na_init_info.max_unexpected_size = 65536);
    TRY(true, na_init_info.max_expected_size = 1);
    TRY(true, na_init_info.addr_format = NA_ADDR_NATIVE);
    TRY(true, na_init_info.auth_key = "anything");
    TRY(true, traffic_class = NA_TC_LOW_LATENCY);
    TRY(true, auto_sm = 1);
    TRY(true, sm_info_string = "amg-forms-3");
    TRY(true, request_post_init = 1);
    TRY(true, request_post_incr = -1);
    TRY(true, checksum_level = HG_CHECKSUM_RPC_PAYLOAD);
    TRY(true, no_bulk_eager = 1);
    TRY(true, no_loopback = 1);
    TRY(true, no_multi_recv = 1);
    TRY(true, release_input_early = 1);
    TRY(true, no_overflow = true);
    TRY(true, multi_recv_copy_threshold = 4);
    TRY(false, multi_recv_copy_threshold = 5); /* of 4 buffers */
    expect(HG_Init_opt2("na+sm", HG_TRUE, 0, &plain), false, "na+sm", "version",
        "0");
    expect(HG_Init_opt2("na+sm", HG_TRUE, HG_VERSION(99, 0), &plain), false,
        "na+sm", "version", "99.0");
    expect(HG_Init_opt2("na+sm", HG_TRUE, HG_VERSION(2, 2), &plain), true,
        "na+sm", "version", "2.2");
}

int main(void)
{
    HG_Set_log_level("none");
    strings_try();
    addresses_try();
#ifdef AMALGAM_HAS_OFI
    other_name_try();
    subnets_try();
#endif
    options_try();
    return failures == 0 ? 0 : 1;
}
