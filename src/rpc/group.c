/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups: the life of a call at one rank. */
#include "rpc/group.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "rpc/encode.h"

static struct amg_group_edge *edge_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_group_edge, link);
}

struct amg_group_call *amg_group_call_make(hg_context_t *context, hg_id_t id)
{
    struct amg_groups *groups = amg_groups_of(context->cls);
    struct amg_group_call *call = amg_pool_get(&groups->pool);

    if (call == NULL)
        return NULL;
    memset(call, 0, sizeof(*call));
    amg_lock_init(&call->lock);
    amg_list_init(&call->edges);
    amg_list_init(&call->news);
    amg_list_init(&call->ups);
    call->groups = groups;
    call->context = context;
    call->limit_ns = AMG_CONTEXT_NEVER;
    call->is_busy = true;
    call->own.info.hg_class = context->cls;
    call->own.info.context = context;
    call->own.info.context_id = context->id;
    call->own.info.id = id;
    call->own.is_group = true;
    amg_refs_set(&call->own.refs, 1); /* procs of a reduction may see it */
    atomic_init(&call->refs, 1);
    amg_context_enter(context); /* until the end of the call here */
    return call;
}

void amg_group_call_drop(struct amg_group_call *call)
{
    call->is_ended = true;
    amg_context_leave(call->context);
    amg_group_call_unref(call);
}

void amg_group_edge_drop(struct amg_group_edge *edge)
{
    struct hg_handle *handle = edge->handle;

    edge->handle = NULL;
    if (handle == &edge->call->own) {
        amg_args_release(&handle->out);
    } else if (handle != NULL) {
        handle->is_group = false;
        amg_handle_unref(handle);
    }
}

static void edge_free(struct amg_group_edge *edge)
{
    amg_group_edge_drop(edge);
    amg_pool_put(&edge->call->groups->edges, edge);
}

void amg_group_call_unref(struct amg_group_call *call)
{
    struct amg_link *link = NULL;

    if (atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) > 1)
        return;
    AMG_ASSERT(call->is_ended && amg_list_is_empty(&call->ups));
    while ((link = amg_list_pop(&call->edges)) != NULL)
        edge_free(edge_of(link));
    amg_group_state_fini(&call->state);
    amg_mem_free(call->structs);
    amg_args_release(&call->sum);
    amg_args_release(&call->block);
    (void)amalgam_group_free(call->group);
    amg_pool_put(&call->groups->pool, call);
}

/* The input of an edge. */
struct edge_input {
    const struct amg_group_call *call;
    struct amg_group_trailer trailer;
};

