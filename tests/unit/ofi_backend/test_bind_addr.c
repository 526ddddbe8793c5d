/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of one of several equal NICs: the nearest one, in turns if several are
 * equally near. A NIC that the user names, and NICs that the machine
 * description does not have, are decided before that. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "core/class.h"
#include "fake.h"
#include "ofi_backend/ofi_domain.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Four NICs of one network and a slower one; interfaces of two networks; and
 * NICs that the machine description does not have. */
static const struct fake_offer offers[] = {
    {.stack = "cxi",
        .nic = "cxi0",
        .device = "cxi0",
        .bus = 0x01,
        .speed = 200},
    {.stack = "cxi",
        .nic = "cxi1",
        .device = "cxi1",
        .bus = 0x21,
        .speed = 200},
    {.stack = "cxi",
        .nic = "cxi2",
        .device = "cxi2",
        .bus = 0x81,
        .speed = 200},
    {.stack = "cxi",
        .nic = "cxi3",
        .device = "cxi3",
        .bus = 0xa1,
        .speed = 200},
    {.stack = "cxi", .nic = "cxi9", .device = "cxi9", .bus = 0xc1, .speed = 10},
    {.stack = "tcp;ofi_rxm", .nic = "eth0", .ip = "10.1.0.1", .fabric = "10.1"},
    {.stack = "tcp;ofi_rxm", .nic = "eth0", .ip = "fd00::1", .fabric = "fd00"},
    {.stack = "tcp;ofi_rxm", .nic = "eth1", .ip = "10.1.0.2", .fabric = "10.1"},
    {.stack = "tcp;ofi_rxm", .nic = "eth2", .ip = "10.2.0.1", .fabric = "10.2"},
    {.stack = "tcp;ofi_rxm", .nic = "eth3", .ip = "10.2.0.2", .fabric = "10.2"},
    {.stack = "psm2", .nic = "hfi1_0", .device = "hfi1_0", .bus = 0x11},
    {.stack = "psm2", .nic = "hfi1_1", .device = "hfi1_1", .bus = 0x12},
    {.stack = "opx", .nic = "one", .device = "a", .bus = 0x21},
    {.stack = "opx", .nic = "two", .device = "b", .bus = 0x81, .is_down = true},
    {.stack = "efa", .nic = "rdmap0-rdm", .device = "rdmap0", .bus = 0x31},
    {.stack = "efa", .nic = "rdmap0-dgrm", .device = "rdmap0", .bus = 0x31},
};

/* Eight cores on two NUMA nodes. */
static struct amg_pu pus[8];
static struct amg_machine machine;
static struct amg_cpuset binding;
static unsigned asked;

static uint32_t nearest(const struct amg_nic_id *nics, uint32_t count,
    uint32_t turn, char ret_why[AMG_NIC_WHY_CAP])
{
    asked++;
    return amg_nics_choose(&machine, &binding, nics, count, turn, ret_why);
}

static void bind_to(unsigned first, unsigned last)
{
    memset(&binding, 0, sizeof(binding));
    for (; first <= last; first++)
        amg_cpuset_add(&binding, first);
}

/* numa 2: local to the whole machine */
static void nic_add(const char *name, const char *bus, unsigned numa)
{
    struct amg_nic *nic = &machine.nics[machine.nic_count++];

    memset(nic, 0, sizeof(*nic));
    snprintf(nic->name, sizeof(nic->name), "%s", name);
    snprintf(nic->bus, sizeof(nic->bus), "%s", bus);
    nic->is_everywhere = numa == 2;
    for (unsigned cpu = 0; cpu < COUNT_OF(pus); cpu++)
        if (nic->is_everywhere || cpu / 4 == numa)
            amg_cpuset_add(&nic->near, cpu);
}

static struct fi_info *chosen;

static const char *choose_how(struct amg_open *how)
{
    struct amg_ofi_facts facts;

    if (chosen != NULL)
        fi_freeinfo(chosen);
    chosen = NULL;
    asked = 0;
    fake_log_clear();
    how->max_contexts = 1;
    assert_int_equal(amg_ofi_select(how, &chosen, &facts), HG_SUCCESS);
    return chosen->domain_attr->name;
}

