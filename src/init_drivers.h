/* SPDX-License-Identifier: BSD-3-Clause */
/* The drivers that are in libraries of their own, and which one a scheme
 * names. */
#ifndef AMG_INIT_DRIVERS_H
#define AMG_INIT_DRIVERS_H

#include "boot/node.h"
#include "transport/transport.h"
#include "transport/uri.h"

bool amg_init_scheme_is(const struct amg_uri *uri, const char *name);
bool amg_init_scheme_is_shm(const struct amg_uri *uri);
bool amg_init_scheme_is_mpi(const struct amg_uri *uri);
bool amg_init_scheme_is_ofi(const struct amg_uri *uri);

/* The driver, or NULL; loads its library only when `may_load`, and logs why it
 * cannot. */
const struct amg_transport *amg_init_mpi(bool may_load);
const struct amg_transport *amg_init_ofi(bool may_load);

/* How ranks of a node meet, or NULL, with a log line. The MPI driver is there.
 */
const struct amg_node_ops *amg_init_node_ops(void);

/* Says that nothing here opens the init string, and what would be opened; for
 * the ranks of a communicator, what reaches them. */
void amg_init_refuse(const char *info, bool is_of_ranks);

#endif
