/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the providers that a class can be opened over. */
#ifndef AMG_OFI_BACKEND_OFI_LIST_H
#define AMG_OFI_BACKEND_OFI_LIST_H

#include "transport/providers.h"

/* For amalgam_info, which finds it by this name. */
extern const struct amg_providers amg_ofi_providers;

#endif
