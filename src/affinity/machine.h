/* SPDX-License-Identifier: BSD-3-Clause */
/* Machine as plain data: the part of the topology that the policy needs. */
#ifndef AMG_AFFINITY_MACHINE_H
#define AMG_AFFINITY_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "affinity/cpuset.h"

enum { AMG_NUMA_MAX = 64, AMG_NICS_MAX = 32, AMG_NIC_NAME_CAP = 32 };

/* A hardware thread. Cores, packages and NUMA nodes are numbered from 0 on, in
 * the order of the machine. */
struct amg_pu {
    uint16_t cpu;    /* the system's number */
    uint16_t core;   /* unique in the machine */
    uint16_t thread; /* number within its core, from 0 */
    uint16_t package;
    uint16_t numa;
    uint16_t cache; /* number of its last level cache */
};

struct amg_nic {
    char name[AMG_NIC_NAME_CAP]; /* of the interface or device: "hsn0" */
    char bus[AMG_NIC_NAME_CAP];  /* "0000:81:00.0"; "" unknown */
    struct amg_cpuset near;      /* hardware threads that the NIC is local to */
    bool is_everywhere;          /* locality unknown: `near` is empty or full */
};

/* Owned by the loader; constant once loaded. */
struct amg_machine {
    struct amg_pu *pus; /* in the order of the machine: hardware threads of a
                         * core, package, and so on are adjacent */
    uint32_t pu_count;
    uint32_t core_count;
    uint32_t package_count;
    uint32_t numa_count;
    struct amg_cpuset allowed; /* hardware threads that the cgroup allows */
    struct amg_nic nics[AMG_NICS_MAX];
    uint32_t nic_count;
    bool is_this;  /* machine of this process, so threads can be bound */
    bool is_known; /* false: only the cpus are known, each as a core */
};

/* The NIC of that name, or at that bus address; NULL: none. */
const struct amg_nic *amg_machine_nic(
    const struct amg_machine *machine, const char *name);

/* The NICs of the machine, nearest to `binding` first, as indices into `nics`;
 * `turn` (a rank's number within its node) rotates NICs of equal distance, so
 * that ranks begin with different NICs. `ret_order` has room for nic_count. */
void amg_machine_nic_order(const struct amg_machine *machine,
    const struct amg_cpuset *binding, uint32_t turn, uint32_t *ret_order);

#endif
