/* SPDX-License-Identifier: BSD-3-Clause */
/* Bindings of the process and of its threads to cores. */
#ifndef AMG_AFFINITY_BIND_H
#define AMG_AFFINITY_BIND_H

#include "affinity/policy.h"

/* The binding that the launcher gave to this process; empty: not known. The
 * first call, by any thread, has to come before the first thread is rebound. */
const struct amg_cpuset *amg_bind_process(void);

/* Pins the calling thread to the core of `slot`; if `slot` has no core, to all
 * cores of the process. False: not pinned, because the system refused (logged
 * the first time), or the process does not run on `machine` (logged). */
bool amg_bind_core_slot(const struct amg_machine *machine,
    const struct amg_core_slot *slot, const char *who);

/* Sets or reads the binding of a thread of this process, by its system id (0:
 * the calling thread). Returns 0 or errno. */
int amg_bind_thread(int tid, const struct amg_cpuset *set);
int amg_bind_thread_get(int tid, struct amg_cpuset *ret_set);

/* Number of program threads by OMP_NUM_THREADS; 0: not set, or no number. */
uint32_t amg_bind_app_threads(void);

#endif
