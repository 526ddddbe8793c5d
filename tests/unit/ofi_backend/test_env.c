/* SPDX-License-Identifier: BSD-3-Clause */
/* Key of a job at its network, the log lines if there is none, and the
 * environment that the driver sets for providers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "ofi_backend/ofi_domain.h"

static const struct fake_offer nics[] = {
    {.stack = "cxi", .nic = "cxi0"},
    {.stack = "cxi", .nic = "cxi1"},
    {.stack = "tcp", .nic = "eth0", .ip = "10.9.1.7"},
};

static struct fi_info *chosen;

static hg_return_t choose(
    const char *protocol, const char *info, const char *auth_key)
{
    const struct amg_open how = {.info = info,
        .protocol = protocol,
        .nic.auth_key = auth_key,
        .max_contexts = 1};
    struct amg_ofi_facts facts;

    if (chosen != NULL)
        fi_freeinfo(chosen);
    chosen = NULL;
    return amg_ofi_select(&how, &chosen, &facts);
}

static void text_is(const char *expected)
{
    char text[AMG_OFI_AUTH_TEXT_CAP];

    assert_string_equal(amg_ofi_auth_text(chosen, text), expected);
}

static void test_auth_by_the_user(void **state)
{
    (void)state;
    assert_int_equal(choose("cxi", "", "12:1017"), HG_SUCCESS);
    assert_int_equal(fake_look.key_len, 8);
    text_is(", VNI 1017 of service 12");
    assert_int_equal(choose("tcp", "", "some bytes"), HG_SUCCESS);
    assert_int_equal(fake_look.key_len, strlen("some bytes"));
    assert_memory_equal(fake_look.key, "some bytes", fake_look.key_len);
    text_is("");
    assert_int_equal(choose("cxi", "", "1:65536"), HG_INVALID_ARG);
    assert_true(fake_has_logged("auth_key is '1:65536'"));
    assert_int_equal(choose("cxi", "", "1:"), HG_INVALID_ARG);
    assert_int_equal(choose("cxi", "", ":1"), HG_INVALID_ARG);
    assert_int_equal(choose("cxi", "", "1:2:3"), HG_INVALID_ARG);
}

static void test_auth_by_the_job_unless_chosen(void **state)
{
    (void)state;
    assert_int_equal(choose("cxi", "", NULL), HG_SUCCESS);
    assert_int_equal(fake_look.key_len, 0);
    setenv("AMALGAM_SLINGSHOT_VNI", "2", 1);
    assert_int_equal(choose("cxi", "", NULL), HG_SUCCESS);
    text_is(", VNI 1017 of service 2");
    assert_string_equal(fake_look.nic, "cxi0");
    assert_int_equal(choose("cxi", "cxi1", NULL), HG_SUCCESS);
    text_is(", VNI 1017 of service 7");
    assert_string_equal(fake_look.nic, "cxi1");
    /* Other networks ignore it. */
    assert_int_equal(choose("tcp", "", NULL), HG_SUCCESS);
    assert_int_equal(fake_look.key_len, 0);
}

static void test_auth_of_no_vni_is_refused(void **state)
{
    (void)state;
    setenv("AMALGAM_SLINGSHOT_VNI", "3", 1);
    assert_int_equal(choose("cxi", "", NULL), HG_INVALID_ARG);
    assert_true(fake_has_logged("SLINGSHOT_VNIS is '5,1017'"));
    assert_true(fake_has_logged("--network=job_vni"));
    setenv("AMALGAM_SLINGSHOT_VNI", "1", 1);
    assert_int_equal(choose("cxi", "cxi9", NULL), HG_INVALID_ARG);
    assert_true(fake_has_logged("name no service for cxi9"));
    setenv("SLINGSHOT_SVC_IDS", "x", 1);
    assert_int_equal(choose("cxi", "", NULL), HG_INVALID_ARG);
}

static void test_auth_missing_vni_is_logged(void **state)
{
    (void)state;
    fake_start(&nics[2], 1);
    assert_int_equal(choose("cxi", "", NULL), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("SLINGSHOT_VNIS is '5,1017'"));
    unsetenv("SLINGSHOT_VNIS");
    assert_int_equal(choose("cxi", "", NULL), HG_OPNOTSUPPORTED);
    assert_true(fake_has_logged("cxi needs a VNI of the job"));
}

static void test_env_universe_comes_from_the_job(void **state)
{
    (void)state;
    assert_int_equal(amg_ofi_env_universe(), 256);
    setenv("PMI_SIZE", "4", 1);
    assert_int_equal(amg_ofi_env_universe(), 256);
    setenv("SLURM_NTASKS", "70000", 1);
    assert_int_equal(amg_ofi_env_universe(), 70000);
    assert_int_equal(choose("tcp", "", NULL), HG_SUCCESS);
    assert_string_equal(fake_look.universe, "70000");
    /* An earlier value stays, as other threads may be reading it. */
    assert_string_equal(getenv("FI_UNIVERSE_SIZE"), "70000");
    assert_int_equal(amg_ofi_env_universe(), 70000);
    setenv("AMALGAM_UNIVERSE_SIZE", "5000", 1);
    assert_int_equal(amg_ofi_env_universe(), 5000);
    setenv("FI_UNIVERSE_SIZE", "300", 1);
    amg_ofi_env_forget();
    assert_int_equal(choose("tcp", "", NULL), HG_SUCCESS);
    assert_string_equal(fake_look.universe, "300");
    assert_string_equal(getenv("FI_UNIVERSE_SIZE"), "300");
    assert_int_equal(amg_ofi_env_universe(), 300);
}

static int start(void **state)
{
    (void)state;
    setenv("SLINGSHOT_VNIS", "5,1017", 1);
    setenv("SLINGSHOT_DEVICES", "cxi0,cxi1", 1);
    setenv("SLINGSHOT_SVC_IDS", "2,7", 1);
    fake_start(nics, sizeof(nics) / sizeof(nics[0]));
    return 0;
}

static int stop(void **state)
{
    static const char *const names[] = {"AMALGAM_SLINGSHOT_VNI",
        "AMALGAM_UNIVERSE_SIZE", "FI_UNIVERSE_SIZE", "PMI_SIZE", "SLURM_NTASKS",
        "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    if (chosen != NULL)
        fi_freeinfo(chosen);
    chosen = NULL;
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_auth_by_the_user),
        UNIT_TEST(test_auth_by_the_job_unless_chosen),
        UNIT_TEST(test_auth_of_no_vni_is_refused),
        UNIT_TEST(test_auth_missing_vni_is_logged),
        UNIT_TEST(test_env_universe_comes_from_the_job),
    };

    (void)stop(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
