/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing of a context while a thread waits in it: refused. */
#include "core/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/progress.h"
#include "mercury.h"

static hg_class_t *cls;
static hg_context_t *context;

static int context_setup(void **state)
{
    (void)state;
    cls = HG_Init("self", HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    return context == NULL;
}

static int context_teardown(void **state)
{
    (void)state;
    return HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(cls) != HG_SUCCESS;
}

static void test_context_with_an_owner_is_busy(void **state)
{
    (void)state;
    assert_true(amg_progress_own(context));
    assert_int_equal(HG_Context_destroy(context), HG_BUSY);
    amg_progress_disown(context);
}

/* The owner has left, and the waiting thread has not noticed yet. */
static void test_context_with_a_waiter_is_busy(void **state)
{
    struct amg_cq_waiter waiter;

    (void)state;
    amg_cq_enter(&context->cq, AMG_WAITS_TO_OWN, &waiter);
    assert_int_equal(HG_Context_destroy(context), HG_BUSY);
    assert_true(amg_cq_is_awaited(&context->cq));
    amg_cq_leave(&context->cq, AMG_WAITS_TO_OWN, &waiter);
    assert_false(amg_cq_is_awaited(&context->cq));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_with_an_owner_is_busy),
        cmocka_unit_test(test_context_with_a_waiter_is_busy),
    };

    return cmocka_run_group_tests(tests, context_setup, context_teardown);
}
