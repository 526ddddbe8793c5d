/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of unrelated processes over libfabric. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "ofi/shim/shim.h"
#include "ofi_backend/ofi_domain.h"
#include "processes/processes.h"

static void ring_start(uint32_t *ret_rank, uint32_t *ret_size)
{
    int rank = 0;
    int size = 0;

    shim_use();
    processes_start(&rank, &size);
    *ret_rank = (uint32_t)rank;
    *ret_size = (uint32_t)size;
}

static void ring_stop(void)
{
    shim_end();
    processes_stop();
}

/* An address of another provider's class. */
static void ring_make_foreign(char *text)
{
    snprintf(text, HARNESS_TEXT_CAP, "ofi+psm2://0x0011223344556677");
}

static const struct amg_transport *const ring_transports[] = {
    &amg_ofi_transport,
    NULL,
};

const struct harness_world harness_world = {
    .transports = ring_transports,
    .start = ring_start,
    .swap_begin = processes_swap_begin,
    .barrier_begin = processes_barrier_begin,
    .is_done = processes_is_done,
    .make_foreign = ring_make_foreign,
    .stop = ring_stop,
    .die = processes_die,
};
