/* SPDX-License-Identifier: BSD-3-Clause */
/* A halo of 10^6 rows: one column of a grid, exposed as a subarray and pulled
 * or pushed by one transfer, whose descriptor is far longer than a message.
 *
 * It moves between two columns, and between a column and contiguous memory; a
 * peer with the column's descriptor may access any part of it. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum {
    ROWS = 1000000,
    COLS = 5,
    COLUMN = 3, /* the exposed one */
    GAP = -7,   /* value of all others */
    PART = 333333,
};

MERCURY_GEN_PROC(rows_in_t, ((hg_bulk_t)(bulk))((int32_t)(from)))

/* A grid, or one contiguous column. */
struct field {
    double *cells;
    int cols;
    int column;
    hg_bulk_t bulk;
};

static struct ranks all;
static hg_id_t rows_id;
static unsigned served;
static bool is_told; /* print the times */

static double value_of(int rank, int row)
{
    return rank * 1e7 + row;
}

static void field_make(struct field *field, int cols, int column, int rank)
{
    field->cells = malloc(sizeof(double) * ROWS * (size_t)cols);
    field->cols = cols;
    field->column = column;
    for (int i = 0; i < ROWS * cols; i++)
        field->cells[i] =
            i % cols == column && rank >= 0 ? value_of(rank, i / cols) : GAP;
}

static void field_expose(struct field *field, uint8_t flags)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int sizes[2] = {ROWS, field->cols};
    int parts[2] = {ROWS, 1};
    int starts[2] = {0, field->column};
    uint64_t start_ns = 0;

    MPI_Type_create_subarray(
        2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    start_ns = ranks_now_ns();
    OK(amalgam_bulk_create_type(
        all.cls, field->cells, 1, type, flags, &field->bulk));
    if (is_told)
        printf("%u segments made in %.1f ms\n",
            HG_Bulk_get_segment_count(field->bulk),
            (double)(ranks_now_ns() - start_ns) / 1e6);
    CHECK(HG_Bulk_get_size(field->bulk) == ROWS * sizeof(double));
    CHECK(HG_Bulk_get_segment_count(field->bulk) ==
          (field->cols == 1 ? 1 : ROWS));
    MPI_Type_free(&type);
}

/* Rows `first` to before `last` have the values of `rank`, from its row `from`
 * on, and all else is as created. */
static void field_check(
    const struct field *field, int first, int last, int rank, int from)
{
    for (int i = 0; i < ROWS * field->cols; i++) {
        int row = i / field->cols;
        bool is_meant =
            i % field->cols == field->column && row >= first && row < last;

        CHECK(field->cells[i] ==
              (is_meant ? value_of(rank, row - first + from) : GAP));
    }
}

static void field_end(struct field *field)
{
    OK(HG_Bulk_free(field->bulk));
    free(field->cells);
}

/* Moves, in one transfer, and prints the time. */
static void move(const char *what, hg_bulk_op_t op, hg_addr_t addr,
    hg_bulk_t origin, int row, struct field *local, int local_row, int rows)
{
    uint64_t start_ns = ranks_now_ns();

    OK(ranks_transfer(&all, op, addr, origin, (hg_size_t)row * sizeof(double),
        local->bulk, (hg_size_t)local_row * sizeof(double),
        (hg_size_t)rows * sizeof(double)));
    if (is_told)
        printf("%s, %d rows: %.1f ms\n", what, rows,
            (double)(ranks_now_ns() - start_ns) / 1e6);
}

static void rows_pull(hg_addr_t addr, const rows_in_t *in, int cols)
{
    struct field field;

    field_make(&field, cols, cols / 2, -1);
    field_expose(&field, HG_BULK_READWRITE);
    move(cols == 1 ? "column to one piece" : "column to column", HG_BULK_PULL,
        addr, in->bulk, 0, &field, 0, ROWS);
    field_check(&field, 0, ROWS, in->from, 0);
    field_end(&field);
    field_make(&field, cols, cols / 2, -1);
    field_expose(&field, HG_BULK_READWRITE);
    move("a part of it", HG_BULK_PULL, addr, in->bulk, ROWS - PART, &field, 5,
        PART);
    field_check(&field, 5, 5 + PART, in->from, ROWS - PART);
    field_end(&field);
}

/* Pushes this rank's values to it. */
static void rows_push(hg_addr_t addr, const rows_in_t *in)
{
    struct field field;

    field_make(&field, COLS, COLUMN, all.rank);
    field_expose(&field, HG_BULK_READ_ONLY);
    move(
        "column from column", HG_BULK_PUSH, addr, in->bulk, 0, &field, 0, ROWS);
    field_end(&field);
}

/* Outside the handler, because it waits. */
static void rows_serve_now(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    uint64_t start_ns = ranks_now_ns();
    rows_in_t in;

    OK(HG_Get_input(handle, &in));
    if (is_told)
        printf("descriptor of %u segments read in %.1f ms\n",
            HG_Bulk_get_segment_count(in.bulk),
            (double)(ranks_now_ns() - start_ns) / 1e6);
    CHECK(HG_Bulk_get_segment_count(in.bulk) == ROWS);
    rows_pull(info->addr, &in, COLS + 2);
    rows_pull(info->addr, &in, 1);
    rows_push(info->addr, &in);
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Free_input(handle, &in));
    OK(HG_Destroy(handle));
    served++;
}

static hg_handle_t asked;

static hg_return_t rows_serve(hg_handle_t handle)
{
    CHECK(asked == HG_HANDLE_NULL);
    asked = handle;
    return HG_SUCCESS;
}

static void rows_ask(int rank)
{
    struct field field;
    rows_in_t in = {HG_BULK_NULL, all.rank};
    struct ranks_call call;

    field_make(&field, COLS, COLUMN, all.rank);
    field_expose(&field, HG_BULK_READWRITE);
    in.bulk = field.bulk;
    OK(ranks_begin(&all, &call, rank, rows_id, &in));
    if (rank == all.rank) {
        UNTIL(asked != HG_HANDLE_NULL);
        rows_serve_now(asked);
        asked = HG_HANDLE_NULL;
    }
    OK(ranks_wait(&call));
    ranks_end(&call);
    field_check(&field, 0, ROWS, rank, 0);
    field_end(&field);
}

/* The last rank serves the first one. */
int main(int argc, char **argv)
{
    (void)argv;
    is_told = argc > 1;
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    rows_id = MERCURY_REGISTER(all.cls, "rows", rows_in_t, void, rows_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    if (all.rank == 0)
        rows_ask(all.size - 1);
    if (all.size > 1 && all.rank == all.size - 1) {
        UNTIL(asked != HG_HANDLE_NULL);
        rows_serve_now(asked);
    }
    ranks_meet(MPI_COMM_WORLD);
    CHECK(served == (all.rank == all.size - 1 ? 1 : 0));
    ranks_close(&all);
    return ranks_stop();
}
