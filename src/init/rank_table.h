/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the addresses of all ranks, one copy for each node. */
#ifndef AMG_INIT_RANK_TABLE_H
#define AMG_INIT_RANK_TABLE_H

#include "core/route_map.h"
#include "transport/boot.h"

/* Construction of a table, in collective steps: a rank takes a step to its end,
 * also after an error; between two steps all ranks agree whether to go on. */
struct amg_rank_table_maker {
    const struct amg_node_ops *ops;
    const struct amg_node *node;
    uint32_t record_len;
    struct amg_rank_record *mine; /* the record of this rank */
    unsigned char *all; /* at the node's first rank: all records, unordered */
    struct table_holder *holder; /* memory of the table in this process */
};

/* Allocates memory for addresses of at most `text_len` bytes with the NUL;
 * `text`: the address of this rank. HG_NOMEM. */
hg_return_t amg_rank_table_maker_begin(struct amg_rank_table_maker *table,
    const struct amg_node_ops *ops, const struct amg_node *node,
    const char *text, uint32_t text_len);
/* Sends the address of this rank to all nodes, and enters the addresses of all
 * ranks into a table that the ranks of the node share; collective over the job.
 * Goes on after an error, and returns the first error. HG_PROTOCOL_ERROR: ranks
 * have different providers, or the same address; the log names the ranks;
 * HG_NOMEM, HG_NA_ERROR. */
hg_return_t amg_rank_table_maker_make(struct amg_rank_table_maker *table);
/* Passes the table, with its memory, to the caller. */
void amg_rank_table_maker_take(
    struct amg_rank_table_maker *table, struct amg_rank_table *ret_table);
/* Frees what was not taken; may follow any step. */
void amg_rank_table_maker_end(struct amg_rank_table_maker *table);

#endif
