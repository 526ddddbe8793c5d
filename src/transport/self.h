/* SPDX-License-Identifier: BSD-3-Clause */
/* Loopback: calls and transfers of a process to itself. */
#ifndef AMG_TRANSPORT_SELF_H
#define AMG_TRANSPORT_SELF_H

#include "base/lock.h"
#include "transport/table.h"
#include "transport/transport.h"

struct amg_self_mem;

/* All exposed memory of a domain. Owned by the domain, which embeds it. */
struct amg_self_mems {
    struct amg_lock lock; /* guards all below, and the counts of users */
    struct amg_table table;
    uint32_t serials; /* number of registrations so far */
};

extern const struct amg_transport amg_self_transport;

#endif
