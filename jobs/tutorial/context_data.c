/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps a server's state with class, context and RPC instead of in globals.
 *
 * A handler gets nothing but its handle. From there it reaches three pointers
 * that the program has left with the library:
 *
 *   class data    what the process has once:        the bank with its balance
 *   context data  what each context has for itself: the calls served there
 *   RPC data      what differs from RPC to RPC:     the sign of the amount
 *
 * Two RPCs, deposit and withdraw, share one handler, and the RPC data tells
 * which one it serves. A pointer may come with a function, to which it is
 * given when the library lets it go: there the bank closes its books, after
 * the last rank has come to the end.
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
    /* An answer without content: all is booked. */
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

/* Leaves a bank with the class. */
static void bank_open(const struct job *job)
{
    struct bank *bank = calloc(1, sizeof(*bank));

    if (bank == NULL)
        job_fail("no memory for a bank");
    bank->name = "the bank";
    job_check(HG_Class_set_data(job->hg_class, bank, bank_close),
        "HG_Class_set_data");
}

/* Leaves a desk with the context. */
static void desk_open(const struct job *job)
{
    struct desk *desk = calloc(1, sizeof(*desk));

    if (desk == NULL)
        job_fail("no memory for a desk");
    job_check(HG_Context_set_data(job->context, desk, desk_close),
        "HG_Context_set_data");
}

/* Has handlers run within the program's own calls alone. A context gets its
 * data when it is there already: a thread of the library might serve a call
 * before that. And bank and desk need no locks. */
static void threads_refuse(const struct job *job)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    options.progress = AMALGAM_PROGRESS_CALLER;
    job_check(
        amalgam_set_progress(job->hg_class, &options), "amalgam_set_progress");
}

/* Registers an RPC, and leaves its sign with it; nothing is to be freed. */
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
