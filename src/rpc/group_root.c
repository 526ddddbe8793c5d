/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups at their root: the public functions. */
#include <stdlib.h>
#include <string.h>

#include "amalgam_group.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/encode.h"
#include "rpc/group.h"

struct amalgam_group amalgam_group_all;

/* Gives `ranks` to the tree, or frees them and describes them by base and
 * stride if they are at equal distances. */
static void ranks_pack(struct amg_tree *tree, uint32_t *ranks, uint32_t count)
{
    tree->base = count > 0 ? ranks[0] : 0;
    tree->stride = count > 1 ? ranks[1] - ranks[0] : 1;
    for (uint32_t i = 1; i < count; i++)
        if (ranks[i] - ranks[i - 1] != tree->stride) {
            tree->ranks = ranks;
            return;
        }
    amg_mem_free(ranks);
}

/* Copies and sorts the ranks. False: a rank is not of the class, or stands
 * there twice; logged. */
static bool ranks_take(
    uint32_t *taken, const int *ranks, uint32_t count, uint32_t size)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ranks[i] < 0 || (uint32_t)ranks[i] >= size) {
            AMG_LOG_ERROR("rpc",
                "amalgam_group_create_ranks(): rank %d at place %u is not "
                "between 0 and %u",
                ranks[i], i, size - 1);
            return false;
        }
        taken[i] = (uint32_t)ranks[i];
    }
    qsort(taken, count, sizeof(*taken), amg_group_compare);
    for (uint32_t i = 1; i < count; i++)
        if (taken[i] == taken[i - 1]) {
            AMG_LOG_ERROR("rpc",
                "amalgam_group_create_ranks(): rank %u stands there twice",
                taken[i]);
            return false;
        }
    return true;
}

hg_return_t amalgam_group_create_ranks(hg_class_t *hg_class, const int *ranks,
    size_t count, amalgam_group_t *group)
{
    struct amalgam_group *made = NULL;
    uint32_t *taken = NULL;
    hg_return_t rc = HG_NOMEM;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(group) ||
        (count > 0 && !AMG_GIVEN(ranks)))
        return amg_refusal();
    if (hg_class->job.size == 0) {
        AMG_LOG_ERROR("rpc",
            "amalgam_group_create_ranks(): the peers of this class are no "
            "ranks; amalgam_init() opens a class of ranks");
        return HG_OPNOTSUPPORTED;
    }
    if (!AMG_CONTRACT(count <= hg_class->job.size,
            "%zu ranks are more than the %u of the class", count,
            hg_class->job.size))
        return HG_INVALID_ARG;
    made = amg_mem_zalloc(sizeof(*made));
    taken = amg_mem_alloc((count + 1) * sizeof(*taken));
    if (made == NULL || taken == NULL)
        goto free_made;
    made->cls = hg_class;
    made->count = (uint32_t)count;
    made->tree.node_size = hg_class->job.node_size;
    made->tree.width = AMG_GROUP_WIDTH;
    atomic_init(&made->refs, 1);
    rc = HG_INVALID_ARG;
    if (!ranks_take(taken, ranks, made->count, hg_class->job.size))
        goto free_made;
    ranks_pack(&made->tree, taken, made->count);
    *group = made;
    return HG_SUCCESS;

free_made:
    amg_mem_free(taken);
    amg_mem_free(made);
    return rc;
}

hg_return_t amalgam_group_free(amalgam_group_t group)
{
    if (group == NULL || group == AMALGAM_GROUP_ALL)
        return HG_SUCCESS;
    if (atomic_fetch_sub_explicit(&group->refs, 1, memory_order_acq_rel) > 1)
        return HG_SUCCESS;
    amg_mem_free((void *)(uintptr_t)group->tree.ranks);
    amg_mem_free(group);
    return HG_SUCCESS;
}

static uint32_t position_of(
    const struct amg_tree *tree, uint32_t count, uint32_t rank)
{
    uint32_t at =
        amg_tree_count_below(tree, (struct amg_tree_part){0, count}, rank);

    return at < count && amg_tree_rank(tree, at) == rank ? at
                                                         : AMG_TREE_NOWHERE;
}

