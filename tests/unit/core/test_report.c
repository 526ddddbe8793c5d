/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread writes the state of a class again and again, while its contexts and
 * the class are opened and closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "amalgam_state.h"
#include "mercury.h"

enum { CLASSES = 400, CONTEXTS = 2 };

static _Atomic(hg_class_t *) shown; /* seq_cst; NULL: none */
static atomic_bool is_over;

static void *write_all(void *arg)
{
    FILE *out = arg;

    while (!atomic_load(&is_over)) {
        hg_class_t *cls = atomic_load(&shown);

        if (cls != NULL)
            (void)amalgam_write_state(cls, out);
    }
    return NULL;
}

static void play(const char *transport)
{
    for (unsigned i = 0; i < CLASSES; i++) {
        hg_class_t *cls = HG_Init(transport, HG_TRUE);

        assert_non_null(cls);
        atomic_store(&shown, cls);
        for (unsigned j = 0; j < CONTEXTS; j++) {
            hg_context_t *context = HG_Context_create(cls);

            assert_non_null(context);
            (void)HG_Progress(context, 0);
            assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
        }
        assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
    }
}

static void test_report_while_closing(void **state)
{
    FILE *out = fopen("/dev/null", "w");
    pthread_t thread;

    (void)state;
    assert_non_null(out);
    HG_Set_log_level("none");
    assert_int_equal(pthread_create(&thread, NULL, write_all, out), 0);
    play("self");
    play("na+sm");
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fclose(out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report_while_closing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
