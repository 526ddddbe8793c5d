/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding stream of arguments: sizes, ends, overflow, raw access and
 * checksums. */
#include "wire/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "log_kept.h"

enum { PAGE = 4096 };

static void test_proc_base_types_come_back(void **state)
{
    int8_t a = -1, a2 = 0;
    uint8_t b = 200, b2 = 0;
    int16_t c = -300, c2 = 0;
    uint16_t d = 60000, d2 = 0;
    int32_t e = -70000, e2 = 0;
    uint32_t f = 4000000000u, f2 = 0;
    int64_t g = INT64_MIN, g2 = 0;
    uint64_t h = UINT64_MAX, h2 = 0;
    char buf[30];
    struct hg_proc proc;

    (void)state;
    for (int op = HG_ENCODE; op <= HG_DECODE; op++) {
        bool decodes = op == HG_DECODE;

        amg_proc_init(&proc, NULL, buf, sizeof(buf), (hg_proc_op_t)op);
        assert_int_equal(hg_proc_int8_t(&proc, decodes ? &a2 : &a), 0);
        assert_int_equal(hg_proc_uint8_t(&proc, decodes ? &b2 : &b), 0);
        assert_int_equal(hg_proc_int16_t(&proc, decodes ? &c2 : &c), 0);
        assert_int_equal(hg_proc_uint16_t(&proc, decodes ? &d2 : &d), 0);
        assert_int_equal(hg_proc_int32_t(&proc, decodes ? &e2 : &e), 0);
        assert_int_equal(hg_proc_uint32_t(&proc, decodes ? &f2 : &f), 0);
        assert_int_equal(hg_proc_int64_t(&proc, decodes ? &g2 : &g), 0);
        assert_int_equal(hg_proc_uint64_t(&proc, decodes ? &h2 : &h), 0);
        assert_int_equal(hg_proc_get_size_used(&proc), 30);
        assert_int_equal(hg_proc_get_size_left(&proc), 0);
        assert_null(hg_proc_get_extra_buf(&proc));
        amg_proc_fini(&proc);
    }
    assert_true(a2 == a && b2 == b && c2 == c && d2 == d);
    assert_true(e2 == e && f2 == f && g2 == g && h2 == h);
}

static void test_proc_decode_beyond_end_is_overflow(void **state)
{
    /* On the heap and of exact size, so that a sanitizer sees an overrun. */
    char *buf = malloc(7);
    uint64_t wide = 42;
    uint32_t narrow = 0;
    struct hg_proc proc;

    (void)state;
    memset(buf, 1, 7);
    amg_proc_init(&proc, NULL, buf, 7, HG_DECODE);
    assert_int_equal(hg_proc_uint64_t(&proc, &wide), HG_OVERFLOW);
    assert_int_equal(wide, 42);
    assert_int_equal(hg_proc_get_size_left(&proc), 7);
    assert_int_equal(hg_proc_uint32_t(&proc, &narrow), HG_SUCCESS);
    assert_int_equal(narrow, 0x01010101);
    assert_int_equal(hg_proc_bytes(&proc, &wide, UINT64_MAX), HG_OVERFLOW);
    assert_null(hg_proc_save_ptr(&proc, 4));
    assert_null(hg_proc_save_ptr(&proc, UINT64_MAX));
    assert_non_null(hg_proc_save_ptr(&proc, 3));
    assert_int_equal(hg_proc_set_size(&proc, 100), HG_OVERFLOW);
    assert_int_equal(hg_proc_bytes(&proc, NULL, 0), HG_SUCCESS);
    assert_null(hg_proc_get_extra_buf(&proc));
    amg_proc_fini(&proc);
    free(buf);
}

static void test_proc_encode_overflow_keeps_all_bytes(void **state)
{
    enum { COUNT = 5000 };
    char buf[10];
    struct hg_proc proc, back;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(hg_proc_uint32_t(&proc, &i), HG_SUCCESS);
        assert_int_equal(hg_proc_get_size_used(&proc), 4 * (i + 1));
        assert_int_equal(hg_proc_get_extra_buf(&proc) != NULL, i >= 2);
    }
    assert_int_equal(hg_proc_get_extra_size(&proc) % PAGE, 0);
    assert_int_equal((uintptr_t)hg_proc_get_extra_buf(&proc) % PAGE, 0);
    assert_int_equal(hg_proc_get_size(&proc), hg_proc_get_extra_size(&proc));
    amg_proc_init(&back, NULL, hg_proc_get_extra_buf(&proc),
        hg_proc_get_size_used(&proc), HG_DECODE);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t value = 0;

        assert_int_equal(hg_proc_uint32_t(&back, &value), HG_SUCCESS);
        assert_int_equal(value, i);
    }
    amg_proc_fini(&back);
    amg_proc_fini(&proc);
}

