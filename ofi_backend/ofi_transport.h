/* SPDX-License-Identifier: BSD-3-Clause */
/* Driver for libfabric: processes of any jobs, between hosts. */
#ifndef AMG_OFI_BACKEND_OFI_TRANSPORT_H
#define AMG_OFI_BACKEND_OFI_TRANSPORT_H

#include "transport/providers.h"
#include "transport/transport.h"

extern const struct amg_transport amg_ofi_transport;
/* For amalgam_info, which looks it up by this name. */
extern const struct amg_providers amg_ofi_providers;

#endif
