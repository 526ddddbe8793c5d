/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the addresses of all ranks, one copy for each node. */
#ifndef AMG_INIT_RANK_TABLE_H
#define AMG_INIT_RANK_TABLE_H

#include "boot/node.h"
#include "core/route_map.h"

/* Making one, step by step. Every rank takes every step, also one that has
 * failed before, and between them all agree on whether to go on. */
struct amg_rank_table_maker {
    const struct amg_node_ops *ops;
    const struct amg_node *node;
    uint32_t record_len;
    unsigned char *all; /* at the first rank of a node: in no order */
    struct table_holder *holder;
};

/* Makes room, for texts of `text_len` bytes with their NUL. HG_NOMEM. */
hg_return_t amg_rank_table_maker_begin(struct amg_rank_table_maker *table,
    const struct amg_node_ops *ops, const struct amg_node *node,
    uint32_t text_len);
/* Tells all where this rank is reached; collective over the job. HG_NOMEM (on
 * all ranks), HG_NA_ERROR. */
hg_return_t amg_rank_table_maker_swap(
    struct amg_rank_table_maker *table, const char *text);
/* Puts them in order. HG_PROTOCOL_ERROR: ranks are reached by different
 * providers, or at the same address; the log names them. */
hg_return_t amg_rank_table_maker_sort(struct amg_rank_table_maker *table);
/* Gives all ranks of the node the same memory, or copies where they cannot
 * share it; collective over the node. HG_NOMEM, HG_NA_ERROR. */
hg_return_t amg_rank_table_maker_share(struct amg_rank_table_maker *table);
/* Hands the result on, for amg_route_map_add_table(). */
void amg_rank_table_maker_take(
    struct amg_rank_table_maker *table, struct amg_rank_table *ret_table);
/* Frees what was not handed on; fine after any of these. */
void amg_rank_table_maker_end(struct amg_rank_table_maker *table);

#endif
