/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of a provider by an init string, also of NICs that this machine does
 * not have, and the log lines if none fits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "na_types.h"
#include "ofi_backend/ofi_domain.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Requirements as the manuals of providers state them. */
static const struct fake_offer nics[] = {
    {.stack = "cxi",
        .nic = "cxi0",
        .mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY},
    {.stack = "cxi",
        .nic = "cxi1",
        .mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED,
        .key_len = 4},
    {.stack = "verbs;ofi_rxm",
        .nic = "mlx5_0",
        .ip = "10.1.0.7",
        .mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY},
    {.stack = "verbs",
        .nic = "mlx5_0",
        .ip = "10.1.0.7",
        .mode = FI_RX_CQ_DATA},
    {.stack = "psm2", .nic = "hfi1_0", .mode = FI_CONTEXT},
    {.stack = "opx",
        .nic = "hfi1_0",
        .mode = FI_CONTEXT2,
        .queue_max = 128,
        .has_threads = true},
    {.stack = "efa",
        .nic = "rdmap0s6-rdm",
        .mr_mode =
            FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL},
    {.stack = "shm2", .nic = "shm2"},
    {.stack = "shm", .nic = "shm"},
    {.stack = "tcp;ofi_rxm", .nic = "lo", .ip = "127.0.0.1"},
    {.stack = "tcp;ofi_rxm", .nic = "eth7", .ip = "fe80::7"},
    {.stack = "tcp;ofi_rxm", .nic = "eth7", .ip = "fd00:1::7"},
    {.stack = "tcp;ofi_rxm", .nic = "eth7", .ip = "10.9.1.7"},
    {.stack = "tcp;ofi_rxm", .nic = "eth8", .ip = "10.8.1.7"},
    {.stack = "tcp", .nic = "eth7", .ip = "10.9.1.7"},
    {.stack = "raw", .nic = "raw", .mr_mode = FI_MR_RAW, .key_len = 16},
};

static struct fi_info *chosen;
static struct amg_ofi_facts facts;

static hg_return_t choose_how(const struct amg_open *how)
{
    if (chosen != NULL)
        fi_freeinfo(chosen);
    chosen = NULL;
    return amg_ofi_select(how, &chosen, &facts);
}

static hg_return_t choose(const char *protocol, const char *info)
{
    const struct amg_open how = {
        .info = info, .protocol = protocol, .max_contexts = 1};

    return choose_how(&how);
}

static void chosen_is(const char *stack, const char *nic)
{
    assert_non_null(chosen);
    assert_string_equal(facts.stack, stack);
    assert_string_equal(chosen->domain_attr->name, nic);
}

