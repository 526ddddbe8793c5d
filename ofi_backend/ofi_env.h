/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables that providers read. */
#ifndef AMG_OFI_BACKEND_OFI_ENV_H
#define AMG_OFI_BACKEND_OFI_ENV_H

/* Around each call that looks for providers; before the first one of this
 * process, in which libfabric reads its environment, sets what the user has
 * not set. */
void amg_ofi_env_begin(void);
void amg_ofi_env_end(void);

/* How many peers the queues are made for: what the user said, or the job. */
unsigned amg_ofi_env_universe(void);

/* For tests: the next look is the first one again. */
void amg_ofi_env_forget(void);

#endif
