/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of addresses is in order of ranks, and is refused if ranks could
 * not reach each other by it. */
#include "init/rank_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "transport/boot.h"

enum { RANKS = 5, MINE = 0, NODE = 7, MANY = 200000, MANY_LEN = 40 };

static const char *texts[RANKS];
static struct amg_node node;
static FILE *log_file;

/* This rank is alone on its node. */
static hg_return_t boot_bcast(
    struct amg_boot *of, void *bytes, size_t len, uint32_t root)
{
    (void)of;
    (void)bytes;
    (void)len;
    assert_int_equal(root, 0);
    return HG_SUCCESS;
}

static const struct amg_boot_ops boot_ops = {.bcast = boot_bcast};
static struct amg_boot boot = {.ops = &boot_ops, .size = 1};

static hg_return_t node_largest(
    const struct amg_node *of, uint64_t *words, uint32_t count)
{
    (void)of;
    (void)words;
    (void)count;
    return HG_SUCCESS;
}

/* The records of all ranks arrive out of order. */
static hg_return_t node_collect(
    const struct amg_node *of, const void *record, uint32_t len, void *ret_all)
{
    unsigned char *to = ret_all;

    (void)of;
    memset(to, 0, (size_t)RANKS * len);
    for (uint32_t i = 0; i < RANKS; i++) {
        uint32_t rank = RANKS - 1 - i;
        struct amg_rank_record head = {.rank = rank, .node = NODE};

        if (rank == MINE) {
            memcpy(to + (size_t)i * len, record, len);
            continue;
        }
        memcpy(to + (size_t)i * len, &head, sizeof(head));
        strcpy((char *)to + (size_t)i * len + sizeof(head), texts[rank]);
    }
    return HG_SUCCESS;
}

static const struct amg_node_ops ops = {
    .largest = node_largest,
    .collect = node_collect,
};

/* The records did not arrive: memory that looks like ranks 0 without a text. */
static hg_return_t node_collect_fails(
    const struct amg_node *of, const void *record, uint32_t len, void *ret_all)
{
    (void)of;
    (void)record;
    memset(ret_all, 0, (size_t)RANKS * len);
    return HG_NA_ERROR;
}

static const struct amg_node_ops failing_ops = {
    .largest = node_largest,
    .collect = node_collect_fails,
};

static int log_setup(void **state)
{
    (void)state;
    node = (struct amg_node){
        .boot = &boot, .rank = MINE, .size = RANKS, .node_count = RANKS};
    log_file = tmpfile();
    hg_log_set_stream_error(log_file);
    return log_file == NULL;
}

static int log_teardown(void **state)
{
    (void)state;
    hg_log_set_stream_error(NULL);
    return fclose(log_file);
}

static bool log_has(const char *wanted)
{
    char line[1024] = "";
    bool is_found = false;

    rewind(log_file);
    while (!is_found && fgets(line, sizeof(line), log_file) != NULL)
        is_found = strstr(line, wanted) != NULL;
    return is_found;
}

static hg_return_t table_make(struct amg_rank_table_maker *table)
{
    hg_return_t rc =
        amg_rank_table_maker_begin(table, &ops, &node, texts[MINE], 32);

    return rc == HG_SUCCESS ? amg_rank_table_maker_make(table) : rc;
}

static void texts_set(const char *zero, const char *one, const char *two,
    const char *three, const char *four)
{
    const char *all[RANKS] = {zero, one, two, three, four};

    memcpy(texts, all, sizeof(texts));
}

static uint32_t *made_places(const struct amg_rank_table *table)
{
    return (uint32_t *)(uintptr_t)table->places;
}

static void test_table_has_ranks_in_order_and_finds_texts(void **state)
{
    struct amg_rank_table_maker table;
    struct amg_rank_table made;
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    amg_mem_stats_get(&before);
    texts_set("ofi+net://b", "ofi+net://d", "ofi+net://e", "ofi+net://c",
        "ofi+net://a");
    assert_int_equal(table_make(&table), HG_SUCCESS);
    amg_rank_table_maker_take(&table, &made);
    amg_rank_table_maker_end(&table);
    assert_int_equal(made.size, RANKS);
    assert_int_equal(made.node, MINE);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct amg_rank_record *record = amg_rank_record_of(&made, i);

        assert_int_equal(record->rank, i);
        assert_int_equal(record->node, i == MINE ? MINE : NODE);
        assert_string_equal(record->text, texts[i]);
        /* Its text is in the table. */
        assert_int_equal(amg_rank_table_enter(&made, made_places(&made), i), i);
    }
    made.release(made.memory);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

