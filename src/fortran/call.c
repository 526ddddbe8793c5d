/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of Fortran programs at their origin, to a rank or to a group; groups.
 *
 * A call that blocks has its request on the stack, and serves incoming calls
 * while it waits. A call that does not block gives the program a request, which
 * amalgam_wait() frees. */
#include "base/clock.h"
#include "base/mem.h"
#include "fortran/fort.h"
#include "rpc/group.h"

hg_return_t amg_fort_request_ended(const struct hg_cb_info *info)
{
    struct fort_request *request = info->arg;

    request->ret = info->ret;
    if (atomic_exchange_explicit(&request->state, FORT_ENDED,
            memory_order_acq_rel) == FORT_ABANDONED) {
        (void)HG_Destroy(request->handle);
        amg_mem_free(request);
    }
    return HG_SUCCESS;
}

/* Arguments of a call. */
struct call {
    const char *func; /* the procedure */
    struct fort_rpc *rpc;
    int rank;                      /* if there is no group */
    amalgam_group_t group;         /* or NULL */
    const CFI_cdesc_t *in;         /* or NULL */
    struct fort_bulk *const *bulk; /* or NULL */
    const int *timeout_ms;         /* of the whole call, or NULL */
    bool must_wait;                /* while the library says HG_AGAIN */
};

/* The handle of a call; calls to a group need no address. */
static hg_return_t handle_create(
    const struct call *call, hg_handle_t *ret_handle)
{
    struct fort_class *cls = call->rpc->owner;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (call->group == NULL)
        rc = amalgam_addr_rank(cls->cls, call->rank, &addr);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_Create(cls->context, addr, call->rpc->id, ret_handle);
    if (addr != HG_ADDR_NULL)
        (void)HG_Addr_free(cls->cls, addr);
    return rc;
}

/* The rest of a time limit, at least 1 ms: for the library 0 is no limit. */
static unsigned left_ms(const struct call *call, uint64_t deadline_ns)
{
    uint64_t now_ns = amg_clock_ns();

    if (call->timeout_ms == NULL)
        return 0;
    return now_ns >= deadline_ns
               ? 1
               : (unsigned)((deadline_ns - now_ns) / AMG_NS_PER_MS) + 1;
}

/* Sends. If the library says that it is too early, makes progress, and tries
 * again within the time limit. */
static hg_return_t handle_forward(const struct call *call, hg_handle_t handle,
    struct fort_request *request, struct fort_message *message)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(
        call->timeout_ms == NULL ? 0 : fort_limit_ms(call->timeout_ms));
    hg_cb_t ended = request == NULL ? NULL : amg_fort_request_ended;
    hg_return_t rc = HG_SUCCESS;

    for (;;) {
        rc = call->group == NULL
                 ? HG_Forward(handle, ended, request, message)
                 : amalgam_forward_group_timed(handle, call->group,
                       left_ms(call, deadline_ns), ended, request, message);
        if (rc != HG_AGAIN || !call->must_wait)
            return rc;
        if (call->timeout_ms != NULL && amg_clock_ns() >= deadline_ns)
            return HG_TIMEOUT;
        (void)amg_fort_serve(call->rpc->owner, 1);
    }
}

/* Sends a one-way call of few bytes, which needs no handle. */
static hg_return_t oneway_send(
    const struct call *call, const struct fort_message *message)
{
    struct fort_class *cls = call->rpc->owner;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = amalgam_addr_rank(cls->cls, call->rank, &addr);

    if (rc != HG_SUCCESS)
        return rc;
    while ((rc = amalgam_forward_oneway(cls->context, addr, call->rpc->id,
                message->from, message->len)) == HG_AGAIN)
        (void)amg_fort_serve(cls, 1);
    (void)HG_Addr_free(cls->cls, addr);
    return rc;
}

