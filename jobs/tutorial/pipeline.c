/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulls a matrix in pieces, and works on one while the next ones arrive.
 *
 * A server that waits for all data before it begins to work wastes the time of
 * the transfer, and needs memory for everything. This server has buffers for
 * four pieces. It starts four transfers; whenever one has ended, it works on
 * that piece, and starts the next transfer into the same buffer, while three
 * others are in flight.
 *
 * The client's data are not contiguous: they are the inner columns of a larger
 * matrix, one segment per row. The server need not care: an offset in a bulk
 * handle counts through all segments as if there were no gaps, and a piece may
 * begin in one row and end in another.
 *
 * Pieces that arrive at the same time may be worked on in two threads, one of
 * the library and one that waits in a call. So their counters have a lock; the
 * work itself needs none.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "mercury_macros.h"

enum {
    BULK_NX = 16,         /* rows, each a segment */
    BULK_NY = 5000,       /* sent bytes of a row */
    MARGIN = 120,         /* other bytes, on either side of them */
    PIPELINE_SIZE = 4,    /* pieces in flight at once */
    PIECE_LEN = 3 * 1024, /* bytes; the last piece is shorter */
};

MERCURY_GEN_PROC(work_in_t, ((hg_bulk_t)(data)))
MERCURY_GEN_PROC(work_out_t, ((int32_t)(error))((uint64_t)(checksum)))

/* The work: adds up the bytes, each times its position. So the sum detects a
 * byte at a wrong place, but pieces may come in any order. */
static uint64_t work(const unsigned char *bytes, uint64_t offset, uint64_t len)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < len; i++)
        sum += bytes[i] * (offset + i + 1);
    return sum;
}

struct pipeline;

/* Buffer of one piece. */
struct slot {
    struct pipeline *pipeline;
    unsigned char bytes[PIECE_LEN];
    hg_bulk_t local; /* `bytes`, exposed to be written by transfers */
    uint64_t offset; /* of the piece in flight */
};

/* One call while it is served. */
struct pipeline {
    hg_handle_t handle;
    work_in_t in;
    struct slot slots[PIPELINE_SIZE];
    uint64_t len;         /* bytes in all */
    pthread_mutex_t lock; /* guards the fields below */
    uint64_t started;     /* bytes for which a transfer was started */
    int pieces;
    int in_flight;
    int most_in_flight;
    work_out_t out;
};

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void pipeline_end(struct pipeline *pipeline)
{
    printf("rank %d: %llu bytes of rank %d in %d pieces, up to %d at once\n",
        SERVER, (unsigned long long)pipeline->len, job_caller(pipeline->handle),
        pipeline->pieces, pipeline->most_in_flight);
    job_check(
        HG_Respond(pipeline->handle, NULL, NULL, &pipeline->out), "HG_Respond");
    for (int i = 0; i < PIPELINE_SIZE; i++)
        job_check(HG_Bulk_free(pipeline->slots[i].local), "HG_Bulk_free");
    job_check(HG_Free_input(pipeline->handle, &pipeline->in), "HG_Free_input");
    job_check(HG_Destroy(pipeline->handle), "HG_Destroy");
    pthread_mutex_destroy(&pipeline->lock);
    free(pipeline);
}

static hg_return_t piece_came(const struct hg_cb_info *info);

/* Starts the next transfer into this buffer, if any data are left. Posting it
 * runs no callback, so the lock may be held meanwhile. */