static void test_proc_extra_buf_taken_survives(void **state)
{
    char buf[4];
    char text[] = "longer than four";
    char *taken = NULL;
    hg_proc_t proc = HG_PROC_NULL;

    (void)state;
    assert_int_equal(
        hg_proc_create_set(NULL, buf, sizeof(buf), HG_ENCODE, HG_NOHASH, &proc),
        HG_SUCCESS);
    assert_int_equal(
        hg_proc_set_extra_buf_is_mine(proc, HG_TRUE), HG_INVALID_ARG);
    assert_int_equal(hg_proc_raw(proc, text, sizeof(text)), HG_SUCCESS);
    assert_int_equal(hg_proc_set_extra_buf_is_mine(proc, HG_TRUE), HG_SUCCESS);
    taken = hg_proc_get_extra_buf(proc);
    assert_int_equal(hg_proc_free(proc), HG_SUCCESS);
    assert_string_equal(taken, text);
    amg_mem_free(taken);
}

static char shelf[3 * PAGE];
static unsigned shelf_taken;
static unsigned shelf_given;
static unsigned heap_given;

/* Holds three pages, one at a time. */
static void *shelf_alloc(
    struct hg_proc *proc, hg_size_t len, hg_size_t *ret_cap)
{
    assert_non_null(proc->memory);
    if (len > sizeof(shelf) || shelf_taken > shelf_given)
        return NULL;
    shelf_taken++;
    *ret_cap = sizeof(shelf);
    return shelf;
}

static void shelf_free(struct hg_proc *proc, void *ptr)
{
    assert_non_null(proc->memory);
    if (ptr == shelf) {
        shelf_given++;
        return;
    }
    heap_given++;
    amg_mem_free(ptr);
}

static void test_proc_extra_buf_comes_from_memory(void **state)
{
    static const struct amg_proc_memory memory = {
        .alloc = shelf_alloc, .free = shelf_free};
    uint8_t byte = 7;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, NULL, 0, HG_ENCODE);
    proc.memory = &memory;
    amg_proc_fini(&proc); /* nothing was allocated */
    assert_int_equal(shelf_given + heap_given, 0);
    amg_proc_init(&proc, NULL, NULL, 0, HG_ENCODE);
    proc.memory = &memory;
    assert_int_equal(hg_proc_uint8_t(&proc, &byte), HG_SUCCESS);
    assert_ptr_equal(hg_proc_get_extra_buf(&proc), shelf);
    assert_int_equal(hg_proc_get_extra_size(&proc), sizeof(shelf));
    assert_int_equal(hg_proc_set_size(&proc, 4 * PAGE), HG_SUCCESS);
    assert_int_equal(shelf_given, 1);
    assert_ptr_not_equal(hg_proc_get_extra_buf(&proc), shelf);
    assert_int_equal(*(uint8_t *)hg_proc_get_extra_buf(&proc), 7);
    amg_proc_fini(&proc);
    assert_int_equal(heap_given, 1);
    amg_proc_init(&proc, NULL, NULL, 0, HG_ENCODE);
    proc.memory = &memory;
    assert_int_equal(hg_proc_uint8_t(&proc, &byte), HG_SUCCESS);
    assert_int_equal(hg_proc_set_extra_buf_is_mine(&proc, 1), HG_SUCCESS);
    amg_proc_fini(&proc); /* allocated memory is kept */
    assert_int_equal(shelf_taken, 2);
    assert_int_equal(shelf_given, 1);
}

enum { MORE = 300 };

static char longer[256];
static unsigned widened;
static bool has_longer;

static bool longer_give(struct hg_proc *proc)
{
    widened++;
    if (has_longer)
        amg_proc_move(proc, longer, sizeof(longer));
    return has_longer;
}

/* A proc with a word in a short buffer of 8 bytes. */
static void short_begin(struct hg_proc *proc, char buf[8])
{
    static const struct amg_proc_memory memory = {
        .widen = longer_give, .alloc = shelf_alloc, .free = shelf_free};
    uint32_t word = 5;

    amg_proc_init(proc, NULL, buf, 8, HG_ENCODE);
    proc->memory = &memory;
    proc->is_short = true;
    widened = 0;
    assert_int_equal(hg_proc_uint32_t(proc, &word), HG_SUCCESS);
}

