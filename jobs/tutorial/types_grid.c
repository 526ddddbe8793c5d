/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a grid, for the program types. */
#include "types_grid.h"

#include <stdlib.h>

/* A value that no cell ever has, and that would show in every sum. */
#define UNSET (-1e9)

static double *cell_at(const struct block *block, double *cells, int row,
    int col) /* in rows and columns of the frame */
{
    return &cells[row * (block->cols + 2) + col];
}

/* Any pattern without symmetry. */
static double value_at_start(int row, int col)
{
    return (double)((row + 1) * 31 % 23 + (col + 1) * 17 % 29);
}

/* Sets the cells of one array. */
static void cells_fill(
    const struct block *block, double *cells, int all_rows, int all_cols)
{
    for (int i = 0; i < block->rows + 2; i++)
        for (int j = 0; j < block->cols + 2; j++) {
            int row = block->first_row + i - 1;
            int col = block->first_col + j - 1;
            int is_own = i > 0 && i <= block->rows && j > 0 && j <= block->cols;
            int is_border =
                row < 0 || row == all_rows || col < 0 || col == all_cols;

            *cell_at(block, cells, i, j) =
                is_own || is_border ? value_at_start(row, col) : UNSET;
        }
}

int block_create(struct block *block, int first_row, int first_col, int rows,
    int cols, int all_rows, int all_cols)
{
    size_t len = sizeof(double) * (size_t)(rows + 2) * (size_t)(cols + 2);

    block->rows = rows;
    block->cols = cols;
    block->first_row = first_row;
    block->first_col = first_col;
    block->now = malloc(len);
    block->next = malloc(len);
    if (block->now == NULL || block->next == NULL) {
        block_destroy(block);
        return -1;
    }
    cells_fill(block, block->now, all_rows, all_cols);
    cells_fill(block, block->next, all_rows, all_cols);
    return 0;
}

void block_destroy(struct block *block)
{
    free(block->now);
    free(block->next);
    block->now = NULL;
    block->next = NULL;
}

void block_step(struct block *block)
{
    double *now = block->now;

    for (int i = 1; i <= block->rows; i++)
        for (int j = 1; j <= block->cols; j++)
            *cell_at(block, block->next, i, j) =
                0.25 * (*cell_at(block, now, i - 1, j) +
                           *cell_at(block, now, i + 1, j) +
                           *cell_at(block, now, i, j - 1) +
                           *cell_at(block, now, i, j + 1));
    block->now = block->next;
    block->next = now;
}

int block_is_part(const struct block *block, const struct block *all)
{
    for (int i = 1; i <= block->rows; i++)
        for (int j = 1; j <= block->cols; j++)
            if (*cell_at(block, block->now, i, j) != *cell_at(all, all->now,
                                                         block->first_row + i,
                                                         block->first_col + j))
                return 0;
    return 1;
}
