/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining of a job's ranks while a class opens: shared memory within a node,
 * libfabric between nodes. */
#ifndef AMG_INIT_JOIN_H
#define AMG_INIT_JOIN_H

#include "boot/node.h"
#include "core/class.h"

/* Finds the libfabric driver, or NULL with a log line; may load it. */
typedef const struct amg_transport *(*amg_init_driver_fn)(void);

/* The plan's `join` for a class whose main route is MPI: collective over its
 * ranks. If the plan wants it, and all ranks of a node could map each other's
 * memory, they use that from now on; else all of them use MPI, with one
 * warning. Sets the texts of the class that say how ranks are reached.
 * HG_OPNOTSUPPORTED: the plan allows only shared memory, and a rank is on
 * another node, or cannot map another's; the log names it. */
hg_return_t amg_init_join(hg_class_t *cls, const struct amg_node_ops *ops,
    amg_init_driver_fn find_driver);

#endif