/* Is the word at the begin of the longer buffer? */
static void longer_check(struct hg_proc *proc, hg_size_t used)
{
    uint32_t word = 0;

    memcpy(&word, longer, sizeof(word));
    assert_int_equal(word, 5);
    assert_int_equal(amg_proc_used(proc), used);
    assert_null(hg_proc_get_extra_buf(proc));
    assert_int_equal(hg_proc_get_size(proc), sizeof(longer));
    assert_int_equal(widened, 1);
    amg_proc_fini(proc);
    memset(longer, 0, sizeof(longer));
}

/* A short buffer gives way to a longer one before a type sees its end. */
static void test_proc_short_buffer_is_not_seen(void **state)
{
    static char bytes[PAGE] = {1};
    char buf[8];
    uint32_t word = 6;
    struct hg_proc proc;

    (void)state;
    has_longer = true;
    short_begin(&proc, buf);
    assert_int_equal(hg_proc_uint32_t(&proc, &word), HG_SUCCESS);
    assert_int_equal(widened, 0); /* both words have room */
    assert_false(proc.was_asked_room);
    assert_int_equal(hg_proc_uint8_t(&proc, &word), HG_SUCCESS);
    longer_check(&proc, 9);
    short_begin(&proc, buf);
    assert_int_equal(hg_proc_get_size_left(&proc), sizeof(longer) - 4);
    assert_true(proc.was_asked_room);
    longer_check(&proc, 4);
    short_begin(&proc, buf);
    assert_ptr_equal(hg_proc_save_ptr(&proc, 4), longer + 4);
    longer_check(&proc, 8);
    short_begin(&proc, buf);
    assert_int_equal(hg_proc_set_size(&proc, 100), HG_INVALID_ARG);
    longer_check(&proc, 4);
    /* More than the longer buffer has, and no longer buffer at first. */
    for (unsigned i = 0; i < 2; i++) {
        has_longer = i == 0;
        short_begin(&proc, buf);
        assert_int_equal(hg_proc_bytes(&proc, bytes, MORE), HG_SUCCESS);
        has_longer = true;
        assert_int_equal(hg_proc_bytes(&proc, bytes, PAGE), HG_SUCCESS);
        assert_true(hg_proc_get_size_left(&proc) > 0);
        assert_non_null(hg_proc_get_extra_buf(&proc));
        assert_int_equal(*(uint8_t *)hg_proc_get_extra_buf(&proc), 5);
        assert_int_equal(amg_proc_used(&proc), 4 + MORE + PAGE);
        assert_int_equal(widened, 1);
        amg_proc_fini(&proc);
    }
}

/* Only what asks for the operation may have something to free. */
static void test_proc_notes_who_asks_for_the_operation(void **state)
{
    char buf[8] = {0};
    uint32_t word = 0;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_uint32_t(&proc, &word), HG_SUCCESS);
    assert_int_equal(hg_proc_bytes(&proc, &word, 2), HG_SUCCESS);
    assert_false(proc.at.was_asked_op);
    assert_int_equal(hg_proc_get_op(&proc), HG_DECODE);
    assert_true(proc.at.was_asked_op);
}

static void test_proc_set_size_grows_only(void **state)
{
    char buf[64];
    uint8_t byte = 7;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_uint8_t(&proc, &byte), HG_SUCCESS);
    assert_int_equal(hg_proc_set_size(&proc, 64), HG_INVALID_ARG);
    assert_int_equal(hg_proc_set_size(&proc, UINT64_MAX), HG_OVERFLOW);
    assert_int_equal(hg_proc_set_size(&proc, 65), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size(&proc), PAGE);
    assert_int_equal(hg_proc_get_size_used(&proc), 1);
    assert_int_equal(*(uint8_t *)hg_proc_get_extra_buf(&proc), 7);
    assert_int_equal(hg_proc_set_size(&proc, PAGE), HG_INVALID_ARG);
    assert_int_equal(hg_proc_set_size(&proc, 2 * PAGE + 1), HG_SUCCESS);
    assert_int_equal(hg_proc_get_extra_size(&proc), 3 * PAGE);
    amg_proc_fini(&proc);
}

