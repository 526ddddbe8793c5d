/* SPDX-License-Identifier: BSD-3-Clause */
/* Permission for other processes to read memory: given only if Yama forbids it
 * by default, and withdrawn when the last class is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit/shm/party.h"

static unsigned long told[8];
static unsigned told_count;

/* Replaces the function of the C library. */
int prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;

    va_start(list, option);
    for (unsigned i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_PTRACER && told_count < 8)
        told[told_count++] = words[0];
    return (int)syscall(
        SYS_prctl, option, words[0], words[1], words[2], words[3]);
}

static bool is_restricted(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
    bool is = file != NULL && fgetc(file) != '0';

    if (file != NULL)
        fclose(file);
    return is;
}

static void test_processes_may_read_memory_while_a_class_is_open(void **state)
{
    struct party one;
    struct party two;

    (void)state;
    party_open(&one, "", 0);
    party_open(&two, "", 0);
    assert_int_equal(told_count, is_restricted() ? 2 : 0);
    party_close(&one);
    assert_int_equal(told_count, is_restricted() ? 2 : 0);
    party_close(&two);
    if (!is_restricted()) {
        assert_int_equal(told_count, 0);
        return;
    }
    assert_int_equal(told_count, 3);
    assert_int_equal(told[0], PR_SET_PTRACER_ANY);
    assert_int_equal(told[1], PR_SET_PTRACER_ANY);
    assert_int_equal(told[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_may_read_memory_while_a_class_is_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
