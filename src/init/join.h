/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining of a job's ranks while a class opens: shared memory within a node,
 * libfabric between nodes. */
#ifndef AMG_INIT_JOIN_H
#define AMG_INIT_JOIN_H

#include "boot/node.h"
#include "core/class.h"

/* Finds the libfabric driver, or NULL with a log line; may load it. */
typedef const struct amg_transport *(*amg_init_driver_fn)(void);

/* A plan's `join` for a class whose main route is MPI: collective over its
 * ranks. Where the plan wants so, ranks of a node that all could map each
 * other's memory are called by that from now on; else all of them by MPI, with
 * one warning. Says in the class who is reached how.
 * HG_OPNOTSUPPORTED: the plan allows nothing but shared memory, and a rank is
 * on another node, or cannot map another's; the log names it. */
hg_return_t amg_init_join(hg_class_t *cls, const struct amg_node_ops *ops,
    amg_init_driver_fn find_driver);

#endif
