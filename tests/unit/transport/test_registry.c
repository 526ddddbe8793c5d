/* SPDX-License-Identifier: BSD-3-Clause */
/* Registry of drivers: whole schemes are found; only complete drivers pass the
 * check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/log.h"
#include "log_kept.h"
#include "transport/registry.h"
#include "transport/self.h"

/* Only looked up, never called. */
static const struct amg_transport other = {
    .name = "other", .schemes = "other other+fast third"};

static const struct amg_transport *const all[] = {
    &amg_self_transport, &other, NULL};

static void test_registry_find_whole_words(void **state)
{
    (void)state;
    assert_ptr_equal(amg_registry_find(all, "self"), &amg_self_transport);
    assert_ptr_equal(amg_registry_find(all, "other"), &other);
    assert_ptr_equal(amg_registry_find(all, "other+fast"), &other);
    assert_ptr_equal(amg_registry_find(all, "third"), &other);
}

static void test_registry_find_ends_at_mark(void **state)
{
    (void)state;
    assert_ptr_equal(amg_registry_find(all, "self://1-2"), &amg_self_transport);
    assert_ptr_equal(amg_registry_find(all, "other+fast://x"), &other);
}

static void test_registry_find_unknown_is_null(void **state)
{
    static const char *const unknown[] = {"", "sel", "selfs", "fast", "+fast",
        "other+", "other third", "://self"};

    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        assert_null(amg_registry_find(all, unknown[i]));
}

static void test_registry_check_whole_driver_passes(void **state)
{
    (void)state;
    assert_int_equal(amg_registry_check(&amg_self_transport), HG_SUCCESS);
}

static void test_registry_check_notices_missing_slot(void **state)
{
    /* Every slot is one pointer; the check notices if one is missing. */
    size_t first = offsetof(struct amg_transport, domain);
    size_t last = sizeof(struct amg_transport);

    (void)state;
    for (size_t at = first; at < last; at += sizeof(void (*)(void))) {
        struct amg_transport broken = amg_self_transport;

        memset((char *)&broken + at, 0, sizeof(void (*)(void)));
        assert_int_equal(amg_registry_check(&broken), HG_PROTOCOL_ERROR);
    }
}

static void missing_check(struct amg_transport broken, const char *text)
{
    log_clear();
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    hg_log_set_func(log_keep);
    assert_int_equal(amg_registry_check(&broken), HG_PROTOCOL_ERROR);
    hg_log_set_func(NULL);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_true(log_has(text));
}

static void test_registry_check_tells_which_slot(void **state)
{
    struct amg_transport broken = amg_self_transport;

    (void)state;
    broken.domain.open = NULL;
    missing_check(broken, "slot 1 of its `domain` is not set");
    broken = amg_self_transport;
    broken.addr.unref = NULL;
    missing_check(broken, "slot 3 of its `addr` is not set");
    broken = amg_self_transport;
    broken.bulk.get = NULL;
    missing_check(broken, "slot 5 of its `bulk` is not set");
}

static void test_registry_check_bad_names_are_refused(void **state)
{
    static const char *const bad_names[] = {NULL, "", "a b", "a+b", "a://"};
    static const char *const bad_schemes[] = {NULL, "", " ", "a+", "a b/c"};
    struct amg_transport broken = amg_self_transport;

    (void)state;
    for (size_t i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++) {
        broken.name = bad_names[i];
        assert_int_equal(amg_registry_check(&broken), HG_PROTOCOL_ERROR);
    }
    broken = amg_self_transport;
    for (size_t i = 0; i < sizeof(bad_schemes) / sizeof(bad_schemes[0]); i++) {
        broken.schemes = bad_schemes[i];
        assert_int_equal(amg_registry_check(&broken), HG_PROTOCOL_ERROR);
    }
}

static void test_registry_offer_lists_what_fits(void **state)
{
    char text[64];
    char small[14];

    (void)state;
    assert_string_equal(amg_registry_offer(all, text, sizeof(text)),
        "self, na+self, other, other+fast, third");
    assert_string_equal(
        amg_registry_offer(all, small, sizeof(small)), "self, na+self");
    assert_string_equal(amg_registry_offer(all, small, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry_find_whole_words),
        cmocka_unit_test(test_registry_find_ends_at_mark),
        cmocka_unit_test(test_registry_find_unknown_is_null),
        cmocka_unit_test(test_registry_check_whole_driver_passes),
        cmocka_unit_test(test_registry_check_notices_missing_slot),
        cmocka_unit_test(test_registry_check_tells_which_slot),
        cmocka_unit_test(test_registry_check_bad_names_are_refused),
        cmocka_unit_test(test_registry_offer_lists_what_fits),
    };

    hg_log_set_level(HG_LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
