/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of fork() is told from its parent, and a grandchild from both. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

static void test_fork_counts_generations(void **state)
{
    int status = -1;
    unsigned before = 0;
    pid_t pid = -1;

    (void)state;
    amg_fork_watch();
    amg_fork_watch();
    before = amg_fork_count();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0)
            _exit(amg_fork_count() == before + 2 ? 0 : 1);
        if (amg_fork_count() != before + 1 || grandchild < 0 ||
            waitpid(grandchild, &status, 0) != grandchild)
            _exit(1);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(amg_fork_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_counts_generations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
