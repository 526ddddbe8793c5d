/* SPDX-License-Identifier: BSD-3-Clause */
/* Bindings of the process and of its threads to cores. */
#ifndef AMG_AFFINITY_BIND_H
#define AMG_AFFINITY_BIND_H

#include "affinity/policy.h"

/* The binding that the launcher gave to this process, read by the first call,
 * which must come before threads are started. Any thread. */
const struct amg_cpuset *amg_bind_process(void);

/* Pins the calling thread to its seat; one that is not pinned may run wherever
 * the process was bound to. Refused by the system: false, and one warning that
 * names the core and the reason. */
bool amg_bind_seat(const struct amg_machine *machine,
    const struct amg_seat *seat, const char *who);

/* Binds a thread of this process, by the system's number for it (0: the calling
 * one), and says where one may run. 0 or errno. */
int amg_bind_thread(int tid, const struct amg_cpuset *set);
int amg_bind_thread_get(int tid, struct amg_cpuset *ret_set);

/* How many threads the program says it runs (OMP_NUM_THREADS); 0: it does not.
 */
uint32_t amg_bind_app_threads(void);

#endif