static void test_proc_no_memory_leaves_proc_as_it_was(void **state)
{
    char buf[8];
    uint64_t value = 1;
    struct hg_proc proc;
    hg_proc_t made = HG_PROC_NULL;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_uint64_t(&proc, &value), HG_SUCCESS);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_proc_uint64_t(&proc, &value), HG_NOMEM);
    assert_int_equal(hg_proc_get_size_used(&proc), 8);
    amg_mem_fail_nth(1);
    assert_null(hg_proc_save_ptr(&proc, 1));
    assert_int_equal(hg_proc_uint64_t(&proc, &value), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size_used(&proc), 16);
    amg_proc_fini(&proc);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_proc_create(NULL, HG_CRC32, &made), HG_NOMEM);
    assert_null(made);
}

static void test_proc_save_ptr_points_into_the_stream(void **state)
{
    char buf[16];
    uint32_t value = 5;
    char *place = NULL;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_uint32_t(&proc, &value), HG_SUCCESS);
    place = hg_proc_save_ptr(&proc, 3);
    assert_ptr_equal(place, buf + 4);
    memcpy(place, "abc", 3);
    assert_int_equal(hg_proc_restore_ptr(&proc, place, 3), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size_used(&proc), 7);
    amg_proc_fini(&proc);
}

/* A program that uses the pointer unasked crashes: the log says why. */
static void test_proc_save_ptr_beyond_end_is_logged(void **state)
{
    char buf[16] = {0};
    struct hg_proc proc;

    (void)state;
    hg_log_set_func(log_keep);
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_null(hg_proc_save_ptr(&proc, 20));
    assert_true(log_has("20 bytes are wanted, but 16 of 16 are left"));
    assert_non_null(hg_proc_save_ptr(&proc, 16));
    amg_proc_fini(&proc);
    hg_log_set_func(NULL);
}

static void test_proc_free_touches_nothing(void **state)
{
    uint64_t value = 9;
    hg_proc_t proc = HG_PROC_NULL;

    (void)state;
    assert_int_equal(
        hg_proc_create_set(NULL, NULL, 0, HG_FREE, HG_CRC32, &proc), 0);
    assert_int_equal(hg_proc_uint64_t(proc, &value), HG_SUCCESS);
    assert_int_equal(hg_proc_bytes(proc, &value, 8), HG_SUCCESS);
    assert_int_equal(value, 9);
    assert_null(hg_proc_save_ptr(proc, 1));
    assert_int_equal(hg_proc_set_size(proc, 10), HG_INVALID_ARG);
    assert_int_equal(hg_proc_free(proc), HG_SUCCESS);
}

static void test_proc_misuse_is_refused(void **state)
{
    char buf[8];
    hg_proc_t proc = HG_PROC_NULL;

    (void)state;
    assert_int_equal(hg_proc_create(NULL, HG_NOHASH, NULL), HG_INVALID_ARG);
    assert_int_equal(
        hg_proc_create(NULL, (hg_proc_hash_t)77, &proc), HG_INVALID_ARG);
    assert_int_equal(
        hg_proc_create_set(NULL, NULL, 0, HG_ENCODE, HG_NOHASH, &proc),
        HG_INVALID_ARG);
    assert_null(proc);
    assert_int_equal(hg_proc_create(NULL, HG_NOHASH, &proc), HG_SUCCESS);
    assert_int_equal(hg_proc_reset(proc, NULL, 0, HG_DECODE), HG_INVALID_ARG);
    assert_int_equal(hg_proc_reset(NULL, buf, 8, HG_DECODE), HG_INVALID_ARG);
    assert_int_equal(hg_proc_reset(proc, buf, 8, HG_DECODE), HG_SUCCESS);
    assert_int_equal(hg_proc_get_op(proc), HG_DECODE);
    assert_int_equal(hg_proc_flush(NULL), HG_INVALID_ARG);
    assert_int_equal(hg_proc_restore_ptr(proc, NULL, 1), HG_INVALID_ARG);
    assert_int_equal(hg_proc_free(proc), HG_SUCCESS);
    assert_int_equal(hg_proc_free(HG_PROC_NULL), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size(HG_PROC_NULL), 0);
    assert_int_equal(hg_proc_get_size_left(HG_PROC_NULL), 0);
}

