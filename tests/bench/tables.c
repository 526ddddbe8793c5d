/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash table of all ranks: every rank plans the same batch, values tell
 * when they are another's, and a table finds what was linked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jobs/bench/benches/dht_data.h"
#include "jobs/bench/frame/pattern.h"

enum { RANKS = 5, OPS = 200, SEED = 9, SLOTS = 100, VALUE_MAX = 40 };

/* What would end the job ends the test. */
void pair_fail(const struct pair *pair, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "rank %d: ", pair->rank);
    vfprintf(stderr, format, args);
    va_end(args);
    abort();
}

void *pair_alloc(const struct pair *pair, size_t count, size_t len)
{
    (void)pair;
    return calloc(count, len);
}

/* A job of `ranks` ranks, as each of them plans it. */
struct job {
    struct world world;
    struct pair teams[RANKS];
    struct dht_plan plans[RANKS];
};

static void job_plan(struct job *job, int ranks, unsigned ops, uint32_t seed)
{
    job->world = (struct world){.size = ranks};
    for (int i = 0; i < ranks; i++) {
        job->teams[i] = (struct pair){.rank = i, .world = &job->world};
        dht_plan_open(&job->plans[i], &job->teams[i], OPS);
        dht_plan_make(&job->plans[i], ops, seed);
    }
}

static void job_close(struct job *job)
{
    for (int i = 0; i < job->world.size; i++)
        dht_plan_close(&job->plans[i]);
}

static void test_dht_plan_owner_has_each_key_in_its_position(void **state)
{
    struct job job;

    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        unsigned owned = 0;

        job_plan(&job, ranks, OPS, SEED);
        for (int rank = 0; rank < ranks; rank++) {
            owned += job.plans[rank].owned_count;
            for (unsigned i = 0; i < OPS; i++) {
                const struct dht_op *op = &job.plans[rank].mine[i];
                const struct dht_plan *theirs = &job.plans[op->owner];

                assert_int_not_equal(op->owner, rank);
                assert_true(op->position < theirs->owned_count);
                assert_true(theirs->owned[op->position] == op->key);
            }
        }
        assert_int_equal(owned, (unsigned)ranks * OPS);
        job_close(&job);
    }
}

static int key_compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static void test_dht_plan_keys_of_batches_all_differ(void **state)
{
    static uint64_t keys[2 * RANKS * OPS];
    struct job job;
    size_t count = 0;

    (void)state;
    for (uint32_t seed = SEED; seed < SEED + 2; seed++) {
        job_plan(&job, RANKS, OPS, seed);
        for (int rank = 0; rank < RANKS; rank++)
            for (unsigned i = 0; i < OPS; i++)
                keys[count++] = job.plans[rank].mine[i].key;
        job_close(&job);
    }
    qsort(keys, count, sizeof(keys[0]), key_compare);
    for (size_t i = 1; i < count; i++)
        assert_true(keys[i] != keys[i - 1]);
}

static void test_dht_plan_few_operations_fit(void **state)
{
    struct job job;

    (void)state;
    for (uint32_t seed = 0; seed < 1000; seed++)
        for (unsigned ops = 1; ops <= 8; ops++) {
            job_plan(&job, RANKS, ops, seed);
            for (int rank = 0; rank < RANKS; rank++)
                assert_true(job.plans[rank].owned_count <=
                            dht_plan_owned_cap(&job.teams[rank], ops));
            job_close(&job);
        }
}

static void test_dht_value_of_another_key_is_found(void **state)
{
    unsigned char value[VALUE_MAX];

    (void)state;
    for (size_t len = 0; len <= VALUE_MAX; len++) {
        uint64_t key = mix64(len);

        dht_value_fill(value, len, key);
        assert_int_equal(dht_value_check(value, len, key), len);
        for (size_t at = 0; at < len; at++) {
            value[at] ^= 4;
            assert_int_equal(dht_value_check(value, len, key), at);
            value[at] ^= 4;
        }
        if (len >= sizeof(key))
            assert_true(dht_value_check(value, len, mix64(len + 1)) < len);
    }
}

static void test_dht_table_finds_what_was_linked(void **state)
{
    struct dht_table table;

    (void)state;
    dht_table_open(&table, NULL, NULL, dht_stride(8), SLOTS);
    for (int turn = 0; turn < 2; turn++) {
        dht_table_reset(&table);
        for (uint32_t i = 0; i < SLOTS; i++) {
            /* Their lower bits are alike: all want the same place. */
            uint64_t key = (uint64_t)i << 32;

            assert_int_equal(dht_table_find(&table, key), DHT_NO_SLOT);
            assert_int_equal(dht_table_take(&table), i);
            dht_table_link(&table, key, i);
            assert_int_equal(dht_table_find(&table, key), i);
        }
        assert_int_equal(dht_table_take(&table), DHT_NO_SLOT);
        for (uint32_t i = 0; i < SLOTS; i++)
            assert_int_equal(dht_table_find(&table, (uint64_t)i << 32), i);
    }
    dht_table_close(&table);
}

static void test_dht_table_new_value_replaces_the_old(void **state)
{
    struct dht_table table;

    (void)state;
    dht_table_open(&table, NULL, NULL, dht_stride(8), SLOTS);
    dht_table_link(&table, 0, dht_table_take(&table));
    dht_table_link(&table, 0, dht_table_take(&table));
    assert_int_equal(dht_table_find(&table, 0), 1);
    dht_table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dht_plan_owner_has_each_key_in_its_position),
        cmocka_unit_test(test_dht_plan_keys_of_batches_all_differ),
        cmocka_unit_test(test_dht_plan_few_operations_fit),
        cmocka_unit_test(test_dht_value_of_another_key_is_found),
        cmocka_unit_test(test_dht_table_finds_what_was_linked),
        cmocka_unit_test(test_dht_table_new_value_replaces_the_old),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
