/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver for libfabric: processes of different jobs, between hosts. */
#ifndef AMG_OFI_BACKEND_OFI_TRANSPORT_H
#define AMG_OFI_BACKEND_OFI_TRANSPORT_H

#include "transport/transport.h"

extern const struct amg_transport amg_ofi_transport;

#endif
