/* SPDX-License-Identifier: BSD-3-Clause */
/* The class of an instance: opened with the options of the program, or taken
 * from a context of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "amalgam_progress.h"
#include "core/context.h"
#include "margo/instance.h"
#include "mercury.h"

static void test_margo_open_takes_the_progress_mode(void **state)
{
    struct hg_init_info hg_init = HG_INIT_INFO_INITIALIZER;
    struct margo_init_info info = {.hg_init_info = &hg_init};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    (void)state;
    hg_init.na_init_info.progress_mode =
        AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_ASSIST, AMALGAM_WAIT_AUTO);
    mid = margo_init_ext("na+sm", MARGO_SERVER_MODE, &info);
    assert_non_null(mid);
    /* A thread that only assists runs no handlers. */
    assert_int_equal(mid->hg_context->incoming_mode, AMG_SERVE_TRIGGER);
    margo_finalize(mid);
}

static void test_margo_open_takes_the_class_of_a_context(void **state)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    struct margo_init_info info = {.hg_context = context};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    (void)state;
    assert_non_null(context);
    mid = margo_init_ext(NULL, MARGO_SERVER_MODE, &info);
    assert_non_null(mid);
    assert_ptr_equal(margo_get_class(mid), cls);
    assert_ptr_equal(margo_get_context(mid), context);
    margo_finalize(mid);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_margo_open_takes_the_progress_mode),
        cmocka_unit_test(test_margo_open_takes_the_class_of_a_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
