/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch of the process, by the variables of launchers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "mpi_backend/mpi_comm.h"

static const char *const names[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
    "SLURM_PROCID", "SLURM_JOB_NUM_NODES", "SLURM_PTY_PORT", "PMI_SIZE",
    "PMI_RANK", "PMI_FD", "PMI_PORT", "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK"};

static int environment_clear(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return 0;
}

static void step_of_slurm(const char *tasks, const char *task)
{
    setenv("SLURM_STEP_NUM_TASKS", tasks, 1);
    setenv("SLURM_NTASKS", tasks, 1);
    setenv("SLURM_PROCID", task, 1);
}

static void manager(const char *size, const char *rank)
{
    setenv("PMI_SIZE", size, 1);
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_FD", "5", 1);
}

static void test_launch_without_launcher_says_nothing(void **state)
{
    struct amg_mpi_launch launch = amg_mpi_launch_read();

    (void)state;
    assert_int_equal(launch.tasks, 0);
    assert_false(launch.is_by_step);
    assert_true(launch.is_spokesman);
}

static void test_launch_allocation_alone_says_nothing(void **state)
{
    (void)state;
    setenv("SLURM_NTASKS", "8", 1);
    setenv("SLURM_JOB_NUM_NODES", "2", 1);
    setenv("SLURM_PROCID", "0", 1);
    assert_int_equal(amg_mpi_launch_read().tasks, 0);
}

static void test_launch_step_counts_its_tasks(void **state)
{
    (void)state;
    step_of_slurm("4", "0");
    assert_int_equal(amg_mpi_launch_read().tasks, 4);
    assert_true(amg_mpi_launch_read().is_by_step);
    assert_true(amg_mpi_launch_read().is_spokesman);
    step_of_slurm("4", "3");
    assert_int_equal(amg_mpi_launch_read().tasks, 4);
    assert_false(amg_mpi_launch_read().is_spokesman);
}

static void test_launch_shell_of_a_step_says_nothing(void **state)
{
    (void)state;
    /* srun -n 4 --pty bash, and a program that is typed there */
    step_of_slurm("4", "0");
    setenv("SLURM_PTY_PORT", "41601", 1);
    assert_int_equal(amg_mpi_launch_read().tasks, 0);
    assert_false(amg_mpi_launch_read().is_by_step);
    /* a manager that runs there has its own count */
    manager("2", "1");
    assert_int_equal(amg_mpi_launch_read().tasks, 2);
}

static void test_launch_step_of_helpers_does_not_count(void **state)
{
    (void)state;
    /* mpiexec -n 1 in an allocation of 2 nodes */
    step_of_slurm("2", "1");
    manager("1", "0");
    assert_int_equal(amg_mpi_launch_read().tasks, 1);
    assert_false(amg_mpi_launch_read().is_by_step);
    assert_true(amg_mpi_launch_read().is_spokesman);
    /* the same of Open MPI */
    environment_clear(NULL);
    step_of_slurm("2", "1");
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_int_equal(amg_mpi_launch_read().tasks, 1);
    /* a manager without a count */
    environment_clear(NULL);
    step_of_slurm("2", "1");
    setenv("PMI_PORT", "node:4711", 1);
    assert_int_equal(amg_mpi_launch_read().tasks, 0);
    assert_true(amg_mpi_launch_read().is_spokesman);
}

static void test_launch_manager_counts_its_processes(void **state)
{
    (void)state;
    manager("4", "2");
    assert_int_equal(amg_mpi_launch_read().tasks, 4);
    assert_false(amg_mpi_launch_read().is_by_step);
    assert_false(amg_mpi_launch_read().is_spokesman);
    environment_clear(NULL);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_int_equal(amg_mpi_launch_read().tasks, 4);
    assert_true(amg_mpi_launch_read().is_spokesman);
}

static void test_launch_manager_within_another_gives_the_fewer(void **state)
{
    (void)state;
    manager("1", "0");
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    assert_int_equal(amg_mpi_launch_read().tasks, 1);
    assert_true(amg_mpi_launch_read().is_spokesman);
    manager("8", "0");
    assert_int_equal(amg_mpi_launch_read().tasks, 4);
    assert_false(amg_mpi_launch_read().is_spokesman);
}

static void test_launch_nonsense_says_nothing(void **state)
{
    static const char *const wrong[] = {
        "", "four", "4x", "-4", "99999999999", "0"};

    (void)state;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("SLURM_STEP_NUM_TASKS", wrong[i], 1);
        assert_int_equal(amg_mpi_launch_read().tasks, 0);
        assert_false(amg_mpi_launch_read().is_by_step);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, environment_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_launch_without_launcher_says_nothing),
        TEST(test_launch_allocation_alone_says_nothing),
        TEST(test_launch_step_counts_its_tasks),
        TEST(test_launch_shell_of_a_step_says_nothing),
        TEST(test_launch_step_of_helpers_does_not_count),
        TEST(test_launch_manager_counts_its_processes),
        TEST(test_launch_manager_within_another_gives_the_fewer),
        TEST(test_launch_nonsense_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
