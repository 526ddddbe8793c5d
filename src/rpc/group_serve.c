/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups that came from a parent: arrival, names, answer. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury.h"
#include "rpc/encode.h"
#include "rpc/group.h"
#include "rpc/hang.h"

enum { CACHE_LINE = 64 };

/* The calls of one root that this rank keeps. Under groups->lock. */
struct floor {
    uint64_t serial;      /* all calls below have ended */
    struct amg_list kept; /* calls that have ended here, by `link` */
};

/* Names a call in the map of calls. */
static uint64_t call_name(const struct amg_group_trailer *trailer)
{
    return (uint64_t)trailer->root << 32 | (uint32_t)trailer->serial;
}

/* The floor of the root of a call; a new one begins at the floor that the call
 * names. NULL: no memory. */
static struct floor *floor_get_locked(
    struct amg_groups *groups, const struct amg_group_trailer *trailer)
{
    struct floor *floor = amg_map_get(&groups->floors, trailer->root);

    AMG_ASSERT_HELD(&groups->lock);
    if (floor != NULL)
        return floor;
    floor = amg_mem_zalloc(sizeof(*floor));
    if (floor == NULL ||
        amg_map_put(&groups->floors, trailer->root, floor) != HG_SUCCESS) {
        amg_mem_free(floor);
        return NULL;
    }
    floor->serial = trailer->serial - trailer->lag;
    amg_list_init(&floor->kept);
    return floor;
}

/* Takes a kept call that is below the floor out of the map, or NULL. */
static struct amg_group_call *old_take_locked(
    struct amg_groups *groups, struct floor *floor)
{
    struct amg_link *link = amg_list_first(&floor->kept);

    AMG_ASSERT_HELD(&groups->lock);
    for (; link != NULL; link = amg_list_next(&floor->kept, link)) {
        struct amg_group_call *call =
            amg_container_of(link, struct amg_group_call, link);

        if (call->trailer.serial >= floor->serial)
            continue;
        amg_list_remove(link);
        (void)amg_map_remove(&groups->calls, call_name(&call->trailer));
        return call;
    }
    return NULL;
}

/* Raises the floor of a root, and frees the kept calls below it. */
static void floor_raise(
    struct amg_groups *groups, const struct amg_group_trailer *trailer)
{
    uint64_t serial = trailer->serial - trailer->lag;
    struct amg_group_call *call = NULL;
    struct floor *floor = NULL;

    do {
        amg_lock_lock(&groups->lock);
        floor = amg_map_get(&groups->floors, trailer->root);
        if (floor != NULL && floor->serial < serial)
            floor->serial = serial;
        call = floor == NULL ? NULL : old_take_locked(groups, floor);
        amg_lock_unlock(&groups->lock);
        if (call != NULL)
            amg_group_call_unref(call);
    } while (call != NULL);
}

/* Bytes that follow the input in a request: padding, ranks, trailer. */
static uint64_t trailer_len(const struct amg_group_trailer *trailer)
{
    uint64_t ranks = trailer->stride == 0 ? trailer->count : 0;

    return trailer->pad_len + ranks * sizeof(uint32_t) + sizeof(*trailer);
}

/* Reads the trailer of a request, and checks it. NULL: no error; else why the
 * request is refused. */
static const char *trailer_read(
    const struct hg_handle *up, struct amg_group_trailer *ret_trailer)
{
    const struct amg_class_job *job = &up->info.hg_class->job;
    const struct amg_args *in = &up->in;
    struct amg_group_trailer trailer;

    if (up->is_one_way || in->len < sizeof(trailer))
        return "a call to a group must have a trailer and an answer";
    if (amg_rpc_check(in) != HG_SUCCESS)
        return "its arguments are damaged (checksum mismatch)";
    memcpy(&trailer, (char *)in->data + in->len - sizeof(trailer),
        sizeof(trailer));
    if (trailer.pad_len > 7 || trailer.root >= job->size ||
        trailer.count == 0 || trailer.count > job->size ||
        trailer.first > job->size - trailer.count ||
        trailer.kind > AMG_GROUP_GATHER ||
        trailer.lag >= AMALGAM_GROUP_OPEN_MAX || trailer.lag > trailer.serial ||
        in->len < trailer_len(&trailer) ||
        ((in->len - trailer_len(&trailer) + trailer.pad_len) & 7) != 0)
        return "its trailer is malformed";
    *ret_trailer = trailer;
    return NULL;
}

