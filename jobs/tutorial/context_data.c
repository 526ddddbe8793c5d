/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps a server's state with class, context and RPC instead of in globals.
 *
 * A handler gets nothing but its handle. From there it finds three pointers
 * that the program has attached:
 *
 *   class data    state of the process:  the bank with its balance
 *   context data  state of each context: the calls served there
 *   RPC data      state of each RPC:     the sign of the amount
 *
 * Two RPCs, deposit and withdraw, share one handler, and the RPC data tells
 * which one it serves. A pointer may be attached with a function that frees it:
 * in that function the bank closes its books, after all ranks have ended.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "mercury_macros.h"

MERCURY_GEN_PROC(amount_t, ((int32_t)(value)))

struct bank {
    const char *name;
    long balance;
};

struct desk {
    int calls;
};

static const int plus = 1;
static const int minus = -1;

/* Serves both RPCs. */
static hg_return_t book(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct bank *bank = HG_Class_get_data(info->hg_class);
    struct desk *desk = HG_Context_get_data(info->context);
    const int *sign = HG_Registered_data(info->hg_class, info->id);
    amount_t in;

    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    bank->balance += *sign * in.value;
    desk->calls++;
    job_check(HG_Free_input(handle, &in), "HG_Free_input");
    /* A reply without output: the amount is booked. */
    job_check(HG_Respond(handle, NULL, NULL, NULL), "HG_Respond");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

static void desk_close(void *data)
{
    struct desk *desk = data;

    printf("rank %d: the desk served %d calls\n", SERVER, desk->calls);
    free(desk);
}

static void bank_close(void *data)
{
    struct bank *bank = data;

    printf("rank %d: %s closes with %ld\n", SERVER, bank->name, bank->balance);
    free(bank);
}

/* Attaches a bank to the class. */
static void bank_open(const struct job *job)
{
    struct bank *bank = calloc(1, sizeof(*bank));

    if (bank == NULL)
        job_fail("no memory for a bank");
    bank->name = "the bank";
    job_check(HG_Class_set_data(job->hg_class, bank, bank_close),
        "HG_Class_set_data");
}

/* Attaches a desk to the context. */
static void desk_open(const struct job *job)
{
    struct desk *desk = calloc(1, sizeof(*desk));

    if (desk == NULL)
        job_fail("no memory for a desk");
    job_check(HG_Context_set_data(job->context, desk, desk_close),
        "HG_Context_set_data");
}

/* Lets handlers run only within the program's own calls. A context must exist
 * before it gets its data, and a thread of the library might serve a call in
 * between. So bank and desk need no locks, either. */
static void threads_refuse(const struct job *job)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    options.progress = AMALGAM_PROGRESS_CALLER;
    job_check(
        amalgam_set_progress(job->hg_class, &options), "amalgam_set_progress");
}

/* Registers an RPC with its sign as data, which needs no free function. */
static hg_id_t rpc_register(
    const struct job *job, const char *name, const int *sign)
{
    hg_id_t id = MERCURY_REGISTER(job->hg_class, name, amount_t, void, book);

    if (id == 0)
        job_fail("MERCURY_REGISTER %s: the lines above say why", name);
    job_check(HG_Register_data(job->hg_class, id, (void *)sign, NULL),
        "HG_Register_data");
    return id;
}

static void client_call(const struct job *job, hg_id_t id, int32_t value)
{
    hg_handle_t handle = job_create_call(job, id);
    amount_t in = {value};

    job_forward(job, handle, &in);
    job_check(HG_Destroy(handle), "HG_Destroy");
}

int main(int argc, char **argv)
{
    struct job job;
    hg_id_t deposit_id = 0;
    hg_id_t withdraw_id = 0;

    job_open(&argc, &argv, 0, &job);
    threads_refuse(&job);
    if (job.rank == SERVER)
        bank_open(&job);
    deposit_id = rpc_register(&job, "deposit", &plus);
    withdraw_id = rpc_register(&job, "withdraw", &minus);
    job_begin(&job);
    if (job.rank == SERVER) {
        desk_open(&job);
    } else {
        client_call(&job, deposit_id, 100 * job.rank);
        client_call(&job, withdraw_id, 10);
        printf("rank %d: paid in %d, drew 10\n", job.rank, 100 * job.rank);
    }
    job_close(&job);
    return 0;
}
