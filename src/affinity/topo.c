/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine, loaded once. */
#include "affinity/topo.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/log.h"
#include "affinity/bind.h"

/* The machine of this process: static, because its loading must not fail. */
static struct amg_pu this_pus[AMG_CPUS_MAX];
static struct amg_machine this_machine = {.pus = this_pus};
static struct amg_lock this_lock AMG_LOCK_KEPT;
/* Publishes `this_machine` and `this_pus`: release store after both were filled
 * in, acquire load before their use. */
static atomic_bool this_is_loaded;

/* Fills in a machine of which only the cpus are known: each counts as a core,
 * and the cpus of the process's binding are allowed. */
static void flat_fill(struct amg_machine *machine)
{
    struct amg_cpuset mine = *amg_bind_process();
    struct amg_cpuset all = {{0}};
    long online = sysconf(_SC_NPROCESSORS_CONF);
    unsigned count =
        online > 0 && online < AMG_CPUS_MAX ? (unsigned)online : AMG_CPUS_MAX;

    memset(machine->pus, 0, AMG_CPUS_MAX * sizeof(*machine->pus));
    *machine = (struct amg_machine){.pus = machine->pus};
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        struct amg_pu *pu = &machine->pus[machine->pu_count];

        if (cpu >= count && !amg_cpuset_has(&mine, cpu))
            continue;
        pu->cpu = (uint16_t)cpu;
        pu->core = (uint16_t)machine->pu_count++;
        amg_cpuset_add(&all, cpu);
    }
    machine->core_count = machine->pu_count;
    machine->package_count = 1;
    machine->numa_count = 1;
    machine->allowed = amg_cpuset_count(&mine) > 0 ? mine : all;
    machine->is_this = true;
}

/* For the log: the value of a variable that tells hwloc what to load, since
 * hwloc does not say what failed. */
static const char *hwloc_variable(const char *name)
{
    const char *text = getenv(name);

    return text == NULL || text[0] == '\0' ? "unset" : text;
}

#ifndef AMALGAM_HAS_HWLOC
hg_return_t amg_topo_read(enum amg_topo_source source, const char *text,
    struct amg_machine *machine, const char **ret_reason)
{
    (void)source;
    (void)text;
    (void)machine;
    *ret_reason = "the library was built without hwloc (AMALGAM_HWLOC=OFF)";
    return HG_OPNOTSUPPORTED;
}
#endif

static void this_load(void)
{
    const char *reason = NULL;
    hg_return_t rc = amg_topo_read(AMG_TOPO_THIS, NULL, &this_machine, &reason);

    if (rc == HG_SUCCESS)
        return;
    flat_fill(&this_machine);
    AMG_LOG_WARNING("cls",
        "the machine's topology is not known, only its %u cpus: %s; "
        "HWLOC_XMLFILE is %s; HWLOC_SYNTHETIC is %s; HWLOC_COMPONENTS is %s",
        this_machine.pu_count, reason, hwloc_variable("HWLOC_XMLFILE"),
        hwloc_variable("HWLOC_SYNTHETIC"), hwloc_variable("HWLOC_COMPONENTS"));
}

const struct amg_machine *amg_topo_this(void)
{
    if (atomic_load_explicit(&this_is_loaded, memory_order_acquire))
        return &this_machine;
    /* NOTE(why): the lock is held while hwloc loads: milliseconds, once per
     * process; hwloc calls no function of this library. */
    amg_lock_lock(&this_lock);
    if (!atomic_load_explicit(&this_is_loaded, memory_order_relaxed)) {
        this_load();
        atomic_store_explicit(&this_is_loaded, true, memory_order_release);
    }
    amg_lock_unlock(&this_lock);
    return &this_machine;
}
