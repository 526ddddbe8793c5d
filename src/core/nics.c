/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the NIC nearest to a process.
 *
 * Only the NICs of the driver are compared, so that processes with different
 * turns are spread over these NICs, whatever other NICs the machine has. */
#include "core/class.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "affinity/bind.h"
#include "affinity/topo.h"

_Static_assert((int)AMG_NICS_ALIKE_MAX <= (int)AMG_NICS_MAX,
    "the NICs of a driver fit into a machine description");

/* Finds the machine's NIC for the NIC of a driver: by the bus, or by a name.
 * NULL: not known. */
static const struct amg_nic *nic_find(
    const struct amg_machine *machine, const struct amg_nic_id *id)
{
    /* The bus address first: a driver may use names of its own. */
    const char *const texts[] = {id->bus, id->name, id->iface};
    const struct amg_nic *nic = NULL;

    for (unsigned i = 0; i < 3 && nic == NULL; i++)
        nic = amg_machine_nic(machine, texts[i]);
    return nic;
}

static void why_write(const struct amg_nic *nic,
    const struct amg_cpuset *binding, uint32_t known,
    char ret_why[AMG_NIC_WHY_CAP])
{
    const char *how = "nearest to the cores of this process";

    if (nic->is_everywhere)
        how = "as near as the others, and taken in turn";
    else if (amg_cpuset_meets(&nic->near, binding))
        how = "local to the cores of this process";
    snprintf(ret_why, AMG_NIC_WHY_CAP, "%s, of %u that the machine knows", how,
        known);
}

uint32_t amg_nics_choose(const struct amg_machine *machine,
    const struct amg_cpuset *binding, const struct amg_nic_id *nics,
    uint32_t count, uint32_t turn, char ret_why[AMG_NIC_WHY_CAP])
{
    struct amg_machine *few = NULL;
    uint32_t places[AMG_NICS_ALIKE_MAX];
    uint32_t order[AMG_NICS_ALIKE_MAX];
    uint32_t chosen = count;

    AMG_ASSERT(count <= AMG_NICS_ALIKE_MAX);
    few = amg_mem_alloc(sizeof(*few));
    if (few == NULL)
        return count;
    *few = *machine;
    few->nic_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct amg_nic *nic = nic_find(machine, &nics[i]);

        if (nic == NULL)
            continue;
        places[few->nic_count] = i;
        few->nics[few->nic_count++] = *nic;
    }
    if (few->nic_count > 0) {
        amg_machine_nic_order(few, binding, turn, order);
        chosen = places[order[0]];
        why_write(&few->nics[order[0]], binding, few->nic_count, ret_why);
    }
    amg_mem_free(few);
    return chosen;
}

uint32_t amg_nics_nearest(const struct amg_nic_id *nics, uint32_t count,
    uint32_t turn, char ret_why[AMG_NIC_WHY_CAP])
{
    return amg_nics_choose(
        amg_topo_this(), amg_bind_process(), nics, count, turn, ret_why);
}
