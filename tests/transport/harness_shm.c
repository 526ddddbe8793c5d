/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of unrelated processes over shared memory. */
#include <string.h>

#include "harness.h"
#include "processes/processes.h"
#include "shm/shm_transport.h"

static void ring_start(uint32_t *ret_rank, uint32_t *ret_size)
{
    int rank = 0;
    int size = 0;

    processes_start(&rank, &size);
    *ret_rank = (uint32_t)rank;
    *ret_size = (uint32_t)size;
}

/* "na+sm://PID-N": a number that no class has. */
static void ring_make_foreign(char *text)
{
    strcat(text, "99999");
}

static const struct amg_transport *const ring_transports[] = {
    &amg_shm_transport,
    NULL,
};

const struct harness_world harness_world = {
    .transports = ring_transports,
    .start = ring_start,
    .swap_begin = processes_swap_begin,
    .barrier_begin = processes_barrier_begin,
    .is_done = processes_is_done,
    .make_foreign = ring_make_foreign,
    .stop = processes_stop,
    .die = processes_die,
};
