/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of a call to a group: folded, or gathered, as they come.
 *
 * The list `news` of a call has the outputs that have come and are not used.
 * One thread at a time uses them (is_busy), in HG_Trigger(), because
 * reductions and callbacks of the program run there. That thread ends only when
 * it sees, under the call's lock, that the list is empty, or that an operation
 * in order has to wait for more; so no output is forgotten. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "rpc/encode.h"
#include "rpc/group.h"

static void fold_fail(struct amg_group_call *call, hg_return_t ret)
{
    AMG_LOG_ERROR("rpc",
        "outputs of RPC id 0x%llx from a group cannot be folded: %s",
        (unsigned long long)call->own.info.id, HG_Error_to_string(ret));
    amg_lock_lock(&call->lock);
    if (call->state.ret == HG_SUCCESS)
        call->state.ret = ret;
    call->unfolded = ret;
    amg_lock_unlock(&call->lock);
}

/* Decodes, or with HG_FREE frees, an output struct. */
static hg_return_t proc_run(struct amg_group_call *call, hg_proc_op_t op,
    const struct amg_args *output, void *out_struct)
{
    struct hg_proc proc;

    amg_proc_init(&proc, call->context->cls, output->data, output->len, op);
    proc.handle = &call->own;
    return call->own.rpc->fold_proc(&proc, out_struct);
}

/* Folds two decoded structs. */
static hg_return_t reduce_run(
    const struct amg_rpc *rpc, void *from, void *inout)
{
    const struct amg_group_reduce *reduce = rpc->reduce;

    if (reduce->bytes != NULL) {
        from = reduce->bytes(from, reduce->bytes_len);
        inout = reduce->bytes(inout, reduce->bytes_len);
    }
    if (reduce->fold != NULL)
        return reduce->fold(from, inout, reduce->arg);
    reduce->fn(from, inout, reduce->arg);
    return HG_SUCCESS;
}

static void struct_free(struct amg_group_call *call, void *decoded)
{
    (void)proc_run(call, HG_FREE, &(struct amg_args){.len = 0}, decoded);
}

/* Folds one more output into the struct of those before. */
static hg_return_t output_fold(
    struct amg_group_call *call, const struct amg_args *output)
{
    const struct amg_rpc *rpc = call->own.rpc;
    size_t room = 0;
    char *next = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (rpc == NULL || rpc->reduce == NULL)
        return rpc == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;
    room = (rpc->reduce->out_len + 15) / 16 * 16;
    if (call->structs == NULL)
        call->structs = amg_mem_alloc(2 * room);
    if (call->structs == NULL)
        return HG_NOMEM;
    next = call->structs + (call->sum_struct == call->structs ? room : 0);
    memset(next, 0, room);
    rc = proc_run(call, HG_DECODE, output, next);
    if (rc != HG_SUCCESS)
        return rc;
    if (rpc->reduce->bytes != NULL &&
        rpc->reduce->bytes(next, rpc->reduce->bytes_len) == NULL)
        rc = HG_MSGSIZE;
    if (rc == HG_SUCCESS && call->sum_struct != NULL)
        rc = reduce_run(rpc, call->sum_struct, next);
    if (rc != HG_SUCCESS)
        struct_free(call, next);
    else if (call->sum_struct != NULL)
        struct_free(call, call->sum_struct);
    if (rc == HG_SUCCESS)
        call->sum_struct = next;
    return rc;
}

/* Encodes the folded struct. */
static void sum_encode(struct amg_group_call *call)
{
    hg_return_t rc = amg_rpc_encode_apart(&call->own, call->own.rpc->fold_proc,
        call->sum_struct, &call->sum,
        call->user == NULL ? call->short_block : call->user->looped.short_args);

    if (rc != HG_SUCCESS)
        fold_fail(call, rc);
    struct_free(call, call->sum_struct);
    call->sum_struct = NULL;
}

/* Calls the program's callback for one rank. */
static hg_return_t rank_give(struct amg_group_call *call, uint32_t position,
    void *data, uint32_t len, hg_return_t ret)
{
    struct hg_handle *handle = amg_handle_create(call->context, false);
    uint32_t rank = amg_tree_rank(&call->state.tree, position);

    if (handle == NULL) {
        AMG_LOG_ERROR("rpc",
            "no memory to give the result (%s) of rank %u, of a call of RPC id "
            "0x%llx to a group, to the program",
            HG_Error_to_string(ret), rank,
            (unsigned long long)call->own.info.id);
        return HG_NOMEM;
    }
    handle->rpc = call->user->rpc;
    handle->info.id = call->own.info.id;
    handle->info.addr = HG_ADDR_NULL;
    handle->out.data = data;
    handle->out.len = len;
    handle->entry.run = NULL;
    amg_handle_move_state(handle, AMG_HANDLE_IDLE, AMG_HANDLE_POSTED);
    amg_handle_move_state(handle, AMG_HANDLE_POSTED, AMG_HANDLE_READY);
    amg_handle_move_state(handle, AMG_HANDLE_READY, AMG_HANDLE_DONE);
    call->each(handle, (int)rank, ret, call->user->arg);
    amg_handle_unref(handle);
    return HG_SUCCESS;
}

