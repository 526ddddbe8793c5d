/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the TCP connections to a silent peer. */
#ifndef AMG_OFI_BACKEND_OFI_TCP_STATE_H
#define AMG_OFI_BACKEND_OFI_TCP_STATE_H

#include "ofi_backend/ofi_domain.h"

/* True: the peer's host has acknowledged nothing for the time to connect,
 * though it was sent something, or a connection to it is still being made. Then
 * its connections end, and so does what moves over them. False where nothing
 * is known, as of providers that do not use TCP. */
bool amg_ofi_tcp_end_if_dead_locked(const struct amg_peer *peer);

/* True: the peer's host has taken a connection of ours, of which nothing bad is
 * known, so that the process is there, and perhaps only busy. */
bool amg_ofi_tcp_is_there_locked(const struct amg_peer *peer);

/* To be called for each tick in which the peer is waited for. True: its host
 * refuses connections to its port. */
bool amg_ofi_tcp_is_refused_locked(struct amg_peer *peer);
/* The peer has answered, or is given up. */
void amg_ofi_tcp_probe_end_locked(struct amg_peer *peer);

void amg_ofi_tcp_fini(struct amg_ofi_domain *domain);

#endif
