/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the ranks of one node by shared memory while a class opens. */
#ifndef AMG_INIT_NODE_H
#define AMG_INIT_NODE_H

#include "boot/node.h"
#include "core/class.h"

/* A plan's `join` for a class whose main route is MPI: collective over its
 * ranks. Where the plan wants so, ranks of a node that all could map each
 * other's memory are called by that from now on; else all of them by MPI, with
 * one warning. Says in the class who is reached how.
 * HG_OPNOTSUPPORTED: the plan allows nothing but shared memory, and a rank is
 * on another node, or cannot map another's; the log names it. */
hg_return_t amg_init_node_join(hg_class_t *cls, const struct amg_node_ops *ops);

#endif
