/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the NIC nearest to a process. */
#ifndef AMG_CORE_NICS_H
#define AMG_CORE_NICS_H

#include "affinity/machine.h"
#include "transport/transport.h"

/* The index of the NIC for a process with that binding, of `count`, at most
 * AMG_NICS_ALIKE_MAX: the nearest NIC, and of several equally near a different
 * NIC for each `turn`. `count`: the machine knows none, or no memory. */
uint32_t amg_nics_choose(const struct amg_machine *machine,
    const struct amg_cpuset *binding, const struct amg_nic_id *nics,
    uint32_t count, uint32_t turn, char ret_why[AMG_NIC_WHY_CAP]);

/* amg_nics_choose() for this process on this machine, which is loaded first:
 * `nearest` of struct amg_open_nic. */
uint32_t amg_nics_nearest(const struct amg_nic_id *nics, uint32_t count,
    uint32_t turn, char ret_why[AMG_NIC_WHY_CAP]);

#endif