/* Makes a handle, and sends by it. */
static hg_return_t message_send(const struct call *call,
    struct fort_request *request, struct fort_message *message)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t rc = handle_create(call, &handle);

    if (rc != HG_SUCCESS)
        return rc;
    if (request != NULL)
        *request = (struct fort_request){.owner = call->rpc->owner,
            .handle = handle,
            .is_group = call->group != NULL};
    rc = handle_forward(call, handle, request, message);
    if (rc != HG_SUCCESS || request == NULL)
        (void)HG_Destroy(handle);
    return rc;
}

/* Encodes and sends. `request` is NULL for a one-way call. */
static hg_return_t call_begin(
    const struct call *call, struct fort_request *request)
{
    struct fort_message message = {.bulk = HG_BULK_NULL};
    void *packed = NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (!amg_fort_given(call->rpc, "rpc", call->func) ||
        !amg_fort_given(call->rpc->owner, "rpc", call->func))
        return HG_INVALID_ARG;
    if (call->rpc->is_oneway != (request == NULL))
        return amg_fort_refuse(call->func,
            call->rpc->is_oneway
                ? "the RPC was registered with oneway=.true.: it has no answer "
                  "to wait for; use amalgam_forward_oneway"
                : "the RPC was not registered with oneway=.true.");
    if (call->bulk != NULL && !call->rpc->has_bulk)
        return amg_fort_refuse(
            call->func, "the RPC was not registered with bulk=.true.");
    if (call->bulk != NULL) {
        if (!amg_fort_given(*call->bulk, "bulk", call->func))
            return HG_INVALID_ARG;
        message.bulk = (*call->bulk)->handle;
    }
    rc = amg_fort_message_begin(call->in, call->func, &message, &packed);
    if (rc == HG_SUCCESS)
        rc = request == NULL && message.len <= AMALGAM_ONEWAY_MAX
                 ? oneway_send(call, &message)
                 : message_send(call, request, &message);
    amg_mem_free(packed);
    return rc;
}

/* Arguments that get the results of a call; each may be NULL. */
struct results {
    const CFI_cdesc_t *out;
    int *count;
    CFI_cdesc_t *failed; /* allocatable */
};

/* Gives the program the ranks that failed, in an array that it deallocates. */
static hg_return_t failed_get(
    const struct fort_request *request, CFI_cdesc_t *failed)
{
    CFI_index_t low = 1;
    CFI_index_t high = 0;
    const int *ranks = NULL;
    size_t count = 0;

    if (failed->base_addr != NULL)
        (void)CFI_deallocate(failed);
    if (request->is_group)
        (void)amalgam_group_failed(request->handle, &count, &ranks, NULL);
    high = (CFI_index_t)count;
    if (CFI_allocate(failed, &low, &high, 0) != CFI_SUCCESS)
        return HG_NOMEM;
    for (size_t i = 0; i < count; i++)
        ((int *)failed->base_addr)[i] = ranks[i];
    return HG_SUCCESS;
}

/* Fetches what a request that is done has brought. */
static hg_return_t request_results(const struct fort_request *request,
    const struct results *results, const char *func)
{
    hg_return_t rc = request->ret;

    if (results->failed != NULL) {
        hg_return_t failed_rc = failed_get(request, results->failed);

        rc = rc == HG_SUCCESS ? failed_rc : rc;
    }
    if (rc != HG_SUCCESS || (results->out == NULL && results->count == NULL))
        return rc;
    if (request->handle == HG_HANDLE_NULL)
        return amg_fort_refuse(func, "a transfer has no output");
    return amg_fort_message_get(request->handle, HG_Get_output, HG_Free_output,
        results->out, results->count, func);
}

/* Makes a call with a request of the program. */
static hg_return_t request_begin(
    const struct call *call, struct fort_request **ret_request)
{
    struct fort_request *request = amg_mem_alloc(sizeof(*request));
    hg_return_t rc = request == NULL ? HG_NOMEM : call_begin(call, request);

    *ret_request = rc == HG_SUCCESS ? request : NULL;
    if (rc != HG_SUCCESS)
        amg_mem_free(request);
    return rc;
}

/* Ends a call whose time is over. False: its callback will end it, because a
 * call to oneself cannot be cancelled. */
