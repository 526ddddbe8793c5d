/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch information of this process, and the bootstrap of a single process. */
#include "boot/boot.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static hg_return_t alone_allgather(
    struct amg_boot *boot, const void *mine, size_t len, void *ret_all)
{
    (void)boot;
    if (len > 0)
        memmove(ret_all, mine, len);
    return HG_SUCCESS;
}

static hg_return_t alone_bcast(
    struct amg_boot *boot, void *bytes, size_t len, uint32_t root)
{
    (void)boot;
    (void)bytes;
    (void)len;
    if (!AMG_CONTRACT(root == 0))
        return HG_INVALID_ARG;
    return HG_SUCCESS;
}

static hg_return_t alone_barrier(struct amg_boot *boot)
{
    (void)boot;
    return HG_SUCCESS;
}

static const struct amg_boot_ops alone_ops = {
    .allgather = alone_allgather,
    .bcast = alone_bcast,
    .barrier = alone_barrier,
};

void amg_boot_alone_init(struct amg_boot *boot)
{
    boot->ops = &alone_ops;
    boot->rank = 0;
    boot->size = 1;
    boot->node_rank = 0;
    boot->node_size = 1;
}

/* The process manager that started a process for MPI sets variables of its own:
 * PMI_SIZE by hydra and by Slurm's plugin pmi2, OMPI_COMM_WORLD_SIZE by Open
 * MPI's mpirun. Slurm's have lower priority. Hydra and Open MPI start one
 * helper on each node by a step of Slurm, and its processes inherit the
 * variables of that step, which describe the helpers; so Slurm's are read only
 * without those of a manager. The variables of a whole allocation
 * (SLURM_NTASKS, SLURM_JOB_*) say nothing: a program may be started alone in
 * it. Nor do those of a step with a terminal (srun --pty): commands typed
 * there, or submitted from there, inherit them. */

/* 0 if it is unset, or not a number above 0. */
static uint32_t number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);

    if (text == NULL || text[0] == '-' || end == text || *end != '\0' ||
        value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static bool is_first(const char *name)
{
    return number_of(name) == 0;
}

/* Of two nested managers the inner one counts; which it is cannot be seen, but
 * one of a single process is no sign of a job that fell apart. */
static struct amg_boot_launch by_manager(uint32_t pmi, uint32_t open_mpi)
{
    struct amg_boot_launch launch = {pmi, false, is_first("PMI_RANK")};

    if (pmi == 0 || (open_mpi != 0 && open_mpi < pmi)) {
        launch.tasks = open_mpi;
        launch.is_spokesman = is_first("OMPI_COMM_WORLD_RANK");
    }
    return launch;
}

struct amg_boot_launch amg_boot_launch_read(void)
{
    struct amg_boot_launch nobody = {0, false, true};
    uint32_t pmi = number_of("PMI_SIZE");
    uint32_t open_mpi = number_of("OMPI_COMM_WORLD_SIZE");

    if (pmi != 0 || open_mpi != 0)
        return by_manager(pmi, open_mpi);
    /* A manager that is known only by its socket. */
    if (getenv("PMI_PORT") != NULL || getenv("PMI_FD") != NULL)
        return nobody;
    if (getenv("SLURM_PTY_PORT") != NULL)
        return nobody;
    nobody.tasks = number_of("SLURM_STEP_NUM_TASKS");
    nobody.is_by_step = nobody.tasks != 0;
    nobody.is_spokesman = nobody.tasks == 0 || is_first("SLURM_PROCID");
    return nobody;
}
