/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of Margo under torture at their origin, in all forms.
 *
 * A call is prepared, made in the form of its plan, and finished: its end goes
 * into the book, its results are checked. What a peer may no longer write, the
 * memory of an ended call, is kept for some time and checked later. */
#include <sched.h>
#include <stdlib.h>

#include "content.h"
#include "margo_torture.h"
#include "mercury_proc_bulk.h"

enum { WINDOW = 8, BUSY_TRIES = 3, SPIN_MAX = 40000 };

/* Lives from the first call of a thread to its last. */
struct caller {
    struct mt *mt;
    /* A handle for another call of that RPC at that rank, or null. */
    hg_handle_t kept;
    hg_id_t kept_id;
    unsigned kept_target;
};

/* A call under way. */
struct call {
    struct caller *caller;
    struct mt *mt;
    struct mt_plan plan;
    hg_id_t id;
    hg_handle_t handle;
    struct mt_args args;
    unsigned char *memory; /* exposed, or NULL */
    margo_request request;
    ABT_eventual over; /* of the form with a callback */
    hg_return_t rc;
};

static bool call_is_one_way(const struct call *call)
{
    return call->plan.kind == MT_ONEWAY;
}

static hg_id_t rpc_of(const struct mt *mt, const struct mt_plan *plan)
{
    switch (plan->kind) {
    case MT_ONEWAY:
        return mt->one_way_id;
    case MT_PROVIDER:
        return mt->provider_id;
    default:
        return mt->call_ids[plan->rpc];
    }
}

static uint16_t provider_of(const struct mt_plan *plan)
{
    return plan->kind == MT_PROVIDER
               ? mt_provider_number(plan->target, plan->provider)
               : MARGO_DEFAULT_PROVIDER_ID;
}

static void memory_expose(struct call *call)
{
    const struct mt_plan *plan = &call->plan;
    bool is_pull = plan->kind == MT_PULL;

    if (!is_pull && plan->kind != MT_PUSH)
        return;
    call->memory = malloc(plan->bulk_len);
    if (call->memory == NULL)
        abort();
    content_fill(call->memory, plan->bulk_len,
        content_key(plan->hash, CONTENT_EXPOSED), 0);
    MT_OK(call->mt, mt_expose(call->mt, plan, call->memory,
                        is_pull ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY,
                        &call->args.bulk));
}

/* Takes the handle that an earlier call has left, if it fits. */
static void handle_make(struct call *call)
{
    struct caller *caller = call->caller;
    bool fits = caller->kept != HG_HANDLE_NULL && caller->kept_id == call->id &&
                caller->kept_target == call->plan.target;

    if (fits) {
        call->handle = caller->kept;
        caller->kept = HG_HANDLE_NULL;
        return;
    }
    MT_OK(call->mt,
        margo_create(call->mt->mid, call->mt->addrs[call->plan.target],
            call->id, &call->handle));
}

static void call_prepare(struct call *call, struct caller *caller, uint64_t id)
{
    struct mt *mt = caller->mt;

    *call = (struct call){.caller = caller, .mt = mt};
    mt_plan_make(mt, id, &call->plan);
    call->id = rpc_of(mt, &call->plan);
    call->args.id = id;
    call->args.len = (uint32_t)call->plan.in_len;
    call->args.bytes = malloc(call->plan.in_len + 1);
    if (call->args.bytes == NULL)
        abort();
    content_fill(call->args.bytes, call->plan.in_len,
        content_key(call->plan.hash, CONTENT_ARGUMENT), 0);
    memory_expose(call);
    handle_make(call);
    book_post(mt->book, id);
    book_begin(mt->book);
}

static void output_check(struct call *call)
{
    struct mt_args out = {.bytes = NULL};
    const struct mt_plan *plan = &call->plan;
    hg_return_t rc = margo_get_output(call->handle, &out);

    if (rc != HG_SUCCESS) {
        book_finding(call->mt->book, "call %llx: no output, %s",
            (unsigned long long)plan->id, HG_Error_to_string(rc));
        return;
    }
    if (out.id != plan->id || out.len != plan->out_len)
        book_finding(call->mt->book,
            "call %llx: got the output of call %llx, %u bytes and not %zu",
            (unsigned long long)plan->id, (unsigned long long)out.id, out.len,
            plan->out_len);
    else if (content_differs(out.bytes, out.len,
                 content_key(plan->hash, CONTENT_REPLY), 0) != out.len)
        book_finding(call->mt->book,
            "call %llx: its output of %u bytes differs",
            (unsigned long long)plan->id, out.len);
    MT_OK(call->mt, margo_free_output(call->handle, &out));
    if (plan->misuses && margo_free_output(call->handle, &out) == HG_SUCCESS)
        book_finding(call->mt->book, "an output was freed twice");
}

