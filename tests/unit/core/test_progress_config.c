/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress configuration: options of the program override the environment,
 * which overrides the default; invalid values change nothing, or are logged and
 * ignored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/class.h"
#include "log_kept.h"
#include "mercury_class.h"
#include "transport/self.h"

static unsigned logged_count(const char *text)
{
    unsigned count = 0;

    for (const char *at = strstr(log_text, text); at != NULL;
         at = strstr(at + 1, text))
        count++;
    return count;
}

/* A loopback that acts as a transport which only threads of the program may
 * call. */
static struct amg_transport bound;

static hg_return_t bound_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    hg_return_t rc = amg_self_transport.domain.open(how, ret_domain);

    if (rc == HG_SUCCESS)
        (*ret_domain)->transport = &bound;
    return rc;
}

static void bound_limits(
    const struct amg_domain *domain, struct amg_limits *ret_limits)
{
    amg_self_transport.domain.limits(domain, ret_limits);
    ret_limits->must_yield = false;
    ret_limits->is_user_bound = true;
}

static hg_return_t class_try(const struct amalgam_progress_options *options,
    bool is_bound, hg_class_t **ret_class)
{
    struct amg_class_plan plan = {
        .transports[AMG_ROUTE_SELF] = &amg_self_transport,
        .main_route = is_bound ? AMG_ROUTE_MPI : AMG_ROUTE_SELF,
        .how = {.info = "", .is_listening = true, .max_contexts = 1},
        .progress = options,
    };

    bound = amg_self_transport;
    bound.domain.open = bound_open;
    bound.domain.limits = bound_limits;
    if (is_bound)
        plan.transports[AMG_ROUTE_MPI] = &bound;
    return amg_class_open(&plan, ret_class);
}

static hg_class_t *class_open(const struct amalgam_progress_options *options)
{
    hg_class_t *cls = NULL;

    assert_int_equal(class_try(options, false, &cls), HG_SUCCESS);
    amg_class_settle_progress(cls);
    return cls;
}

/* Two ranks that share a cpu, or have one each. */
static void ranks_know(hg_class_t *cls, unsigned second_cpu)
{
    struct amg_affinity_rank *ranks = amg_mem_zalloc(2 * sizeof(*ranks));

    assert_non_null(ranks);
    amg_cpuset_add(&ranks[0].binding, 0);
    amg_cpuset_add(&ranks[1].binding, second_cpu);
    ranks[1].rank = 1;
    amg_progress_config_set_ranks(&cls->progress_config, ranks, 2, 1, false);
}

static enum amalgam_progress mode_of(const hg_class_t *cls)
{
    return cls->progress_config.placement == NULL
               ? AMALGAM_PROGRESS_CALLER
               : cls->progress_config.placement->progress;
}

static int setup(void **state)
{
    (void)state;
    unsetenv("AMALGAM_PROGRESS");
    unsetenv("AMALGAM_WAIT");
    unsetenv("AMALGAM_PROGRESS_CPUS");
    log_clear();
    hg_log_set_func(log_keep);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hg_log_set_func(NULL);
    return 0;
}

static void test_progress_config_default_is_progress_by_callers(void **state)
{
    hg_class_t *cls = class_open(NULL);

    (void)state;
    assert_null(cls->progress_config.placement);
    assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_AUTO);
    assert_string_equal(log_text, "");
    amg_class_close(cls);
}

static void test_progress_config_environment_fills_what_is_open(void **state)
{
    hg_class_t *cls = NULL;

    (void)state;
    setenv("AMALGAM_PROGRESS", "thread", 1);
    setenv("AMALGAM_WAIT", "sleep", 1);
    cls = class_open(NULL);
    assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_THREAD);
    assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_SLEEP);
    amg_class_close(cls);
    setenv("AMALGAM_PROGRESS", "assist", 1);
    cls = class_open(NULL);
    assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_ASSIST);
    amg_class_close(cls);
}

static void test_progress_config_program_beats_environment(void **state)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amg_affinity_ask ask;
    hg_class_t *cls = NULL;
    char cpus[] = "0";

    (void)state;
    setenv("AMALGAM_PROGRESS", "caller", 1);
    setenv("AMALGAM_WAIT", "spin", 1);
    setenv("AMALGAM_PROGRESS_CPUS", "none", 1);
    options.progress = AMALGAM_PROGRESS_ASSIST;
    options.wait = AMALGAM_WAIT_SLEEP;
    options.progress_cpus = cpus;
    cls = class_open(&options);
    cpus[0] = '9'; /* the text was copied */
    assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_ASSIST);
    assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_SLEEP);
    amg_progress_config_set_ranks(&cls->progress_config,
        amg_mem_zalloc(sizeof(struct amg_affinity_rank)), 1, 0, false);
    assert_true(amg_progress_config_question(&cls->progress_config, 0, &ask));
    assert_string_equal(ask.progress_cpus, "0");
    amg_class_close(cls);
}

