/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared-memory driver, for src/init.c. */
#ifndef AMG_SHM_SHM_TRANSPORT_H
#define AMG_SHM_SHM_TRANSPORT_H

#include "transport/transport.h"

extern const struct amg_transport amg_shm_transport;

/* Removes what processes that died left in /dev/shm. */
void amg_shm_cleanup(void);

#endif