static bool call_stop(struct fort_request *request)
{
    if (HG_Cancel(request->handle) == HG_SUCCESS) {
        (void)amg_fort_wait(request, NULL);
        if (request->ret == HG_CANCELED)
            request->ret = HG_TIMEOUT;
        return true;
    }
    return atomic_exchange_explicit(&request->state, FORT_ABANDONED,
               memory_order_acq_rel) == FORT_ENDED;
}

/* Makes a call and waits for its end, within the time limit. The library ends
 * calls to groups itself. */
static hg_return_t call_run(
    const struct call *call, const struct results *results)
{
    const int *timeout_ms = call->group == NULL ? call->timeout_ms : NULL;
    struct fort_request on_stack;
    struct fort_request *request = &on_stack;
    hg_return_t rc = timeout_ms == NULL ? call_begin(call, request)
                                        : request_begin(call, &request);

    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_fort_wait(request, timeout_ms);
    if (!fort_has_ended(request) && !call_stop(request))
        return rc;
    rc = request_results(request, results, call->func);
    (void)HG_Destroy(request->handle);
    if (request != &on_stack)
        amg_mem_free(request);
    return rc;
}

HG_PUBLIC void amalgam_f_call(struct fort_rpc *const *rpc, int rank,
    const CFI_cdesc_t *in, const CFI_cdesc_t *out, int *count,
    struct fort_bulk *const *bulk, const int *timeout_ms, int *ierror)
{
    struct call call = {.func = __func__,
        .rpc = *rpc,
        .rank = rank,
        .in = in,
        .bulk = bulk,
        .timeout_ms = timeout_ms,
        .must_wait = true};
    struct results results = {.out = out, .count = count};

    FORT_END(call_run(&call, &results));
}

HG_PUBLIC void amalgam_f_icall(struct fort_rpc *const *rpc, int rank,
    const CFI_cdesc_t *in, struct fort_request **request,
    struct fort_bulk *const *bulk, int *ierror)
{
    struct call call = {
        .func = __func__, .rpc = *rpc, .rank = rank, .in = in, .bulk = bulk};

    *request = NULL;
    FORT_END(amg_fort_has_bytes(in, __func__) ? request_begin(&call, request)
                                              : HG_INVALID_ARG);
}

HG_PUBLIC void amalgam_f_forward_oneway(
    struct fort_rpc *const *rpc, int rank, const CFI_cdesc_t *in, int *ierror)
{
    struct call call = {.func = __func__, .rpc = *rpc, .rank = rank, .in = in};

    FORT_END(call_begin(&call, NULL));
}

HG_PUBLIC void amalgam_f_group_create(struct fort_class *const *cls,
    const MPI_Fint *mpi_group, struct fort_group *group, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    *group = (struct fort_group){NULL, 0};
    if (FORT_GIVEN(*cls, "class"))
        rc = amalgam_group_create(
            (*cls)->cls, MPI_Group_f2c(*mpi_group), &group->group);
    FORT_END(rc);
}

FORT_ALIAS(amalgam_f_group_create);

HG_PUBLIC void amalgam_f_group_create_ranks(struct fort_class *const *cls,
    const CFI_cdesc_t *ranks, struct fort_group *group, int *ierror)
{
    size_t count = (size_t)ranks->dim[0].extent;
    int *packed = amg_mem_alloc((count + 1) * sizeof(*packed));
    hg_return_t rc = packed == NULL ? HG_NOMEM : HG_INVALID_ARG;

    *group = (struct fort_group){NULL, 0};
    if (packed != NULL && FORT_GIVEN(*cls, "class")) {
        if (count > 0)
            amg_fort_pack(ranks, packed);
        rc = amalgam_group_create_ranks(
            (*cls)->cls, packed, count, &group->group);
    }
    amg_mem_free(packed);
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_group_free(struct fort_group *group, int *ierror)
{
    hg_return_t rc = amalgam_group_free(group->group);

    *group = (struct fort_group){NULL, 0};
    FORT_END(rc);
}

/* The bytes of an output, if they are as many as the reduction folds. */
static void *output_bytes(void *out, size_t len)
{
    struct fort_message *message = out;

    if (message->len == len)
        return message->room;
    amg_fort_refuse("register_reduce_op",
        "an output of %zu bytes cannot be folded: the reduction is of %zu "
        "bytes",
        message->len, len);
    return NULL;
}

HG_PUBLIC void amalgam_f_register_reduce_op(struct fort_rpc *const *rpc,
    const MPI_Fint *op, const MPI_Fint *type, int count, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*rpc, "rpc") && FORT_GIVEN((*rpc)->owner, "rpc"))
        rc = amalgam_register_reduce_op((*rpc)->owner->cls, (*rpc)->id,
            MPI_Op_f2c(*op), MPI_Type_f2c(*type), count);
    if (rc == HG_SUCCESS)
        amg_group_reduce_lead((*rpc)->owner->cls, (*rpc)->id,
            sizeof(struct fort_message), output_bytes);
    FORT_END(rc);
}

