/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of hwloc topologies into plain data; what cannot be loaded is an
 * error with a reason, or a flat description for this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "affinity/bind.h"
#include "affinity/topo.h"
#include "affinity/machine_text.h"
#include "log_kept.h"

/* NULL: this build has no hwloc, and the error said so. */
static struct amg_machine *synthetic(const char *description)
{
    struct amg_machine *machine = NULL;
    hg_return_t rc =
        machine_text_load(AMG_TOPO_SYNTHETIC, description, &machine);

    if (rc == HG_OPNOTSUPPORTED) {
        assert_true(log_has("built without hwloc"));
        skip();
    }
    assert_int_equal(rc, HG_SUCCESS);
    return machine;
}

static void test_topo_synthetic_is_read(void **state)
{
    struct amg_machine *machine =
        synthetic("pack:2 numa:2 l3:1 core:4 pu:2(indexes=core:pu)");

    (void)state;
    assert_int_equal(machine->pu_count, 32);
    assert_int_equal(machine->core_count, 16);
    assert_int_equal(machine->package_count, 2);
    assert_int_equal(machine->numa_count, 4);
    assert_int_equal(amg_cpuset_count(&machine->allowed), 32);
    assert_false(machine->is_this);
    assert_true(machine->is_known);
    assert_int_equal(machine->nic_count, 0);
    for (uint32_t i = 0; i < machine->pu_count; i++) {
        const struct amg_pu *pu = &machine->pus[i];

        assert_int_equal(pu->core, i / 2);
        assert_int_equal(pu->thread, i % 2);
        assert_int_equal(pu->package, i / 16);
        assert_int_equal(pu->numa, i / 8);
        assert_int_equal(pu->cache, i / 8);
    }
    machine_text_free(machine);
}

static void test_topo_caches_are_the_last_level(void **state)
{
    struct amg_machine *machine = synthetic("numa:1 l3:2 l2:2 core:2 pu:1");

    (void)state;
    for (uint32_t i = 0; i < machine->pu_count; i++)
        assert_int_equal(machine->pus[i].cache, i / 4);
    assert_int_equal(machine->package_count, 1);
    machine_text_free(machine);
}

static void test_topo_numbers_beyond_the_limit_are_left_out(void **state)
{
    struct amg_machine *machine = NULL;

    (void)state;
    log_clear();
    machine = synthetic("pack:2 core:544 pu:1");
    assert_int_equal(machine->pu_count, AMG_CPUS_MAX);
    assert_int_equal(machine->core_count, AMG_CPUS_MAX);
    assert_true(log_has("64 hardware threads have numbers above"));
    machine_text_free(machine);
}

static void test_topo_bad_input_is_refused(void **state)
{
    struct amg_machine *machine = NULL;
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    hg_return_t rc = HG_SUCCESS;

    (void)state;
    amg_mem_stats_get(&before);
    log_clear();
    rc = machine_text_load(AMG_TOPO_SYNTHETIC, "two sockets please", &machine);
    if (rc == HG_OPNOTSUPPORTED)
        skip();
    assert_int_equal(rc, HG_INVALID_ARG);
    assert_true(log_has("\"two sockets please\" cannot be loaded"));
    assert_int_equal(
        machine_text_load(AMG_TOPO_XML, "/no/such/file.xml", &machine),
        HG_INVALID_ARG);
    assert_int_equal(
        machine_text_load(AMG_TOPO_XML, __FILE__, &machine), HG_INVALID_ARG);
    assert_null(machine);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
    machine_text_free(NULL);
}

static void test_topo_this_has_what_the_process_may_use(void **state)
{
    const struct amg_machine *machine = NULL;
    struct amg_cpuset cpus = {{0}};
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    amg_mem_stats_get(&before);
    machine = amg_topo_this();
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
    assert_ptr_equal(machine, amg_topo_this());
    assert_true(machine->is_this);
    assert_true(machine->pu_count > 0);
    assert_true(machine->core_count <= machine->pu_count);
    assert_true(amg_cpuset_covers(&machine->allowed, amg_bind_process()));
    for (uint32_t i = 0; i < machine->pu_count; i++)
        amg_cpuset_add(&cpus, machine->pus[i].cpu);
    assert_true(amg_cpuset_covers(&cpus, &machine->allowed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topo_synthetic_is_read),
        cmocka_unit_test(test_topo_caches_are_the_last_level),
        cmocka_unit_test(test_topo_numbers_beyond_the_limit_are_left_out),
        cmocka_unit_test(test_topo_bad_input_is_refused),
        cmocka_unit_test(test_topo_this_has_what_the_process_may_use),
    };

    hg_log_set_func(log_keep);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
