/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a grid, for the program types; nothing in here knows of RPC. */
#ifndef AMG_TUTORIAL_TYPES_GRID_H
#define AMG_TUTORIAL_TYPES_GRID_H

/* A block of cells with a frame around it, one cell wide, row after row. What
 * the frame holds is the grid's border, which never changes, or the halo:
 * copies of cells of the neighbouring blocks. */
struct block {
    int rows; /* of its own cells */
    int cols;
    int first_row; /* of the whole grid; -1 and behind the last is the border */
    int first_col;
    double *now;
    double *next;
};

/* Cells of `rows` and `cols` of a grid as long and wide as the last two say,
 * with their values before the first step. The halo holds values that would
 * spoil everything. -1: no memory. */
int block_create(struct block *block, int first_row, int first_col, int rows,
    int cols, int all_rows, int all_cols);
void block_destroy(struct block *block);

/* One step: each cell becomes the mean of its four neighbours, in `next`; then
 * `now` and `next` change places. */
void block_step(struct block *block);

/* Does it hold what `all`, the whole grid as one block, holds there? */
int block_is_part(const struct block *block, const struct block *all);

#endif
