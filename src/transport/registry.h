/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a driver by the scheme it opens, and looks whether it is whole. */
#ifndef AMG_TRANSPORT_REGISTRY_H
#define AMG_TRANSPORT_REGISTRY_H

#include <stddef.h>

#include "transport/transport.h"

/* HG_PROTOCOL_ERROR, with the slot's name in the log: a slot is not set, or
 * the name or a scheme is no word of letters, digits, '_', '-', '.', ';' (and
 * one '+' in a scheme). A build with such a driver is broken. */
hg_return_t amg_registry_check(const struct amg_transport *transport);

/* The driver of `all` (ends with NULL) that opens `scheme`, or NULL. The
 * scheme ends with its NUL or at "://", so init strings and address strings
 * may be given as they are. */
const struct amg_transport *amg_registry_find(
    const struct amg_transport *const *all, const char *scheme);

/* Writes the schemes of `all` for a person: "self, mpi, mpi+p2p". What does
 * not fit into `cap` bytes with the NUL is left out. Returns `ret_text`. */
const char *amg_registry_offer(
    const struct amg_transport *const *all, char *ret_text, size_t cap);

#endif