FORT_ALIAS(amalgam_f_register_reduce_op);

/* NULL, logged: the group was not made, or is freed. */
static amalgam_group_t group_of(
    const struct fort_group *group, const char *func)
{
    if (group->is_all)
        return AMALGAM_GROUP_ALL;
    return amg_fort_given(group->group, "group", func) ? group->group : NULL;
}

HG_PUBLIC void amalgam_f_call_group(struct fort_rpc *const *rpc,
    const struct fort_group *group, const CFI_cdesc_t *in,
    const CFI_cdesc_t *out, int *count, CFI_cdesc_t *failed,
    const int *timeout_ms, int *ierror)
{
    struct call call = {.func = __func__,
        .rpc = *rpc,
        .group = group_of(group, __func__),
        .in = in,
        .timeout_ms = timeout_ms,
        .must_wait = true};
    struct results results = {.out = out, .count = count, .failed = failed};

    FORT_END(call.group == NULL ? HG_INVALID_ARG : call_run(&call, &results));
}

HG_PUBLIC void amalgam_f_icall_group(struct fort_rpc *const *rpc,
    const struct fort_group *group, const CFI_cdesc_t *in,
    struct fort_request **request, const int *timeout_ms, int *ierror)
{
    struct call call = {.func = __func__,
        .rpc = *rpc,
        .group = group_of(group, __func__),
        .in = in,
        .timeout_ms = timeout_ms};

    *request = NULL;
    FORT_END(call.group == NULL || !amg_fort_has_bytes(in, __func__)
                 ? HG_INVALID_ARG
                 : request_begin(&call, request));
}

HG_PUBLIC void amalgam_f_wait(struct fort_request **request,
    const CFI_cdesc_t *out, int *count, CFI_cdesc_t *failed,
    const int *timeout_ms, int *ierror)
{
    struct results results = {.out = out, .count = count, .failed = failed};
    hg_return_t rc = HG_INVALID_ARG;

    if (!FORT_GIVEN(*request, "request"))
        goto out;
    rc = amg_fort_wait(*request, timeout_ms);
    if (!fort_has_ended(*request))
        goto out;
    rc = request_results(*request, &results, __func__);
    /* The request stays for a larger argument. */
    if (rc == HG_OVERFLOW && (*request)->ret == HG_SUCCESS)
        goto out;
    if ((*request)->handle != HG_HANDLE_NULL)
        (void)HG_Destroy((*request)->handle);
    amg_mem_free(*request);
    *request = NULL;
out:
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_cancel(
    struct fort_request *const *request, int *ierror)
{
    hg_return_t rc =
        FORT_GIVEN(*request, "request") ? HG_SUCCESS : HG_INVALID_ARG;

    if (rc == HG_SUCCESS && (*request)->handle == HG_HANDLE_NULL)
        rc = HG_OPNOTSUPPORTED; /* a transfer, which may end meanwhile */
    else if (rc == HG_SUCCESS && !fort_has_ended(*request))
        rc = HG_Cancel((*request)->handle);
    FORT_END(rc);
}
