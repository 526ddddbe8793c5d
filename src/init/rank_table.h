/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the addresses of all ranks, one copy for each node. */
#ifndef AMG_INIT_RANK_TABLE_H
#define AMG_INIT_RANK_TABLE_H

#include "core/route_map.h"
#include "transport/boot.h"

/* Construction of a table, step by step. Every rank takes every step, also
 * after an error, and between the steps all agree on whether to continue. */
struct amg_rank_table_maker {
    const struct amg_node_ops *ops;
    const struct amg_node *node;
    uint32_t record_len;
    struct amg_rank_record *mine;
    unsigned char *all; /* at the first rank of a node: unordered */
    struct table_holder *holder;
};

/* Allocates memory for texts of `text_len` bytes with their NUL; `text` is that
 * of this rank. HG_NOMEM. */
hg_return_t amg_rank_table_maker_begin(struct amg_rank_table_maker *table,
    const struct amg_node_ops *ops, const struct amg_node *node,
    const char *text, uint32_t text_len);
/* Sends the address of this rank to all nodes, and enters those of all ranks
 * into a table that the ranks of the node share; collective over the job. Takes
 * every step, also after an error, and returns the first error.
 * HG_PROTOCOL_ERROR: ranks have different providers, or the same address; the
 * log names the ranks; HG_NOMEM, HG_NA_ERROR. */
hg_return_t amg_rank_table_maker_make(struct amg_rank_table_maker *table);
/* Returns the table, for amg_route_map_add_table(). */
void amg_rank_table_maker_take(
    struct amg_rank_table_maker *table, struct amg_rank_table *ret_table);
/* Frees the rest; allowed after any step. */
void amg_rank_table_maker_end(struct amg_rank_table_maker *table);

#endif
