/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens libfabric between the nodes of a job while a class opens. */
#ifndef AMG_INIT_FAR_H
#define AMG_INIT_FAR_H

#include "boot/node.h"
#include "core/class.h"

/* What the plan wants of libfabric, for a job of several nodes: collective over
 * all its ranks. When all could open it, ranks of other nodes are called by it
 * from now on, and `ret_is_far` is true; else none are. Then HG_SUCCESS, with
 * one warning; or where the plan allows nothing else what the first of those
 * that could not got, who says in the log what it was. */
hg_return_t amg_init_far_join(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node, bool *ret_is_far);

/* Writes how others are reached: "ofi+net". Returns `ret_text`. */
const char *amg_init_far_way(const hg_class_t *cls, char *ret_text, size_t cap);

#endif
