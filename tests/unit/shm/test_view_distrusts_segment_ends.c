/* SPDX-License-Identifier: BSD-3-Clause */
/* Segment lists in the exposer's table: an access may span segments, and wrong
 * segment ends of a broken exposer are not trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shm/shm_keys.h"
#include "transport/self.h"

enum { LEN = 2000, LONG_MS = 10000 };

static const struct amg_shm_accessor_id me = {
    .id = 77, .start_time = 5, .pid = 4};

static enum amg_life all_live(uint32_t pid, uint64_t start_time)
{
    (void)pid;
    (void)start_time;
    return AMG_LIFE_ALIVE;
}

struct fixture {
    struct amg_shm_exposer keys;
    struct amg_shm_key_table *table;
    struct amg_shm_accessor *accessor;
    char bytes[LEN];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->table = calloc(1, sizeof(*f->table));
    amg_shm_exposer_init(&f->keys, f->table, 0x1234567890ull, all_live);
    f->accessor = amg_shm_access_claim(f->table, NULL, &me, all_live);
    *state = f;
    return f->accessor == NULL;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    amg_shm_access_release(f->accessor);
    amg_shm_exposer_fini(&f->keys);
    free(f->table);
    free(f);
    return 0;
}

static struct amg_mem *expose(struct fixture *f,
    const struct amg_segment *segments, uint32_t count,
    struct amg_shm_key *ret_key)
{
    struct amg_mem *mem = NULL;
    struct amg_key key;

    assert_int_equal(amg_shm_exposer_add(&f->keys, &amg_self_transport,
                         segments, count, AMG_MEM_READ, &mem),
        HG_SUCCESS);
    amg_shm_key_write(mem, &key);
    assert_int_equal(amg_shm_key_read(&key, ret_key), HG_SUCCESS);
    return mem;
}

static void hide(struct fixture *f, struct amg_mem *mem)
{
    assert_int_equal(
        amg_shm_exposer_remove(&f->keys, mem, LONG_MS), HG_SUCCESS);
}

/* The peer and the exposer agree on it. */
static hg_return_t try_both(
    struct fixture *f, const struct amg_shm_access *access)
{
    struct amg_shm_mem *mem = NULL;
    struct amg_shm_view view;
    struct amg_seg_iter own;
    unsigned visit = 0;
    hg_return_t rc =
        amg_shm_access_enter(f->table, f->accessor, access, &visit, &view);

    assert_int_equal(amg_shm_exposer_enter(&f->keys, access, &mem, &own), rc);
    if (rc != HG_SUCCESS)
        return rc;
    amg_shm_access_leave(f->accessor, visit);
    amg_shm_exposer_leave(&f->keys, mem);
    assert_ptr_equal((void *)(uintptr_t)view.at, amg_seg_iter_at(&own));
    return HG_SUCCESS;
}

/* Splits the view of an access into fragments, and finds the right ones. */
static void view_is(struct fixture *f, const struct amg_shm_access *access,
    const struct amg_segment *runs, uint32_t count)
{
    struct amg_shm_view view;
    unsigned visit = 0;
    uint64_t left = access->len;

    assert_int_equal(try_both(f, access), HG_SUCCESS);
    assert_int_equal(
        amg_shm_access_enter(f->table, f->accessor, access, &visit, &view),
        HG_SUCCESS);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = 0;

        assert_int_equal(amg_shm_view_take(&view, left, &at), runs[i].len);
        assert_ptr_equal((void *)(uintptr_t)at, runs[i].base);
        left -= runs[i].len;
    }
    assert_int_equal(left, 0);
    amg_shm_access_leave(f->accessor, visit);
}

static void test_view_access_across_segments_is_joined(void **state)
{
    struct fixture *f = *state;
    char *b = f->bytes;
    const struct amg_segment parts[] = {{b, 10}, {b + 10, 20}, {NULL, 0},
        {b + 30, 5}, {b + 100, 7}, {NULL, 0}, {b + 99, 1}, {NULL, 0}};
    const struct amg_segment all[] = {{b, 35}, {b + 100, 7}, {b + 99, 1}};
    const struct amg_segment tail[] = {{b + 29, 6}, {b + 100, 2}};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 43};
    struct amg_mem *mem = expose(f, parts, 8, &access.key);

    view_is(f, &access, all, 3);
    access.offset = 10; /* the end of a segment is in it, still */
    access.len = 25;
    view_is(f, &access, &(struct amg_segment){b + 10, 25}, 1);
    access.offset = 29; /* beyond it, if it began before */
    access.len = 8;
    assert_int_equal(try_both(f, &access), HG_OVERFLOW);
    access.goes_on = true;
    view_is(f, &access, tail, 2);
    access.segment = 1;
    access.offset = 19;
    view_is(f, &access, tail, 2);
    access.len = 14;
    view_is(f, &access, (struct amg_segment[]){tail[0], all[1], all[2]}, 3);
    access.len = 15;
    assert_int_equal(try_both(f, &access), HG_OVERFLOW);
    access.len = UINT64_MAX;
    assert_int_equal(try_both(f, &access), HG_OVERFLOW);
    access.offset = UINT64_MAX;
    access.len = 1;
    assert_int_equal(try_both(f, &access), HG_OVERFLOW);
    hide(f, mem);
}

