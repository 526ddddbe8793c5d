/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of our own to a silent peer, which tell whether it is there. */
#ifndef AMG_OFI_BACKEND_OFI_PROBE_H
#define AMG_OFI_BACKEND_OFI_PROBE_H

#include "ofi_backend/ofi_domain.h"

/* A tick in which the peer is waited for has passed. True: nobody listens at
 * its address. */
bool amg_ofi_probe_is_refused_locked(struct amg_peer *peer);

/* It has answered, or is given up. */
void amg_ofi_probe_end_locked(struct amg_peer *peer);

#endif
