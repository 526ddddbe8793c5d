/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the TCP connections to a silent peer. */
#ifndef AMG_OFI_BACKEND_OFI_TCP_STATE_H
#define AMG_OFI_BACKEND_OFI_TCP_STATE_H

#include "ofi_backend/ofi_domain.h"

/* True: the peer's host has acknowledged nothing for the connect time-out,
 * though data was sent, or a connection is still being made. Then its
 * connections end, with all transfers over them. False if nothing is known, as
 * for providers without TCP. */
bool amg_ofi_tcp_end_if_dead_locked(const struct amg_peer *peer);

/* True: the peer's host has accepted a connection of ours without a known
 * fault: the process exists, and may only be busy. */
bool amg_ofi_tcp_is_there_locked(const struct amg_peer *peer);

/* Call it in each tick of a wait for the peer. True: its host refuses
 * connections to its port. */
bool amg_ofi_tcp_is_refused_locked(struct amg_peer *peer);
/* The peer has answered, or is given up. */
void amg_ofi_tcp_probe_end_locked(struct amg_peer *peer);

void amg_ofi_tcp_fini(struct amg_ofi_domain *domain);

#endif