/* Is each byte old or new? */
static bool memory_is_mixed(const struct call *call, uint64_t old, uint64_t new)
{
    for (size_t i = 0; i < call->plan.bulk_len; i++)
        if (call->memory[i] != content_byte(old, i) &&
            call->memory[i] != content_byte(new, i))
            return false;
    return true;
}

/* What the target must have written, or nobody. */
static void memory_check(struct call *call)
{
    const struct mt_plan *plan = &call->plan;
    uint64_t old = content_key(plan->hash, CONTENT_EXPOSED);
    uint64_t new = content_key(plan->hash, CONTENT_PUSHED);
    bool is_written = plan->kind == MT_PUSH && call->rc == HG_SUCCESS;
    size_t at = content_differs(
        call->memory, plan->bulk_len, is_written ? new : old, 0);

    if (at == plan->bulk_len || (plan->kind == MT_PUSH && !is_written &&
                                    memory_is_mixed(call, old, new)))
        return;
    book_finding(call->mt->book,
        "call %llx: byte %zu of %zu of its memory is wrong",
        (unsigned long long)plan->id, at, plan->bulk_len);
}

static void memory_free(struct call *call)
{
    hg_return_t rc = HG_BUSY;

    if (call->memory == NULL)
        return;
    for (unsigned i = 0; i < BUSY_TRIES && rc == HG_BUSY; i++)
        rc = margo_bulk_free(call->args.bulk);
    if (rc != HG_SUCCESS) {
        book_finding(call->mt->book, "call %llx: margo_bulk_free() is %s",
            (unsigned long long)call->plan.id, HG_Error_to_string(rc));
        return; /* a peer may still write there */
    }
    memory_check(call);
    mt_keep(call->mt, call->memory, call->plan.bulk_len);
}

static void handle_done(struct call *call)
{
    struct caller *caller = call->caller;

    if (call->handle == HG_HANDLE_NULL)
        return;
    if (call->rc == HG_SUCCESS && caller->kept == HG_HANDLE_NULL &&
        call->plan.kind != MT_PROVIDER && (call->plan.hash & 1) != 0) {
        caller->kept = call->handle;
        caller->kept_id = call->id;
        caller->kept_target = call->plan.target;
        return;
    }
    MT_OK(call->mt, margo_destroy(call->handle));
}

static void call_finish(struct call *call)
{
    struct mt *mt = call->mt;

    (void)book_end(mt->book, call->plan.id, (int)call->rc);
    /* A one-way call is under way until its handler begins. */
    if (!call_is_one_way(call) || call->rc != HG_SUCCESS)
        book_over(mt->book);
    if (call->rc == HG_SUCCESS && !call_is_one_way(call) &&
        call->handle != HG_HANDLE_NULL)
        output_check(call);
    memory_free(call);
    handle_done(call);
    free(call->args.bytes);
}

/* Starts it with a request. False: refused, and finished. */
static bool call_start(struct call *call)
{
    hg_return_t rc = margo_provider_iforward_timed(provider_of(&call->plan),
        call->handle, &call->args, call->plan.limit_ms, &call->request);

    if (rc == HG_SUCCESS)
        return true;
    call->rc = rc;
    call_finish(call);
    return false;
}

/* The library refuses MARGO_REQUEST_NULL. A request that was waited for is not
 * tried again: another thread's operation may have its memory by now. */
static void misuse_check(struct call *call)
{
    size_t index = 0;
    int flag = 0;
    margo_request none = MARGO_REQUEST_NULL;

    if (!call->plan.misuses)
        return;
    if (margo_wait(none) != HG_INVALID_ARG || margo_test(none, &flag) != -1 ||
        margo_wait_any(1, &none, NULL) != HG_INVALID_ARG)
        book_finding(call->mt->book, "no request could be waited for");
    if (margo_wait_any(1, &none, &index) != HG_SUCCESS || index != 1)
        book_finding(call->mt->book, "a wait for no request has not ended");
}

/* Passes some microseconds, so that the wait begins just when the call ends. */
static void spin(const struct call *call)
{
    unsigned rounds = (unsigned)(call->plan.hash >> 13) % SPIN_MAX;

    for (unsigned i = 0; i < rounds; i++)
        atomic_signal_fence(memory_order_seq_cst);
}

static void request_wait(struct call *call)
{
    int flag = 0;

    if (call->plan.way == MT_WAIT)
        spin(call);
    if (call->plan.way == MT_TEST)
        while (flag == 0) {
            if (margo_test(call->request, &flag) != 0) {
                book_finding(call->mt->book, "margo_test() failed");
                break;
            }
            if (flag == 0)
                (void)sched_yield(); /* the caller may be an OS thread */
        }
    call->rc = margo_wait(call->request);
    misuse_check(call);
}

static void yields(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (ABT_self_yield() != ABT_SUCCESS)
            (void)sched_yield();
}

static void called_back(void *arg, hg_return_t rc)
{
    struct call *call = arg;

    call->rc = rc;
    (void)ABT_eventual_set(call->over, NULL, 0);
}

