/* SPDX-License-Identifier: BSD-3-Clause */
/* Actions of signals that a library changes while it is loaded are restored:
 * the handler, the flags, and the mask. */
#include "base/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void of_program(int number)
{
    (void)number;
}

static void of_library(int number)
{
    (void)number;
}

/* Sets the action of SIGUSR1 as `change` wants while a library is loaded. */
static void changed_and_restored(void (*change)(struct sigaction *action))
{
    struct amg_signals signals;
    struct sigaction action = {
        .sa_handler = of_program, .sa_flags = SA_RESTART};
    struct sigaction after;

    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    amg_signals_save(&signals);
    change(&action);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    amg_signals_restore(&signals);
    assert_int_equal(sigaction(SIGUSR1, NULL, &after), 0);
    assert_ptr_equal(after.sa_handler, of_program);
    assert_int_not_equal(after.sa_flags & SA_RESTART, 0);
    assert_int_equal(sigismember(&after.sa_mask, SIGUSR2), 1);
}

static void handler_change(struct sigaction *action)
{
    action->sa_handler = of_library;
}

static void flags_change(struct sigaction *action)
{
    action->sa_flags = 0;
}

static void mask_change(struct sigaction *action)
{
    sigemptyset(&action->sa_mask);
}

static void nothing_change(struct sigaction *action)
{
    (void)action;
}

static void test_handler_is_restored(void **state)
{
    (void)state;
    changed_and_restored(handler_change);
}

static void test_flags_are_restored(void **state)
{
    (void)state;
    changed_and_restored(flags_change);
}

static void test_mask_is_restored(void **state)
{
    (void)state;
    changed_and_restored(mask_change);
}

static void test_unchanged_action_stays(void **state)
{
    (void)state;
    changed_and_restored(nothing_change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handler_is_restored),
        cmocka_unit_test(test_flags_are_restored),
        cmocka_unit_test(test_mask_is_restored),
        cmocka_unit_test(test_unchanged_action_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
