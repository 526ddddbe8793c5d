/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of unrelated processes: over shared memory, or libfabric. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "processes/processes.h"

/* A test of the shim must not run without it. */
static void ring_start(int *ret_rank, int *ret_size)
{
    if (getenv("AMALGAM_TEST_SHIM") != NULL &&
        getenv("AMALGAM_TEST_SHIM_LOADED") == NULL) {
        fputs(
            "AMALGAM_TEST_SHIM is set, and the shim was not loaded\n", stderr);
        exit(EXIT_FAILURE);
    }
    processes_start(ret_rank, ret_size);
}

/* All processes call this for each class they open: each publishes its address,
 * and waits until all have looked theirs up, as others may then close. */
static hg_return_t ring_address(hg_class_t *cls, int rank, hg_addr_t *ret_addr)
{
    char text[PROCESSES_TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;
    hg_return_t rc = HG_Addr_self(cls, &self);

    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_Addr_to_string(cls, text, &len, self);
    (void)HG_Addr_free(cls, self);
    if (rc != HG_SUCCESS)
        return rc;
    processes_show(text);
    rc = HG_Addr_lookup2(cls, processes_shown(rank), ret_addr);
    processes_barrier_begin();
    while (!processes_is_done())
        sched_yield();
    return rc;
}

/* "na+sm://PID-N": a number that no class has. A class over libfabric gets the
 * name of another provider. */
static void ring_make_foreign(char *text)
{
    if (strncmp(text, "ofi+", strlen("ofi+")) == 0)
        strcpy(text, "ofi+psm2://0x0011");
    else
        strcat(text, "99999");
}

const struct api_world api_world = {
    .start = ring_start,
    .open = api_init,
    .address = ring_address,
    .barrier_begin = processes_barrier_begin,
    .barrier_is_done = processes_is_done,
    .make_foreign = ring_make_foreign,
    .stop = processes_stop,
    .die = processes_die,
};
