/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact: who a peer is, whether it is still there, and its loss. */
#ifndef AMG_OFI_BACKEND_OFI_HELLO_H
#define AMG_OFI_BACKEND_OFI_HELLO_H

#include "ofi_backend/ofi_domain.h"

/* Asks a stranger who it is; what is sent to it waits for the answer. */
void amg_ofi_hello_say_locked(struct amg_peer *peer);
/* Sends the hello or welcome that is owed. False: there was no room. */
bool amg_ofi_hello_try_locked(struct amg_peer *peer);
/* What waits for this peer waits from now on. */
void amg_ofi_hello_set_deadline(struct amg_peer *peer);

/* What came in; the body has its full length. `peer` is who it is from. */
void amg_ofi_hello_on_hello_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_hello *hello);
void amg_ofi_hello_on_welcome_locked(
    struct amg_peer *peer, const struct amg_ofi_hello *hello);
void amg_ofi_hello_on_bye_locked(struct amg_peer *peer);
/* A message with its token came of a peer that is not open; it is from now on,
 * unless this is false: it has not told who it is. */
bool amg_ofi_hello_prove_locked(struct amg_peer *peer);

/* Is something to go to it, so that its deadline counts? */
bool amg_ofi_hello_is_waiting(const struct amg_peer *peer);
/* Does anything of ours wait for this peer to act? */
bool amg_ofi_hello_is_awaited(const struct amg_peer *peer);

/* Something went wrong with the peer: asks it whether it is still there. */
void amg_ofi_hello_doubt_locked(struct amg_peer *peer);

/* The process is gone, or cannot be reached: all that is under way to it ends
 * with HG_HOSTUNREACH. The next use begins anew. `why`: NULL logs nothing. */
void amg_ofi_hello_lost_locked(struct amg_peer *peer, const char *why);

#endif
