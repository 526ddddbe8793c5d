/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cores a thread may run on.
 *
 * The functions of this file call the system, not hwloc, because with a machine
 * from a file hwloc reports success and binds nothing. */
#include "affinity/bind.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/log.h"

/* Cpus for which amg_bind_thread_get() has room: the kernel refuses to fill a
 * set that is smaller than its own. */
enum { SYSTEM_CPUS = 16384, TEXT_CAP = 64 };

static struct amg_cpuset process_binding;
static struct amg_lock process_lock AMG_LOCK_KEPT;
/* Publishes `process_binding`: release store after the binding was read,
 * acquire load before its use. */
static atomic_bool process_is_read;
/* Set when the first refusal is logged; later refusals are not logged. */
static atomic_bool has_warned;

int amg_bind_thread_get(int tid, struct amg_cpuset *ret_set)
{
    unsigned long words[SYSTEM_CPUS / (8 * sizeof(unsigned long))];

    memset(words, 0, sizeof(words));
    if (sched_getaffinity(tid, sizeof(words), (cpu_set_t *)words) != 0)
        return errno;
    memset(ret_set, 0, sizeof(*ret_set));
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        if (CPU_ISSET_S(cpu, sizeof(words), (cpu_set_t *)words))
            amg_cpuset_add(ret_set, cpu);
    }
    return 0;
}

int amg_bind_thread(int tid, const struct amg_cpuset *set)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        if (amg_cpuset_has(set, cpu))
            CPU_SET(cpu, &cpus);
    }
    return sched_setaffinity(tid, sizeof(cpus), &cpus) == 0 ? 0 : errno;
}

/* Is `binding` the work of OpenMP, not of the launcher? A runtime of OpenMP
 * that is told to bind threads binds the first thread to one core before
 * main(). */
static bool is_bound_by_openmp(const struct amg_cpuset *binding)
{
    const char *bind = getenv("OMP_PROC_BIND");
    bool is_asked = getenv("GOMP_CPU_AFFINITY") != NULL ||
                    getenv("OMP_PLACES") != NULL ||
                    (bind != NULL && strcasecmp(bind, "false") != 0);

    return is_asked && (dlsym(RTLD_DEFAULT, "omp_get_num_places") != NULL ||
                           amg_bind_app_threads() > amg_cpuset_count(binding));
}

/* The union of the places of all OpenMP threads, which is the binding that the
 * launcher gave. Empty: not known. LLVM's runtime (__kmpc_fork_call) is not
 * asked, since a query may make that runtime bind the calling thread. */
static void openmp_places(struct amg_cpuset *ret_set)
{
    int (*const count)(void) =
        (int (*)(void))dlsym(RTLD_DEFAULT, "omp_get_num_places");
    int (*const len)(int) =
        (int (*)(int))dlsym(RTLD_DEFAULT, "omp_get_place_num_procs");
    void (*const fill)(int, int *) =
        (void (*)(int, int *))dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids");

    memset(ret_set, 0, sizeof(*ret_set));
    if (count == NULL || len == NULL || fill == NULL ||
        dlsym(RTLD_DEFAULT, "__kmpc_fork_call") != NULL)
        return;
    for (int place = 0; place < count(); place++) {
        int cpus[AMG_CPUS_MAX];
        int cpu_count = len(place);

        if (cpu_count > AMG_CPUS_MAX)
            continue;
        fill(place, cpus);
        for (int i = 0; i < cpu_count; i++)
            if (cpus[i] >= 0 && cpus[i] < AMG_CPUS_MAX)
                amg_cpuset_add(ret_set, (unsigned)cpus[i]);
    }
}

const struct amg_cpuset *amg_bind_process(void)
{
    if (atomic_load_explicit(&process_is_read, memory_order_acquire))
        return &process_binding;
    amg_lock_lock(&process_lock);
    if (!atomic_load_explicit(&process_is_read, memory_order_relaxed)) {
        struct amg_cpuset set;

        /* getpid() names the first thread; the caller's binding may differ. */
        if (amg_bind_thread_get(getpid(), &set) == 0) {
            if (is_bound_by_openmp(&set))
                openmp_places(&set);
            process_binding = set;
        }
        atomic_store_explicit(&process_is_read, true, memory_order_release);
    }
    amg_lock_unlock(&process_lock);
    return &process_binding;
}

/* Lets the calling thread run on every core of the process. */
static void home_go(const struct amg_machine *machine)
{
    const struct amg_cpuset *home = amg_bind_process();

    if (amg_cpuset_count(home) == 0 && machine->is_this && machine->is_known)
        home = &machine->allowed;
    /* If the system refuses, the thread keeps the binding of its creator. */
    if (amg_cpuset_count(home) > 0)
        amg_bind_thread(0, home);
}

bool amg_bind_core_slot(const struct amg_machine *machine,
    const struct amg_core_slot *slot, const char *who)
{
    struct amg_cpuset set = {{0}};
    char text[TEXT_CAP];
    int rc = 0;

    if (slot->cpu < 0) {
        home_go(machine);
        return true;
    }
    if (!machine->is_this) {
        AMG_LOG_INFO("cls",
            "%s is not pinned to cpu %d: hwloc describes another machine", who,
            (int)slot->cpu);
        home_go(machine);
        return false;
    }
    AMG_ASSERT(slot->cpu < AMG_CPUS_MAX);
    amg_cpuset_add(&set, (unsigned)slot->cpu);
    rc = amg_bind_thread(0, &set);
    if (rc == 0)
        return true;
    home_go(machine);
    if (!atomic_exchange_explicit(&has_warned, true, memory_order_relaxed))
        AMG_LOG_WARNING("cls",
            "%s cannot be pinned to cpu %d: %s%s; it runs unpinned on cpus %s "
            "(said once for all threads)",
            who, (int)slot->cpu, strerror(rc),
            rc == EINVAL ? " (it does not exist, or a cgroup forbids it)" : "",
            amg_cpuset_format(amg_bind_process(), text, sizeof(text)));
    return false;
}

uint32_t amg_bind_app_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    unsigned long count = 0;

    if (text == NULL)
        return 0;
    while (isspace((unsigned char)*text))
        text++;
    if (!isdigit((unsigned char)*text))
        return 0;
    errno = 0;
    count = strtoul(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    if (errno != 0 || (*end != '\0' && *end != ',') || count > UINT32_MAX)
        return 0;
    return (uint32_t)count;
}
