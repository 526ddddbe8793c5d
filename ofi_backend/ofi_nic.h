/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NIC a result of libfabric is of, and which of several is near. */
#ifndef AMG_OFI_BACKEND_OFI_NIC_H
#define AMG_OFI_BACKEND_OFI_NIC_H

#include "ofi_backend/ofi_call.h"
#include "ofi_backend/ofi_where.h"
#include "transport/transport.h"

/* What is known of the NIC of a result. */
void amg_ofi_nic_read(const struct fi_info *info, struct amg_nic_id *ret_nic);

/* `first` of a list of results, or one behind it that is as good, and of a NIC
 * that is nearer to this process. `first`, where the user named one. */
const struct fi_info *amg_ofi_nic_nearest(const struct amg_open *how,
    const struct amg_ofi_where *where, const struct fi_info *first);

#endif
