/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: other processes, as addresses, tokens and states (ofi_peer.c);
 * connections to peers (ofi_connect.c); TCP's state of silent peers
 * (ofi_tcp_state.c). */
#ifndef AMG_OFI_BACKEND_OFI_PEER_H
#define AMG_OFI_BACKEND_OFI_PEER_H

#include "base/clock.h"
#include "ofi_backend/ofi_domain.h"

#define AMG_OFI_TICK_NS (100 * AMG_NS_PER_MS) /* between two ticks */

enum { AMG_OFI_SILENT_TICKS = 10 }; /* silence that matters: a second */

/* The peer at address `addr`, known or new; the caller owns the reference.
 * HG_NOMEM; HG_INVALID_ARG: `addr` is empty or too long. */
hg_return_t amg_ofi_peer_get_locked(struct amg_ofi_domain *domain,
    const void *addr, uint16_t len, struct amg_peer **ret_peer);
struct amg_peer *amg_ofi_peer_ref(struct amg_peer *peer);
void amg_ofi_peer_unref_locked(struct amg_peer *peer);
/* The peer at this address, without a reference; NULL: not known. */
struct amg_peer *amg_ofi_peer_find_locked(
    const struct amg_ofi_domain *domain, const void *addr, uint16_t len);
void amg_ofi_peer_set_state_locked(
    struct amg_peer *peer, enum amg_ofi_peer_state next);
/* Address string of the peer, in the AMG_OFI_TEXT_CAP bytes of `ret_text`. */
const char *amg_ofi_peer_text(const struct amg_peer *peer, char *ret_text);
/* Writes, for logs, the address string and, if known, the peer's rank. */
const char *amg_ofi_peer_name(const struct amg_peer *peer, char *ret_text);
/* Calls amg_calls_violation() for the peer. */
static inline void amg_ofi_peer_violation(
    struct amg_peer *peer, enum amg_violation what, unsigned kind, long number)
{
    amg_calls_violation(&peer->domain->calls, &peer->calls, what, kind, number);
}

/* The clock of deadlines: counts only a part of a long time without polls. */
static inline uint64_t amg_ofi_clock_ns(const struct amg_ofi_domain *domain)
{
    return amg_clock_ns() - domain->clock.away_ns;
}

/* Has a tick check the peer after `ticks`; 0: when its silence matters. */
void amg_ofi_peer_look_in_locked(struct amg_peer *peer, unsigned ticks);
/* From now on this process may wait for the peer: the ticks check the peer. */
static inline void amg_ofi_peer_watch_locked(struct amg_peer *peer)
{
    if (!AMG_LIKELY(peer->look.is_watched))
        amg_ofi_peer_look_in_locked(peer, 0);
}
/* The watched peer after `peer` (NULL: the first one). NULL: no more. */
struct amg_peer *amg_ofi_peer_next_watched_locked(
    const struct amg_ofi_domain *domain, const struct amg_peer *peer);

/* Does the peer's deadline run: is the peer CONNECTING, or a message unsent? */
bool amg_ofi_peer_is_waiting(const struct amg_peer *peer);
/* Do operations of this process wait for the peer? */
bool amg_ofi_peer_is_awaited(const struct amg_peer *peer);
/* Restarts the time that messages to the peer may wait. */
void amg_ofi_peer_set_deadline(struct amg_peer *peer);
/* Makes the next poll send all messages that wait for the peer. */
void amg_ofi_peer_set_pending_locked(struct amg_peer *peer);
/* Connects to an UNKNOWN or CLAIMED peer; messages wait for the ACCEPT. */
void amg_ofi_peer_connect_locked(struct amg_peer *peer);
/* Checks by a CONNECT that the peer is still there. */
void amg_ofi_peer_check_locked(struct amg_peer *peer);

/* The indexes of peers. HG_NOMEM; HG_OPNOTSUPPORTED: no random numbers here. */
hg_return_t amg_ofi_peers_init(struct amg_ofi_domain *domain);
/* Accepts zeroed memory. */
void amg_ofi_peers_fini(struct amg_ofi_domain *domain);

/* Tokens: random numbers that identify the sender of a message. */

/* A random number, not 0. */
uint64_t amg_ofi_token_draw(void);

/* Sets the token of the peer; 0: none. */
void amg_ofi_token_set_locked(struct amg_peer *peer, uint64_t token);
/* The peer that has this token, or NULL. `token` is not 0. */
static inline struct amg_peer *amg_ofi_token_find_locked(
    const struct amg_ofi_domain *domain, uint64_t token)
{
    const struct amg_ofi_index *index =
        &domain->peers.indexes[AMG_OFI_BY_TOKEN];
    struct amg_peer *peer = index->buckets[token & index->mask];

    while (peer != NULL && peer->conn.token != token)
        peer = peer->next[AMG_OFI_BY_TOKEN];
    return peer;
}

/* Handlers of messages. A CONNECT has at least AMG_OFI_CONNECT_MIN bytes. */
void amg_ofi_connect_on_connect_locked(
    struct amg_ofi_domain *domain, const unsigned char *body, uint32_t len);
void amg_ofi_connect_on_accept_locked(const struct amg_ofi_message *message);
void amg_ofi_connect_on_disconnect_locked(
    const struct amg_ofi_message *message);
/* A message with the token of a peer that is not OPEN came: opens the peer.
 * False: the peer does not open, as `my_token` is not known. */
bool amg_ofi_connect_prove_locked(struct amg_peer *peer);

/* Sends messages that wait for peers, or for room. */
void amg_ofi_connect_retry_locked(struct amg_ofi_domain *domain);

/* The process is gone, or unreachable: all operations with the peer end with
 * HG_HOSTUNREACH. The next use connects anew. `why`: for the log, or NULL. */
void amg_ofi_connect_lost_locked(struct amg_peer *peer, const char *why);

/* States of TCP connections. LIVE: the host has accepted the connection, so the
 * peer exists, and may be busy. BEGUN: not accepted yet. DEAD: the host has
 * acknowledged nothing for the connect time-out, though data was sent. */
enum { AMG_OFI_TCP_LIVE = 1, AMG_OFI_TCP_BEGUN = 2, AMG_OFI_TCP_DEAD = 4 };

/* The states of our connections to the peer; 0: there are none, or nothing is
 * known, as for providers without TCP. Shuts down each connection, to any peer,
 * that is dead, or still BEGUN 0.5 s before the deadline of its peer. */
unsigned amg_ofi_tcp_states_locked(const struct amg_peer *peer);

/* To be called in each tick of a wait for the peer. True: the peer's host
 * refuses connections to the peer's port. */
bool amg_ofi_tcp_is_refused_locked(struct amg_peer *peer);
/* Closes the probe: the peer has answered, or is given up. */
void amg_ofi_tcp_probe_end_locked(struct amg_peer *peer);

#endif
