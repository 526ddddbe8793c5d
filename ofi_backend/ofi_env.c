/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables that providers read.
 *
 * Libfabric reads them once, when a process first looks for providers. A value
 * that the user has set stays; one that is set here stays, too: another thread
 * may be reading the environment, and each change can take away what it reads.
 * Where another library (MPI) has looked before, nothing here has any effect.
 *
 * Providers also install signal handlers then; the program's own are put back.
 */
#include "ofi_backend/ofi_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/signals.h"

#define UNIVERSE_NAME "FI_UNIVERSE_SIZE"

enum {
    UNIVERSE_DEFAULT = 256, /* libfabric's own */
    UNIVERSE_MAX = 1 << 24,
};

static const struct {
    const char *name;
    const char *value;
} settings[] = {
    /* The layer over connections makes room for so many messages of 16 KiB at
     * once: by default for 4096, which takes 64 MiB before anybody calls. With
     * 128 a class over tcp;ofi_rxm has 22 MiB resident instead of 74. */
    {"FI_OFI_RXM_MSG_RX_SIZE", "128"},
    /* Memory that was unregistered on Slingshot could else still be reached
     * (libfabric, fi_cxi(7)). */
    {"FI_CXI_OPTIMIZED_MRS", "0"},
    {"FI_CXI_MR_MATCH_EVENTS", "1"},
};

/* Where launchers tell how many processes a job has. */
static const char *const job_sizes[] = {
    "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};

static struct amg_lock env_lock;
static bool was_set;
static char universe[16];          /* that was set here; "": none was */
static struct amg_signals signals; /* of the program, while env_lock is held */

static unsigned number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);

    return text == NULL || end == text || value > UNIVERSE_MAX
               ? 0
               : (unsigned)value;
}

unsigned amg_ofi_env_universe(void)
{
    const char *set = getenv(UNIVERSE_NAME);
    unsigned size = 0;

    if (set != NULL && strcmp(set, universe) != 0)
        size = number_of(UNIVERSE_NAME);
    if (size == 0)
        size = (unsigned)amg_env_number(AMG_ENV_UNIVERSE);
    for (unsigned i = 0;
         i < sizeof(job_sizes) / sizeof(job_sizes[0]) && size == 0; i++)
        size = number_of(job_sizes[i]);
    return size < UNIVERSE_DEFAULT ? UNIVERSE_DEFAULT : size;
}

/* NOTE(locked until the end): another thread that looks meanwhile waits. */
void amg_ofi_env_begin(void)
{
    unsigned size = 0;

    amg_lock_take(&env_lock);
    amg_signals_save(&signals);
    if (was_set)
        return;
    size = amg_ofi_env_universe();
    if (size > UNIVERSE_DEFAULT && getenv(UNIVERSE_NAME) == NULL) {
        snprintf(universe, sizeof(universe), "%u", size);
        (void)setenv(UNIVERSE_NAME, universe, 0);
    }
    for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        (void)setenv(settings[i].name, settings[i].value, 0);
}

void amg_ofi_env_end(void)
{
    amg_signals_restore(&signals);
    was_set = true;
    amg_lock_give(&env_lock);
}

void amg_ofi_env_forget(void)
{
    amg_lock_take(&env_lock);
    was_set = false;
    amg_lock_give(&env_lock);
}
