/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a grid, for the program types; independent of RPC. */
#ifndef AMG_TUTORIAL_TYPES_GRID_H
#define AMG_TUTORIAL_TYPES_GRID_H

/* A block of cells with a frame around it, one cell wide, row after row. The
 * frame holds the grid's border, which never changes, or the halo: copies of
 * cells of the neighbouring blocks. */
struct block {
    int rows; /* of its own cells */
    int cols;
    int first_row; /* in the whole grid; -1 and beyond the last is the border */
    int first_col;
    double *now;
    double *next;
};

/* A block of `rows` and `cols` of a grid with the size of the last two
 * arguments, with the values before the first step. The halo has values that
 * would spoil any result. -1: no memory. */
int block_create(struct block *block, int first_row, int first_col, int rows,
    int cols, int all_rows, int all_cols);
void block_destroy(struct block *block);

/* One step: `next` gets the mean of the four neighbours of each cell; then
 * `now` and `next` are swapped. */
void block_step(struct block *block);

/* Does the block equal its part of `all`, the whole grid as one block? */
int block_is_part(const struct block *block, const struct block *all);

#endif
