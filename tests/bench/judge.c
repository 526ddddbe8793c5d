/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice among several runs, and comparison of a ratio with the expected
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "jobs/bench/frame/report.h"
#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/options.h"

static struct row run_of(double ratio, bool is_noisy)
{
    return (struct row){
        .bench = "latency", .ratio = ratio, .is_noisy = is_noisy};
}

/* Adds runs until there are enough; a negative ratio stands for a noisy run. */
static struct row choose(
    unsigned wanted, const double *ratios, unsigned count, unsigned *ret_used)
{
    struct tries tries;
    struct row chosen = {0};

    tries_init(&tries, wanted);
    *ret_used = 0;
    while (*ret_used < count && !tries_are_enough(&tries)) {
        double ratio = ratios[(*ret_used)++];
        struct row run = run_of(ratio < 0.0 ? -ratio : ratio, ratio < 0.0);

        tries_add(&tries, &run);
    }
    assert_true(tries_are_enough(&tries));
    tries_choose(&tries, &chosen);
    return chosen;
}

static void test_row_varied_or_stolen_is_noisy(void **state)
{
    (void)state;
    assert_false(
        row_is_noisy(&(struct row){.control_spread = 0.2, .stolen = 0.04}));
    assert_true(row_is_noisy(&(struct row){.control_spread = 0.3}));
    assert_true(row_is_noisy(&(struct row){.stolen = 0.06}));
}

static void test_tries_three_quiet_median_is_chosen(void **state)
{
    const double ratios[] = {3.0, 1.0, 2.0, 9.0};
    unsigned used = 0;
    struct row chosen = choose(3, ratios, 4, &used);

    (void)state;
    assert_int_equal(used, 3);
    assert_true(chosen.ratio == 2.0);
    assert_int_equal(chosen.runs, 3);
    assert_false(chosen.is_noisy);
}

static void test_tries_noisy_is_repeated_and_not_counted(void **state)
{
    const double ratios[] = {3.0, -100.0, 1.0, -0.5, 2.0};
    unsigned used = 0;
    struct row chosen = choose(3, ratios, 5, &used);

    (void)state;
    assert_int_equal(used, 5);
    assert_true(chosen.ratio == 2.0);
    assert_int_equal(chosen.runs, 3);
    assert_false(chosen.is_noisy);
}

static void test_tries_too_many_noisy_row_says_so(void **state)
{
    const double ratios[] = {-1.0, -1.0, 4.0, -1.0, -1.0, -1.0, 7.0};
    unsigned used = 0;
    struct row chosen = choose(2, ratios, 7, &used);

    (void)state;
    assert_int_equal(used, 6);
    assert_true(chosen.ratio == 4.0);
    assert_int_equal(chosen.runs, 1);
    assert_true(chosen.is_noisy);
}

static void test_tries_all_noisy_median_of_all(void **state)
{
    const double ratios[] = {-5.0, -6.0, -4.0};
    unsigned used = 0;
    struct row chosen = choose(1, ratios, 3, &used);

    (void)state;
    assert_int_equal(used, 3);
    assert_true(chosen.ratio == 5.0);
    assert_true(chosen.is_noisy);
}

static void test_tries_not_asked_for_one_counts(void **state)
{
    const double ratios[] = {-5.0};
    unsigned used = 0;
    struct row chosen = choose(0, ratios, 1, &used);

    (void)state;
    assert_int_equal(used, 1);
    assert_int_equal(chosen.runs, 1);
    assert_true(chosen.is_noisy);
}

/* Ratios are of batches that ran side by side, whatever the order of their
 * times. */
static void test_figures_ratio_is_of_neighbouring_batches(void **state)
{
    double ours[] = {2.0, 30.0, 4.0};
    double control[] = {1.0, 10.0, 1.0};
    struct row row = {.op = "p99"};

    (void)state;
    figures_compare(ours, control, 3, &row);
    assert_int_equal(row.batches, 3);
    assert_true(row.ratio == 3.0);
    assert_true(row.spread[0] == 2.5 && row.spread[1] == 3.5);
    assert_true(row.value == 4.0 && row.control_value == 1.0);
    assert_true(row.control_spread == 4.5);
    assert_true(row_is_noisy(&row));
    assert_string_equal(row.op, "p99");
}

static void test_figures_without_a_control_have_no_ratio(void **state)
{
    double ours[] = {2.0};
    double control[] = {0.0};
    struct row row = {.ratio = 1.0};

    (void)state;
    figures_compare(ours, control, 1, &row);
    assert_true(row.ratio == 0.0);
}

/* Opens a file of expectations with this text. */
static bool text_open(const char *text)
{
    char path[] = "/tmp/amalgam-judge-XXXXXX";
    int fd = mkstemp(path);
    bool is_open = false;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    is_open = expect_open(path);
    unlink(path);
    return is_open;
}