hg_return_t amg_group_edge_proc(hg_proc_t proc, void *data)
{
    static const uint64_t zeros = 0;
    const struct edge_input *input = data;
    const struct amg_group_trailer *trailer = &input->trailer;
    const struct amg_args *block = &input->call->block;
    const struct amg_tree *tree = &input->call->state.tree;
    hg_return_t rc = hg_proc_bytes(proc, block->data, block->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_bytes(proc, (void *)(uintptr_t)&zeros, trailer->pad_len);
    if (rc == HG_SUCCESS && tree->ranks != NULL)
        rc = hg_proc_bytes(proc,
            (void *)(uintptr_t)&tree->ranks[trailer->first - tree->list_first],
            trailer->count * sizeof(*tree->ranks));
    if (rc == HG_SUCCESS)
        rc = hg_proc_bytes(proc, (void *)(uintptr_t)trailer, sizeof(*trailer));
    return rc;
}

/* Reads the answer of an edge. False: it is malformed. An answer of members
 * that have all failed has no output. */
static bool answer_take_locked(
    struct amg_group_edge *edge, bool *ret_has_output)
{
    struct amg_group_state *state = &edge->call->state;
    struct amg_args *out = &edge->handle->out;
    struct amg_group_answer answer;
    hg_return_t first = state->ret;
    uint64_t len = 0;

    AMG_ASSERT_HELD(&edge->call->lock);
    if (edge->handle == &edge->call->own)
        return amg_group_state_answered(state, edge->part, 1, NULL, 0);
    if (out->len < sizeof(answer) || amg_rpc_check(out) != HG_SUCCESS)
        return false;
    memcpy(&answer, out->data, sizeof(answer));
    if (answer.ret >= HG_RETURN_MAX ||
        answer.ranges >
            (out->len - sizeof(answer)) / sizeof(struct amg_group_range) ||
        !amg_group_state_answered(state, edge->part, answer.answered,
            (const void *)((const char *)out->data + sizeof(answer)),
            answer.ranges))
        return false;
    if (first == HG_SUCCESS && answer.ret != HG_SUCCESS)
        state->ret = (hg_return_t)answer.ret;
    len = sizeof(answer) + answer.ranges * sizeof(struct amg_group_range);
    out->data = (char *)out->data + len;
    out->len -= len;
    *ret_has_output = answer.has_output != 0;
    return true;
}

static struct amg_group_edge *news_edge(struct amg_link *link)
{
    return amg_container_of(link, struct amg_group_edge, news);
}

static void news_add_locked(struct amg_group_edge *edge)
{
    struct amg_list *news = &edge->call->news;
    struct amg_link *place = &news->head;

    AMG_ASSERT_HELD(&edge->call->lock);
    while (place->next != &news->head &&
           news_edge(place->next)->part.first < edge->part.first)
        place = place->next;
    amg_list_insert(place, &edge->news);
}

/* Defined below, for the children of a rank that has failed. */
static void parts_ask(
    struct amg_group_call *call, struct amg_tree_part part, bool is_retry);

/* The rank of an edge has answered, or has failed with `ret`. Then the ranks
 * below are asked, or, if the call is settled, named with that code. */
static void edge_over(struct amg_group_edge *edge, hg_return_t ret)
{
    struct amg_group_call *call = edge->call;
    struct amg_tree_part failed = {edge->part.first, 1};
    struct amg_tree_part below = {failed.first + 1, edge->part.count - 1};
    bool has_output = true;

    amg_lock_lock(&call->lock);
    if (!edge->is_asked) { /* the own handler, after the call was settled */
        amg_lock_unlock(&call->lock);
        amg_group_edge_drop(edge);
        return;
    }
    edge->is_asked = false;
    if (ret == HG_SUCCESS && !answer_take_locked(edge, &has_output))
        ret = HG_PROTOCOL_ERROR;
    has_output =
        has_output && ret == HG_SUCCESS && call->trailer.kind != AMG_GROUP_DROP;
    if (has_output && call->trailer.kind == AMG_GROUP_FOLD &&
        call->user == NULL && call->state.part.count == 1) { /* a leaf */
        call->sum = edge->handle->out;
        edge->handle->out.extra = NULL;
    } else if (has_output) {
        news_add_locked(edge);
    }
    if (ret == HG_SUCCESS)
        below.count = 0;
    if (call->settled != HG_SUCCESS && ret == HG_CANCELED)
        ret = call->settled;
    if (ret != HG_SUCCESS)
        amg_group_state_name(&call->state, failed, ret);
    if (call->settled != HG_SUCCESS && below.count > 0) {
        amg_group_state_name(&call->state, below, call->settled);
        below.count = 0;
    }
    amg_lock_unlock(&call->lock);
    if (!has_output)
        amg_group_edge_drop(edge);
    if (below.count > 0)
        parts_ask(call, edge->part, true);
    amg_group_call_move(call);
}

/* The call of an edge has ended. */
static void edge_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);
    struct amg_group_edge *edge = handle->arg;
    struct amg_group_call *call = edge->call;

    amg_handle_move_state(handle, AMG_HANDLE_READY, AMG_HANDLE_DONE);
    edge_over(edge, handle->ret);
    amg_handle_unref(handle); /* the reference of the operation */
    amg_context_leave(call->context);
    amg_group_call_unref(call);
}

