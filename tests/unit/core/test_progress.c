/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress owner of a context: there is one, other threads wait for entries,
 * and one of them takes over when it leaves. */
#include "core/progress.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "mercury_class.h"
#include "mercury_context.h"

enum { FOREVER_MS = 60000 };

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

static void test_progress_without_events_times_out(void **state)
{
    (void)state;
    assert_int_equal(amg_progress_wait(context, 0), HG_TIMEOUT);
    assert_int_equal(amg_progress_wait(context, 2), HG_TIMEOUT);
    assert_false(amg_progress_poll(context));
}

static void test_progress_has_one_owner(void **state)
{
    (void)state;
    assert_true(amg_progress_own(context));
    assert_false(amg_progress_own(context));
    assert_int_equal(amg_progress_wait(context, 0), HG_TIMEOUT);
    assert_int_equal(amg_progress_wait(context, 2), HG_TIMEOUT);
    assert_int_equal(HG_Context_destroy(context), HG_BUSY);
    amg_progress_disown(context);
    assert_true(amg_progress_own(context));
    amg_progress_disown(context);
}

static void entry_run(struct amg_cq_entry *entry)
{
    (void)entry;
}

static struct amg_cq_entry entry = {.run = entry_run};

static void *push_run(void *arg)
{
    (void)arg;
    amg_cq_push(&context->cq, &entry);
    return NULL;
}

static void *disown_run(void *arg)
{
    (void)arg;
    amg_progress_disown(context);
    amg_cq_push(&context->cq, &entry);
    return NULL;
}

/* Waits, while `run` makes the wait end. */
static void wait_for(void *(*run)(void *))
{
    pthread_t thread;
    uint64_t until_ns = amg_clock_deadline_ns(FOREVER_MS);

    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    assert_int_equal(amg_progress_wait(context, FOREVER_MS), HG_SUCCESS);
    assert_true(amg_clock_ns() < until_ns);
    pthread_join(thread, NULL);
    assert_int_equal(amg_progress_wait(context, 0), HG_SUCCESS);
    assert_ptr_equal(amg_cq_pop(&context->cq), &entry);
}

static void test_progress_push_ends_wait_of_owner(void **state)
{
    (void)state;
    wait_for(push_run);
}

static void test_progress_push_ends_wait_of_others(void **state)
{
    (void)state;
    assert_true(amg_progress_own(context));
    wait_for(push_run);
    amg_progress_disown(context);
}

static void test_progress_waiter_takes_over(void **state)
{
    (void)state;
    assert_true(amg_progress_own(context));
    wait_for(disown_run);
    assert_true(amg_progress_own(context));
    amg_progress_disown(context);
}

static unsigned stepped;

static void op_step(struct amg_op *op)
{
    (void)op;
    stepped++;
}

static void test_progress_steps_each_operation_once(void **state)
{
    struct amg_op ops[3] = {
        {.step = op_step}, {.step = op_step}, {.step = op_step}};
    struct amg_list done;

    (void)state;
    amg_list_init(&done);
    for (unsigned i = 0; i < 3; i++)
        amg_list_push(&done, &ops[i].link);
    amg_context_step_all(&done);
    assert_int_equal(stepped, 3);
    assert_true(amg_list_is_empty(&done));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_without_events_times_out),
        cmocka_unit_test(test_progress_has_one_owner),
        cmocka_unit_test(test_progress_push_ends_wait_of_owner),
        cmocka_unit_test(test_progress_push_ends_wait_of_others),
        cmocka_unit_test(test_progress_waiter_takes_over),
        cmocka_unit_test(test_progress_steps_each_operation_once),
    };

    return cmocka_run_group_tests(tests, context_setup, context_teardown);
}
