/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch information of this process, and the bootstrap of a single process. */
#ifndef AMG_BOOT_LAUNCH_H
#define AMG_BOOT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/boot.h"

/* Makes `boot` rank 0 of 1. It holds no resources and needs no fini. */
void amg_boot_alone_init(struct amg_boot *boot);

/* Serves only to distinguish a job of one rank from one that fell apart into
 * single processes. The ranks and their number are those of MPI. */

struct amg_boot_launch {
    uint32_t tasks;    /* processes started together; 0: not known */
    bool is_by_step;   /* by a step of Slurm, without an MPI manager */
    bool is_spokesman; /* the first process, or all if unknown: logs */
};

/* Reads the environment, at every call. */
struct amg_boot_launch amg_boot_launch_read(void);

#endif
