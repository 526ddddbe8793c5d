/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of Mercury's API and one of Margo's call each other with the
 * signatures of Margo's shim, whose procs are given with each call: with
 * arguments, without, and to an RPC that is not served. */
#include <string.h>
#include <unistd.h>

#include "amalgam_group.h"
#include "echo.h"
#include "margo-hg-shim.h"
#include "pair.h"
#include "processes/processes.h"
#include "slow.h"

enum { ALARM_S = 50 * TEST_SLOW };

/* State of the process without an instance. */
static struct {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t echo_id;
    hg_id_t null_id;
    hg_id_t unknown_id;
    hg_id_t plain_id;
    bool is_over;
    hg_return_t ret;
    unsigned served;
} hg;

static void echo(hg_handle_t handle)
{
    echo_t in;

    CHECK_RC(margo_get_input(handle, &in), HG_SUCCESS);
    in.number++;
    CHECK_RC(margo_respond(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(echo)

static void null(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(null)

/* The same by HG. */
static hg_return_t hg_echo(hg_handle_t handle)
{
    echo_t in;

    CHECK_RC(HG_Get_input_from_margo(handle, hg_proc_echo_t, &in), HG_SUCCESS);
    in.number++;
    CHECK_RC(HG_Respond_to_margo(handle, NULL, NULL, hg_proc_echo_t, &in),
        HG_SUCCESS);
    CHECK_RC(HG_Free_input_from_margo(handle, hg_proc_echo_t, &in), HG_SUCCESS);
    CHECK_RC(HG_Destroy(handle), HG_SUCCESS);
    hg.served++;
    return HG_SUCCESS;
}

static hg_return_t hg_null(hg_handle_t handle)
{
    CHECK_RC(HG_Get_input_from_margo(handle, NULL, NULL), HG_SUCCESS);
    CHECK_RC(HG_Free_input_from_margo(handle, NULL, NULL), HG_SUCCESS);
    CHECK_RC(HG_Respond_to_margo(handle, NULL, NULL, NULL, NULL), HG_SUCCESS);
    CHECK_RC(HG_Destroy(handle), HG_SUCCESS);
    hg.served++;
    return HG_SUCCESS;
}

static void hg_turn(void)
{
    unsigned count = 0;

    (void)HG_Progress(hg.context, 1);
    while (HG_Trigger(hg.context, 0, 1, &count) == HG_SUCCESS && count > 0)
        ;
}

static hg_return_t hg_done(const struct hg_cb_info *info)
{
    hg.ret = info->ret;
    hg.is_over = true;
    return HG_SUCCESS;
}

/* Makes a call, and returns its code. */
static hg_return_t hg_call(hg_handle_t handle, hg_proc_cb_t proc, void *in)
{
    hg.is_over = false;
    CHECK_RC(HG_Forward_to_margo(handle, hg_done, NULL, proc, in), HG_SUCCESS);
    while (!hg.is_over)
        hg_turn();
    return hg.ret;
}

static void hg_calls(hg_addr_t other)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    echo_t echo_args = {41, "text"};

    CHECK_RC(HG_Create(hg.context, other, hg.echo_id, &handle), HG_SUCCESS);
    CHECK_RC(hg_call(handle, hg_proc_echo_t, &echo_args), HG_SUCCESS);
    CHECK_RC(HG_Get_output_from_margo(handle, hg_proc_echo_t, &echo_args),
        HG_SUCCESS);
    CHECK(echo_args.number == 42 && strcmp(echo_args.text, "text") == 0);
    CHECK_RC(HG_Free_output_from_margo(handle, hg_proc_echo_t, &echo_args),
        HG_SUCCESS);
    CHECK_RC(HG_Reset(handle, HG_ADDR_NULL, hg.null_id), HG_SUCCESS);
    CHECK_RC(HG_Forward_to_margo(handle, hg_done, NULL, NULL, &echo_args),
        HG_INVALID_ARG);
    CHECK_RC(hg_call(handle, NULL, NULL), HG_SUCCESS);
    CHECK_RC(HG_Get_output_from_margo(handle, NULL, NULL), HG_SUCCESS);
    CHECK_RC(HG_Free_output_from_margo(handle, NULL, NULL), HG_SUCCESS);
    CHECK_RC(HG_Reset(handle, HG_ADDR_NULL, hg.unknown_id), HG_SUCCESS);
    CHECK_RC(hg_call(handle, NULL, NULL), HG_NOENTRY);
    CHECK_RC(HG_Reset(handle, HG_ADDR_NULL, hg.plain_id), HG_SUCCESS);
    CHECK_RC(
        HG_Forward_to_margo(handle, hg_done, NULL, hg_proc_echo_t, &echo_args),
        HG_NO_MATCH);
    CHECK_RC(HG_Destroy(handle), HG_SUCCESS);
    CHECK_RC(HG_Forward_to_margo(HG_HANDLE_NULL, hg_done, NULL, NULL, NULL),
        HG_INVALID_ARG);
}

static void hg_barrier(void)
{
    processes_barrier_begin();
    while (!processes_is_done())
        hg_turn();
}

static void fold(const void *from_out, void *inout_out, void *arg)
{
    (void)from_out;
    (void)inout_out;
    (void)arg;
}

/* The process of rank 0. */
static void without_instance(const char *transport)
{
    char text[PROCESSES_TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;
    hg_addr_t other = HG_ADDR_NULL;

    hg.cls = HG_Init(transport, HG_TRUE);
    CHECK(hg.cls != NULL);
    hg.context = HG_Context_create(hg.cls);
    CHECK(hg.context != NULL);
    hg.echo_id = HG_Register_name_for_margo(hg.cls, "echo", hg_echo);
    hg.null_id = HG_Register_name_for_margo(hg.cls, "null", hg_null);
    hg.unknown_id = HG_Register_name_for_margo(hg.cls, "unknown", NULL);
    hg.plain_id =
        HG_Register_name(hg.cls, "plain", hg_proc_echo_t, hg_proc_echo_t, NULL);
    CHECK(hg.echo_id != 0 && hg.null_id != 0 && hg.unknown_id != 0);
    CHECK(HG_Register_name_for_margo(NULL, "x", NULL) == 0);
    /* The proc of outputs is not known. */
    CHECK_RC(amalgam_register_reduce(
                 hg.cls, hg.echo_id, fold, NULL, sizeof(echo_t), 0),
        HG_OPNOTSUPPORTED);
    CHECK_RC(HG_Addr_self(hg.cls, &self), HG_SUCCESS);
    CHECK_RC(HG_Addr_to_string(hg.cls, text, &len, self), HG_SUCCESS);
    CHECK_RC(HG_Addr_free(hg.cls, self), HG_SUCCESS);
    processes_show(text);
    CHECK_RC(HG_Addr_lookup2(hg.cls, processes_shown(1), &other), HG_SUCCESS);
    hg_barrier();
    hg_calls(other);
    hg_barrier();
    CHECK(hg.served == 2);
    CHECK_RC(HG_Addr_free(hg.cls, other), HG_SUCCESS);
    CHECK_RC(HG_Context_destroy(hg.context), HG_SUCCESS);
    CHECK_RC(HG_Finalize(hg.cls), HG_SUCCESS);
}

/* The process of rank 1. */
static void with_instance(const char *transport)
{
    char text[PROCESSES_TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_id_t echo_id = 0;
    hg_id_t null_id = 0;
    hg_handle_t handle = HG_HANDLE_NULL;
    echo_t echo_args = {1, "text"};

    pair.mid = margo_init(transport, MARGO_SERVER_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    echo_id = MARGO_REGISTER(pair.mid, "echo", echo_t, echo_t, echo);
    null_id = MARGO_REGISTER(pair.mid, "null", void, void, null);
    CHECK_RC(margo_addr_self(pair.mid, &pair.self), HG_SUCCESS);
    CHECK_RC(margo_addr_to_string(pair.mid, text, &len, pair.self), HG_SUCCESS);
    processes_show(text);
    CHECK_RC(margo_addr_lookup(pair.mid, processes_shown(0), &pair.other),
        HG_SUCCESS);
    pair_barrier();
    handle = pair_handle(echo_id);
    CHECK_RC(margo_forward(handle, &echo_args), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &echo_args), HG_SUCCESS);
    CHECK(echo_args.number == 2);
    CHECK_RC(margo_free_output(handle, &echo_args), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    handle = pair_handle(null_id);
    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    pair_barrier();
    CHECK_RC(margo_addr_free(pair.mid, pair.other), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_finalize(pair.mid);
}

int main(int argc, char **argv)
{
    const char *transport = argc > 1 ? argv[1] : "na+sm";
    int size = 0;

    processes_start(&pair.rank, &size);
    alarm(ALARM_S);
    if (pair.rank == 0)
        without_instance(transport);
    else
        with_instance(transport);
    processes_stop();
    return 0;
}