static void call_with_callback(struct call *call)
{
    hg_return_t rc = HG_SUCCESS;

    if (ABT_eventual_create(0, &call->over) != ABT_SUCCESS)
        abort();
    rc = margo_provider_cforward_timed(provider_of(&call->plan), call->handle,
        &call->args, call->plan.limit_ms, called_back, call);
    if (rc == HG_SUCCESS)
        (void)ABT_eventual_wait(call->over, NULL);
    else
        call->rc = rc;
    (void)ABT_eventual_free(&call->over);
}

static void call_make(struct call *call)
{
    switch (call->plan.way) {
    case MT_FORWARD:
    case MT_TIMED:
        call->rc = margo_provider_forward_timed(provider_of(&call->plan),
            call->handle, &call->args, call->plan.limit_ms);
        break;
    case MT_CALLBACK:
        call_with_callback(call);
        break;
    default:
        if (!call_start(call))
            return;
        if (call->plan.way == MT_DROP) {
            MT_OK(call->mt, margo_destroy(call->handle));
            call->handle = HG_HANDLE_NULL;
        } else if (call->plan.way == MT_CANCEL) {
            yields((unsigned)(call->plan.hash >> 7) % 30);
            (void)HG_Cancel(call->handle); /* one to itself cannot be */
        }
        request_wait(call);
        break;
    }
    call_finish(call);
}

void mt_call(struct mt *mt, uint64_t id)
{
    struct caller caller = {.mt = mt};
    struct call call;

    call_prepare(&call, &caller, id);
    call_make(&call);
    if (caller.kept != HG_HANDLE_NULL)
        MT_OK(mt, margo_destroy(caller.kept));
}

/* Waits for all calls of a window, in the order in which they end. */
static void window_drain(struct call *calls, unsigned count)
{
    margo_request requests[2 * WINDOW] = {MARGO_REQUEST_NULL};
    unsigned left = count;

    for (unsigned i = 0; i < count; i++) {
        requests[i] = calls[i].request;
        /* The same request twice, which the library takes for one. */
        if (calls[i].plan.misuses)
            requests[WINDOW + i] = calls[i].request;
    }
    if (count > 0)
        spin(&calls[0]);
    while (left > 0) {
        size_t index = 2 * WINDOW;
        hg_return_t rc = margo_wait_any(2 * WINDOW, requests, &index);
        struct call *call = NULL;

        if (index >= 2 * WINDOW) {
            book_finding(calls[0].mt->book,
                "margo_wait_any() has nothing to wait for, %u calls are left",
                left);
            return;
        }
        call = &calls[index % WINDOW];
        requests[index % WINDOW] = MARGO_REQUEST_NULL;
        requests[index % WINDOW + WINDOW] = MARGO_REQUEST_NULL;
        call->rc = rc;
        misuse_check(call);
        call_finish(call);
        left--;
    }
}

void mt_calls(struct mt *mt, unsigned first, unsigned step)
{
    struct caller caller = {.mt = mt};
    struct call calls[WINDOW];
    unsigned count = 0;

    for (unsigned i = mt->plan->first + first; i < mt->plan->last; i += step) {
        struct call *call = &calls[count];

        call_prepare(call, &caller, mt_id_root(mt->index, mt->rank, i));
        if (call->plan.way != MT_ANY)
            call_make(call);
        else if (call_start(call))
            count++;
        if (count == WINDOW || (count > 0 && call->plan.way != MT_ANY)) {
            window_drain(calls, count);
            count = 0;
        }
    }
    window_drain(calls, count);
    if (caller.kept != HG_HANDLE_NULL)
        MT_OK(mt, margo_destroy(caller.kept));
}

/* Room for calls just before the end. */
struct mt_burst {
    struct caller caller;
    unsigned count;
    struct call calls[];
};

unsigned mt_last_number(const struct mt *mt)
{
    return mt->plan->calls + mt->plan->burst;
}

struct mt_burst *mt_burst_post(struct mt *mt)
{
    unsigned first = mt->plan->calls;
    struct mt_burst *burst =
        calloc(1, sizeof(*burst) + mt->plan->burst * sizeof(burst->calls[0]));

    if (burst == NULL)
        abort();
    burst->caller.mt = mt;
    for (unsigned i = 0; i < mt->plan->burst; i++) {
        struct call *call = &burst->calls[burst->count];

        call_prepare(
            call, &burst->caller, mt_id_root(mt->index, mt->rank, first + i));
        if (call_start(call))
            burst->count++;
    }
    return burst;
}

void mt_burst_finish(struct mt_burst *burst)
{
    for (unsigned i = 0; i < burst->count; i++) {
        struct call *call = &burst->calls[i];

        call->rc = margo_wait(call->request);
        call_finish(call);
    }
    if (burst->caller.kept != HG_HANDLE_NULL)
        MT_OK(burst->caller.mt, margo_destroy(burst->caller.kept));
    free(burst);
}