static const char *choose(const char *protocol, uint32_t turn)
{
    struct amg_open how = {.info = "",
        .protocol = protocol,
        .nic.nearest = nearest,
        .nic.turn = turn};

    return choose_how(&how);
}

static void test_nic_near_one_is_taken(void **state)
{
    (void)state;
    bind_to(0, 3);
    assert_string_equal(choose("cxi", 0), "cxi0");
    assert_int_equal(asked, 1);
    assert_true(fake_has_logged("using cxi0 of 4 equal NICs"));
    assert_true(fake_has_logged("local to the cores of this process"));
    bind_to(4, 7);
    assert_string_equal(choose("cxi", 0), "cxi2");
    /* The machine knows it by an interface whose name differs from the
     * device's. */
    bind_to(5, 5);
    assert_string_equal(choose("tcp", 0), "eth1");
}

/* Only ranks with equally near NICs take turns. */
static void test_nic_ranks_take_turns(void **state)
{
    (void)state;
    bind_to(4, 7);
    assert_string_equal(choose("cxi", 0), "cxi2");
    assert_string_equal(choose("cxi", 1), "cxi3");
    assert_string_equal(choose("cxi", 2), "cxi2");
    assert_string_equal(choose("cxi", 3), "cxi3");
}

static void test_nic_without_locality_ranks_take_turns(void **state)
{
    static const char *const names[] = {"cxi0", "cxi1", "cxi2", "cxi3"};

    (void)state;
    machine.nic_count = 0;
    nic_add("hsn0", "0000:01:03.1", 2);
    nic_add("hsn1", "0000:21:03.1", 2);
    nic_add("hsn2", "0000:81:03.1", 2);
    nic_add("hsn3", "0000:a1:03.1", 2);
    bind_to(0, 7);
    for (uint32_t turn = 0; turn < 8; turn++)
        assert_string_equal(choose("cxi", turn), names[turn % 4]);
    assert_true(fake_has_logged("taken in turn"));
}

static void test_nic_unknown_to_the_machine_keeps_the_order(void **state)
{
    (void)state;
    bind_to(4, 7);
    assert_string_equal(choose("psm2", 1), "hfi1_0");
    assert_int_equal(asked, 1);
    assert_true(fake_has_logged("the topology has none of them"));
    machine.nic_count = 0;
    assert_string_equal(choose("cxi", 1), "cxi0");
}

/* If the machine knows some NICs of a list, one of these is taken. */
static void test_nic_known_one_before_unknown(void **state)
{
    (void)state;
    machine.nic_count = 0;
    nic_add("hsn3", "0000:a1:03.1", 0);
    bind_to(4, 7);
    assert_string_equal(choose("cxi", 0), "cxi3");
    assert_true(fake_has_logged("nearest to the cores"));
}

static void test_nic_without_a_choice_asks_nothing(void **state)
{
    struct amg_open how = {.info = "", .protocol = "cxi"};

    (void)state;
    bind_to(4, 7);
    /* A NIC that is down is ignored, and two results may be of one NIC. */
    assert_string_equal(choose("opx", 0), "one");
    assert_int_equal(asked, 0);
    assert_string_equal(choose("efa", 0), "rdmap0-rdm");
    assert_int_equal(asked, 0);
    assert_string_equal(choose_how(&how), "cxi0");
}

/* eth3 is near, but belongs to another network than the first. */
static void test_nic_of_another_network_is_left_alone(void **state)
{
    (void)state;
    machine.nic_count = 0;
    nic_add("eth0", "", 0);
    nic_add("eth1", "", 0);
    nic_add("eth2", "", 1);
    nic_add("eth3", "", 1);
    bind_to(4, 7);
    assert_string_equal(choose("tcp", 0), "eth0");
    assert_int_equal(asked, 1);
    assert_int_equal(chosen->addr_format, FI_SOCKADDR_IN);
}