/* The members below this rank; the ranks of a list lie in the request. */
static struct amg_tree tree_of(
    const struct hg_handle *up, const struct amg_group_trailer *trailer)
{
    const char *end = (const char *)up->in.data + up->in.len;
    const char *ranks = end - trailer_len(trailer) + trailer->pad_len;

    return (struct amg_tree){.base = trailer->base,
        .stride = trailer->stride,
        .ranks = trailer->stride == 0 ? (const void *)ranks : NULL,
        .list_first = trailer->first,
        .node_size = up->info.hg_class->job.node_size,
        .width = AMG_GROUP_WIDTH};
}

/* Are the members ascending ranks of the class, and the first one this rank? */
static bool tree_is_right(const struct amg_tree *tree,
    const struct amg_group_trailer *trailer, const struct amg_class_job *job)
{
    uint64_t last = (uint64_t)trailer->first + trailer->count - 1;

    if (tree->ranks == NULL)
        return tree->base + last * tree->stride < job->size &&
               amg_tree_rank(tree, trailer->first) == job->rank;
    for (uint32_t i = 1; i < trailer->count; i++)
        if (tree->ranks[i] <= tree->ranks[i - 1])
            return false;
    return tree->ranks[0] == job->rank &&
           tree->ranks[trailer->count - 1] < job->size;
}

/* Answers a request with a code, and ends its handle. */
static void up_end(struct hg_handle *up, hg_return_t ret)
{
    up->is_group = false;
    amg_respond_instead(up, ret);
}

/* Sends the answer of an ended call to the request `up`. */
static void up_answer(struct amg_group_call *call, struct hg_handle *up)
{
    if (call->unfolded != HG_SUCCESS) {
        up_end(up, call->unfolded);
        return;
    }
    up->is_group = false;
    up->rpc = &call->groups->edge;
    amg_handle_move_state(up, AMG_HANDLE_WAITING, AMG_HANDLE_RUNNING);
    amg_refs_set(&up->refs, 2);
    amg_refs_set(&up->spare, 1);
    (void)HG_Respond(up, NULL, NULL, call);
    (void)amg_handle_drop(up, 1);
}

/* Ends a call that came from a parent. */
static void served_end(struct amg_group_call *call)
{
    struct amg_groups *groups = call->groups;
    struct floor *floor = NULL;
    struct amg_link *up = NULL;
    struct amg_list ups;
    bool is_kept = false;

    amg_list_init(&ups);
    amg_lock_lock(&groups->lock);
    amg_list_remove(&call->under_way);
    if (call->trailer.is_kept)
        floor = amg_map_get(&groups->floors, call->trailer.root);
    is_kept = floor != NULL && call->trailer.serial >= floor->serial;
    if (is_kept)
        amg_list_push(&floor->kept, &call->link);
    else
        (void)amg_map_remove(&groups->calls, call_name(&call->trailer));
    amg_list_splice(&ups, &call->ups);
    amg_lock_unlock(&groups->lock);
    while ((up = amg_list_pop(&ups)) != NULL)
        up_answer(call, amg_container_of(up, struct hg_handle, link));
    amg_context_leave(call->context);
    if (!is_kept)
        amg_group_call_unref(call); /* the reference of the map */
}

static hg_return_t answer_proc(hg_proc_t proc, void *data)
{
    struct amg_group_call *call = data;
    const struct amg_group_state *state = &call->state;
    struct amg_group_answer answer = {.answered = state->answered,
        .ranges = state->failed_count,
        .ret = (uint32_t)state->ret,
        .has_output = call->sum.data != NULL};
    hg_return_t rc = hg_proc_bytes(proc, &answer, sizeof(answer));

    if (rc == HG_SUCCESS && answer.ranges > 0)
        rc = hg_proc_bytes(
            proc, state->failed, answer.ranges * sizeof(*state->failed));
    return rc == HG_SUCCESS && call->sum.len > 0
               ? hg_proc_bytes(proc, call->sum.data, call->sum.len)
               : rc;
}

/* Fills in a new call of a request. */
static void call_fill(struct amg_group_call *call, const struct hg_handle *up,
    const struct amg_tree *tree, const struct amg_group_trailer *trailer)
{
    call->end = served_end;
    call->trailer = *trailer;
    call->block.data = up->in.data;
    call->block.len = up->in.len - trailer_len(trailer);
    amg_group_call_place(call, tree,
        (struct amg_tree_part){trailer->first, trailer->count}, trailer->first);
}

