/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch of stacks preserves what a function relies on: registers, rounding
 * mode, stack alignment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fenv.h>
#include <string.h>

#include "base/fibre.h"
#include "base/process.h"
#include "ult/switch.h"

enum { STACK_LEN = 256 * 1024, ROUNDS = 1000, ALIGNMENT = 16 };

struct side {
    void *sp;
    struct amg_fibre fibre;
};

static struct side home;
static struct side away;
static void *stack;

static void go(struct side *from, struct side *to)
{
    amg_fibre_leave(&from->fibre, &to->fibre, false);
    amg_switch(&from->sp, to->sp);
    amg_fibre_arrive(&from->fibre, &to->fibre);
}

static int stack_setup(void **state)
{
    (void)state;
    stack = amg_guarded_open(STACK_LEN);
    if (stack == NULL)
        return -1;
    amg_fibre_open_own(&home.fibre);
    amg_fibre_open(&away.fibre, stack, STACK_LEN);
    return 0;
}

static int stack_teardown(void **state)
{
    (void)state;
    amg_fibre_close(&away.fibre);
    amg_guarded_close(stack, STACK_LEN);
    return 0;
}

/* Enters `function` on a new stack; the old one is left for good. */
static void *begin(size_t len, void (*function)(void *arg), void *arg)
{
    amg_fibre_clean(&away.fibre, stack);
    return amg_switch_prepare(stack, len, function, arg);
}

struct seen {
    void *arg;
    uintptr_t frame;
    int rounding;
    uint64_t sum;
};

static struct seen seen;

/* Keeps more values over the switch than there are registers. */
static void numbers_keep(void *arg)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;

    amg_fibre_arrive(&away.fibre, &home.fibre);
    seen.arg = arg;
    seen.frame = (uintptr_t)__builtin_frame_address(0);
    for (;;) {
        a += b;
        b += c;
        c += d;
        d += e;
        e += f;
        f += g;
        g += h;
        h += a;
        seen.sum = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
        go(&away, &home);
    }
}

static void test_switch_keeps_values_and_argument(void **state)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    int mark = 0;

    (void)state;
    away.sp = begin(STACK_LEN, numbers_keep, &mark);
    for (int i = 0; i < ROUNDS; i++) {
        go(&home, &away);
        a += b;
        b += c;
        c += d;
        d += e;
        e += f;
        f += g;
        g += h;
        h += a;
        assert_true(seen.sum == (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h));
    }
    assert_ptr_equal(seen.arg, &mark);
    assert_true(seen.frame > (uintptr_t)stack &&
                seen.frame < (uintptr_t)stack + STACK_LEN);
}

/* The ABI aligns a stack to 16 bytes, and compilers rely on it. */
static void alignment_look(void *arg)
{
    _Alignas(ALIGNMENT) volatile char probe[ALIGNMENT];

    amg_fibre_arrive(&away.fibre, &home.fibre);
    probe[0] = 1;
    *(uintptr_t *)arg = (uintptr_t)&probe[0] % ALIGNMENT;
    for (;;)
        go(&away, &home);
}

static void test_switch_new_stack_is_aligned(void **state)
{
    (void)state;
    /* For any alignment of the end of the stack. */
    for (size_t odd = 0; odd < ALIGNMENT; odd++) {
        uintptr_t rest = 1;

        away.sp = begin(STACK_LEN - odd, alignment_look, &rest);
        go(&home, &away);
        assert_int_equal(rest, 0);
    }
}

static void rounding_change(void *arg)
{
    (void)arg;
    amg_fibre_arrive(&away.fibre, &home.fibre);
    seen.rounding = fegetround();
    fesetround(FE_UPWARD);
    go(&away, &home);
    seen.rounding = fegetround();
    for (;;)
        go(&away, &home);
}

static void test_switch_rounding_is_each_stacks_own(void **state)
{
    (void)state;
    away.sp = begin(STACK_LEN, rounding_change, NULL);
    assert_int_equal(fesetround(FE_DOWNWARD), 0);
    go(&home, &away);
    assert_int_equal(fegetround(), FE_DOWNWARD);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    go(&home, &away);
    assert_int_equal(seen.rounding, FE_UPWARD);
    assert_int_equal(fegetround(), FE_TONEAREST);
}

static void test_switch_has_a_name(void **state)
{
    (void)state;
    assert_true(strlen(amg_switch_name) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switch_keeps_values_and_argument),
        cmocka_unit_test(test_switch_new_stack_is_aligned),
        cmocka_unit_test(test_switch_rounding_is_each_stacks_own),
        cmocka_unit_test(test_switch_has_a_name),
    };

    return cmocka_run_group_tests(tests, stack_setup, stack_teardown);
}
