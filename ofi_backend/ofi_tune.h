/* SPDX-License-Identifier: BSD-3-Clause */
/* What providers read from the environment only. */
#ifndef AMG_OFI_BACKEND_OFI_TUNE_H
#define AMG_OFI_BACKEND_OFI_TUNE_H

/* Around each look for providers; at the first one of this process libfabric
 * reads its environment: sets what the user has not set, and takes it back. */
void amg_ofi_tune_begin(void);
void amg_ofi_tune_end(void);

/* How many peers the queues are made for: what the user said, or the job. */
unsigned amg_ofi_tune_universe(void);

/* For tests: the next look is the first one again. */
void amg_ofi_tune_forget(void);

#endif
