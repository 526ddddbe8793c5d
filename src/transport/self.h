/* SPDX-License-Identifier: BSD-3-Clause */
/* The loopback driver: a process calls itself. */
#ifndef AMG_TRANSPORT_SELF_H
#define AMG_TRANSPORT_SELF_H

#include "transport/transport.h"

extern const struct amg_transport amg_self_transport;

#endif
