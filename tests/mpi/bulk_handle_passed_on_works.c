/* SPDX-License-Identifier: BSD-3-Clause */
/* A bound handle may be passed on: rank 0 exposes, rank 1 gets the handle in a
 * call and passes it to rank 2, which pulls and pushes. */
#include <stdlib.h>

#include "ranks.h"

enum { LEN = 300007 };

MERCURY_GEN_PROC(pass_in_t, ((hg_bulk_t)(bulk))((int32_t)(hops)))

/* A call of `pass`, while it is served. */
struct pass {
    hg_handle_t handle;
    pass_in_t in;
    unsigned char *bytes;
    hg_bulk_t local;
};

static struct ranks all;
static hg_id_t pass_id;

static void pass_answer(struct pass *pass, hg_return_t ret)
{
    int32_t out = (int32_t)ret;

    OK(HG_Free_input(pass->handle, &pass->in));
    OK(HG_Respond(pass->handle, NULL, NULL, &out));
    OK(HG_Destroy(pass->handle));
    free(pass);
}

static hg_return_t pass_pushed(const struct hg_cb_info *info)
{
    struct pass *pass = info->arg;

    OK(HG_Bulk_free(pass->local));
    free(pass->bytes);
    pass_answer(pass, info->ret);
    return HG_SUCCESS;
}

static hg_return_t pass_pulled(const struct hg_cb_info *info)
{
    struct pass *pass = info->arg;

    OK(info->ret);
    CHECK(ranks_is_filled(pass->bytes, LEN, 77, 0));
    ranks_fill(pass->bytes, LEN, 78, 0);
    OK(HG_Bulk_bind_transfer(all.context, pass_pushed, pass, HG_BULK_PUSH,
        pass->in.bulk, 0, pass->local, 0, LEN, HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static hg_return_t pass_returned(const struct hg_cb_info *info)
{
    struct pass *pass = info->arg;
    int32_t out = -1;

    OK(info->ret);
    OK(HG_Get_output(info->info.forward.handle, &out));
    OK(HG_Free_output(info->info.forward.handle, &out));
    OK(HG_Destroy(info->info.forward.handle));
    pass_answer(pass, (hg_return_t)out);
    return HG_SUCCESS;
}

/* The bound handle names its exposer, not the rank that passed it on. */
static void exposer_check(hg_bulk_t bulk)
{
    int rank = -1;

    OK(amalgam_addr_get_rank(all.cls, HG_Bulk_get_addr(bulk), &rank));
    CHECK(rank == 0);
}

static void pass_on(struct pass *pass)
{
    pass_in_t in = {pass->in.bulk, pass->in.hops - 1};
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(amalgam_addr_rank(all.cls, (all.rank + 1) % all.size, &addr));
    OK(HG_Create(all.context, addr, pass_id, &handle));
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Forward(handle, pass_returned, pass, &in));
}

static hg_return_t pass_serve(hg_handle_t handle)
{
    struct pass *pass = calloc(1, sizeof(*pass));

    CHECK(pass != NULL);
    pass->handle = handle;
    OK(HG_Get_input(handle, &pass->in));
    exposer_check(pass->in.bulk);
    if (pass->in.hops > 0) {
        pass_on(pass);
        return HG_SUCCESS;
    }
    pass->bytes = malloc(LEN);
    pass->local = ranks_bulk(&all, pass->bytes, LEN, HG_BULK_READWRITE);
    OK(HG_Bulk_bind_transfer(all.context, pass_pulled, pass, HG_BULK_PULL,
        pass->in.bulk, 0, pass->local, 0, LEN, HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static void expose(void)
{
    unsigned char *bytes = malloc(LEN);
    pass_in_t in = {HG_BULK_NULL, 1};
    struct ranks_call call;
    int32_t out = -1;

    ranks_fill(bytes, LEN, 77, 0);
    in.bulk = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    OK(HG_Bulk_bind(in.bulk, all.context));
    OK(ranks_begin(&all, &call, 1, pass_id, &in));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &out));
    OK((hg_return_t)out);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
    CHECK(ranks_is_filled(bytes, LEN, 78, 0));
    OK(HG_Bulk_free(in.bulk));
    free(bytes);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    pass_id = MERCURY_REGISTER(all.cls, "pass", pass_in_t, int32_t, pass_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    if (all.rank == 0)
        expose();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
