/* SPDX-License-Identifier: BSD-3-Clause */
/* What providers read from the environment only. */
#ifndef AMG_OFI_BACKEND_OFI_TUNE_H
#define AMG_OFI_BACKEND_OFI_TUNE_H

/* Around the first look for providers of this process, when libfabric reads its
 * environment: sets what the user has not set, and takes it back. */
void amg_ofi_tune_begin(void);
void amg_ofi_tune_end(void);

#endif
