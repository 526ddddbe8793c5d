/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine as plain data: what the policy needs of a topology. */
#include "affinity/machine.h"

#include <string.h>

/* How far a NIC is from a binding, nearest first. */
enum distance {
    DISTANCE_NEAR,    /* local to a hardware thread of the binding */
    DISTANCE_PACKAGE, /* local to a package of the binding */
    DISTANCE_UNKNOWN,
    DISTANCE_FAR,
    DISTANCES
};

const struct amg_nic *amg_machine_nic(
    const struct amg_machine *machine, const char *name)
{
    if (name == NULL || name[0] == '\0')
        return NULL;
    for (uint32_t i = 0; i < machine->nic_count; i++) {
        if (strcmp(machine->nics[i].name, name) == 0)
            return &machine->nics[i];
    }
    for (uint32_t i = 0; i < machine->nic_count; i++) {
        if (strcmp(machine->nics[i].bus, name) == 0)
            return &machine->nics[i];
    }
    return NULL;
}

/* Does a package have hardware threads of both sets? */
static bool packages_meet(const struct amg_machine *machine,
    const struct amg_cpuset *one, const struct amg_cpuset *other)
{
    bool has_one = false;
    bool has_other = false;

    for (uint32_t i = 0; i < machine->pu_count; i++) {
        const struct amg_pu *pu = &machine->pus[i];

        if (i > 0 && pu->package != machine->pus[i - 1].package)
            has_one = has_other = false;
        has_one = has_one || amg_cpuset_has(one, pu->cpu);
        has_other = has_other || amg_cpuset_has(other, pu->cpu);
        if (has_one && has_other)
            return true;
    }
    return false;
}

static enum distance nic_distance(const struct amg_machine *machine,
    const struct amg_nic *nic, const struct amg_cpuset *binding)
{
    if (nic->is_everywhere)
        return DISTANCE_UNKNOWN;
    if (amg_cpuset_meets(&nic->near, binding))
        return DISTANCE_NEAR;
    if (packages_meet(machine, &nic->near, binding))
        return DISTANCE_PACKAGE;
    return DISTANCE_FAR;
}

/* Do two entries of `order` mean one device, as "hsn0" and "mlx5_0" may? */
static bool is_same_device(const struct amg_machine *machine,
    const uint32_t *order, uint32_t one, uint32_t other)
{
    const char *bus = machine->nics[order[one]].bus;

    return bus[0] != '\0' && strcmp(bus, machine->nics[order[other]].bus) == 0;
}

/* Moves the first `count` entries to the end. */
static void rotate(uint32_t *order, uint32_t total, uint32_t count)
{
    uint32_t old[AMG_NICS_MAX];

    memcpy(old, order, total * sizeof(*order));
    for (uint32_t i = 0; i < total; i++)
        order[i] = old[(i + count) % total];
}

/* Rotates NICs of equal distance: the turn-th device becomes the first. */
static void spread(const struct amg_machine *machine, uint32_t *order,
    uint32_t total, uint32_t turn)
{
    uint32_t starts[AMG_NICS_MAX];
    uint32_t devices = 0;

    for (uint32_t i = 0; i < total; i++) {
        if (i == 0 || !is_same_device(machine, order, i - 1, i))
            starts[devices++] = i;
    }
    if (devices > 1)
        rotate(order, total, starts[turn % devices]);
}

void amg_machine_nic_order(const struct amg_machine *machine,
    const struct amg_cpuset *binding, uint32_t turn, uint32_t *ret_order)
{
    uint32_t count = 0;

    for (unsigned distance = 0; distance < DISTANCES; distance++) {
        uint32_t first = count;

        for (uint32_t i = 0; i < machine->nic_count; i++) {
            if (nic_distance(machine, &machine->nics[i], binding) == distance)
                ret_order[count++] = i;
        }
        spread(machine, ret_order + first, count - first, turn);
    }
}
