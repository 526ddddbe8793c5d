/* SPDX-License-Identifier: BSD-3-Clause */
/* The topology of this machine is loaded once, by the first caller; if hwloc
 * describes another machine, nothing is pinned; if it gives none, the cpus are
 * known.
 *
 * The argument selects an environment; see CMakeLists.txt. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "affinity/bind.h"
#include "affinity/topo.h"
#include "log_kept.h"

enum { EXIT_SKIP = 77, THREADS = 4, FAR_CPU = AMG_CPUS_MAX - 1 };

static unsigned failures;

#define CHECK(expr)                                                            \
    ((expr) ? (void)0                                                          \
            : (void)(failures++, printf("line %d: %s\n", __LINE__, #expr)))

static void *load_main(void *arg)
{
    *(const struct amg_machine **)arg = amg_topo_this();
    return NULL;
}

static const struct amg_machine *load(void)
{
    const struct amg_machine *machines[THREADS] = {NULL};
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, load_main, &machines[i]) != 0)
            exit(EXIT_FAILURE);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(machines[i] != NULL && machines[i] == machines[0]);
    return machines[0];
}

/* The hardware threads that the calling thread may run on. */
static struct amg_cpuset now(void)
{
    struct amg_cpuset set = {{0}};
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
        exit(EXIT_SKIP); /* more cpus than the test supports */
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        if (CPU_ISSET(cpu, &cpus))
            amg_cpuset_add(&set, cpu);
    }
    return set;
}

/* No slot is taken, and the thread keeps its binding. */
static void no_slot_check(const struct amg_machine *machine, int cpu)
{
    const struct amg_core_slot slot = {.cpu = cpu};
    struct amg_cpuset before = now();
    struct amg_cpuset after;

    CHECK(!amg_bind_core_slot(machine, &slot, "the test"));
    after = now();
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

static void itself_check(const struct amg_machine *machine)
{
    struct amg_cpuset start = now();

    CHECK(machine->is_this);
    CHECK(amg_cpuset_covers(&machine->allowed, &start));
    CHECK(machine->core_count <= machine->pu_count);
    for (uint32_t i = 0; i < machine->pu_count; i++) {
        CHECK(machine->pus[i].core < machine->core_count);
        CHECK(machine->pus[i].numa < machine->numa_count);
        CHECK(machine->pus[i].package < machine->package_count);
    }
}

static void false_check(const struct amg_machine *machine)
{
    CHECK(!machine->is_this);
    CHECK(machine->pu_count == AMG_CPUS_MAX);
    CHECK(log_lines == 0);
    no_slot_check(machine, 0);
}

static void forced_check(const struct amg_machine *machine)
{
    struct amg_cpuset start = now();

    CHECK(machine->is_this);
    CHECK(machine->pu_count == AMG_CPUS_MAX);
    if (amg_cpuset_has(&start, FAR_CPU))
        exit(EXIT_SKIP);
    no_slot_check(machine, FAR_CPU);
    CHECK(log_has("cpu 1023"));
    CHECK(log_lines == 1);
}

static void unusable_check(const struct amg_machine *machine)
{
    itself_check(machine);
    CHECK(machine->is_known);
    CHECK(log_has("HWLOC_SYNTHETIC is \"a large one\""));
    CHECK(log_lines == 1);
}

static void broken_check(const struct amg_machine *machine)
{
    struct amg_cpuset start = now();

    itself_check(machine);
    CHECK(!machine->is_known);
    CHECK(machine->core_count == machine->pu_count);
    CHECK(memcmp(&machine->allowed, &start, sizeof(start)) == 0);
    CHECK(log_has("topology is not known"));
    CHECK(getenv("HWLOC_XMLFILE") == NULL || log_has(getenv("HWLOC_XMLFILE")));
    CHECK(log_has("HWLOC_SYNTHETIC is unset"));
    CHECK(log_lines == 1);
}

/* OpenMP's runtime, not a launcher, binds the first thread to one core. */
static void openmp_check(const struct amg_machine *machine)
{
    const struct amg_core_slot loose = {.cpu = -1};
    struct amg_cpuset after;

    CHECK(amg_bind_app_threads() == 2 * AMG_CPUS_MAX);
    CHECK(amg_cpuset_count(amg_bind_process()) == 0);
    CHECK(amg_bind_core_slot(machine, &loose, "the test"));
    after = now();
    CHECK(amg_cpuset_covers(&after, &machine->allowed));
    CHECK(log_lines == 0);
}

/* The same by GCC's runtime, which reports the original binding. False: it is
 * missing, or does not bind. */
static bool places_play(void)
{
    struct amg_cpuset start = now();
    struct amg_cpuset bound;

    if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL) == NULL)
        return false;
    bound = now();
    if (memcmp(&bound, &start, sizeof(start)) == 0)
        return false;
    CHECK(memcmp(amg_bind_process(), &start, sizeof(start)) == 0);
    return true;
}

int main(int argc, char **argv)
{
    const char *scene = argc == 2 ? argv[1] : "";
    const struct amg_machine *machine = NULL;
    bool has_hwloc = true;

    hg_log_set_func(log_keep);
    if (strcmp(scene, "places") == 0 && !places_play())
        return EXIT_SKIP;
    machine = load();
    has_hwloc = !log_has("built without hwloc");
    if (!has_hwloc && strcmp(scene, "itself") != 0)
        return EXIT_SKIP;
    if (!has_hwloc)
        broken_check(machine);
    else if (strcmp(scene, "itself") == 0)
        itself_check(machine);
    else if (strcmp(scene, "false") == 0)
        false_check(machine);
    else if (strcmp(scene, "forced") == 0)
        forced_check(machine);
    else if (strcmp(scene, "unusable") == 0)
        unusable_check(machine);
    else if (strcmp(scene, "broken") == 0)
        broken_check(machine);
    else if (strcmp(scene, "openmp") == 0)
        openmp_check(machine);
    else if (strcmp(scene, "places") == 0)
        CHECK(log_lines == 0);
    else
        failures++;
    if (failures > 0)
        printf("%s", log_text);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
