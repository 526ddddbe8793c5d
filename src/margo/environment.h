/* SPDX-License-Identifier: BSD-3-Clause */
/* What user-level threads are told by the environment before they start. */
#ifndef AMG_MARGO_ENVIRONMENT_H
#define AMG_MARGO_ENVIRONMENT_H

#include "margo/config.h"
#include "margo/log.h"

/* Before the ABT_init() of margo: what the configuration says of stacks; what
 * the user has set in the environment stays. Where ABT_init() was called
 * already, and with other stacks, says so. */
void amg_margo_environment_set(
    const struct amg_margo_log *log, const struct amg_margo_config *config);

/* What holds: as the environment says, else as the runtime was started, else as
 * the configuration says. */
size_t amg_margo_environment_stack_size(const struct amg_margo_config *config);
unsigned amg_margo_environment_max_stacks(
    const struct amg_margo_config *config);

#endif