static void test_progress_config_unknown_words_warned_once_and_left_out(
    void **state)
{
    (void)state;
    setenv("AMALGAM_PROGRESS", "threads", 1);
    setenv("AMALGAM_WAIT", "snore", 1);
    for (int i = 0; i < 2; i++) {
        hg_class_t *cls = class_open(NULL);

        assert_null(cls->progress_config.placement);
        assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_AUTO);
        amg_class_close(cls);
    }
    assert_int_equal(logged_count("AMALGAM_PROGRESS is 'threads', but must be "
                                  "auto, caller, assist or thread"),
        1);
    assert_int_equal(logged_count("AMALGAM_WAIT is 'snore', but must be auto, "
                                  "spin or sleep"),
        1);
}

static void test_progress_config_bad_options_change_nothing(void **state)
{
    struct amalgam_progress_options good = AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amalgam_progress_options bad[4];
    hg_class_t *cls = NULL;
    hg_class_t *none = NULL;

    (void)state;
    good.progress = AMALGAM_PROGRESS_ASSIST;
    good.progress_cpus = "0";
    for (int i = 0; i < 4; i++)
        bad[i] = (struct amalgam_progress_options)
            AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    bad[0].size--;
    bad[1].progress = (enum amalgam_progress)(AMALGAM_PROGRESS_THREAD + 1);
    bad[2].wait = (enum amalgam_wait)(AMALGAM_WAIT_SLEEP + 1);
    bad[3].progress = (enum amalgam_progress) - 1;
    cls = class_open(&good);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(amalgam_set_progress(cls, &bad[i]), HG_INVALID_ARG);
        assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_ASSIST);
        assert_string_equal(cls->progress_config.asked.progress_cpus, "0");
        assert_int_equal(class_try(&bad[i], false, &none), HG_INVALID_ARG);
    }
    assert_null(none);
    assert_int_equal(logged_count("error"), 8);
    amg_class_close(cls);
}

static void test_progress_config_set_progress_decides_again(void **state)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    hg_class_t *cls = class_open(NULL);

    (void)state;
    options.progress = AMALGAM_PROGRESS_THREAD;
    assert_int_equal(amalgam_set_progress(cls, &options), HG_SUCCESS);
    assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_THREAD);
    assert_int_equal(amalgam_set_progress(cls, NULL), HG_SUCCESS);
    assert_null(cls->progress_config.placement);
    amg_class_count(cls, AMG_CLASS_CONTEXTS, 1);
    assert_int_equal(amalgam_set_progress(cls, &options), HG_BUSY);
    assert_null(cls->progress_config.placement);
    amg_class_count(cls, AMG_CLASS_CONTEXTS, -1);
    assert_int_equal(amalgam_set_progress(NULL, &options), HG_INVALID_ARG);
    amg_class_close(cls);
}

static void test_progress_config_without_memory_keeps_options(void **state)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    hg_class_t *cls = class_open(NULL);

    (void)state;
    options.progress = AMALGAM_PROGRESS_THREAD;
    options.progress_cpus = "0";
    amg_mem_fail_nth(1); /* the text */
    assert_int_equal(amalgam_set_progress(cls, &options), HG_NOMEM);
    assert_null(cls->progress_config.asked.progress_cpus);
    amg_mem_fail_nth(0);
    assert_null(cls->progress_config.placement);
    amg_class_close(cls);
}

static void test_progress_config_no_block_spins(void **state)
{
    hg_class_t *cls = class_open(NULL);

    (void)state;
    setenv("AMALGAM_WAIT", "sleep", 1);
    cls->progress_config.no_block = true;
    amg_class_settle_progress(cls);
    assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_SPIN);
    amg_class_close(cls);
}

static void test_progress_config_thread_without_use_is_refused(void **state)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    hg_class_t *cls = NULL;

    (void)state;
    options.progress = AMALGAM_PROGRESS_THREAD;
    assert_int_equal(class_try(&options, true, &cls), HG_SUCCESS);
    amg_class_settle_progress(cls);
    amg_class_settle_progress(cls);
    assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_CALLER);
    assert_null(cls->progress_config.placement);
    assert_non_null(strstr(cls->progress_config.reason, "MPI_THREAD_MULTIPLE"));
    assert_int_equal(logged_count("MPI_Init_thread(MPI_THREAD_MULTIPLE)"), 1);
    amg_class_close(cls);
}

