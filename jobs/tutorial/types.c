/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes on a grid of which each rank has a block, and exchanges the edges.
 *
 * MPI has datatypes for such memory: a column of a block is a subarray, or a
 * vector. amalgam_bulk_create_type() takes such a type, so that a column is one
 * bulk handle and one transfer, however many cells it has. Both sides of a
 * transfer may use different types: here an edge is a subarray at its owner,
 * and a vector at the neighbour.
 *
 * In each step a rank offers its edges to its neighbours, by an RPC with the
 * bulk handle. A neighbour pulls the edge into its halo, and replies. The step
 * may be computed when all neighbours have replied, so that the edges may
 * change again, and the edges of all neighbours have arrived.
 *
 * A neighbour may be one step ahead, but never two, as its second step needs an
 * edge of this rank. So two arrays that are swapped suffice, and the number of
 * the step selects the array that an edge goes into. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "mercury_macros.h"
#include "types_grid.h"

enum { STEPS = 20, BLOCK_ROWS = 24, BLOCK_COLS = 16 };

/* The side of a neighbour; the opposite of `side` is `side ^ 1`. */
enum { UP, DOWN, LEFT, RIGHT, SIDES };

MERCURY_GEN_PROC(
    edge_in_t, ((int32_t)(step))((int32_t)(side))((hg_bulk_t)(edge)))

/* One side of the block; the bulk handles are for even and odd steps. */
struct side {
    int rank;          /* the neighbour, or -1: the grid ends there */
    hg_handle_t call;  /* to the neighbour, reused in each step */
    hg_bulk_t edge[2]; /* this rank's cells, which the neighbour reads */
    hg_bulk_t halo[2]; /* room for the neighbour's cells */
};

/* This rank's part of the exchange. */
struct exchange {
    struct job job;
    hg_id_t id;
    int dims[2]; /* rows and columns of blocks */
    struct block block;
    struct side sides[SIDES];
    int neighbours;
    int step;
    int answered;   /* replies in this step */
    int arrived[2]; /* edges, for even and odd steps */
    int pulled;     /* edges in all */
    bool is_done;   /* the step may be computed */
};

/* An edge while it is pulled. */
struct taking {
    struct exchange *exchange;
    hg_handle_t handle;
    edge_in_t in;
};

static void exchange_look(struct exchange *exchange)
{
    exchange->is_done =
        exchange->answered == exchange->neighbours &&
        exchange->arrived[exchange->step % 2] == exchange->neighbours;
}

/* Runs within HG_Trigger(), when a neighbour's edge has arrived. */
static hg_return_t edge_came(const struct hg_cb_info *info)
{
    struct taking *taking = info->arg;
    struct exchange *exchange = taking->exchange;

    job_check(info->ret, "the transfer of an edge");
    exchange->arrived[taking->in.step % 2]++;
    exchange->pulled++;
    exchange_look(exchange);
    job_check(HG_Respond(taking->handle, NULL, NULL, NULL), "HG_Respond");
    job_check(HG_Free_input(taking->handle, &taking->in), "HG_Free_input");
    job_check(HG_Destroy(taking->handle), "HG_Destroy");
    free(taking);
    return HG_SUCCESS;
}