/* Makes an edge to the first member of a part. HG_NOMEM, or why that rank has
 * no address. */
static hg_return_t edge_make(struct amg_group_call *call,
    struct amg_tree_part part, struct amg_group_edge **ret_edge)
{
    hg_context_t *context = call->context;
    struct amg_group_edge *edge = amg_pool_get(&call->groups->edges);
    struct hg_handle *handle =
        edge == NULL ? NULL : amg_handle_create(context, false);
    hg_return_t rc = HG_NOMEM;

    if (handle == NULL)
        goto put_edge;
    rc = amg_addr_init_rank(context->cls,
        amg_tree_rank(&call->state.tree, part.first), &handle->addr);
    if (rc != HG_SUCCESS)
        goto drop_handle;
    handle->rpc = &call->groups->edge;
    handle->info.id = call->own.info.id;
    handle->info.context_id = call->own.info.context_id;
    handle->info.addr = &handle->addr;
    handle->is_group = true;
    handle->arg = edge;
    *edge = (struct amg_group_edge){
        .call = call, .part = part, .handle = handle, .is_asked = true};
    *ret_edge = edge;
    return HG_SUCCESS;

drop_handle:
    amg_handle_unref(handle);
put_edge:
    if (edge != NULL)
        amg_pool_put(&call->groups->edges, edge);
    return rc;
}

/* The code that the call was settled with, or HG_SUCCESS. */
static hg_return_t settled_of(struct amg_group_call *call)
{
    hg_return_t settled = HG_SUCCESS;

    amg_lock_lock(&call->lock);
    settled = call->settled;
    amg_lock_unlock(&call->lock);
    return settled;
}

/* The call is settled: tells the rank of an edge, and ends the edge with
 * `gives_up`, or if that rank has no children. */
static void edge_settle(struct amg_group_edge *edge, bool tells, bool gives_up)
{
    struct amg_group_call *call = edge->call;
    struct amg_group_settle settle = {
        call->trailer.serial, call->trailer.root, 0};
    struct hg_handle *handle = NULL;

    amg_lock_lock(&call->lock);
    settle.ret = (uint32_t)call->settled;
    if (edge->is_asked) {
        handle = edge->handle;
        amg_handle_ref(handle);
    }
    amg_lock_unlock(&call->lock);
    if (handle == NULL)
        return;
    if (tells)
        (void)amg_control_send(call->context, &handle->addr,
            handle->info.context_id, AMG_CONTROL_SETTLE, &settle,
            sizeof(settle));
    if (gives_up || edge->part.count == 1)
        amg_forward_cancel(handle);
    amg_handle_unref(handle);
}

/* Asks the first member of a part, or names the members of the part if the call
 * is settled, there is no memory, or the first member has no address. */
static void part_ask(
    struct amg_group_call *call, struct amg_tree_part part, bool is_retry)
{
    struct amg_group_edge *edge = NULL;
    struct edge_input input = {.call = call, .trailer = call->trailer};
    hg_return_t rc = edge_make(call, part, &edge);

    input.trailer.first = part.first;
    input.trailer.count = part.count;
    input.trailer.is_kept = is_retry || call->user == NULL;
    amg_lock_lock(&call->lock);
    if (rc == HG_SUCCESS)
        rc = call->settled;
    if (rc == HG_SUCCESS)
        amg_list_push(&call->edges, &edge->link);
    else
        amg_group_state_name(&call->state, part, rc);
    amg_lock_unlock(&call->lock);
    if (rc != HG_SUCCESS) {
        if (edge != NULL)
            edge_free(edge);
        return;
    }
    amg_group_call_ref(call);
    rc = amg_forward_hidden(edge->handle, edge_run, &input);
    if (rc != HG_SUCCESS) {
        edge_over(edge, rc);
        amg_group_call_unref(call);
        return;
    }
    if (settled_of(call) !=
        HG_SUCCESS) /* perhaps before there was a call to cancel */
        edge_settle(edge, true, true);
}

