/* SPDX-License-Identifier: BSD-3-Clause */
/* Machine as hwloc describes it, copied into plain data.
 *
 * The topology is destroyed after the copy: hwloc's objects take some hundred
 * bytes for each hardware thread and cache. */
#include "affinity/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Numbers the objects of a kind (cores, packages) in the order of their
 * hardware threads. The hardware threads of an object are adjacent. */
struct numbers {
    hwloc_obj_t last;
    uint32_t count;
};

static uint16_t number_of(struct numbers *numbers, hwloc_obj_t obj)
{
    if (numbers->count == 0 || obj != numbers->last)
        numbers->count++;
    numbers->last = obj;
    return (uint16_t)(numbers->count - 1);
}

static void cpuset_copy(hwloc_const_bitmap_t bitmap, struct amg_cpuset *ret_set)
{
    memset(ret_set, 0, sizeof(*ret_set));
    if (bitmap == NULL)
        return;
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        if (hwloc_bitmap_isset(bitmap, cpu))
            amg_cpuset_add(ret_set, cpu);
    }
}

/* The last level cache of a hardware thread; `pu` if no cache is known. */
static hwloc_obj_t cache_of(hwloc_obj_t pu)
{
    hwloc_obj_t cache = pu;

    for (hwloc_obj_t obj = pu->parent; obj != NULL; obj = obj->parent) {
        if (hwloc_obj_type_is_dcache(obj->type))
            cache = obj;
    }
    return cache;
}

/* The NUMA node of a hardware thread: the smallest node around it, and of
 * equally small nodes the first (hwloc lists fast memory after slower). */
static hwloc_obj_t numa_of(hwloc_topology_t topology, hwloc_obj_t pu)
{
    hwloc_obj_t best = NULL;
    hwloc_obj_t node = NULL;
    int best_weight = 0;

    while ((node = hwloc_get_next_obj_by_type(
                topology, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        int weight = hwloc_bitmap_weight(node->cpuset);

        if (!hwloc_bitmap_isset(node->cpuset, pu->os_index))
            continue;
        if (best == NULL || weight < best_weight) {
            best = node;
            best_weight = weight;
        }
    }
    return best;
}

/* Node numbers beyond the limit become the last number: no known machine has so
 * many nodes. */
static uint16_t numa_cut(uint16_t number)
{
    return number < AMG_NUMA_MAX ? number : AMG_NUMA_MAX - 1;
}

static void pus_read(hwloc_topology_t topology, struct amg_machine *machine)
{
    struct numbers cores = {NULL, 0};
    struct numbers packages = {NULL, 0};
    struct numbers nodes = {NULL, 0};
    struct numbers caches = {NULL, 0};
    hwloc_obj_t obj = NULL;
    unsigned left_out = 0;

    while ((obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, obj)) !=
           NULL) {
        hwloc_obj_t core =
            hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, obj);
        struct amg_pu *pu = &machine->pus[machine->pu_count];
        bool is_first = core == NULL || core != cores.last;

        if (obj->os_index >= AMG_CPUS_MAX) {
            left_out++;
            continue;
        }
        *pu = (struct amg_pu){
            .cpu = (uint16_t)obj->os_index,
            .core = number_of(&cores, core == NULL ? obj : core),
            .thread = is_first ? 0 : (uint16_t)(pu[-1].thread + 1),
            .package =
                number_of(&packages, hwloc_get_ancestor_obj_by_type(
                                         topology, HWLOC_OBJ_PACKAGE, obj)),
            .numa = numa_cut(number_of(&nodes, numa_of(topology, obj))),
            .cache = number_of(&caches, cache_of(obj)),
        };
        machine->pu_count++;
    }
    machine->core_count = cores.count;
    machine->package_count = packages.count;
    machine->numa_count =
        nodes.count < AMG_NUMA_MAX ? nodes.count : AMG_NUMA_MAX;
    if (left_out > 0)
        AMG_LOG_WARNING("cls",
            "%u hardware threads have numbers above %u: no thread of the "
            "library is placed on them",
            left_out, AMG_CPUS_MAX - 1);
}

/* Is `obj` a network interface, or a device of a fabric? */
static bool is_network(hwloc_obj_t obj)
{
    return obj->attr != NULL &&
           (obj->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
               obj->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS);
}

