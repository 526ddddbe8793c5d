/* SPDX-License-Identifier: BSD-3-Clause */
/* NICs are found by name and ordered by distance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "affinity/machine.h"

/* Two packages of two NUMA nodes of two cores each; cpus are numbered so that
 * neighbours are far apart: core c is cpu (c % 4) * 2 + c / 4. */
enum { CORES = 8 };

static struct amg_pu pus[CORES];

static struct amg_machine machine_make(void)
{
    struct amg_machine machine = {.pus = pus,
        .pu_count = CORES,
        .core_count = CORES,
        .package_count = 2,
        .numa_count = 4,
        .is_known = true};

    for (uint16_t core = 0; core < CORES; core++) {
        pus[core] = (struct amg_pu){.cpu = (uint16_t)(core % 4 * 2 + core / 4),
            .core = core,
            .package = core / 4,
            .numa = core / 2,
            .cache = core / 2};
        amg_cpuset_add(&machine.allowed, pus[core].cpu);
    }
    return machine;
}

/* `numa` -1: close to all nodes. */
static void nic_add(
    struct amg_machine *machine, const char *name, const char *bus, int numa)
{
    struct amg_nic *nic = &machine->nics[machine->nic_count++];

    *nic = (struct amg_nic){.is_everywhere = numa < 0};
    snprintf(nic->name, sizeof(nic->name), "%s", name);
    snprintf(nic->bus, sizeof(nic->bus), "%s", bus);
    for (uint32_t i = 0; i < machine->pu_count; i++) {
        if (numa < 0 || machine->pus[i].numa == numa)
            amg_cpuset_add(&nic->near, machine->pus[i].cpu);
    }
}

/* NIC names in order of distance, for a rank bound to one core. */
static const char *order_of(
    const struct amg_machine *machine, unsigned core, uint32_t turn)
{
    static char text[256];
    struct amg_cpuset binding = {{0}};
    uint32_t order[AMG_NICS_MAX];
    size_t len = 0;

    amg_cpuset_add(&binding, pus[core].cpu);
    amg_machine_nic_order(machine, &binding, turn, order);
    text[0] = '\0';
    for (uint32_t i = 0; i < machine->nic_count; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
            machine->nics[order[i]].name);
    return text;
}

static void test_machine_nic_is_found_by_name_or_bus(void **state)
{
    struct amg_machine machine = machine_make();

    (void)state;
    nic_add(&machine, "hsn0", "0000:81:00.0", 2);
    nic_add(&machine, "eth0", "", -1);
    assert_ptr_equal(amg_machine_nic(&machine, "eth0"), &machine.nics[1]);
    assert_ptr_equal(
        amg_machine_nic(&machine, "0000:81:00.0"), &machine.nics[0]);
    assert_null(amg_machine_nic(&machine, "hsn"));
    assert_null(amg_machine_nic(&machine, ""));
    assert_null(amg_machine_nic(&machine, NULL));
}

static void test_machine_nic_order_is_by_distance(void **state)
{
    struct amg_machine machine = machine_make();

    (void)state;
    nic_add(&machine, "far", "0000:01:00.0", 3);
    nic_add(&machine, "all", "0000:02:00.0", -1);
    nic_add(&machine, "package", "0000:03:00.0", 1);
    nic_add(&machine, "near", "0000:04:00.0", 0);
    for (uint32_t turn = 0; turn < 5; turn++)
        assert_string_equal(
            order_of(&machine, 1, turn), "near package all far ");
    assert_string_equal(order_of(&machine, 2, 0), "package near all far ");
    assert_string_equal(order_of(&machine, 7, 0), "far all package near ");
    assert_string_equal(order_of(&machine, 7, 1), "far all near package ");
}

static void test_machine_nic_order_rotates_devices(void **state)
{
    struct amg_machine machine = machine_make();

    (void)state;
    nic_add(&machine, "hsn0", "0000:01:00.0", 0);
    nic_add(&machine, "mlx5_0", "0000:01:00.0", 0);
    nic_add(&machine, "hsn1", "0000:02:00.0", 0);
    nic_add(&machine, "mlx5_1", "0000:02:00.0", 0);
    assert_string_equal(order_of(&machine, 0, 0), "hsn0 mlx5_0 hsn1 mlx5_1 ");
    assert_string_equal(order_of(&machine, 0, 1), "hsn1 mlx5_1 hsn0 mlx5_0 ");
    assert_string_equal(order_of(&machine, 0, 2), "hsn0 mlx5_0 hsn1 mlx5_1 ");
}

static void test_machine_nic_order_without_bus_rotates_names(void **state)
{
    struct amg_machine machine = machine_make();
    struct amg_cpuset none = {{0}};
    uint32_t order[3] = {7, 7, 7};

    (void)state;
    amg_machine_nic_order(&machine, &none, 3, order);
    assert_int_equal(order[0], 7);
    nic_add(&machine, "a", "", 0);
    nic_add(&machine, "b", "", 0);
    nic_add(&machine, "c", "", -1);
    assert_string_equal(order_of(&machine, 0, 0), "a b c ");
    assert_string_equal(order_of(&machine, 0, 3), "b a c ");
    amg_machine_nic_order(&machine, &none, 0, order);
    assert_int_equal(order[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_nic_is_found_by_name_or_bus),
        cmocka_unit_test(test_machine_nic_order_is_by_distance),
        cmocka_unit_test(test_machine_nic_order_rotates_devices),
        cmocka_unit_test(test_machine_nic_order_without_bus_rotates_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