static void slot_fill_locked(struct slot *slot)
{
    struct pipeline *pipeline = slot->pipeline;
    const struct hg_info *info = HG_Get_info(pipeline->handle);
    uint64_t len = min_of(PIECE_LEN, pipeline->len - pipeline->started);

    if (len == 0 || pipeline->out.error != 0)
        return;
    slot->offset = pipeline->started;
    pipeline->started += len;
    job_check(HG_Bulk_transfer(info->context, piece_came, slot, HG_BULK_PULL,
                  info->addr, pipeline->in.data, slot->offset, slot->local, 0,
                  len, HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
    pipeline->pieces++;
    pipeline->in_flight++;
    if (pipeline->in_flight > pipeline->most_in_flight)
        pipeline->most_in_flight = pipeline->in_flight;
}

/* Runs at rank 0 when a piece has arrived. */
static hg_return_t piece_came(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;
    struct pipeline *pipeline = slot->pipeline;
    uint64_t checksum = 0;
    bool is_last = false;

    if (info->ret == HG_SUCCESS)
        checksum = work(slot->bytes, slot->offset, info->info.bulk.size);
    pthread_mutex_lock(&pipeline->lock);
    pipeline->in_flight--;
    if (info->ret == HG_SUCCESS)
        pipeline->out.checksum += checksum;
    else
        pipeline->out.error = (int32_t)info->ret;
    slot_fill_locked(slot);
    is_last = pipeline->in_flight == 0;
    pthread_mutex_unlock(&pipeline->lock);
    if (is_last)
        pipeline_end(pipeline);
    return HG_SUCCESS;
}

/* Runs at rank 0 for each request: starts the pipeline. */
static hg_return_t pull_and_work(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
    const hg_size_t len = PIECE_LEN;
    bool is_empty = false;

    if (pipeline == NULL)
        job_fail("no memory for a call");
    pthread_mutex_init(&pipeline->lock, NULL);
    pipeline->handle = handle;
    job_check(HG_Get_input(handle, &pipeline->in), "HG_Get_input");
    pipeline->len = HG_Bulk_get_size(pipeline->in.data);
    for (int i = 0; i < PIPELINE_SIZE; i++) {
        struct slot *slot = &pipeline->slots[i];
        void *bytes = slot->bytes;

        slot->pipeline = pipeline;
        job_check(HG_Bulk_create(info->hg_class, 1, &bytes, &len,
                      HG_BULK_WRITE_ONLY, &slot->local),
            "HG_Bulk_create");
    }
    pthread_mutex_lock(&pipeline->lock);
    for (int i = 0; i < PIPELINE_SIZE; i++)
        slot_fill_locked(&pipeline->slots[i]);
    is_empty = pipeline->in_flight == 0; /* there was nothing to pull */
    pthread_mutex_unlock(&pipeline->lock);
    if (is_empty)
        pipeline_end(pipeline);
    return HG_SUCCESS;
}

/* The checksum of the rows as they lie in memory; returns them in
 * `ret_rows`. */
static uint64_t matrix_fill(
    unsigned char matrix[BULK_NX][MARGIN + BULK_NY + MARGIN], int rank,
    void *ret_rows[BULK_NX], hg_size_t ret_lens[BULK_NX])
{
    uint64_t sum = 0;

    for (int x = 0; x < BULK_NX; x++) {
        for (int y = 0; y < MARGIN + BULK_NY + MARGIN; y++)
            matrix[x][y] = (unsigned char)(rank + 7 * x + 31 * y);
        ret_rows[x] = &matrix[x][MARGIN];
        ret_lens[x] = BULK_NY;
        sum += work(ret_rows[x], (uint64_t)x * BULK_NY, BULK_NY);
    }
    return sum;
}

static void call_server(const struct job *job, hg_id_t id)
{
    static unsigned char matrix[BULK_NX][MARGIN + BULK_NY + MARGIN];
    void *rows[BULK_NX];
    hg_size_t lens[BULK_NX];
    const uint64_t checksum = matrix_fill(matrix, job->rank, rows, lens);
    hg_handle_t handle = job_create_call(job, id);
    work_in_t in = {HG_BULK_NULL};
    work_out_t out;

    job_check(HG_Bulk_create(job->hg_class, BULK_NX, rows, lens,
                  HG_BULK_READ_ONLY, &in.data),
        "HG_Bulk_create");
    job_forward(job, handle, &in);
    job_check(HG_Bulk_free(in.data), "HG_Bulk_free");

    job_check(HG_Get_output(handle, &out), "HG_Get_output");
    job_check((hg_return_t)out.error, "a transfer at the server");
    if (out.checksum != checksum)
        job_fail("checksum %llx here, %llx at the server",
            (unsigned long long)checksum, (unsigned long long)out.checksum);
    printf("rank %d: sent %d rows of %d bytes, the same checksum\n", job->rank,
        BULK_NX, BULK_NY);
    job_check(HG_Free_output(handle, &out), "HG_Free_output");
    job_check(HG_Destroy(handle), "HG_Destroy");
}

int main(int argc, char **argv)
{
    struct job job;
    hg_id_t id = 0;

    job_open(&argc, &argv, 0, &job);
    id = MERCURY_REGISTER(
        job.hg_class, "work", work_in_t, work_out_t, pull_and_work);
    if (id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_begin(&job);
    if (job.rank != SERVER)
        call_server(&job, id);
    job_close(&job);
    return 0;
}