/* Runs when a neighbour offers its edge: pulls it into the halo. */
static hg_return_t edge_take(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct taking *taking = calloc(1, sizeof(*taking));
    struct side *side = NULL;

    if (taking == NULL)
        job_fail("no memory for a call");
    taking->handle = handle;
    taking->exchange = HG_Registered_data(info->hg_class, info->id);
    job_check(HG_Get_input(handle, &taking->in), "HG_Get_input");
    if (taking->in.side < 0 || taking->in.side >= SIDES || taking->in.step < 0)
        job_fail(
            "an edge of step %d for side %d", taking->in.step, taking->in.side);
    side = &taking->exchange->sides[taking->in.side];
    job_check(
        HG_Bulk_transfer(info->context, edge_came, taking, HG_BULK_PULL,
            info->addr, taking->in.edge, 0, side->halo[taking->in.step % 2], 0,
            HG_Bulk_get_size(taking->in.edge), HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
    return HG_SUCCESS;
}

/* Runs when a neighbour has pulled an edge of this rank. */
static hg_return_t edge_taken(const struct hg_cb_info *info)
{
    struct exchange *exchange = info->arg;

    job_check(info->ret, "the offer of an edge");
    exchange->answered++;
    exchange_look(exchange);
    return HG_SUCCESS;
}

static hg_bulk_t type_expose(
    const struct job *job, void *buf, MPI_Datatype type, uint8_t flags)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    MPI_Type_commit(&type);
    job_check(
        amalgam_bulk_create_type(job->hg_class, buf, 1, type, flags, &bulk),
        "amalgam_bulk_create_type");
    MPI_Type_free(&type); /* the handle does not need it any more */
    return bulk;
}

/* The outermost row or column of the block's own cells. */
static hg_bulk_t edge_expose(
    const struct exchange *exchange, int side, double *cells)
{
    const struct block *block = &exchange->block;
    int sizes[2] = {block->rows + 2, block->cols + 2};
    int parts[2] = {block->rows, block->cols};
    int starts[2] = {1, 1};
    MPI_Datatype type = MPI_DATATYPE_NULL;

    parts[side == LEFT || side == RIGHT] = 1;
    if (side == DOWN)
        starts[0] = block->rows;
    if (side == RIGHT)
        starts[1] = block->cols;
    MPI_Type_create_subarray(
        2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type_expose(&exchange->job, cells, type, HG_BULK_READ_ONLY);
}

/* The row or column of the halo beside it. */
static hg_bulk_t halo_expose(
    const struct exchange *exchange, int side, double *cells)
{
    const struct block *block = &exchange->block;
    const int width = block->cols + 2; /* from a cell to the one below it */
    MPI_Datatype type = MPI_DATATYPE_NULL;
    double *first = cells + 1; /* of the row above the block */

    if (side == DOWN)
        first += (block->rows + 1) * width;
    if (side == LEFT)
        first = cells + width;
    if (side == RIGHT)
        first = cells + width + block->cols + 1;
    if (side == UP || side == DOWN)
        MPI_Type_contiguous(block->cols, MPI_DOUBLE, &type);
    else
        MPI_Type_vector(block->rows, 1, width, MPI_DOUBLE, &type);
    return type_expose(&exchange->job, first, type, HG_BULK_WRITE_ONLY);
}

static void side_open(struct exchange *exchange, int which)
{
    const struct job *job = &exchange->job;
    struct block *block = &exchange->block;
    struct side *side = &exchange->sides[which];
    int row = job->rank / exchange->dims[1] + (which == DOWN) - (which == UP);
    int col =
        job->rank % exchange->dims[1] + (which == RIGHT) - (which == LEFT);
    hg_addr_t addr = HG_ADDR_NULL;

    side->rank = -1;
    if (row < 0 || row >= exchange->dims[0] || col < 0 ||
        col >= exchange->dims[1])
        return;
    side->rank = row * exchange->dims[1] + col;
    exchange->neighbours++;
    side->edge[0] = edge_expose(exchange, which, block->now);
    side->edge[1] = edge_expose(exchange, which, block->next);
    side->halo[0] = halo_expose(exchange, which, block->now);
    side->halo[1] = halo_expose(exchange, which, block->next);
    job_check(amalgam_addr_rank(job->hg_class, side->rank, &addr),
        "amalgam_addr_rank");
    job_check(
        HG_Create(job->context, addr, exchange->id, &side->call), "HG_Create");
    job_check(HG_Addr_free(job->hg_class, addr), "HG_Addr_free");
}

static void side_close(struct side *side)
{
    if (side->rank < 0)
        return;
    for (int i = 0; i < 2; i++) {
        job_check(HG_Bulk_free(side->edge[i]), "HG_Bulk_free");
        job_check(HG_Bulk_free(side->halo[i]), "HG_Bulk_free");
    }
    job_check(HG_Destroy(side->call), "HG_Destroy");
}

/* Offers the edges, and returns when the halo is complete. */
static void exchange_step(struct exchange *exchange, int step)
{
    exchange->step = step;
    exchange->answered = 0;
    exchange->is_done = false;
    for (int which = 0; which < SIDES; which++) {
        struct side *side = &exchange->sides[which];
        edge_in_t in = {
            .step = step, .side = which ^ 1, .edge = side->edge[step % 2]};

        if (side->rank >= 0)
            job_check(HG_Forward(side->call, edge_taken, exchange, &in),
                "HG_Forward");
    }
    job_wait(exchange->job.context, &exchange->is_done);
    exchange->arrived[step % 2] = 0; /* for the step after the next */
}

/* Repeats the computation alone, and compares exactly, as the additions are the
 * same. */
static void result_compare(const struct exchange *exchange)
{
    int rows = exchange->dims[0] * BLOCK_ROWS;
    int cols = exchange->dims[1] * BLOCK_COLS;
    struct block all;

    if (block_create(&all, 0, 0, rows, cols, rows, cols) != 0)
        job_fail("no memory for the whole grid");
    for (int step = 0; step < STEPS; step++)
        block_step(&all);
    if (!block_is_part(&exchange->block, &all))
        job_fail("the block differs from the serial computation");
    printf("rank %d: pulled %d edges, the same result as alone\n",
        exchange->job.rank, exchange->pulled);
    block_destroy(&all);
}

/* Lets handlers run only within job_wait(). In each step a rank waits for its
 * neighbours anyway: a thread of the library would have to pass every edge to
 * the waiting thread, and their common counters would need a lock. */
static void threads_refuse(const struct job *job)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    options.progress = AMALGAM_PROGRESS_CALLER;
    job_check(
        amalgam_set_progress(job->hg_class, &options), "amalgam_set_progress");
}

int main(int argc, char **argv)
{
    static struct exchange exchange;
    struct job *job = &exchange.job;
    int *dims = exchange.dims;

    job_open(&argc, &argv, 0, job);
    threads_refuse(job);
    MPI_Dims_create(job->ranks, 2, dims);
    exchange.id =
        MERCURY_REGISTER(job->hg_class, "edge", edge_in_t, void, edge_take);
    if (exchange.id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_check(HG_Register_data(job->hg_class, exchange.id, &exchange, NULL),
        "HG_Register_data");
    job_begin(job);
    if (block_create(&exchange.block, job->rank / dims[1] * BLOCK_ROWS,
            job->rank % dims[1] * BLOCK_COLS, BLOCK_ROWS, BLOCK_COLS,
            dims[0] * BLOCK_ROWS, dims[1] * BLOCK_COLS) != 0)
        job_fail("no memory for a block");
    for (int which = 0; which < SIDES; which++)
        side_open(&exchange, which);

    if (job->rank == 0)
        printf("rank 0: %d x %d blocks of %d x %d cells, %d steps\n", dims[0],
            dims[1], BLOCK_ROWS, BLOCK_COLS, STEPS);
    for (int step = 0; step < STEPS; step++) {
        exchange_step(&exchange, step);
        block_step(&exchange.block);
    }
    result_compare(&exchange);

    for (int which = 0; which < SIDES; which++)
        side_close(&exchange.sides[which]);
    job_close(job);
    block_destroy(&exchange.block);
    return 0;
}
