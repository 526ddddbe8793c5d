/* SPDX-License-Identifier: BSD-3-Clause */
/* Server on one host: its RPCs. */
#ifndef TESTS_HOSTS_PEERS_SERVE_H
#define TESTS_HOSTS_PEERS_SERVE_H

#include "mercury_macros.h"
#include "peers.h"

/* NOTE(one for all): a call that is no move has no bulk handle. */
MERCURY_GEN_PROC(peers_ask_t, ((uint32_t)(number))((uint32_t)(is_push))(
                                  (uint64_t)(len))((hg_bulk_t)(bulk)))
MERCURY_GEN_PROC(peers_answer_t, ((uint32_t)(number))((uint32_t)(times)))

/* Opens the class of either side. */
void peers_open(struct peers *peer, const char *uri, bool is_server);
/* Serves until it is killed. */
void peers_serve(const char *uri);

/* Bytes that depend on their position. */
void peers_fill(unsigned char *bytes, uint64_t len, uint32_t seed);
bool peers_is_filled(const unsigned char *bytes, uint64_t len, uint32_t seed);

#endif
