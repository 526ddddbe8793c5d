/* SPDX-License-Identifier: BSD-3-Clause */
/* One core for each rank, while a benchmark runs.
 *
 * Ranks are of one machine when their kernels were started by the same boot:
 * host names, and what MPI calls a node, may pretend otherwise. */
#include "jobs/bench/base/pin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID_LEN = 64 };

/* Where a rank may run: its machine and, before it was pinned, the cores. */
struct stand {
    char machine[ID_LEN];
    cpu_set_t cores;
};

static void machine_id(char *ret_id)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    memset(ret_id, 0, ID_LEN);
    if (file == NULL || fgets(ret_id, ID_LEN, file) == NULL)
        gethostname(ret_id, ID_LEN - 1);
    if (file != NULL)
        fclose(file);
}

/* How many ranks are on this machine, and the place of this one among them. */
static int machine_place(MPI_Comm comm, int *ret_count)
{
    char own[ID_LEN];
    char *all = NULL;
    int rank = 0;
    int size = 0;
    int place = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    machine_id(own);
    all = calloc((size_t)size, ID_LEN);
    if (all == NULL)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Allgather(own, ID_LEN, MPI_CHAR, all, ID_LEN, MPI_CHAR, comm);
    *ret_count = 0;
    for (int i = 0; i < size; i++)
        if (memcmp(own, all + (size_t)i * ID_LEN, ID_LEN) == 0) {
            place += i < rank;
            *ret_count += 1;
        }
    free(all);
    return place;
}

/* The core with `place` others of the set in front of it. */
static int core_of(const cpu_set_t *set, int place)
{
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, set) && place-- == 0)
            return core;
    return -1;
}

/* The core of this rank, when `count` of them share the machine. */
static int core_set(struct pin *pin, int place, int count)
{
    cpu_set_t one;
    int core = -1;

    pin->is_set = false;
    if (sched_getaffinity(0, sizeof(pin->before), &pin->before) != 0)
        return -1;
    if (CPU_COUNT(&pin->before) == 1)
        return core_of(&pin->before, 0);
    if (CPU_COUNT(&pin->before) < count)
        return -1;
    core = core_of(&pin->before, place);
    CPU_ZERO(&one);
    CPU_SET((unsigned)core, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        return -1;
    pin->is_set = true;
    return core;
}

void pin_set(struct pin *pin, MPI_Comm comm, struct place *ret_place)
{
    int count = 0;
    int place = machine_place(comm, &count);
    int core = core_set(pin, place, count);

    MPI_Allgather(&core, 1, MPI_INT, ret_place->cores, 1, MPI_INT, comm);
    ret_place->is_one_machine = count == 2;
}

bool pin_set_together(struct pin *pin, MPI_Comm comm, int *ret_core)
{
    cpu_set_t one;
    int count = 0;
    int core = -1;
    int is_done = 0;

    machine_place(comm, &count);
    pin->is_set = sched_getaffinity(0, sizeof(pin->before), &pin->before) == 0;
    core = pin->is_set ? core_of(&pin->before, 0) : -1;
    MPI_Bcast(&core, 1, MPI_INT, 0, comm);
    CPU_ZERO(&one);
    if (core >= 0)
        CPU_SET((unsigned)core, &one);
    is_done = count == 2 && core >= 0 && pin->is_set &&
              sched_setaffinity(0, sizeof(one), &one) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_done, 1, MPI_INT, MPI_MIN, comm);
    if (!is_done) {
        pin_restore(pin);
        return false;
    }
    *ret_core = core;
    return true;
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

bool pin_is_crowded(const struct pin *pin, MPI_Comm comm)
{
    struct stand own;
    struct stand *all = NULL;
    int size = 0;
    int count = 0;
    int is_crowded = 0;

    memset(&own, 0, sizeof(own));
    machine_id(own.machine);
    if (pin != NULL && pin->is_set)
        own.cores = pin->before;
    else
        sched_getaffinity(0, sizeof(own.cores), &own.cores);
    MPI_Comm_size(comm, &size);
    all = calloc((size_t)size, sizeof(*all));
    if (all == NULL)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Allgather(
        &own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, comm);
    for (int i = 0; i < size; i++) {
        if (memcmp(own.machine, all[i].machine, ID_LEN) != 0)
            continue;
        CPU_OR(&own.cores, &own.cores, &all[i].cores);
        count++;
    }
    free(all);
    is_crowded = count > CPU_COUNT(&own.cores);
    MPI_Allreduce(MPI_IN_PLACE, &is_crowded, 1, MPI_INT, MPI_MAX, comm);
    return is_crowded != 0;
}

int pin_core(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) != 1)
        return -1;
    return core_of(&set, 0);
}