static void parts_ask(
    struct amg_group_call *call, struct amg_tree_part part, bool is_retry)
{
    const struct amg_tree *tree = &call->state.tree;
    struct amg_tree_walk walk =
        is_retry ? amg_tree_walk_begin(
                       tree, part, amg_tree_rank(tree, part.first), part.first)
                 : amg_tree_walk_begin(tree, part, call->context->cls->job.rank,
                       call->own_edge.part.first);
    struct amg_tree_part child;
    bool has_child = amg_tree_walk_next(tree, &walk, &child);

    while (has_child) {
        struct amg_tree_part asked = child;

        /* First: part_ask() may end the call, whose end frees the ranks. */
        has_child = amg_tree_walk_next(tree, &walk, &child);
        part_ask(call, asked, is_retry);
    }
}

/* The own handler has answered, was refused, or was dropped. */
static void own_step(struct amg_op *op)
{
    struct hg_handle *own = amg_container_of(op, struct hg_handle, op);
    struct amg_group_call *call =
        amg_container_of(own, struct amg_group_call, own);

    if (own->is_long) /* the handler never began */
        amg_pulls_end(own);
    edge_over(&call->own_edge, op->ret == HG_SUCCESS ? own->ret : op->ret);
    amg_group_call_unref(call);
}

/* Runs the own handler, unless the call was settled before. */
static void own_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);
    struct amg_group_call *call =
        amg_container_of(handle->looped.origin, struct amg_group_call, own);
    hg_return_t settled = settled_of(call);

    if (settled == HG_SUCCESS)
        amg_serve_run_counted(entry);
    else
        amg_respond_instead(handle, settled);
}

static void own_start(struct amg_group_call *call)
{
    struct hg_handle *own = &call->own;
    hg_context_t *context =
        amg_class_context(call->context->cls, own->info.context_id);
    hg_return_t rc = HG_NOENTRY;

    own->op.step = own_step;
    amg_group_call_ref(call);
    /* At the root the handler runs in the context that all ranks are to use. */
    if (context != NULL && context->id == own->info.context_id) {
        own->info.context = context;
        rc = amg_addr_init_rank(context->cls, call->trailer.root, &own->addr);
    }
    if (rc == HG_SUCCESS) {
        if (!amg_serve_apart(own, call->trailer.context, &call->block,
                amg_list_is_empty(&call->edges), own_run))
            rc = HG_NOMEM;
        amg_addr_fini(&own->addr);
    }
    if (rc == HG_SUCCESS)
        return;
    own->op.ret = rc;
    own_step(&own->op);
}

void amg_group_call_place(struct amg_group_call *call,
    const struct amg_tree *tree, struct amg_tree_part part, uint32_t self)
{
    call->state.tree = *tree;
    call->state.part = part;
    call->own_edge = (struct amg_group_edge){.call = call,
        .part = {self, 1},
        .handle = &call->own,
        .is_asked = self != AMG_TREE_NOWHERE};
}

void amg_group_call_begin(struct amg_group_call *call)
{
    parts_ask(call, call->state.part, false);
    if (call->own_edge.part.first != AMG_TREE_NOWHERE)
        own_start(call);
    amg_lock_lock(&call->lock);
    call->is_busy = false;
    amg_lock_unlock(&call->lock);
    amg_group_call_move(call);
}

/* How long the children of a call that is settled have for their answers. */
static uint64_t grace_ns(const struct amg_group_call *call)
{
    const struct amg_group_state *state = &call->state;
    unsigned height = amg_tree_height(&state->tree, state->part);

    if (call->own_edge.part.first != state->part.first)
        height++; /* a root above the leaders */
    return amg_clock_deadline_ns(height * AMALGAM_GROUP_GRACE_MS);
}

void amg_group_call_settle(
    struct amg_group_call *call, hg_return_t ret, bool gives_up)
{
    struct amg_link *link = NULL;
    uint64_t limit_ns = 0;
    bool tells = false;