static void test_nic_that_the_user_names_is_taken(void **state)
{
    struct amg_open how = {
        .info = "cxi1", .protocol = "cxi", .nic.nearest = nearest};

    (void)state;
    bind_to(4, 7);
    assert_string_equal(choose_how(&how), "cxi1");
    how = (struct amg_open){
        .info = "10.1.0.1:4242", .protocol = "tcp", .nic.nearest = nearest};
    assert_string_equal(choose_how(&how), "eth0");
    assert_int_equal(asked, 0);
    /* The wildcard address leaves the choice open. */
    how.info = "0.0.0.0:4242";
    assert_string_equal(choose_how(&how), "eth1");
}

/* Within a subnet that has several NICs, the near one is taken. */
static void test_nic_subnet_decides_first(void **state)
{
    struct amg_open how = {.info = "",
        .protocol = "tcp",
        .nic.nearest = nearest,
        .nic.ip_subnet = "10.2.0.1/32"};

    (void)state;
    bind_to(4, 7);
    assert_string_equal(choose_how(&how), "eth2");
    assert_int_equal(asked, 0);
    how.nic.ip_subnet = "10.2.0.0/16";
    assert_string_equal(choose_how(&how), "eth3");
}

/* Does the machine know the NIC? */
static bool is_known(const struct amg_nic_id *nic)
{
    char why[AMG_NIC_WHY_CAP];

    return amg_nics_choose(&machine, &binding, nic, 1, 0, why) == 0;
}

static void test_nic_read_says_what_it_knows(void **state)
{
    struct amg_nic_id nic;

    (void)state;
    bind_to(0, 3);
    (void)choose("cxi", 0);
    amg_ofi_nic_read(chosen, &nic);
    assert_string_equal(nic.name, "cxi0");
    assert_string_equal(nic.bus, "0000:01:03.1");
    assert_string_equal(nic.iface, "");
    assert_true(is_known(&nic));
    (void)choose("tcp", 0);
    amg_ofi_nic_read(chosen, &nic);
    assert_string_equal(nic.name, "eth0");
    assert_string_equal(nic.bus, "");
    assert_true(is_known(&nic));
    memset(&nic, 0, sizeof(nic));
    assert_false(is_known(&nic));
}

static int start(void **state)
{
    (void)state;
    fake_start(offers, COUNT_OF(offers));
    hg_log_set_level(HG_LOG_LEVEL_INFO);
    memset(&machine, 0, sizeof(machine));
    for (unsigned i = 0; i < COUNT_OF(pus); i++) {
        pus[i] = (struct amg_pu){.cpu = (uint16_t)i,
            .core = (uint16_t)i,
            .numa = (uint16_t)(i / 4),
            .package = (uint16_t)(i / 4),
            .cache = (uint16_t)(i / 4)};
        amg_cpuset_add(&machine.allowed, i);
    }
    machine.pus = pus;
    machine.pu_count = machine.core_count = COUNT_OF(pus);
    machine.package_count = machine.numa_count = 2;
    machine.is_known = true;
    /* Names as hwloc reports them, with interfaces; the bus is common to both.
     */
    nic_add("hsn0", "0000:01:03.1", 0);
    nic_add("hsn1", "0000:21:03.1", 0);
    nic_add("hsn2", "0000:81:03.1", 1);
    nic_add("hsn3", "0000:a1:03.1", 1);
    nic_add("eth0", "0000:05:00.0", 0);
    nic_add("eth1", "0000:85:00.0", 1);
    nic_add("eth2", "0000:05:00.1", 0);
    nic_add("eth3", "0000:85:00.1", 1);
    nic_add("eth9", "0000:c1:03.1", 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (chosen != NULL)
        fi_freeinfo(chosen);
    chosen = NULL;
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_nic_near_one_is_taken),
        UNIT_TEST(test_nic_ranks_take_turns),
        UNIT_TEST(test_nic_without_locality_ranks_take_turns),
        UNIT_TEST(test_nic_unknown_to_the_machine_keeps_the_order),
        UNIT_TEST(test_nic_known_one_before_unknown),
        UNIT_TEST(test_nic_without_a_choice_asks_nothing),
        UNIT_TEST(test_nic_of_another_network_is_left_alone),
        UNIT_TEST(test_nic_that_the_user_names_is_taken),
        UNIT_TEST(test_nic_subnet_decides_first),
        UNIT_TEST(test_nic_read_says_what_it_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