/* Moves the room of a long request that was pulled to a call, whose own handler
 * frees that room. The room is freed at once if there is no call, or if the
 * request came long in one message. */
static void room_move(struct hg_handle *up, struct amg_group_call *call)
{
    if (up->is_long && up->arrival->is_long) {
        amg_arrival_begin(up->arrival, amg_handle_ep(up)->held);
    } else if (up->is_long && call != NULL) {
        call->own.is_long = true;
        call->own.pull_len = up->pull_len;
    } else if (up->is_long) {
        amg_pulls_end(up);
    }
}

/* The fate of a request for a call. */
enum place {
    IS_NEW,      /* the call begins with this request */
    WAITS,       /* the call has begun and will answer this request, too */
    IS_ANSWERED, /* the call has ended: its answer is to be sent */
    IS_OLD,      /* the call is below the root's floor */
    NO_MEMORY
};

/* Enters a call into the map, or finds the call of that name, for a request, or
 * without one for a call that ends before its request comes. `*ret_call` has a
 * reference for the caller, if it is the other call. */
static enum place call_enter(struct amg_group_call *made, struct hg_handle *up,
    struct amg_group_call **ret_call)
{
    struct amg_groups *groups = made->groups;
    uint64_t name = call_name(&made->trailer);
    struct amg_group_call *call = NULL;
    struct floor *floor = NULL;
    enum place place = IS_NEW;

    amg_lock_lock(&groups->lock);
    call = amg_map_get(&groups->calls, name);
    floor = made->trailer.is_kept
                ? floor_get_locked(groups, &made->trailer)
                : amg_map_get(&groups->floors, made->trailer.root);
    if (call != NULL) {
        place = amg_link_is_listed(&call->under_way) ? WAITS : IS_ANSWERED;
        amg_group_call_ref(call);
    } else if (floor != NULL && made->trailer.serial < floor->serial) {
        place = IS_OLD;
    } else if ((made->trailer.is_kept && floor == NULL) ||
               amg_map_put(&groups->calls, name, made) != HG_SUCCESS) {
        place = NO_MEMORY;
    } else {
        call = made;
        amg_group_call_ref(
            call); /* until it has ended, or is below the floor */
        if (up == NULL)
            amg_list_push(&floor->kept, &call->link);
        else
            amg_list_push(&groups->under_way, &call->under_way);
    }
    if (up != NULL && (place == IS_NEW || place == WAITS))
        amg_list_push(&call->ups, &up->link);
    amg_lock_unlock(&groups->lock);
    *ret_call = call;
    return place;
}

/* Serves a request whose trailer is right. */
static void request_place(struct hg_handle *up, const struct amg_tree *tree,
    const struct amg_group_trailer *trailer)
{
    struct amg_group_call *made =
        amg_group_call_make(up->info.context, up->info.id);
    struct amg_group_call *call = NULL;
    enum place place = NO_MEMORY;

    room_move(up, made);
    if (made == NULL) {
        up_end(up, HG_NOMEM);
        return;
    }
    call_fill(made, up, tree, trailer);
    place = call_enter(made, up, &call);
    if (place == IS_NEW) {
        amg_group_call_begin(call);
        amg_group_call_unref(call);
        return;
    }
    if (made->own.is_long)
        amg_pulls_end(&made->own);
    amg_group_call_drop(made);
    if (place == IS_ANSWERED)
        up_answer(call, up);
    else if (place != WAITS)
        up_end(up, place == IS_OLD ? HG_EXIST : HG_NOMEM);
    if (call != NULL)
        amg_group_call_unref(call);
}

static void request_run(struct amg_cq_entry *entry)
{
    struct hg_handle *up = amg_container_of(entry, struct hg_handle, entry);
    struct amg_group_trailer trailer;
    const char *why = trailer_read(up, &trailer);
    struct amg_tree tree;
    char text[256];

    if (why == NULL) {
        tree = tree_of(up, &trailer);
        if (!tree_is_right(&tree, &trailer, &up->info.hg_class->job))
            why = "it names ranks that are not below this rank";
    }
    if (why == NULL) {
        floor_raise(amg_groups_of(up->info.hg_class), &trailer);
        request_place(up, &tree, &trailer);
        return;
    }
    AMG_LOG_WARNING("rpc", "a request from %s to a group: %s",
        amg_addr_text(&up->addr, text, sizeof(text)), why);
    room_move(up, NULL);
    up_end(up, HG_PROTOCOL_ERROR);
}