static void test_progress_config_oversubscribed_node_yields_cores(void **state)
{
    hg_class_t *cls = class_open(NULL);

    (void)state;
    setenv("AMALGAM_PROGRESS", "caller", 1);
    cls->limits.must_yield = false;
    ranks_know(cls, 1);
    amg_class_settle_progress(cls);
    assert_false(cls->limits.must_yield);
    ranks_know(cls, 0);
    amg_class_settle_progress(cls);
    assert_true(cls->limits.must_yield);
    amg_class_close(cls);
}

static void test_progress_config_of_the_owner_is_shared(void **state)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amg_class_plan plan = {
        .transports[AMG_ROUTE_SELF] = &amg_self_transport,
        .main_route = AMG_ROUTE_SELF,
        .how = {.info = "", .is_listening = true, .max_contexts = 1},
    };
    hg_class_t *owner = NULL;
    hg_class_t *cls = NULL;

    (void)state;
    options.progress = AMALGAM_PROGRESS_ASSIST;
    options.wait = AMALGAM_WAIT_SLEEP;
    owner = class_open(&options);
    ranks_know(owner, 1);
    plan.owner = owner;
    assert_int_equal(amg_class_open(&plan, &cls), HG_SUCCESS);
    assert_int_equal(cls->progress_config.rank_count, 2);
    assert_int_equal(cls->progress_config.self, 1);
    assert_ptr_equal(cls->progress_config.ranks, owner->progress_config.ranks);
    amg_class_settle_progress(cls);
    assert_int_equal(mode_of(cls), AMALGAM_PROGRESS_ASSIST);
    assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_SLEEP);
    amg_class_close(cls);
    assert_int_equal(owner->progress_config.ranks[1].rank, 1);
    amg_class_close(owner);
}

/* The options that HG_Init_opt2() derives from a progress_mode, valid during
 * the call. */
static hg_class_t *class_of_mode(uint8_t mode)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.na_init_info.progress_mode = mode;
    return HG_Init_opt2(
        "self", HG_TRUE, HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
}

static void test_progress_config_init_info_has_the_options(void **state)
{
    hg_class_t *cls = NULL;

    (void)state;
    setenv("AMALGAM_PROGRESS", "caller", 1);
    for (unsigned progress = 0; progress <= AMALGAM_PROGRESS_THREAD; progress++)
        for (unsigned wait = 0; wait <= AMALGAM_WAIT_SLEEP; wait++) {
            cls = class_of_mode(
                AMALGAM_NA_PROGRESS(progress, wait) | NA_NO_RETRY);
            assert_non_null(cls);
            assert_true(cls->progress_config.is_mercury);
            assert_int_equal(cls->progress_config.asked.progress, progress);
            assert_int_equal(cls->progress_config.wait, wait);
            assert_int_equal(mode_of(cls), progress == AMALGAM_PROGRESS_AUTO
                                               ? AMALGAM_PROGRESS_CALLER
                                               : progress);
            assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
        }
    cls =
        class_of_mode(NA_NO_BLOCK | AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_THREAD,
                                        AMALGAM_WAIT_SLEEP));
    assert_non_null(cls);
    assert_int_equal(cls->progress_config.wait, AMALGAM_WAIT_SPIN);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

static void test_progress_config_init_info_of_nonsense_refused(void **state)
{
    (void)state;
    assert_null(class_of_mode(AMALGAM_NA_PROGRESS(4, 0)));
    assert_null(class_of_mode(AMALGAM_NA_PROGRESS(7, 2)));
    assert_null(class_of_mode(AMALGAM_NA_PROGRESS(0, 3)));
    assert_null(class_of_mode(0x80 | NA_NO_BLOCK));
    assert_int_equal(logged_count("progress_mode is 0x10"), 1);
    assert_int_equal(logged_count("progress_mode is 0x60"), 1);
    assert_int_equal(logged_count("wait is 3, and at most 2"), 1);
    assert_int_equal(logged_count("bit 7 must be 0"), 1);
    assert_int_equal(logged_count("error"), 4);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_progress_config_default_is_progress_by_callers),
        ROW(test_progress_config_environment_fills_what_is_open),
        ROW(test_progress_config_program_beats_environment),
        ROW(test_progress_config_unknown_words_warned_once_and_left_out),
        ROW(test_progress_config_bad_options_change_nothing),
        ROW(test_progress_config_set_progress_decides_again),
        ROW(test_progress_config_without_memory_keeps_options),
        ROW(test_progress_config_no_block_spins),
        ROW(test_progress_config_thread_without_use_is_refused),
        ROW(test_progress_config_oversubscribed_node_yields_cores),
        ROW(test_progress_config_of_the_owner_is_shared),
        ROW(test_progress_config_init_info_has_the_options),
        ROW(test_progress_config_init_info_of_nonsense_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