static void test_select_each_name_finds_its_stack(void **state)
{
    (void)state;
    assert_int_equal(choose("cxi", ""), HG_SUCCESS);
    chosen_is("cxi", "cxi0");
    assert_int_equal(choose("verbs", ""), HG_SUCCESS);
    chosen_is("verbs;ofi_rxm", "mlx5_0");
    assert_int_equal(choose("psm2", ""), HG_SUCCESS);
    chosen_is("psm2", "hfi1_0");
    assert_int_equal(choose("opx", ""), HG_SUCCESS);
    chosen_is("opx", "hfi1_0");
    assert_int_equal(choose("efa", ""), HG_SUCCESS);
    chosen_is("efa", "rdmap0s6-rdm");
    assert_int_equal(choose("shm", ""), HG_SUCCESS);
    chosen_is("shm", "shm");
    assert_int_equal(choose("tcp", ""), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth7");
    assert_int_equal(choose("ofi", ""), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth7");
    assert_int_equal(choose(NULL, ""), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth7");
}

/* The provider that 1.17 called net is, in later versions, tcp without a layer
 * above it. */
static void test_select_net_is_never_layered(void **state)
{
    (void)state;
    assert_int_equal(choose("net", ""), HG_SUCCESS);
    chosen_is("tcp", "eth7");
}

static void test_select_obeys_what_comes_back(void **state)
{
    (void)state;
    assert_int_equal(choose("cxi", ""), HG_SUCCESS);
    assert_int_equal(fake_look.mr_mode, FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                            FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                            FI_MR_ENDPOINT);
    assert_true(facts.binds_memory && facts.makes_keys);
    assert_false(facts.needs_desc || facts.is_virtual);
    assert_int_equal(choose("cxi", "cxi1"), HG_SUCCESS);
    assert_false(facts.makes_keys);
    assert_true(facts.key_max == UINT32_MAX);
    assert_int_equal(choose("efa", ""), HG_SUCCESS);
    assert_true(facts.needs_desc && facts.is_virtual && facts.makes_keys);
    assert_false(facts.binds_memory);
    assert_int_equal(choose("psm2", ""), HG_SUCCESS);
    assert_false(facts.needs_desc || facts.is_virtual || facts.makes_keys ||
                 facts.binds_memory);
    assert_true(facts.key_max == UINT64_MAX);
    assert_true(facts.iov_max == 1 && facts.rma_iov_max == 1);
}

static void test_select_long_keys_are_refused(void **state)
{
    (void)state;
    assert_int_equal(choose("raw", ""), HG_OPNOTSUPPORTED);
    assert_null(chosen);
    assert_true(fake_has_logged("FI_MR_RAW"));
}

static void test_select_nic_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(choose("cxi", "cxi1:17"), HG_SUCCESS);
    chosen_is("cxi", "cxi1");
    assert_string_equal(fake_look.node, "");
    assert_string_equal(fake_look.service, "17");
    assert_true(fake_look.flags == FI_SOURCE);
    assert_int_equal(choose("tcp", "eth8"), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth8");
    assert_int_equal(choose("cxi", "cxi7"), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("'cxi' at cxi7 with"));
}

/* The driver asks the resolver once, and only for names that are no NIC. */
static void test_select_host_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(choose("tcp", "localhost:77"), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "lo");
    assert_string_equal(fake_look.node, "127.0.0.1");
    assert_string_equal(fake_look.service, "77");
    assert_false(fake_has_logged("no other machine reaches"));
    /* A name in the provider's own format is passed on unchanged. */
    assert_int_equal(choose("shm", "no_host"), HG_OPNOTSUPPORTED);
    assert_string_equal(fake_look.node, "no_host");
    assert_true(fake_has_logged("As a host: "));
}

static void test_select_address_of_all_takes_one(void **state)
{
    (void)state;
    assert_int_equal(choose("tcp", "0.0.0.0:4000"), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth7");
    assert_int_equal(chosen->addr_format, FI_SOCKADDR_IN);
    assert_string_equal(fake_look.node, "");
    assert_string_equal(fake_look.service, "4000");
    assert_true(fake_has_logged("0.0.0.0 is no address that others can call"));
    assert_true(fake_has_logged("the address of eth7 is used"));
    assert_int_equal(choose("tcp", "[::]:4000"), HG_SUCCESS);
    assert_int_equal(chosen->addr_format, FI_SOCKADDR_IN6);
}

static void test_select_format_of_addresses(void **state)
{
    struct amg_open how = {.info = "",
        .protocol = "tcp",
        .max_contexts = 1,
        .nic.addr_format = NA_ADDR_IPV6};
    static const uint8_t global[] = {0xfd, 0x00, 0x00, 0x01};

    (void)state;
    assert_int_equal(choose_how(&how), HG_SUCCESS);
    assert_int_equal(chosen->addr_format, FI_SOCKADDR_IN6);
    /* Offset behind sin6_family, sin6_port and sin6_flowinfo; not the fe80::.
     */
    assert_memory_equal(
        (const char *)chosen->src_addr + 8, global, sizeof(global));
    how.info = "10.9.1.7";
    assert_int_equal(choose_how(&how), HG_INVALID_ARG);
    assert_true(fake_has_logged("'10.9.1.7' is an IPv4 address"));
    how.nic.addr_format = NA_ADDR_NATIVE;
    assert_int_equal(choose_how(&how), HG_SUCCESS);
    assert_int_equal(chosen->addr_format, FI_SOCKADDR_IN);
}

static void test_select_subnet(void **state)
{
    static const char *const wrong[] = {"10.8.0.0/33", "10.8.0.0/-1",
        "10.8./16", "10.8.0.0/", "10.8.0.0/1x", "x", "fd00::/129", "/8"};
    struct amg_open how = {.info = "",
        .protocol = "tcp",
        .max_contexts = 1,
        .nic.ip_subnet = "10.8.0.0/16"};

    (void)state;
    assert_int_equal(choose_how(&how), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth8");
    how.nic.ip_subnet = "10.8";
    assert_int_equal(choose_how(&how), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth8");
    how.nic.ip_subnet = "fd00::/8";
    assert_int_equal(choose_how(&how), HG_SUCCESS);
    assert_int_equal(chosen->addr_format, FI_SOCKADDR_IN6);
    how.nic.ip_subnet = "0.0.0.0/0";
    assert_int_equal(choose_how(&how), HG_SUCCESS);
    chosen_is("tcp;ofi_rxm", "eth7");
    how.nic.ip_subnet = "172.16.0.0/12";
    assert_int_equal(choose_how(&how), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("in subnet 172.16.0.0/12"));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        how.nic.ip_subnet = wrong[i];
        assert_int_equal(choose_how(&how), HG_INVALID_ARG);
    }
    /* Addresses that are not IP are in no subnet. */
    how.protocol = "cxi";
    how.nic.ip_subnet = "10.8.0.0/16";
    assert_int_equal(choose_how(&how), HG_SUCCESS);
}

static void test_select_malformed_text(void **state)
{
    static const char *const texts[] = {
        "[::1", "host:", "host:65536", "host:x", "host:-1", "a:b:c"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_int_equal(choose("tcp", texts[i]), HG_INVALID_ARG);
        assert_null(chosen);
    }
    assert_int_equal(fake_look.count, 0);
}

static void test_select_refusal_names_the_filter(void **state)
{
    (void)state;
    setenv("FI_PROVIDER", "sockets", 1);
    assert_int_equal(choose("gni", ""), HG_OPNOTSUPPORTED);
    unsetenv("FI_PROVIDER");
    assert_true(fake_has_logged("FI_PROVIDER 'sockets' may hide"));
}

/* The log asks about no address, variable or network that has no part in it. */
static void test_select_refusal_names_no_other_cause(void **state)
{
    (void)state;
    assert_int_equal(choose("gni", ""), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("no provider for 'gni' with reliable"));
    assert_false(fake_has_logged("is that an address"));
    assert_false(fake_has_logged("FI_PROVIDER"));
    assert_false(fake_has_logged("SLINGSHOT_VNIS"));
}

static void test_select_version_is_what_all_know(void **state)
{
    (void)state;
    assert_int_equal(choose("tcp", ""), HG_SUCCESS);
    assert_false(fake_has_logged("is loaded"));
    fake_version = FI_VERSION(1, 15);
    assert_int_equal(choose("tcp", ""), HG_SUCCESS);
    assert_true(fake_look.version == FI_VERSION(1, 15));
    assert_true(fake_has_logged("libfabric 1.15 is loaded"));
    fake_version = FI_VERSION(2, 3);
    assert_int_equal(choose("tcp", ""), HG_SUCCESS);
    assert_true(FI_VERSION_LT(fake_look.version, FI_VERSION(1, 21)));
    fake_version = FI_VERSION(1, 14);
    assert_int_equal(choose("tcp", ""), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("1.15 or newer is needed"));
}

static int start(void **state)
{
    (void)state;
    fake_start(nics, COUNT_OF(nics));
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (chosen != NULL)
        fi_freeinfo(chosen);
    chosen = NULL;
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_select_each_name_finds_its_stack),
        UNIT_TEST(test_select_net_is_never_layered),
        UNIT_TEST(test_select_obeys_what_comes_back),
        UNIT_TEST(test_select_long_keys_are_refused),
        UNIT_TEST(test_select_nic_by_its_name),
        UNIT_TEST(test_select_host_by_its_name),
        UNIT_TEST(test_select_address_of_all_takes_one),
        UNIT_TEST(test_select_format_of_addresses),
        UNIT_TEST(test_select_subnet),
        UNIT_TEST(test_select_malformed_text),
        UNIT_TEST(test_select_refusal_names_the_filter),
        UNIT_TEST(test_select_refusal_names_no_other_cause),
        UNIT_TEST(test_select_version_is_what_all_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