static void nic_read(
    hwloc_topology_t topology, hwloc_obj_t obj, struct amg_machine *machine)
{
    struct amg_nic *nic = &machine->nics[machine->nic_count++];
    hwloc_obj_t home = hwloc_get_non_io_ancestor_obj(topology, obj);
    hwloc_obj_t pci =
        hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PCI_DEVICE, obj);

    snprintf(
        nic->name, sizeof(nic->name), "%s", obj->name == NULL ? "" : obj->name);
    if (pci != NULL)
        snprintf(nic->bus, sizeof(nic->bus), "%04x:%02x:%02x.%01x",
            pci->attr->pcidev.domain, pci->attr->pcidev.bus,
            pci->attr->pcidev.dev, pci->attr->pcidev.func);
    cpuset_copy(home == NULL ? NULL : home->cpuset, &nic->near);
    nic->is_everywhere = amg_cpuset_count(&nic->near) == 0;
    if (!nic->is_everywhere) {
        uint32_t near = 0;

        for (uint32_t i = 0; i < machine->pu_count; i++)
            near += amg_cpuset_has(&nic->near, machine->pus[i].cpu);
        nic->is_everywhere = near == machine->pu_count;
    }
}

static void nics_read(hwloc_topology_t topology, struct amg_machine *machine)
{
    hwloc_obj_t obj = NULL;
    unsigned left_out = 0;

    while ((obj = hwloc_get_next_osdev(topology, obj)) != NULL) {
        if (!is_network(obj))
            continue;
        if (machine->nic_count < AMG_NICS_MAX)
            nic_read(topology, obj, machine);
        else
            left_out++;
    }
    if (left_out > 0)
        AMG_LOG_WARNING("cls",
            "%u NICs of this machine are ignored: the limit is %u NICs",
            left_out, AMG_NICS_MAX);
}

/* Warns if hwloc could not use a variable of `names`, and silently loaded this
 * machine instead. */
static void env_check(hwloc_topology_t topology)
{
    static const char *const names[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC"};
    const char *forced = getenv("HWLOC_THISSYSTEM");

    if (!hwloc_topology_is_thissystem(topology) ||
        (forced != NULL && atoi(forced) != 0))
        return;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text != NULL && text[0] != '\0')
            AMG_LOG_WARNING("cls",
                "%s is \"%s\", which hwloc cannot use; using this machine",
                names[i], text);
    }
}

/* Leaves out components of hwloc that are not needed to find NICs: displays
 * ("gl" tries ten displays of X11), GPUs, names of PCI devices. If this hwloc
 * lacks a component, the call for that component fails: no error. */
static void components_exclude(hwloc_topology_t topology)
{
    static const char *const names[] = {
        "gl", "opencl", "cuda", "nvml", "rsmi", "levelzero", "pci"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)hwloc_topology_set_components(
            topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, names[i]);
}

/* Loads the topology of `source`. Returns 0, or -1 as hwloc does. */
static int topology_load(
    hwloc_topology_t topology, enum amg_topo_source source, const char *text)
{
    int rc = 0;

    components_exclude(topology);
    if (source == AMG_TOPO_XML)
        rc = hwloc_topology_set_xml(topology, text);
    if (source == AMG_TOPO_SYNTHETIC)
        rc = hwloc_topology_set_synthetic(topology, text);
    if (rc == 0)
        rc = hwloc_topology_set_flags(
            topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (rc == 0)
        rc = hwloc_topology_set_io_types_filter(
            topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    return rc == 0 ? hwloc_topology_load(topology) : rc;
}

hg_return_t amg_topo_read(enum amg_topo_source source, const char *text,
    struct amg_machine *machine, const char **ret_reason)
{
    hwloc_topology_t topology = NULL;
    hg_return_t rc = HG_SUCCESS;

    errno = 0;
    if (hwloc_topology_init(&topology) != 0) {
        *ret_reason = "hwloc does not start";
        return HG_NOMEM;
    }
    if (topology_load(topology, source, text) != 0) {
        *ret_reason = errno == 0 ? "hwloc does not say why" : strerror(errno);
        rc = HG_INVALID_ARG;
        goto destroy;
    }
    pus_read(topology, machine);
    cpuset_copy(hwloc_topology_get_allowed_cpuset(topology), &machine->allowed);
    nics_read(topology, machine);
    machine->is_this =
        source == AMG_TOPO_THIS && hwloc_topology_is_thissystem(topology);
    machine->is_known = true;
    if (source == AMG_TOPO_THIS)
        env_check(topology);
    if (machine->pu_count == 0) {
        *ret_reason = "hwloc reports no hardware thread that could be used";
        rc = HG_INVALID_ARG;
    }

destroy:
    hwloc_topology_destroy(topology);
    return rc;
}
