/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of the job: their order, their nodes, and the cores they run on.
 *
 * Ranks are on one machine if their boot ids are equal: host names, and the
 * nodes of MPI, may tell otherwise. */
#include "jobs/bench/frame/world.h"

#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/bench/frame/proc.h"

/* FNV-1a, draft-eastlake-fnv: the start of a hash, and its factor for each
 * byte. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

static uint64_t text_hash(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
    return hash * HASH_PRIME;
}

bool world_is_same(int argc, char **argv)
{
    uint64_t own = HASH_START;
    uint64_t wanted = 0;
    char host[WORLD_TEXT_CAP] = "";
    int rank = 0;
    int size = 0;
    int first = 0; /* the first rank that differs */

    for (int i = 1; i < argc; i++)
        own = text_hash(own, argv[i]);
    wanted = own;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Bcast(&wanted, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    first = own == wanted ? size : rank;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    gethostname(host, sizeof(host) - 1);
    if (first == rank)
        fprintf(stderr,
            "amalgam_bench: rank %d on %s has other arguments than rank 0: "
            "start it in the same way everywhere\n",
            rank, host);
    return first == size;
}

void world_make(bool is_near, struct world *ret_world)
{
    struct world world = {.ranks = NULL};
    MPI_Comm near = MPI_COMM_NULL;
    int rank = 0;
    int node = 0; /* lowest rank of the node */
    int second = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    MPI_Comm_split_type(
        MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &near);
    node = rank;
    MPI_Bcast(&node, 1, MPI_INT, 0, near);
    MPI_Comm_free(&near);
    world.nodes = node == rank ? 1 : 0;
    MPI_Allreduce(
        MPI_IN_PLACE, &world.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    second = rank > 0 && (node == 0) == is_near ? rank : world.size;
    MPI_Allreduce(MPI_IN_PLACE, &second, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (second == world.size)
        second = 1;
    /* Rank 0, `second`, and then the others by their ranks. */
    MPI_Comm_split(MPI_COMM_WORLD, 0,
        rank == 0        ? 0
        : rank == second ? 1
                         : 2 + rank,
        &world.comm);
    MPI_Comm_rank(world.comm, &world.rank);
    *ret_world = world;
}

void world_tell(struct world *world)
{
    struct world_rank own = {.rank = (unsigned)world->rank};

    gethostname(own.host, sizeof(own.host) - 1);
    (void)proc_scan("/proc/self/status", "Cpus_allowed_list: %63s", own.cores);
    world->ranks = calloc((size_t)world->size, sizeof(own));
    if (world->ranks == NULL)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, world->ranks, sizeof(own),
        MPI_BYTE, world->comm);
}

void world_free(struct world *world)
{
    free(world->ranks);
    MPI_Comm_free(&world->comm);
}

/* The number of threads of this process whose name begins with `name`. */
static unsigned threads_count(const char *name)
{
    char text[WORLD_TEXT_CAP] = "";
    unsigned count = 0;
    glob_t found;

    if (glob("/proc/self/task/*/comm", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (proc_scan(found.gl_pathv[i], "%63s", text) &&
            strncmp(text, name, strlen(name)) == 0)
            count++;
    globfree(&found);
    return count;
}

void world_progress(char ret_text[WORLD_TEXT_CAP])
{
    snprintf(ret_text, WORLD_TEXT_CAP, "%s",
        threads_count("amg-progress") > 0 ? "thread" : "caller");
}

/* Counts the ranks of `comm` on this machine (`ret_count`), returns how many
 * are before this rank, and sets `cores` to what any of these ranks may use. */
static int machine_count(MPI_Comm comm, cpu_set_t *cores, int *ret_count)
{
    MPI_Comm machine = MPI_COMM_NULL;
    char boot[WORLD_TEXT_CAP] = "";
    int before = 0;

    if (!proc_scan("/proc/sys/kernel/random/boot_id", "%63s", boot))
        gethostname(boot, sizeof(boot) - 1);
    MPI_Comm_split(comm, (int)(text_hash(HASH_START, boot) >> 33), 0, &machine);
    MPI_Comm_rank(machine, &before);
    MPI_Comm_size(machine, ret_count);
    MPI_Allreduce(
        MPI_IN_PLACE, cores, sizeof(*cores), MPI_BYTE, MPI_BOR, machine);
    MPI_Comm_free(&machine);
    return before;
}

/* Core number `place` of the set, counted from 0; -1: there is none. */
static int core_of(const cpu_set_t *set, int place)
{
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, set) && place-- == 0)
            return core;
    return -1;
}

static bool core_bind(int core)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    if (core >= 0)
        CPU_SET((unsigned)core, &one);
    return core >= 0 && sched_setaffinity(0, sizeof(one), &one) == 0;
}

void pin_set(struct pin *pin, MPI_Comm comm, struct place *ret_place)
{
    cpu_set_t all;
    int count = 0;
    int place = 0;
    int core = -1;
    int cores = 0;

    CPU_ZERO(&pin->before);
    sched_getaffinity(0, sizeof(pin->before), &pin->before);
    all = pin->before;
    place = machine_count(comm, &all, &count);
    cores = CPU_COUNT(&pin->before);
    pin->is_set =
        cores > 1 && cores >= count && core_bind(core_of(&pin->before, place));
    if (cores == 1 || pin->is_set)
        core = pin_core();
    MPI_Allgather(&core, 1, MPI_INT, ret_place->cores, 1, MPI_INT, comm);
    ret_place->is_one_machine = count == 2;
}

bool pin_set_together(struct pin *pin, MPI_Comm comm, int *ret_core)
{
    cpu_set_t all;
    int count = 0;
    int is_done = 0;

    CPU_ZERO(&pin->before);
    pin->is_set = sched_getaffinity(0, sizeof(pin->before), &pin->before) == 0;
    all = pin->before;
    machine_count(comm, &all, &count);
    *ret_core = core_of(&pin->before, 0);
    MPI_Bcast(ret_core, 1, MPI_INT, 0, comm);
    is_done = count == 2 && pin->is_set && core_bind(*ret_core);
    MPI_Allreduce(MPI_IN_PLACE, &is_done, 1, MPI_INT, MPI_MIN, comm);
    if (!is_done)
        pin_restore(pin);
    return is_done != 0;
}

void pin_restore(const struct pin *pin)
{
    if (pin->is_set)
        sched_setaffinity(0, sizeof(pin->before), &pin->before);
}

void pin_lift(const struct pin *pin, struct pin *ret_now)
{
    ret_now->is_set =
        sched_getaffinity(0, sizeof(ret_now->before), &ret_now->before) == 0;
    pin_restore(pin);
}

bool pin_is_oversubscribed(const struct pin *pin, MPI_Comm comm)
{
    cpu_set_t cores;
    int count = 0;
    int is_oversubscribed = 0;

    CPU_ZERO(&cores);
    if (pin != NULL && pin->is_set)
        cores = pin->before;
    else
        sched_getaffinity(0, sizeof(cores), &cores);
    machine_count(comm, &cores, &count);
    is_oversubscribed = count > CPU_COUNT(&cores);
    MPI_Allreduce(MPI_IN_PLACE, &is_oversubscribed, 1, MPI_INT, MPI_MAX, comm);
    return is_oversubscribed != 0;
}

int pin_core(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) != 1)
        return -1;
    return core_of(&set, 0);
}
