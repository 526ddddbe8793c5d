/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to peers: first contact, messages that wait for it, and loss. */
#ifndef AMG_OFI_BACKEND_OFI_CONNECT_H
#define AMG_OFI_BACKEND_OFI_CONNECT_H

#include "ofi_backend/ofi_msg.h"

/* Handlers of messages. A CONNECT has at least AMG_OFI_CONNECT_MIN bytes. */
void amg_ofi_connect_on_connect_locked(
    struct amg_ofi_domain *domain, const unsigned char *body, uint32_t len);
void amg_ofi_connect_on_accept_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_connect_on_disconnect_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
/* A message with its token came from a peer that is not OPEN: opens it. False:
 * the peer has not identified itself. */
bool amg_ofi_connect_prove_locked(struct amg_peer *peer);

/* Sends messages that wait for peers, or for room. */
void amg_ofi_connect_retry_locked(struct amg_ofi_domain *domain);

/* The process is gone, or unreachable: all operations to it end with
 * HG_HOSTUNREACH. The next use connects anew. `why`: NULL logs nothing. */
void amg_ofi_connect_lost_locked(struct amg_peer *peer, const char *why);

#endif