/* Runs in HG_Trigger() when the call has ended. */
static void root_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);
    struct amg_group_call *call = handle->group;
    hg_cb_t callback = handle->callback;
    struct hg_cb_info info = {
        .arg = handle->arg,
        .type = HG_CB_FORWARD,
        .ret = handle->ret,
        .info.forward.handle = handle,
    };

    if (call->each != NULL)
        amg_group_fold_names(call);
    amg_lock_lock(&call->groups->lock);
    handle->group = NULL;
    amg_lock_unlock(&call->groups->lock);
    amg_handle_move_state(handle, AMG_HANDLE_READY, AMG_HANDLE_DONE);
    if (callback != NULL)
        callback(&info);
    amg_handle_unref(handle);
    amg_context_leave(call->context);
    amg_group_call_unref(call);
}

/* The names of the failed ranks, in the memory of the output. */
struct names {
    size_t count;
    hg_return_t *codes;
    int ranks[];
};

/* Moves the folded output, and the names of the failed ranks in front of it,
 * into the program's handle. False: no memory for the names. */
static bool result_move(struct amg_group_call *call, struct hg_handle *user)
{
    const struct amg_group_state *state = &call->state;
    size_t count = state->named;
    size_t room =
        sizeof(struct names) + count * (sizeof(int) + sizeof(hg_return_t));
    struct names *names = NULL;
    size_t at = 0;

    if (count == 0 && user->ret == HG_SUCCESS) {
        user->out = call->sum;
        call->sum.extra = NULL;
    }
    if (count == 0)
        return true;
    room = (room + 7) / 8 * 8;
    names = amg_mem_alloc(room + call->sum.len);
    if (names == NULL)
        return false;
    names->count = count;
    names->codes = (hg_return_t *)(void *)&names->ranks[count];
    for (uint32_t i = 0; i < state->failed_count; i++)
        for (uint32_t k = 0; k < state->failed[i].count; k++) {
            names->codes[at] = (hg_return_t)state->failed[i].ret;
            names->ranks[at++] =
                (int)amg_tree_rank(&state->tree, state->failed[i].first + k);
        }
    AMG_ASSERT(at == count);
    if (call->sum.len > 0)
        memcpy((char *)names + room, call->sum.data, call->sum.len);
    user->out.extra = names;
    user->out.data = call->sum.data != NULL ? (char *)names + room : NULL;
    user->out.len = call->sum.len;
    return true;
}

static void root_end(struct amg_group_call *call)
{
    struct hg_handle *user = call->user;
    struct amg_groups *groups = call->groups;

    user->ret = call->settled != HG_SUCCESS && call->state.named > 0
                    ? call->settled
                    : call->state.ret;
    if (call->unfolded != HG_SUCCESS) /* `sum` lacks outputs, or is void */
        amg_args_release(&call->sum);
    if (!result_move(call, user))
        user->ret = HG_NOMEM;
    amg_lock_lock(&groups->lock);
    amg_list_remove(&call->under_way);
    amg_list_remove(&call->link);
    amg_lock_unlock(&groups->lock);
    amg_handle_set_state(user, AMG_HANDLE_READY);
    if (call->each != NULL) /* runs in HG_Trigger(), also without a callback */
        amg_context_queue(call->context, &user->entry);
    else
        amg_handle_finish(user);
}

/* Enters the call, with a serial number and its time limit. HG_AGAIN: too many
 * calls are under way. */
static hg_return_t serial_take(struct amg_group_call *call, unsigned timeout_ms)
{
    struct amg_groups *groups = call->groups;
    struct amg_link *first = NULL;
    uint64_t floor = 0;
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&groups->lock);
    floor = groups->serial;
    first = amg_list_first(&groups->open);
    if (first != NULL)
        floor = amg_container_of(first, struct amg_group_call, link)
                    ->trailer.serial;
    if (groups->serial - floor >= AMALGAM_GROUP_OPEN_MAX) {
        rc = HG_AGAIN;
    } else {
        call->trailer.serial = groups->serial++;
        call->trailer.lag = (uint16_t)(call->trailer.serial - floor);
        amg_list_push(&groups->open, &call->link);
        amg_list_push(&groups->under_way, &call->under_way);
        if (timeout_ms > 0)
            call->limit_ns = amg_clock_deadline_ns(timeout_ms);
        amg_context_look_at(call->context, call->limit_ns);
    }
    amg_lock_unlock(&groups->lock);
    return rc;
}

