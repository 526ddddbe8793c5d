/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with arguments as programs make them. */
#include "jobs/bench/raw/args.h"

#include <stdlib.h>

#include "jobs/bench/raw/calls.h"
#include "mercury_proc_string.h"
#include "mercury_request.h"

MERCURY_GEN_PROC(bench_text_t, ((hg_const_string_t)(text)))
MERCURY_GEN_PROC(bench_bulk_t, ((hg_bulk_t)(bulk)))

hg_return_t hg_proc_bench_bytes_t(hg_proc_t proc, void *data)
{
    struct bytes *bytes = data;

    if (hg_proc_get_op(proc) == HG_FREE) {
        free(bytes->data);
        return HG_SUCCESS;
    }
    hg_proc_uint64_t(proc, &bytes->len);
    if (hg_proc_get_op(proc) == HG_DECODE)
        bytes->data = malloc(bytes->len);
    return hg_proc_bytes(proc, bytes->data, bytes->len);
}

/* A batch of calls by the caller. */
struct batch {
    hg_handle_t handle;
    void *input;
    bool has_output;       /* two ints */
    hg_request_t *request; /* NULL: waits by pair_call() */
};

static const bench_ints_t sent = {1, -2};

bench_ints_t args_swapped(bench_ints_t in)
{
    return (bench_ints_t){in.b, in.a};
}

void args_verify(
    const struct pair *pair, bench_ints_t in, const bench_ints_t *out)
{
    if (out->a != in.b || out->b != in.a)
        pair_fail(pair, "%d and %d came back for %d and %d", (int)out->a,
            (int)out->b, (int)in.a, (int)in.b);
}

static hg_return_t ints_serve(hg_handle_t handle)
{
    struct pair *pair = pair_of(handle);
    bench_ints_t in;
    bench_ints_t out;

    CHECK(pair, HG_Get_input(handle, &in));
    out = args_swapped(in);
    CHECK(pair, HG_Free_input(handle, &in));
    pair_count_served(pair);
    CHECK(pair, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

/* Decodes an input without a look at it, and answers without output. */
static hg_return_t input_serve(hg_handle_t handle, void *input)
{
    struct pair *pair = pair_of(handle);

    CHECK(pair, HG_Get_input(handle, input));
    CHECK(pair, HG_Free_input(handle, input));
    pair_count_served(pair);
    CHECK(pair, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t text_serve(hg_handle_t handle)
{
    bench_text_t in;

    return input_serve(handle, &in);
}

static hg_return_t bulk_serve(hg_handle_t handle)
{
    bench_bulk_t in;

    return input_serve(handle, &in);
}

void args_open(struct pair *pair, struct args *ret_args)
{
    void *memory = NULL;

    ret_args->ids[ARGS_INTS] = HG_Register_name(pair->cls, "bench ints",
        hg_proc_bench_ints_t, hg_proc_bench_ints_t, ints_serve);
    ret_args->ids[ARGS_TEXT] = HG_Register_name(
        pair->cls, "bench text", hg_proc_bench_text_t, NULL, text_serve);
    ret_args->ids[ARGS_BULK] = HG_Register_name(
        pair->cls, "bench bulk handle", hg_proc_bench_bulk_t, NULL, bulk_serve);
    pair_need_room(pair, ARGS_INTS_LEN);
    memory = pair->room;
    CHECK(pair, HG_Bulk_create(pair->cls, 1, &memory, &pair->room_len,
                    HG_BULK_READWRITE, &ret_args->bulk));
    pair_barrier(pair);
}

void args_close(struct pair *pair, struct args *args)
{
    CHECK(pair, HG_Bulk_free(args->bulk));
}

static hg_return_t request_ended(const struct hg_cb_info *info)
{
    hg_request_complete(info->arg);
    return info->ret;
}

static int request_progress(unsigned timeout_ms, void *arg)
{
    const struct pair *pair = arg;

    return HG_Progress(pair->context, timeout_ms) == HG_SUCCESS
               ? HG_UTIL_SUCCESS
               : HG_UTIL_FAIL;
}

static int request_trigger(unsigned timeout_ms, unsigned *flag, void *arg)
{
    const struct pair *pair = arg;

    *flag = 0;
    (void)HG_Trigger(pair->context, timeout_ms, 1, flag);
    return HG_UTIL_SUCCESS;
}

static void request_call(struct pair *pair, const struct batch *batch)
{
    unsigned is_over = 0;

    hg_request_reset(batch->request);
    CHECK(pair,
        HG_Forward(batch->handle, request_ended, batch->request, batch->input));
    while (!is_over)
        hg_request_wait(batch->request, PAIR_WAIT_MS, &is_over);
}

static void call_once(struct pair *pair, void *arg)
{
    const struct batch *batch = arg;
    bench_ints_t out;

    if (batch->request != NULL)
        request_call(pair, batch);
    else
        pair_call(pair, batch->handle, batch->input);
    if (!batch->has_output)
        return;
    CHECK(pair, HG_Get_output(batch->handle, &out));
    args_verify(pair, sent, &out);
    CHECK(pair, HG_Free_output(batch->handle, &out));
}

double args_latency(struct pair *pair, struct duel *duel)
{
    const struct args_load *load = duel->arg;
    bench_ints_t ints = sent;
    bench_text_t text = {"19 characters and 0"};
    bench_bulk_t bulk = {load->args->bulk};
    void *inputs[ARGS_KINDS] = {&ints, &text, &bulk};
    struct batch batch = {
        .input = inputs[load->kind], .has_output = load->kind == ARGS_INTS};
    hg_request_class_t *requests = NULL;
    double elapsed_us = 0.0;

    if (pair->is_caller) {
        batch.handle = pair_handle(pair, load->args->ids[load->kind]);
        if (load->is_by_request) {
            requests = hg_request_init(request_progress, request_trigger, pair);
            batch.request = hg_request_create(requests);
        }
        elapsed_us = duel_each(pair, duel, call_once, &batch);
        hg_request_destroy(batch.request);
        hg_request_finalize(requests, NULL);
        pair_handle_free(pair, batch.handle);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    pair_verify_served(pair, duel_warm(duel) + duel->calls);
    return elapsed_us;
}

static hg_return_t flight_ints_ended(const struct hg_cb_info *info)
{
    const struct flight_slot *slot = info->arg;
    bench_ints_t out;

    CHECK(slot->flight->pair, HG_Get_output(slot->handle, &out));
    args_verify(slot->flight->pair, sent, &out);
    CHECK(slot->flight->pair, HG_Free_output(slot->handle, &out));
    return flight_call_ended(info);
}

static void flight_ints(struct flight_slot *slot)
{
    bench_ints_t ints = sent;

    CHECK(slot->flight->pair,
        HG_Forward(slot->handle, flight_ints_ended, slot, &ints));
}

double args_rate(struct pair *pair, struct duel *duel)
{
    const struct args *args = duel->arg;

    return calls_flight(pair, duel, args->ids[ARGS_INTS], flight_ints);
}
