/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: permitted and refused accesses, and the rank that holds an
 * access. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mpi_backend/mpi_export.h"

enum { SEGMENTS = 3 };

static const struct amg_segment segments[SEGMENTS] = {
    {(void *)0x10000, 4096}, {(void *)0x7fff00000000, 1}, {NULL, 0}};

static struct amg_mpi_exposed exposed_make(uint8_t flags)
{
    return (struct amg_mpi_exposed){
        .key = {.cookie = 5,
            .serial = 77,
            .salt = 0xabcdef01,
            .desc = amg_mpi_key_desc(AMG_MPI_WAY_DYNAMIC, 8191)},
        .flags = flags,
        .segments = segments,
        .count = SEGMENTS,
        .origin = 0x1000,
    };
}

static hg_return_t judge(const struct amg_mpi_exposed *exposed,
    const struct amg_mpi_key *key, enum amg_mem_flags direction,
    uint64_t accesses)
{
    uint64_t words[AMG_MPI_DESC_WORDS];

    amg_mpi_desc_set(exposed, words);
    words[AMG_MPI_DESC_ACCESS] += accesses;
    return amg_mpi_desc_check(words, key, direction, segments, SEGMENTS);
}

static void test_export_open_allows_what_its_flags_say(void **state)
{
    struct amg_mpi_exposed to_read = exposed_make(AMG_MEM_READ);
    struct amg_mpi_exposed both = exposed_make(AMG_MEM_READ | AMG_MEM_WRITE);
    uint64_t accesses = 3 * amg_mpi_desc_access(1000000);

    (void)state;
    assert_int_equal(
        judge(&to_read, &to_read.key, AMG_MEM_READ, 0), HG_SUCCESS);
    assert_int_equal(
        judge(&to_read, &to_read.key, AMG_MEM_READ, accesses), HG_SUCCESS);
    assert_int_equal(
        judge(&to_read, &to_read.key, AMG_MEM_WRITE, 0), HG_PERMISSION);
    assert_int_equal(judge(&both, &both.key, AMG_MEM_WRITE, 0), HG_SUCCESS);
}

static void test_export_other_key_is_refused(void **state)
{
    struct amg_mpi_exposed exposed = exposed_make(AMG_MEM_READ);
    uint8_t *bytes = (uint8_t *)&exposed.key;
    struct amg_mpi_key key = exposed.key;
    uint64_t words[AMG_MPI_DESC_WORDS];

    (void)state;
    amg_mpi_desc_set(&exposed, words);
    /* The lower half of `desc` only tells where to search. */
    for (size_t i = 0; i < offsetof(struct amg_mpi_key, desc); i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1u << bit);
            assert_int_equal(amg_mpi_desc_check(words, &exposed.key,
                                 AMG_MEM_READ, segments, SEGMENTS),
                HG_NOENTRY);
            bytes[i] ^= (uint8_t)(1u << bit);
        }
    }
    key.desc = amg_mpi_key_desc(AMG_MPI_WAY_POOL, 8191);
    assert_int_equal(
        amg_mpi_desc_check(words, &key, AMG_MEM_READ, segments, SEGMENTS),
        HG_NOENTRY);
}

static void test_export_closed_is_refused(void **state)
{
    struct amg_mpi_exposed exposed = exposed_make(AMG_MEM_READ);
    uint64_t words[AMG_MPI_DESC_WORDS] = {0};

    (void)state;
    assert_int_equal(amg_mpi_desc_check(
                         words, &exposed.key, AMG_MEM_READ, segments, SEGMENTS),
        HG_NOENTRY);
    amg_mpi_desc_set(&exposed, words);
    words[AMG_MPI_DESC_ACCESS] += amg_mpi_desc_access(7);
    words[AMG_MPI_DESC_ACCESS] -= amg_mpi_desc_tag(words[AMG_MPI_DESC_ACCESS]);
    assert_int_equal(amg_mpi_desc_check(
                         words, &exposed.key, AMG_MEM_READ, segments, SEGMENTS),
        HG_NOENTRY);
    assert_int_equal(amg_mpi_desc_accessor(words[AMG_MPI_DESC_ACCESS]), 7);
}

/* Each wrong word of the list. */
static void test_export_other_list_is_refused(void **state)
{
    struct amg_mpi_exposed exposed = exposed_make(AMG_MEM_READ);
    struct amg_segment wrong[SEGMENTS];
    uint64_t words[AMG_MPI_DESC_WORDS];

    (void)state;
    amg_mpi_desc_set(&exposed, words);
    for (unsigned i = 0; i < 2 * SEGMENTS; i++) {
        for (unsigned k = 0; k < SEGMENTS; k++)
            wrong[k] = segments[k];
        if (i % 2 == 0)
            wrong[i / 2].len++;
        else
            wrong[i / 2].base = (char *)wrong[i / 2].base + 1;
        assert_int_equal(amg_mpi_desc_check(words, &exposed.key, AMG_MEM_READ,
                             wrong, SEGMENTS),
            HG_OVERFLOW);
    }
    assert_int_equal(amg_mpi_desc_check(words, &exposed.key, AMG_MEM_READ,
                         segments, SEGMENTS - 1),
        HG_OVERFLOW);
}

static void test_export_accessor_is_named_when_alone(void **state)
{
    uint64_t words[AMG_MPI_DESC_WORDS];
    struct amg_mpi_exposed exposed = exposed_make(AMG_MEM_READ);
    uint64_t word = 0;

    (void)state;
    for (uint32_t serial = 4090; serial < 4100; serial++) {
        exposed.key.serial = serial; /* a tag is never 0 */
        amg_mpi_desc_set(&exposed, words);
        word = words[AMG_MPI_DESC_ACCESS];
        assert_int_not_equal(amg_mpi_desc_tag(word), 0);
        assert_int_equal(amg_mpi_desc_accessor(word), AMG_MPI_ACCESSOR_NONE);
        word += amg_mpi_desc_access(0);
        assert_int_equal(amg_mpi_desc_accessor(word), 0);
        word += amg_mpi_desc_access(99999);
        assert_int_equal(amg_mpi_desc_accessor(word), AMG_MPI_ACCESSOR_MANY);
        word -= amg_mpi_desc_access(0);
        assert_int_equal(amg_mpi_desc_accessor(word), 99999);
        word -= amg_mpi_desc_access(99999);
        assert_int_equal(word, words[AMG_MPI_DESC_ACCESS]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export_open_allows_what_its_flags_say),
        cmocka_unit_test(test_export_other_key_is_refused),
        cmocka_unit_test(test_export_closed_is_refused),
        cmocka_unit_test(test_export_other_list_is_refused),
        cmocka_unit_test(test_export_accessor_is_named_when_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