static void test_table_of_different_stacks_is_refused(void **state)
{
    struct amg_rank_table_maker table;

    (void)state;
    texts_set("ofi+tcp;ofi_rxm://a", "ofi+tcp;ofi_rxm://b",
        "ofi+tcp;ofi_rxm://c", "ofi+tcp://d", "ofi+tcp;ofi_rxm://e");
    assert_int_equal(table_make(&table), HG_PROTOCOL_ERROR);
    amg_rank_table_maker_end(&table);
    assert_true(log_has("rank 0 has the provider ofi+tcp;ofi_rxm, and rank 3 "
                        "has ofi+tcp;"));
}

static void test_table_of_one_address_twice_is_refused(void **state)
{
    struct amg_rank_table_maker table;

    (void)state;
    texts_set("ofi+tcp://127.0.0.1:5", "ofi+tcp://127.0.0.1:6", "ofi+tcp://c",
        "ofi+tcp://d", "ofi+tcp://127.0.0.1:6");
    assert_int_equal(table_make(&table), HG_PROTOCOL_ERROR);
    amg_rank_table_maker_end(&table);
    assert_true(log_has("127.0.0.1:6"));
    assert_true(log_has("name the interface"));
}

static void test_table_without_records_blames_no_rank(void **state)
{
    struct amg_rank_table_maker table;

    (void)state;
    texts_set("ofi+net://b", "ofi+net://d", "ofi+net://e", "ofi+net://c",
        "ofi+net://a");
    assert_int_equal(amg_rank_table_maker_begin(
                         &table, &failing_ops, &node, texts[MINE], 32),
        HG_SUCCESS);
    assert_int_equal(amg_rank_table_maker_make(&table), HG_NA_ERROR);
    amg_rank_table_maker_end(&table);
    assert_false(log_has("both have the address"));
}

static void text_write(unsigned char *records, uint32_t rank)
{
    struct amg_rank_record *record =
        (void *)(records + (size_t)rank * MANY_LEN);

    record->rank = rank;
    snprintf(record->text, MANY_LEN - sizeof(*record), "ofi+tcp://10.%u.%u:%u",
        rank >> 15, rank >> 7 & 255, 40000 + rank % 128);
}

/* 128 ranks on each node: their texts differ in few places. */
static void test_table_of_many_ranks_finds_each(void **state)
{
    unsigned char *records = amg_mem_zalloc((size_t)MANY * MANY_LEN);
    uint32_t *places =
        amg_mem_zalloc(amg_rank_table_places(MANY) * sizeof(*places));
    struct amg_rank_table many = {.records = records,
        .places = places,
        .record_len = MANY_LEN,
        .size = MANY};

    (void)state;
    assert_true(amg_rank_table_places(MANY) <= 3 * (uint64_t)MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        text_write(records, i);
        assert_int_equal(amg_rank_table_enter(&many, places, i), UINT32_MAX);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(amg_rank_table_enter(&many, places, i), i);
    amg_mem_free(places);
    amg_mem_free(records);
}

/* Each allocation fails once; nothing leaks. */
static void test_table_without_memory_leaves_nothing(void **state)
{
    hg_return_t rc = HG_NOMEM;
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    texts_set("ofi+net://b", "ofi+net://d", "ofi+net://e", "ofi+net://c",
        "ofi+net://a");
    amg_mem_stats_get(&before);
    for (uint64_t n = 1; rc == HG_NOMEM && n < 100; n++) {
        struct amg_rank_table_maker table = {.ops = NULL};

        amg_mem_fail_nth(n);
        rc = table_make(&table);
        amg_mem_fail_nth(0);
        amg_rank_table_maker_end(&table);
        amg_mem_stats_get(&after);
        assert_int_equal(after.live, before.live);
    }
    assert_int_equal(rc, HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* The first, as the others log what this one must not. */
        cmocka_unit_test(test_table_without_records_blames_no_rank),
        cmocka_unit_test(test_table_has_ranks_in_order_and_finds_texts),
        cmocka_unit_test(test_table_of_different_stacks_is_refused),
        cmocka_unit_test(test_table_of_one_address_twice_is_refused),
        cmocka_unit_test(test_table_without_memory_leaves_nothing),
        cmocka_unit_test(test_table_of_many_ranks_finds_each),
    };

    return cmocka_run_group_tests(tests, log_setup, log_teardown);
}