/* May `call`, the public function, be made? */
static hg_return_t forward_check(const char *call, struct hg_handle *handle,
    const struct amalgam_group *group)
{
    const hg_class_t *cls = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (handle == NULL || amg_refs_get(&handle->refs) <= 0) {
        amg_contract_gone(call, "handle", handle);
        return amg_refusal();
    }
    cls = handle->info.hg_class;
    rc = amg_context_send_before(handle->info.context);
    if (rc != HG_SUCCESS)
        return rc;
    if (!AMG_CONTRACT_OF(call, !handle->is_incoming,
            "handle %p is of an incoming call; only a handle of HG_Create() "
            "can be forwarded",
            (const void *)handle) ||
        !AMG_CONTRACT_OF(call, group != NULL, "group is NULL") ||
        !AMG_CONTRACT_OF(call, group == AMALGAM_GROUP_ALL || group->cls == cls,
            "the group is of another class than the handle") ||
        !AMG_CONTRACT_OF(call, handle->rpc != NULL,
            "the handle names no RPC; HG_Reset() gives it one"))
        return HG_INVALID_ARG;
    if (cls->job.size == 0 || handle->rpc->is_one_way ||
        amg_rpc_class_of(cls)->in_offset != 0) {
        AMG_LOG_ERROR("rpc", "%s(): %s", call,
            cls->job.size == 0 ? "the peers of this class are no ranks"
            : handle->rpc->is_one_way
                ? "the RPC has no response, so no rank could say that it ran"
                : "the class has a header of the program "
                  "(HG_Class_set_input_offset())");
        return HG_OPNOTSUPPORTED;
    }
    return amg_forward_renew(handle);
}

static void user_begin(struct amg_group_call *call, struct hg_handle *handle,
    hg_cb_t callback, void *arg)
{
    handle->callback = callback;
    handle->arg = arg;
    handle->ret = HG_SUCCESS;
    handle->entry.run = root_run;
    handle->entry.is_incoming = amg_role.is_serving;
    handle->group = call;
    amg_role.has_posted = true;
    amg_handle_ref(handle);
    amg_handle_set_state(handle, AMG_HANDLE_POSTED);
    call->user = handle;
    amg_group_call_ref(call); /* until the callback has run */
}

/* Fills in a new call. */
static void call_fill(struct amg_group_call *call,
    const struct hg_handle *handle, struct amalgam_group *group,
    amalgam_gather_cb_t each)
{
    const struct amg_class_job *job = &handle->info.hg_class->job;
    bool is_all = group == AMALGAM_GROUP_ALL;
    uint32_t count = is_all ? job->size : group->count;
    struct amg_tree tree = {
        .stride = 1, .node_size = job->node_size, .width = AMG_GROUP_WIDTH};

    call->end = root_end;
    call->own.info.context_id = handle->info.context_id;
    call->each = each;
    if (!is_all) {
        tree = group->tree;
        atomic_fetch_add_explicit(&group->refs, 1, memory_order_relaxed);
        call->group = group;
    }
    call->trailer = (struct amg_group_trailer){.root = job->rank,
        .base = tree.base,
        .stride = tree.ranks != NULL ? 0 : tree.stride,
        .kind = each != NULL                  ? AMG_GROUP_GATHER
                : handle->rpc->reduce != NULL ? AMG_GROUP_FOLD
                                              : AMG_GROUP_DROP,
        .context = call->context->id};
    amg_group_call_place(call, &tree, (struct amg_tree_part){0, count},
        position_of(&tree, count, job->rank));
}

/* How a public function makes a call. */
struct how {
    const char *call; /* the function's name */
    unsigned timeout_ms;
    amalgam_gather_cb_t each;
};

static hg_return_t forward(const struct how *how, hg_handle_t handle,
    amalgam_group_t group, hg_cb_t callback, void *arg, void *in)
{
    struct amg_group_call *call = NULL;
    hg_return_t rc = forward_check(how->call, handle, group);

    if (rc != HG_SUCCESS)
        return rc;
    call = amg_group_call_make(handle->info.context, handle->info.id);
    if (call == NULL)
        return HG_NOMEM;
    call_fill(call, handle, group, how->each);
    rc = amg_rpc_encode_apart(
        handle, handle->rpc->in_proc, in, &call->block, call->short_block);
    call->trailer.pad_len = (uint8_t)(-call->block.len & 7);
    if (rc == HG_SUCCESS)
        rc = serial_take(call, how->timeout_ms);
    if (rc != HG_SUCCESS) {
        amg_group_call_drop(call);
        return rc;
    }
    user_begin(call, handle, callback, arg);
    amg_group_call_begin(call);
    amg_group_call_unref(call);
    return HG_SUCCESS;
}