static void test_proc_knows_class_call_and_flags(void **state)
{
    char buf[8];
    hg_class_t *cls = (hg_class_t *)(void *)buf;
    hg_handle_t handle = (hg_handle_t)(void *)(buf + 1);
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, cls, buf, sizeof(buf), HG_ENCODE);
    assert_ptr_equal(hg_proc_get_class(&proc), cls);
    assert_null(hg_proc_get_handle(&proc));
    hg_proc_set_handle(&proc, handle);
    assert_ptr_equal(hg_proc_get_handle(&proc), handle);
    hg_proc_set_flags(&proc, HG_PROC_BULK_EAGER);
    assert_int_equal(hg_proc_get_flags(&proc), HG_PROC_BULK_EAGER);
    amg_proc_fini(&proc);
}

/* Known checksums of "123456789". */
static void check_sum(hg_proc_hash_t hash, const void *expected, size_t len)
{
    char digits[] = "123456789";
    char buf[16], back[16], sum[8] = {0};
    hg_proc_t proc = HG_PROC_NULL;

    assert_int_equal(
        hg_proc_create_set(NULL, buf, 9, HG_ENCODE, hash, &proc), 0);
    assert_int_equal(hg_proc_bytes(proc, digits, 4), HG_SUCCESS);
    memcpy(hg_proc_save_ptr(proc, 3), digits + 4, 3);
    assert_int_equal(hg_proc_restore_ptr(proc, buf + 4, 3), HG_SUCCESS);
    hg_proc_checksum_update(proc, digits + 7, 2);
    assert_int_equal(hg_proc_flush(proc), HG_SUCCESS);
    assert_int_equal(hg_proc_checksum_get(proc, sum, len - 1), HG_OVERFLOW);
    assert_int_equal(hg_proc_checksum_get(proc, sum, len), HG_SUCCESS);
    assert_memory_equal(sum, expected, len);

    memcpy(buf, digits, 9);
    assert_int_equal(hg_proc_reset(proc, buf, 9, HG_DECODE), HG_SUCCESS);
    assert_int_equal(hg_proc_bytes(proc, back, 9), HG_SUCCESS);
    assert_int_equal(hg_proc_flush(proc), HG_SUCCESS);
    assert_int_equal(hg_proc_checksum_verify(proc, sum, len), HG_SUCCESS);
    sum[0] ^= 1;
    assert_int_equal(
        hg_proc_checksum_verify(proc, sum, len), HG_CHECKSUM_ERROR);
    assert_int_equal(hg_proc_free(proc), HG_SUCCESS);
}

static void test_proc_sums_are_the_standard_ones(void **state)
{
    const uint16_t sum16 = 0xd0db;
    const uint32_t sum32 = 0xcbf43926;
    const uint64_t sum64 = 0x6c40df5f0b497347;

    (void)state;
    check_sum(HG_CRC16, &sum16, sizeof(sum16));
    check_sum(HG_CRC32, &sum32, sizeof(sum32));
    check_sum(HG_CRC64, &sum64, sizeof(sum64));
}

static void test_proc_without_sum_says_so(void **state)
{
    char buf[8] = {0};
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_checksum_get(&proc, buf, 8), HG_OPNOTSUPPORTED);
    assert_int_equal(hg_proc_checksum_verify(&proc, buf, 8), HG_OPNOTSUPPORTED);
    assert_int_equal(hg_proc_checksum_get(&proc, NULL, 8), HG_INVALID_ARG);
    amg_proc_fini(&proc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proc_base_types_come_back),
        cmocka_unit_test(test_proc_decode_beyond_end_is_overflow),
        cmocka_unit_test(test_proc_encode_overflow_keeps_all_bytes),
        cmocka_unit_test(test_proc_save_ptr_beyond_end_is_logged),
        cmocka_unit_test(test_proc_extra_buf_taken_survives),
        cmocka_unit_test(test_proc_extra_buf_comes_from_memory),
        cmocka_unit_test(test_proc_short_buffer_is_not_seen),
        cmocka_unit_test(test_proc_notes_who_asks_for_the_operation),
        cmocka_unit_test(test_proc_set_size_grows_only),
        cmocka_unit_test(test_proc_no_memory_leaves_proc_as_it_was),
        cmocka_unit_test(test_proc_save_ptr_points_into_the_stream),
        cmocka_unit_test(test_proc_free_touches_nothing),
        cmocka_unit_test(test_proc_misuse_is_refused),
        cmocka_unit_test(test_proc_knows_class_call_and_flags),
        cmocka_unit_test(test_proc_sums_are_the_standard_ones),
        cmocka_unit_test(test_proc_without_sum_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