    amg_lock_lock(&call->lock);
    if (call->is_ended) {
        amg_lock_unlock(&call->lock);
        return;
    }
    tells = call->settled == HG_SUCCESS;
    if (tells)
        call->settled = ret;
    if (call->own_edge.is_asked) {
        call->own_edge.is_asked = false;
        amg_group_state_name(&call->state, call->own_edge.part, call->settled);
    }
    limit_ns = grace_ns(call); /* not later: the end frees a list of ranks */
    amg_lock_unlock(&call->lock);
    /* No edge is added from now on. */
    link = amg_list_first(&call->edges);
    for (; link != NULL; link = amg_list_next(&call->edges, link))
        edge_settle(edge_of(link), tells, gives_up);
    if (!gives_up) {
        amg_lock_lock(&call->groups->lock);
        call->limit_ns = limit_ns;
        amg_lock_unlock(&call->groups->lock);
        amg_context_look_at(call->context, limit_ns);
    }
    amg_group_call_move(call);
}

/* Takes a call of the context whose limit is over, with a reference; at
 * AMG_CONTEXT_NEVER any call. NULL: there is none; `*ret_next_ns` is the next
 * limit. */
static struct amg_group_call *late_take(
    hg_context_t *context, uint64_t now_ns, uint64_t *ret_next_ns)
{
    struct amg_groups *groups = amg_groups_of(context->cls);
    struct amg_group_call *late = NULL;
    struct amg_link *link = NULL;

    *ret_next_ns = AMG_CONTEXT_NEVER;
    amg_lock_lock(&groups->lock);
    link = amg_list_first(&groups->under_way);
    for (; link != NULL && late == NULL;
         link = amg_list_next(&groups->under_way, link)) {
        struct amg_group_call *call =
            amg_container_of(link, struct amg_group_call, under_way);

        if (call->context != context || call->is_abandoned)
            continue;
        if (call->limit_ns <= now_ns)
            late = call;
        else if (call->limit_ns < *ret_next_ns)
            *ret_next_ns = call->limit_ns;
    }
    if (late != NULL) {
        late->limit_ns = AMG_CONTEXT_NEVER;
        late->is_abandoned = now_ns == AMG_CONTEXT_NEVER;
        amg_group_call_ref(late);
    }
    amg_lock_unlock(&groups->lock);
    return late;
}

void amg_group_look(hg_context_t *context, uint64_t now_ns)
{
    bool is_end = now_ns == AMG_CONTEXT_NEVER;
    struct amg_group_call *call = NULL;
    uint64_t next_ns = 0;

    while ((call = late_take(context, now_ns, &next_ns)) != NULL) {
        amg_group_call_settle(call, is_end ? HG_CANCELED : HG_TIMEOUT,
            is_end || settled_of(call) != HG_SUCCESS);
        amg_group_call_unref(call);
    }
    amg_context_look_at(context, next_ns);
    amg_quiet_look(context, now_ns);
}

static void fold_queue(struct amg_group_call *call)
{
    amg_group_call_ref(call);
    call->entry.run = amg_group_fold_run;
    /* Reductions run where handlers run, callbacks of a gathering where the
     * callback of the call will run. */
    call->entry.is_incoming =
        call->each == NULL || call->user->entry.is_incoming;
    amg_context_queue(call->context, &call->entry);
}

void amg_group_call_move(struct amg_group_call *call)
{
    bool is_over = false;
    bool is_due = false;

    amg_lock_lock(&call->lock);
    if (!call->is_ended && !call->is_busy) {
        is_due = amg_group_is_due_locked(call);
        is_over = !is_due && amg_group_state_is_over(&call->state);
        call->is_busy = is_due;
        call->is_ended = is_over;
    }
    if (is_over)
        amg_group_state_end(&call->state);
    amg_lock_unlock(&call->lock);
    if (is_due)
        fold_queue(call);
    else if (is_over)
        call->end(call);
}