hg_return_t amalgam_forward_group(hg_handle_t handle, amalgam_group_t group,
    hg_cb_t callback, void *arg, void *in)
{
    return forward(
        &(struct how){.call = __func__}, handle, group, callback, arg, in);
}

hg_return_t amalgam_forward_group_timed(hg_handle_t handle,
    amalgam_group_t group, unsigned timeout_ms, hg_cb_t callback, void *arg,
    void *in)
{
    return forward(&(struct how){__func__, timeout_ms, NULL}, handle, group,
        callback, arg, in);
}

hg_return_t amalgam_forward_gather(hg_handle_t handle, amalgam_group_t group,
    unsigned timeout_ms, amalgam_gather_cb_t each, hg_cb_t callback, void *arg,
    void *in)
{
    if (!AMG_GIVEN(each))
        return HG_INVALID_ARG;
    return forward(&(struct how){__func__, timeout_ms, each}, handle, group,
        callback, arg, in);
}

bool amg_group_cancel(hg_handle_t handle)
{
    struct amg_groups *groups = amg_groups_of(handle->info.hg_class);
    struct amg_group_call *call = NULL;

    if (handle->entry.run != root_run)
        return false;
    amg_lock_lock(&groups->lock);
    call = handle->group;
    if (call != NULL)
        amg_group_call_ref(call);
    amg_lock_unlock(&groups->lock);
    if (call == NULL)
        return true;
    amg_group_call_settle(call, HG_CANCELED, true);
    amg_group_call_unref(call);
    return true;
}

hg_return_t amalgam_group_failed(hg_handle_t handle, size_t *count,
    const int **ranks, const hg_return_t **codes)
{
    const struct names *names = NULL;

    if (!AMG_HANDLE_OK(handle) || !AMG_GIVEN(count) || !AMG_GIVEN(ranks))
        return amg_refusal();
    if (!AMG_CONTRACT(handle->entry.run == root_run &&
                          amg_handle_state(handle) == AMG_HANDLE_DONE,
            "the last call of handle %p was to no group, or is under way",
            (void *)handle))
        return HG_INVALID_ARG;
    if (handle->ret != HG_SUCCESS)
        names = handle->out.extra;
    if (handle->ret == HG_NOMEM && names == NULL)
        return HG_NOMEM;
    *count = names == NULL ? 0 : names->count;
    *ranks = *count == 0 ? NULL : names->ranks;
    if (codes != NULL)
        *codes = *count == 0 ? NULL : names->codes;
    return HG_SUCCESS;
}

hg_return_t amg_group_reduce_set(hg_class_t *cls, hg_id_t id,
    const struct amg_group_reduce *reduce, size_t arg_len)
{
    struct amg_group_reduce *made = NULL;
    struct amg_rpc *rpc = amg_rpc_find(cls, id);

    if (rpc == NULL || rpc->fold_proc == NULL) {
        AMG_LOG_ERROR("rpc",
            "outputs of RPC id 0x%llx cannot be folded: it is registered %s",
            (unsigned long long)id,
            rpc == NULL ? "nowhere" : "without a proc for outputs");
        return rpc == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;
    }
    if (reduce->fn != NULL || reduce->fold != NULL) {
        made = amg_mem_alloc(sizeof(*made) + arg_len);
        if (made == NULL)
            return HG_NOMEM;
        *made = *reduce;
        if (arg_len > 0)
            made->arg = memcpy(made + 1, reduce->arg, arg_len);
    }
    amg_mem_free(rpc->reduce);
    rpc->reduce = made;
    return HG_SUCCESS;
}

void amg_group_reduce_lead(hg_class_t *cls, hg_id_t id, size_t out_len,
    void *(*bytes)(void *out, size_t bytes_len))
{
    struct amg_group_reduce *reduce = amg_rpc_find(cls, id)->reduce;

    reduce->bytes_len = reduce->out_len;
    reduce->out_len = out_len;
    reduce->bytes = bytes;
}

hg_return_t amalgam_register_reduce(hg_class_t *hg_class, hg_id_t id,
    amalgam_reduce_cb_t fn, void *arg, size_t out_len, unsigned flags)
{
    const struct amg_group_reduce reduce = {
        .fn = fn, .arg = arg, .out_len = out_len, .flags = flags};

    if (!AMG_CLASS_OK(hg_class) ||
        (fn != NULL && !AMG_CONTRACT(out_len > 0, "out_len is 0")))
        return amg_refusal();
    return amg_group_reduce_set(hg_class, id, &reduce, 0);
}