static void request_arrived(hg_handle_t up)
{
    up->is_group = true;
    up->entry.run = request_run;
    if (!up->is_long || up->arrival->is_long) {
        amg_handle_move_state(up, AMG_HANDLE_ARRIVED, AMG_HANDLE_WAITING);
        request_run(&up->entry);
        return;
    }
    amg_handle_set_state(up, AMG_HANDLE_PULLING);
    up->pull_len = amg_overflow_len(&up->in);
    (void)amg_pulls_add(up); /* which stands in no line, so needs no memory */
}

_Static_assert(sizeof(struct amg_group_settle) <= AMG_CONTROL_LEN, "fits");

/* Settles a call. If its request is still on its way, keeps the code as the
 * answer, so that the handler does not run. */
static void settle_told(hg_context_t *context, const void *bytes)
{
    struct amg_group_call *made = amg_group_call_make(context, 0);
    struct amg_group_call *call = NULL;
    struct amg_group_settle settle;

    memcpy(&settle, bytes, sizeof(settle));
    if (made == NULL)
        return; /* the parent gives this rank up after the grace */
    made->trailer.root = settle.root;
    made->trailer.serial = settle.serial;
    made->trailer.lag = AMALGAM_GROUP_OPEN_MAX - 1; /* the floor is not known */
    made->unfolded = settle.ret == HG_TIMEOUT ? HG_TIMEOUT : HG_CANCELED;
    made->trailer.is_kept = true;
    made->is_ended = true;
    if (settle.root < context->cls->job.size &&
        settle.serial >= made->trailer.lag)
        (void)call_enter(made, NULL, &call);
    if (call != NULL && call != made) {
        amg_group_call_settle(call, made->unfolded, false);
        amg_group_call_unref(call);
    }
    amg_group_call_drop(made);
}

static void told(
    hg_context_t *context, enum amg_control kind, const void *bytes)
{
    if (kind == AMG_CONTROL_SETTLE)
        settle_told(context, bytes);
    else if (kind == AMG_CONTROL_DEAD)
        amg_deaths_told(context, bytes);
    else if (kind >= AMG_CONTROL_HANG_CLAIM)
        amg_hang_told(context, kind, bytes);
    else
        amg_quiet_told(context, kind, bytes);
}

static void floor_drop(void *value)
{
    struct floor *floor = value;
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&floor->kept)) != NULL)
        amg_group_call_unref(
            amg_container_of(link, struct amg_group_call, link));
    amg_mem_free(floor);
}

static void groups_fini(struct amg_rpc_class *rpcs)
{
    struct amg_groups *groups = rpcs->groups;

    AMG_ASSERT(amg_list_is_empty(&groups->open));
    AMG_ASSERT(amg_list_is_empty(&groups->under_way));
    amg_map_fini(&groups->floors, floor_drop);
    amg_map_fini(&groups->calls, NULL);
    amg_pool_fini(&groups->pool);
    amg_pool_fini(&groups->edges);
    amg_mem_free(groups);
    amg_deaths_free(rpcs->deaths);
}

void amg_groups_attach(hg_class_t *cls, struct amg_groups *groups)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);
    static const struct amg_group_ops ops = {
        .arrived = request_arrived,
        .told = told,
        .cancel = amg_group_cancel,
        .look = amg_group_look,
        .fini = groups_fini,
    };

    amg_lock_init(&groups->lock);
    amg_list_init(&groups->open);
    amg_list_init(&groups->under_way);
    amg_pool_init(&groups->pool, sizeof(struct amg_group_call), CACHE_LINE);
    amg_pool_init(&groups->edges, sizeof(struct amg_group_edge), CACHE_LINE);
    groups->edge.in_proc = amg_group_edge_proc;
    groups->edge.out_proc = answer_proc;
    groups->serial = AMALGAM_GROUP_OPEN_MAX; /* no floor is below 0 */
    rpcs->groups = groups;
    rpcs->group_ops = &ops;
    amg_quiet_attach(cls);
    amg_hang_attach(cls);
    amg_deaths_attach(cls);
}
