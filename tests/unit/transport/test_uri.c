/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of init strings and addresses; malformed ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "transport/registry.h"

static void splits_into(
    const char *text, const char *scheme, size_t class_len, const char *rest)
{
    struct amg_uri uri;

    assert_int_equal(amg_uri_split(text, &uri), HG_SUCCESS);
    assert_int_equal(uri.scheme_len, strlen(scheme));
    assert_memory_equal(uri.scheme, scheme, uri.scheme_len);
    assert_int_equal(uri.class_len, class_len);
    assert_string_equal(uri.rest, rest);
}

static void host_splits_into(const char *rest, const char *name, unsigned port)
{
    struct amg_uri_host host;

    assert_int_equal(amg_uri_split_host(rest, &host), HG_SUCCESS);
    assert_int_equal(host.name_len, strlen(name));
    assert_memory_equal(host.name, name, host.name_len);
    assert_int_equal(host.port, port);
}

static void test_uri_split_good_strings(void **state)
{
    (void)state;
    splits_into("self", "self", 0, "");
    splits_into("self://", "self", 0, "");
    splits_into("self://812-9ab0", "self", 0, "812-9ab0");
    splits_into("mpi+p2p", "mpi+p2p", 3, "");
    splits_into("ofi+tcp://node7:4242", "ofi+tcp", 3, "node7:4242");
    splits_into("ofi+tcp;ofi_rxm://[::1]:80", "ofi+tcp;ofi_rxm", 3, "[::1]:80");
    splits_into("a://b://c", "a", 0, "b://c");
}

static void test_uri_split_bad_strings(void **state)
{
    static const char *const bad[] = {NULL, "", "+", "+tcp", "ofi+", "a+b+c",
        "://x", "tcp:", "tcp:/x", "tcp /x", " tcp", "tcp://a b", "tcp://a\n",
        "t/c", "t\xc3\xa4", "ofi+://"};
    struct amg_uri uri = {.scheme = "untouched"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(amg_uri_split(bad[i], &uri), HG_INVALID_ARG);
    assert_string_equal(uri.scheme, "untouched");
}

static void test_uri_split_host_good(void **state)
{
    (void)state;
    host_splits_into("", "", 0);
    host_splits_into("node7", "node7", 0);
    host_splits_into("node7:4242", "node7", 4242);
    host_splits_into(":65535", "", 65535);
    host_splits_into("10.0.0.1:0", "10.0.0.1", 0);
    host_splits_into("[fe80::1]", "fe80::1", 0);
    host_splits_into("[fe80::1]:80", "fe80::1", 80);
}

static void test_uri_split_host_bad(void **state)
{
    static const char *const bad[] = {"a:", "a:65536", "a:-1", "a:8x", "[::1",
        "[::1]x", "::1", "a:99999999999999999999"};
    struct amg_uri_host host;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(amg_uri_split_host(bad[i], &host), HG_INVALID_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uri_split_good_strings),
        cmocka_unit_test(test_uri_split_bad_strings),
        cmocka_unit_test(test_uri_split_host_good),
        cmocka_unit_test(test_uri_split_host_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
