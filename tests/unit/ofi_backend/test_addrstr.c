/* SPDX-License-Identifier: BSD-3-Clause */
/* Address strings of providers, written and parsed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/log.h"
#include "ofi_backend/ofi_domain.h"

static const struct amg_ofi_facts rxm = {
    .stack = "tcp;ofi_rxm", .addr_format = FI_SOCKADDR_IN};
static const struct amg_ofi_facts verbs = {
    .stack = "verbs;ofi_rxm", .addr_format = FI_SOCKADDR_IN};
static const struct amg_ofi_facts six = {
    .stack = "net", .addr_format = FI_SOCKADDR_IN6};
static const struct amg_ofi_facts shm = {
    .stack = "shm", .addr_format = FI_ADDR_STR};
static const struct amg_ofi_facts cxi = {
    .stack = "cxi", .addr_format = FI_ADDR_PSMX2};

static void comes_back(const struct amg_ofi_facts *facts, const void *addr,
    uint16_t len, const char *expected)
{
    char text[AMG_OFI_TEXT_CAP];
    uint8_t again[AMG_OFI_ADDR_MAX];
    uint16_t again_len = 0;

    amg_ofi_addrstr_write(facts, addr, len, text);
    assert_string_equal(text, expected);
    assert_int_equal(
        amg_ofi_addrstr_read(facts, text, again, &again_len), HG_SUCCESS);
    assert_int_equal(again_len, len);
    assert_memory_equal(again, addr, len);
}

static void test_text_of_each_format_comes_back(void **state)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(4242)};
    struct sockaddr_in6 long_one = {
        .sin6_family = AF_INET6, .sin6_port = htons(7)};
    const uint8_t bytes[] = {0x00, 0x11, 0xab, 0xff};

    (void)state;
    four.sin_addr.s_addr = htonl(0xc0000207);
    inet_pton(AF_INET6, "2001:db8::7", &long_one.sin6_addr);
    comes_back(&rxm, &four, sizeof(four), "ofi+tcp;ofi_rxm://192.0.2.7:4242");
    comes_back(&six, &long_one, sizeof(long_one), "ofi+net://[2001:db8::7]:7");
    comes_back(&shm, "fi_shm://12:0:0", 16, "ofi+shm://fi_shm://12:0:0");
    comes_back(&cxi, bytes, sizeof(bytes), "ofi+cxi://0x0011abff");
}

static hg_return_t read_of(const struct amg_ofi_facts *facts, const char *text)
{
    uint8_t addr[AMG_OFI_ADDR_MAX];
    uint16_t len = 0;

    return amg_ofi_addrstr_read(facts, text, addr, &len);
}

static void test_text_by_its_protocol_is_understood(void **state)
{
    (void)state;
    assert_int_equal(read_of(&rxm, "tcp://127.0.0.1:80"), HG_SUCCESS);
    assert_int_equal(read_of(&rxm, "ofi+tcp://127.0.0.1:80"), HG_SUCCESS);
    assert_int_equal(read_of(&rxm, "tcp://localhost:80"), HG_SUCCESS);
}

static void test_text_of_another_stack_is_refused(void **state)
{
    (void)state;
    assert_int_equal(
        read_of(&rxm, "ofi+verbs;ofi_rxm://127.0.0.1:80"), HG_ADDRNOTAVAIL);
    assert_int_equal(
        read_of(&verbs, "ofi+tcp://127.0.0.1:80"), HG_ADDRNOTAVAIL);
    assert_int_equal(read_of(&verbs, "verbs://127.0.0.1:80"), HG_SUCCESS);
    assert_int_equal(read_of(&shm, "ofi+tcp://127.0.0.1:80"), HG_ADDRNOTAVAIL);
}

static void test_text_malformed_is_refused(void **state)
{
    static const char *const texts[] = {"", "tcp", "tcp://", "tcp://:80",
        "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536",
        "tcp://127.0.0.1:8x", "tcp://[::1:80", "na+tcp://127.0.0.1:80",
        "mpi://0/1"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(read_of(&rxm, texts[i]), HG_INVALID_ARG);
    assert_int_equal(read_of(&cxi, "ofi+cxi://0x0"), HG_INVALID_ARG);
    assert_int_equal(read_of(&cxi, "ofi+cxi://0xzz"), HG_INVALID_ARG);
    assert_int_equal(read_of(&cxi, "ofi+cxi://00"), HG_INVALID_ARG);
    assert_int_equal(read_of(&shm, "ofi+shm://a\"b"), HG_INVALID_ARG);
}

static void test_text_of_no_address_is_refused(void **state)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(4242)};
    struct sockaddr_in6 big = {.sin6_family = AF_INET6, .sin6_port = 1};
    const char name[] = "fi_shm://7";

    (void)state;
    assert_true(amg_ofi_addrstr_is_addr(&rxm, &four, sizeof(four), 16));
    assert_false(amg_ofi_addrstr_is_addr(&rxm, &four, sizeof(four) - 1, 16));
    assert_false(amg_ofi_addrstr_is_addr(&rxm, &big, sizeof(big), 28));
    four.sin_port = 0;
    assert_false(amg_ofi_addrstr_is_addr(&rxm, &four, sizeof(four), 16));
    assert_true(amg_ofi_addrstr_is_addr(&six, &big, sizeof(big), 28));
    big.sin6_family = AF_INET;
    assert_false(amg_ofi_addrstr_is_addr(&six, &big, sizeof(big), 28));
    assert_true(amg_ofi_addrstr_is_addr(&shm, name, sizeof(name), 4));
    assert_false(amg_ofi_addrstr_is_addr(&shm, name, sizeof(name) - 1, 4));
    assert_false(amg_ofi_addrstr_is_addr(&shm, "a%n", 4, 4));
    assert_true(amg_ofi_addrstr_is_addr(&cxi, name, 8, 8));
    assert_false(amg_ofi_addrstr_is_addr(&cxi, name, 7, 8));
    assert_false(amg_ofi_addrstr_is_addr(&cxi, name, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_of_no_address_is_refused),
        cmocka_unit_test(test_text_of_each_format_comes_back),
        cmocka_unit_test(test_text_by_its_protocol_is_understood),
        cmocka_unit_test(test_text_of_another_stack_is_refused),
        cmocka_unit_test(test_text_malformed_is_refused),
    };

    hg_log_set_level(HG_LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
