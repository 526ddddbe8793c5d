/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and results of up to 64 KiB take at most one message more than
 * short ones, each way, as counted at the calls of MPI; so do one-way calls.
 * Longer ones are pulled. In a burst beyond AMALGAM_MAX_PENDING_BYTES all calls
 * end, and none is mixed up with another; nor is a reply taken for one of many
 * requests that its sender made before, and that wait for room. */
#include <string.h>

#include "ranks.h"

enum { KIB = 1024, LEN_MAX = 100 * KIB, BURST = 40, CROSSED = 300 };

struct blob {
    uint32_t len;
    uint32_t answer_len;
    uint32_t number;
    bool is_right;
};

static struct ranks all;
static hg_id_t blob_id;
static hg_id_t push_id; /* one-way */
static unsigned messages;
static unsigned served;
static unsigned pushed;

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    messages++;
    return PMPI_Isend(bytes, count, type, rank, tag, comm, request);
}

static hg_return_t blob_code(hg_proc_t proc, void *data)
{
    struct blob *blob = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &blob->len);
    void *bytes = NULL;

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blob->answer_len);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blob->number);
    if (rc != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE || blob->len == 0)
        return rc;
    bytes = hg_proc_save_ptr(proc, blob->len);
    if (bytes == NULL)
        return HG_OVERFLOW;
    if (hg_proc_get_op(proc) == HG_ENCODE)
        ranks_fill(bytes, blob->len, blob->number, 0);
    else
        blob->is_right = ranks_is_filled(bytes, blob->len, blob->number, 0);
    return hg_proc_restore_ptr(proc, bytes, blob->len);
}

static hg_return_t blob_serve(hg_handle_t handle)
{
    struct blob in = {0};
    struct blob out = {0};

    OK(HG_Get_input(handle, &in));
    CHECK(in.is_right || in.len == 0);
    out.len = in.answer_len;
    out.number = in.number + 1;
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, &out));
    served++;
    return HG_Destroy(handle);
}

static hg_return_t push_serve(hg_handle_t handle)
{
    struct blob in = {0};

    OK(HG_Get_input(handle, &in));
    CHECK(in.is_right);
    pushed++;
    OK(HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static void answer_check(struct ranks_call *call, const struct blob *in)
{
    struct blob out = {0};

    OK(ranks_wait(call));
    OK(HG_Get_output(call->handle, &out));
    CHECK(out.number == in->number + 1 && out.len == in->answer_len);
    CHECK(out.is_right || out.len == 0);
    OK(HG_Free_output(call->handle, &out));
    ranks_end(call);
}

/* One call; each rank counts what it sends. */
static void one(uint32_t len, uint32_t answer_len, unsigned most[2])
{
    struct blob in = {.len = len, .answer_len = answer_len, .number = len};
    struct ranks_call call;
    unsigned before = 0;

    ranks_meet(MPI_COMM_WORLD);
    before = messages;
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0) {
        OK(ranks_begin(&all, &call, 1, blob_id, &in));
        answer_check(&call, &in);
    }
    ranks_meet(MPI_COMM_WORLD);
    CHECK(messages - before <= most[all.rank]);
}

/* The target sends nothing. */
static void one_way(uint32_t len)
{
    struct blob in = {.len = len, .number = len};
    struct ranks_call call;
    unsigned before = 0;
    unsigned before_push = pushed;

    ranks_meet(MPI_COMM_WORLD);
    before = messages;
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0) {
        OK(ranks_begin(&all, &call, 1, push_id, &in));
        OK(ranks_wait(&call));
        ranks_end(&call);
    } else {
        UNTIL(pushed == before_push + 1);
    }
    CHECK(messages - before <= (all.rank == 0 ? 2 : 0));
    ranks_meet(MPI_COMM_WORLD);
}

/* Of different lengths, both ways at once. */
static void burst(void)
{
    struct ranks_call calls[BURST];
    struct blob ins[BURST];

    for (unsigned i = 0; i < BURST; i++) {
        ins[i] = (struct blob){.len = (i * 7919 + 20 * KIB) % LEN_MAX,
            .answer_len = i % 3 == 0 ? 0 : (i * 104729) % LEN_MAX,
            .number = i};
        OK(ranks_begin(&all, &calls[i], 1 - all.rank, blob_id, &ins[i]));
    }
    for (unsigned i = 0; i < BURST; i++)
        answer_check(&calls[i], &ins[i]);
    ranks_meet(MPI_COMM_WORLD);
}

/* Makes progress, but runs no handler, until the other rank is here, too. */
static void meet_unserved(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    uint64_t end_ns = 0;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    ranks_wait_begin(&end_ns);
    while (MPI_Test(&request, &flag, MPI_STATUS_IGNORE), !flag) {
        CHECK(ranks_now_ns() < end_ns);
        (void)HG_Progress(all.context, 0);
    }
}

/* Rank 1 makes long requests of rank 0, which runs no handler until rank 1 has
 * answered as many calls by long replies. */
static void crossed(void)
{
    static struct ranks_call calls[CROSSED];
    static struct blob ins[CROSSED];
    unsigned before = served;

    for (unsigned i = 0; all.rank == 1 && i < CROSSED; i++) {
        ins[i] = (struct blob){.len = 20 * KIB, .number = i};
        OK(ranks_begin(&all, &calls[i], 0, blob_id, &ins[i]));
    }
    meet_unserved();
    for (unsigned i = 0; all.rank == 0 && i < CROSSED; i++) {
        ins[i] = (struct blob){.answer_len = 19 * KIB, .number = i};
        OK(ranks_begin(&all, &calls[i], 1, blob_id, &ins[i]));
    }
    if (all.rank == 1)
        UNTIL(served == before + CROSSED);
    meet_unserved();
    for (unsigned i = 0; i < CROSSED; i++)
        answer_check(&calls[i], &ins[i]);
    ranks_meet(MPI_COMM_WORLD);
}

int main(void)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    unsigned both[2] = {2, 2};
    unsigned there[2] = {2, 1};
    unsigned back[2] = {1, 2};

    ranks_start(MPI_THREAD_MULTIPLE);
    options.credits = 2 * CROSSED;
    ranks_open_with(&all, MPI_COMM_WORLD, &options);
    blob_id =
        HG_Register_name(all.cls, "blob", blob_code, blob_code, blob_serve);
    push_id = HG_Register_name(all.cls, "push", blob_code, NULL, push_serve);
    OK(HG_Registered_disable_response(all.cls, push_id, HG_TRUE));
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t len = 8 * KIB; len <= 64 * KIB; len *= 2) {
        one(len, 0, there);
        one(0, len, back);
        one(len, len, both);
        one_way(len);
    }
    burst();
    crossed();
    ranks_close(&all);
    return ranks_stop();
}