/* Each byte of a long list is found. */
static void test_view_access_goes_on_anywhere(void **state)
{
    enum { SEGMENTS = 700 };
    struct fixture *f = *state;
    struct amg_segment parts[SEGMENTS];
    struct amg_shm_access access = {
        .direction = AMG_MEM_READ, .len = 1, .goes_on = true};
    struct amg_mem *mem = NULL;

    for (uint32_t i = 0; i < SEGMENTS; i++)
        parts[i] = (struct amg_segment){f->bytes + 2 * i, i % 3};
    mem = expose(f, parts, SEGMENTS, &access.key);
    for (uint32_t from = 0; from < SEGMENTS; from += 233) {
        access.segment = from;
        access.offset = 0;
        for (uint32_t i = from; i < SEGMENTS; i++)
            for (uint64_t k = 0; k < i % 3; k++) {
                view_is(f, &access,
                    &(struct amg_segment){f->bytes + 2 * i + k, 1}, 1);
                access.offset++;
            }
    }
    hide(f, mem);
}

static void test_view_more_than_64_bits_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment parts[] = {
        {f->bytes, UINT64_MAX - 1}, {f->bytes, 1}, {f->bytes, 1}};
    struct amg_shm_key key;
    struct amg_mem *mem = NULL;

    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_int_equal(amg_shm_exposer_add(&f->keys, &amg_self_transport, parts,
                         3, AMG_MEM_READ, &mem),
        HG_INVALID_ARG);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    assert_null(mem);
    hide(f, expose(f, parts, 2, &key));
}

/* The ends of the segments are wrong, each in turn. */
static void test_view_broken_list_is_not_trusted(void **state)
{
    enum { SEGMENTS = 5 };
    static const uint64_t lies[] = {0, 1, LEN, UINT64_MAX, UINT64_MAX / 2};
    struct fixture *f = *state;
    struct amg_segment parts[SEGMENTS];
    struct amg_shm_access access = {.direction = AMG_MEM_READ};
    struct amg_mem *mem = NULL;
    struct amg_shm_list_entry *list = NULL;

    for (uint32_t i = 0; i < SEGMENTS; i++)
        parts[i] = (struct amg_segment){f->bytes + i * 20, 10};
    mem = expose(f, parts, SEGMENTS, &access.key);
    list = &f->table->list[f->table->entries[access.key.index].base];
    for (uint32_t i = 0; i < 2 * SEGMENTS * 50; i++) {
        uint32_t wrong = i % SEGMENTS;
        uint64_t end = list[wrong].end;
        struct amg_shm_view view;
        unsigned visit = 0;
        uint64_t at = 0;
        uint64_t sum = 0;
        uint64_t run = 1;

        atomic_store(&list[wrong].end, lies[i / SEGMENTS % 5]);
        access.goes_on = i % 2 == 0;
        access.segment = i / 7 % SEGMENTS;
        access.offset = i / 10;
        access.len = i % 50 + 1;
        if (amg_shm_access_enter(
                f->table, f->accessor, &access, &visit, &view) == HG_SUCCESS) {
            while (run > 0 && sum < access.len) {
                run = amg_shm_view_take(&view, access.len - sum, &at);
                sum += run;
                assert_true(view.next <= list + SEGMENTS);
            }
            assert_true(sum <= access.len);
            amg_shm_access_leave(f->accessor, visit);
        }
        atomic_store(&list[wrong].end, end);
    }
    atomic_store(&list[1].end, 5); /* less than what is before it */
    access = (struct amg_shm_access){
        .key = access.key, .segment = 1, .direction = AMG_MEM_READ, .len = 1};
    assert_int_equal(amg_shm_access_enter(f->table, f->accessor, &access,
                         &(unsigned){0}, &(struct amg_shm_view){0}),
        HG_PROTOCOL_ERROR);
    hide(f, mem);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_view_access_across_segments_is_joined),
        TEST(test_view_access_goes_on_anywhere),
        TEST(test_view_more_than_64_bits_is_refused),
        TEST(test_view_broken_list_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
