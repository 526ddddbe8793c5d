/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel knows of the TCP connections to a peer. */
#ifndef AMG_OFI_BACKEND_OFI_LINE_H
#define AMG_OFI_BACKEND_OFI_LINE_H

#include "ofi_backend/ofi_domain.h"

/* Has the peer's host acknowledged nothing for the time to connect, though it
 * was sent something, or is it still asked for a connection? Then the
 * connections end, and so does what moves over them. False where nothing is
 * known, as of providers that do not use TCP. */
bool amg_ofi_line_end_if_dead_locked(const struct amg_peer *peer);

/* Has the peer's host taken a connection of ours, of which nothing bad is
 * known? Then the process is there, and perhaps only busy. False where nothing
 * is known. */
bool amg_ofi_line_is_there_locked(const struct amg_peer *peer);

void amg_ofi_line_fini(struct amg_ofi_domain *domain);

#endif