/* Gives gathered outputs to the program, at the root. */
static hg_return_t output_give(struct amg_group_call *call,
    const struct amg_group_edge *edge, const struct amg_args *output)
{
    char *at = output->data;
    const char *end = at + output->len;
    struct amg_group_piece piece;
    uint64_t len = 0;

    if (edge == &call->own_edge)
        return rank_give(
            call, edge->part.first, at, (uint32_t)output->len, HG_SUCCESS);
    for (; at < end; at += sizeof(piece) + len) {
        hg_return_t rc = HG_PROTOCOL_ERROR;

        if ((size_t)(end - at) >= sizeof(piece)) {
            memcpy(&piece, at, sizeof(piece));
            len = ((uint64_t)piece.len + 7) / 8 * 8;
            if ((uint64_t)(end - at) - sizeof(piece) >= len &&
                piece.position - edge->part.first < edge->part.count)
                rc = rank_give(call, piece.position, at + sizeof(piece),
                    piece.len, HG_SUCCESS);
        }
        if (rc != HG_SUCCESS)
            return rc;
    }
    return HG_SUCCESS;
}

/* Appends bytes, padded to 8, to the gathered outputs. HG_NOMEM: these are as
 * before. */
static hg_return_t sum_append(
    struct amg_group_call *call, const void *bytes, uint64_t len)
{
    struct amg_args *sum = &call->sum;
    uint64_t cap = sum->len + (len + 7) / 8 * 8;
    char *made = amg_mem_zalloc(cap + 8);

    if (made == NULL)
        return HG_NOMEM;
    if (sum->len > 0)
        memcpy(made, sum->data, sum->len);
    if (len > 0)
        memcpy(made + sum->len, bytes, len);
    amg_args_release(sum);
    *sum = (struct amg_args){.data = made, .extra = made, .len = cap};
    return HG_SUCCESS;
}

/* Appends gathered outputs for the parent; the own output becomes a piece. */
static hg_return_t output_gather(struct amg_group_call *call,
    const struct amg_group_edge *edge, const struct amg_args *output)
{
    struct amg_group_piece piece = {edge->part.first, (uint32_t)output->len};
    hg_return_t rc = HG_SUCCESS;

    if (edge == &call->own_edge)
        rc = sum_append(call, &piece, sizeof(piece));
    return rc == HG_SUCCESS ? sum_append(call, output->data, output->len) : rc;
}

void amg_group_fold_names(struct amg_group_call *call)
{
    const struct amg_group_state *state = &call->state;

    for (uint32_t i = 0; i < state->failed_count; i++)
        for (uint32_t k = 0; k < state->failed[i].count; k++)
            (void)rank_give(call, state->failed[i].first + k, NULL, 0,
                (hg_return_t)state->failed[i].ret);
}

static void output_use(struct amg_group_call *call, struct amg_group_edge *edge)
{
    const struct amg_args *output = &edge->handle->out;
    hg_return_t rc = call->trailer.kind == AMG_GROUP_FOLD
                         ? output_fold(call, output)
                     : call->user != NULL ? output_give(call, edge, output)
                                          : output_gather(call, edge, output);

    if (rc != HG_SUCCESS)
        fold_fail(call, rc);
    amg_group_edge_drop(edge);
}

/* Takes the first output that is new; NULL: none, or some are missing. Without
 * one, and if the call is over, `*ret_encodes` says that the folded struct must
 * be encoded. */
static struct amg_group_edge *news_take(
    struct amg_group_call *call, bool *ret_encodes)
{
    const struct amg_rpc *rpc = call->own.rpc;
    struct amg_link *link = NULL;

    amg_lock_lock(&call->lock);
    call->is_ordered = call->trailer.kind == AMG_GROUP_FOLD && rpc != NULL &&
                       rpc->reduce != NULL &&
                       (rpc->reduce->flags & AMALGAM_REDUCE_ORDERED) != 0;
    call->is_busy = amg_group_is_due_locked(call);
    if (call->is_busy)
        link = amg_list_pop(&call->news);
    *ret_encodes = call->is_busy && link == NULL;
    amg_lock_unlock(&call->lock);
    return link == NULL ? NULL
                        : amg_container_of(link, struct amg_group_edge, news);
}

void amg_group_fold_run(struct amg_cq_entry *entry)
{
    struct amg_group_call *call =
        amg_container_of(entry, struct amg_group_call, entry);
    struct amg_group_edge *edge = NULL;
    bool encodes = false;

    if (call->own.rpc == NULL) /* kept, as a deregistration may follow */
        call->own.rpc = amg_rpc_find(call->context->cls, call->own.info.id);
    while ((edge = news_take(call, &encodes)) != NULL || encodes) {
        if (encodes)
            sum_encode(call);
        else
            output_use(call, edge);
    }
    amg_group_call_move(call);
    amg_group_call_unref(call);
}
