/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the examples of the pages amalgam_*.3 on the ranks of a job. Exit code
 * 0: each call ended as it must; rank 0 prints what all ranks allow. */
#include <amalgam.h>
#include <mercury_macros.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

/* The examples. */
hg_id_t sum_register(hg_class_t *hg_class, hg_rpc_cb_t handler, void *data);
hg_return_t sum_cb(hg_handle_t handle);
hg_return_t call(hg_context_t *context, hg_handle_t handle, void *input);
hg_return_t next_create(hg_context_t *context, hg_id_t id, hg_handle_t *handle);
hg_id_t limit_register(hg_class_t *hg_class, hg_rpc_cb_t limit);
hg_return_t limit_ask(hg_context_t *context, hg_id_t id, int32_t wish);
hg_return_t phase_end(hg_class_t *hg_class);
hg_return_t sum_of_ranks(hg_class_t *hg_class, double *value);
int job_end(hg_class_t *hg_class, hg_handle_t handle, hg_addr_t server);

static int rank;

static void failed(const char *what, int line)
{
    fprintf(stderr, "FAILED: rank %d, line %d: %s\n", rank, line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Each rank allows steps of up to 100 less its rank. */
static hg_return_t limit(hg_handle_t handle)
{
    int32_t step = 0;

    CHECK(HG_Get_input(handle, &step) == HG_SUCCESS);
    HG_Free_input(handle, &step);
    if (step > 100 - rank)
        step = 100 - rank;
    CHECK(HG_Respond(handle, NULL, NULL, &step) == HG_SUCCESS);
    return HG_Destroy(handle);
}

int main(int argc, char **argv)
{
    pair_t in = {40, 2};
    hg_class_t *hg_class = NULL;
    hg_context_t *context = NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t server = HG_ADDR_NULL;
    hg_id_t sum_id = 0;
    hg_id_t limit_id = 0;
    int32_t sum = 0;
    int ranks = 0;
    double value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    hg_class = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    CHECK(hg_class != NULL);
    sum_id = sum_register(hg_class, sum_cb, NULL);
    limit_id = limit_register(hg_class, limit);
    context = HG_Context_create(hg_class);
    CHECK(next_create(context, sum_id, &handle) == HG_SUCCESS);
    CHECK(call(context, handle, &in) == HG_SUCCESS);
    CHECK(HG_Get_output(handle, &sum) == HG_SUCCESS && sum == 42);
    HG_Free_output(handle, &sum);
    if (rank == 0)
        CHECK(limit_ask(context, limit_id, 1000) == HG_SUCCESS);
    CHECK(phase_end(hg_class) == HG_SUCCESS);
    value = rank;
    CHECK(sum_of_ranks(hg_class, &value) == HG_SUCCESS);
    CHECK(value == ranks * (ranks - 1) / 2.0);
    CHECK(amalgam_addr_rank(hg_class, 0, &server) == HG_SUCCESS);
    return job_end(hg_class, handle, server);
}