static struct row row_of(const char *bench, const char *better, double ratio)
{
    return (struct row){.bench = bench,
        .op = "op",
        .transport = "shm",
        .size = 8,
        .memory = "host",
        .against = "mpi",
        .better = better,
        .ratio = ratio};
}

static void test_expectations_good_are_read(void **state)
{
    struct row row = row_of("rate", "higher", 0.9);

    (void)state;
    assert_true(text_open("{\"slack\": 0.5, \"rows\": [{\"bench\": \"rate\", "
                          "\"size\": 8, \"note\": \"n\", \"ratio\": 2}]}"));
    assert_int_equal(expect_row(&row), 1);
    row.size = 9;
    assert_int_equal(expect_row(&row), 0);
    row.size = 8;
    row.bench = "latency";
    assert_int_equal(expect_row(&row), 0);
    assert_int_equal(expect_close("rate", "shm", true), 1);
}

static void test_expectations_without_a_row_are_missing(void **state)
{
    const char *text = "{\"rows\": [{\"transport\": \"shm\", \"bench\": "
                       "\"rate\", \"ratio\": 2}]}";

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        const char *bench = i == 1 ? "latency" : i == 4 ? "all" : "rate";

        assert_true(text_open(text));
        assert_int_equal(expect_close(bench, i == 2 ? "auto" : "shm", i != 3),
            i == 0 || i == 4 ? 1 : 0);
    }
}

static void test_expectations_bad_are_refused(void **state)
{
    const char *const texts[] = {"", "[]", "{}", "{\"rows\": []}",
        "{\"rows\": [{}]}", "{\"rows\": [{\"ratio\": \"1\"}]}",
        "{\"rows\": [{\"ratio\": -1}]}",
        "{\"rows\": [{\"ratio\": 1, \"sise\": 1}]}",
        "{\"rows\": [{\"ratio\": 1, \"size\": \"8\"}]}",
        "{\"rows\": [{\"ratio\": 1, \"op\": 8}]}",
        "{\"rows\": [{\"ratio\": 1, \"value\": 8}]}",
        "{\"rows\": [{\"ratio\": 1}], \"slak\": 1}",
        "{\"rows\": [{\"ratio\": 1}], \"slack\": true}",
        "{\"rows\": [{\"ratio\": 1}]} {}", "{\"rows\": [{\"ratio\": 1}]"};

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (text_open(texts[i]))
            fail_msg("%s was read", texts[i]);
    }
}

static void test_expectation_slack_is_on_the_right_side(void **state)
{
    const struct {
        const char *better;
        double ratio;
        unsigned unmet;
    } cases[] = {{"lower", 2.1, 0}, {"lower", 2.3, 1}, {"lower", 0.1, 0},
        {"higher", 0.1, 1}, {"higher", 1.9, 0}, {"higher", 9.0, 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct row row = row_of("rate", cases[i].better, cases[i].ratio);

        assert_true(text_open("{\"rows\": [{\"ratio\": 2.0}]}"));
        assert_int_equal(expect_row(&row), cases[i].unmet);
        assert_int_equal(expect_close("all", "auto", true), cases[i].unmet);
    }
}

static void test_options_quick_is_less_but_something(void **state)
{
    struct options options = {.is_quick = true};

    (void)state;
    assert_int_equal(options_calls(&options, 20000), 2000);
    assert_int_equal(options_calls(&options, 20), 8);
    assert_int_equal(options_calls(&options, 1), 1);
    assert_true(options_takes(&options, 0));
    assert_false(options_takes(&options, 1));
    options.calls = 20;
    assert_int_equal(options_calls(&options, 20), 20);
    options = (struct options){0};
    assert_int_equal(options_calls(&options, 20000), 20000);
    assert_true(options_takes(&options, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_varied_or_stolen_is_noisy),
        cmocka_unit_test(test_tries_three_quiet_median_is_chosen),
        cmocka_unit_test(test_tries_noisy_is_repeated_and_not_counted),
        cmocka_unit_test(test_tries_too_many_noisy_row_says_so),
        cmocka_unit_test(test_tries_all_noisy_median_of_all),
        cmocka_unit_test(test_tries_not_asked_for_one_counts),
        cmocka_unit_test(test_figures_ratio_is_of_neighbouring_batches),
        cmocka_unit_test(test_figures_without_a_control_have_no_ratio),
        cmocka_unit_test(test_expectations_good_are_read),
        cmocka_unit_test(test_expectations_without_a_row_are_missing),
        cmocka_unit_test(test_expectations_bad_are_refused),
        cmocka_unit_test(test_expectation_slack_is_on_the_right_side),
        cmocka_unit_test(test_options_quick_is_less_but_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
