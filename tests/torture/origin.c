/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin's side of each call. */
#include "origin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "crossings.h"
#include "faults.h"
#include "group.h"
#include "later.h"
#include "message.h"
#include "target.h"
#include "turn.h"

enum { STREAM_TRIES = 20000, SALT_AGAIN = 1400 };

/* Memory that must not change any more is compared at the end of the round; or
 * at once, if that has begun and has looked into the list. */
static void origin_free(struct origin *origin)
{
    struct world *world = origin->world;
    bool is_closing = false;

    if (plan_kind_exposes(origin->call.kind)) {
        exposed_check(origin);
        if (exposed_is_kept(origin)) {
            pthread_mutex_lock(&world->kept_lock);
            is_closing = atomic_load(&world->is_closing);
            if (!is_closing) {
                origin->next = world->kept_memory;
                world->kept_memory = origin;
            }
            pthread_mutex_unlock(&world->kept_lock);
            if (!is_closing)
                return;
            exposed_finish(origin);
        }
    }
    group_free(origin->group);
    free(origin);
}

/* Open to the last: the class, whose memory it may have, closes after that. */
static void origin_unref(struct origin *origin)
{
    struct world *world = origin->world;

    if (atomic_fetch_sub(&origin->references, 1) > 1)
        return;
    origin_free(origin);
    atomic_fetch_sub(&world->open, 1);
}

/* False: the end of the round has begun, and has looked into the list. */
static bool handle_push(struct world *world, pthread_mutex_t *lock,
    struct world_handles **list, hg_handle_t handle)
{
    struct world_handles *entry = malloc(sizeof(*entry));
    bool is_closing = false;

    if (entry == NULL)
        abort();
    entry->handle = handle;
    pthread_mutex_lock(lock);
    is_closing = atomic_load(&world->is_closing);
    if (!is_closing) {
        entry->next = *list;
        *list = entry;
    }
    pthread_mutex_unlock(lock);
    if (is_closing)
        free(entry);
    return !is_closing;
}

static hg_handle_t handle_pop(
    pthread_mutex_t *lock, struct world_handles **list)
{
    struct world_handles *entry = NULL;
    hg_handle_t handle = HG_HANDLE_NULL;

    pthread_mutex_lock(lock);
    entry = *list;
    if (entry != NULL)
        *list = entry->next;
    pthread_mutex_unlock(lock);
    if (entry != NULL)
        handle = entry->handle;
    free(entry);
    return handle;
}

/* What the origin does with the handle of a call that has ended. */
static void handle_leave(struct origin *origin, hg_handle_t handle)
{
    const struct plan_call *call = &origin->call;
    struct world *world = origin->world;
    struct world_context *context =
        &origin->cls->contexts[call->origin_context];

    if (plan_has_way(call, PLAN_WAY_DESTROY_EARLY))
        return;
    if (plan_has_way(call, PLAN_WAY_REFERENCE))
        EXPECT_OK(world, HG_Destroy(handle));
    if (plan_has_way(call, PLAN_WAY_REUSE) &&
        handle_push(world, &context->lock, &context->idle, handle))
        return;
    if (plan_has_way(call, PLAN_WAY_KEEP) &&
        handle_push(world, &world->kept_lock, &world->kept, handle))
        return;
    EXPECT_OK(world, HG_Destroy(handle));
}

static void reply_check(struct origin *origin, hg_handle_t handle)
{
    struct world *world = origin->world;
    const struct plan_call *call = &origin->call;
    struct message_out out;
    hg_return_t rc = HG_SUCCESS;

    do
        rc = HG_Get_output(handle, &out);
    while (faults_again(world, rc));
    if (rc != HG_SUCCESS) {
        book_finding(world->book, "HG_Get_output of %016" PRIx64 ": %s",
            call->id, HG_Error_to_string(rc));
        return;
    }
    if (out.id != call->id)
        book_finding(world->book,
            "call %016" PRIx64 " got the answer of %016" PRIx64, call->id,
            out.id);
    else
        message_check(world, call, true, out.bytes);
    origin->status = out.status;
    if (world->options.faults > 0 && out.status == HG_NOENTRY &&
        call->kind != PLAN_PASSED && call->kind != PLAN_PASS &&
        plan_is_sure(&world->plan, call) &&
        !plan_has_way(call, PLAN_WAY_CANCEL_BULK) &&
        !plan_has_way(call, PLAN_WAY_FREE_EARLY))
        book_finding(world->book,
            "the memory of %s %016" PRIx64 " was exposed, and not found",
            plan_kind_name(call->kind), call->id);
    message_head_check(world, call, handle, true);
    EXPECT_OK(world, HG_Free_output(handle, &out));
}

static bool has_reply(enum plan_kind kind)
{
    return kind != PLAN_ONE_WAY && kind != PLAN_EMPTY;
}

/* A call has ended with origin->code, or was refused with that. */
static void origin_over(struct origin *origin, hg_handle_t handle)
{
    struct world *world = origin->world;
    const struct plan_call *call = &origin->call;

    if (plan_kind_exposes(call->kind))
        exposed_end(origin);
    if (origin->waiting != NULL)
        target_child_ended(origin->waiting, origin->code != HG_SUCCESS
                                                ? (uint64_t)origin->code
                                                : origin->status);
    handle_leave(origin, handle);
    if (call->depth == 0 && call->waits)
        atomic_fetch_sub(&world->chains, 1);
    if (origin->window != NULL)
        atomic_fetch_sub(origin->window, 1);
    if (call->kind != PLAN_ONE_WAY)
        book_over(world->book);
    origin_unref(origin);
}

static hg_return_t origin_ended(const struct hg_cb_info *info)
{
    struct origin *origin = info->arg;
    const struct plan_call *call = &origin->call;
    hg_handle_t handle = info->info.forward.handle;

    if (!book_end(origin->world->book, call->id, (int)info->ret))
        return HG_SUCCESS;
    origin->code = info->ret;
    if (plan_is_group(call->kind))
        group_ended(origin, handle);
    else if (info->ret == HG_SUCCESS && has_reply(call->kind))
        reply_check(origin, handle);
    origin_over(origin, handle);
    return HG_SUCCESS;
}

static hg_id_t rpc_of(const struct origin *origin)
{
    const struct world_class *cls = origin->cls;

    switch (origin->call.kind) {
    case PLAN_EMPTY:
        return cls->ids[WORLD_EMPTY];
    case PLAN_ONE_WAY:
        return cls->ids[WORLD_ONE_WAY];
    case PLAN_NO_HANDLER:
        return cls->ids[WORLD_NO_HANDLER];
    case PLAN_UNKNOWN:
        return cls->unknown[origin->call.target];
    case PLAN_LATE:
        return cls->late[origin->call.target];
    case PLAN_GROUP:
    case PLAN_GATHER:
        return group_rpc(origin);
    default:
        return cls->ids[WORLD_CALL];
    }
}

/* A new handle, or one of an earlier call. */
static bool handle_find(struct origin *origin)
{
    const struct plan_call *call = &origin->call;
    struct world_context *context =
        &origin->cls->contexts[call->origin_context];
    hg_addr_t addr = world_addr(origin->cls, call->target);
    hg_return_t rc = HG_SUCCESS;

    if (plan_has_way(call, PLAN_WAY_REUSE))
        origin->handle = handle_pop(&context->lock, &context->idle);
    do
        rc = origin->handle != HG_HANDLE_NULL
                 ? HG_Reset(origin->handle, addr, rpc_of(origin))
                 : HG_Create(
                       context->context, addr, rpc_of(origin), &origin->handle);
    while (faults_again(origin->world, rc));
    EXPECT_OK(origin->world, HG_Addr_free(origin->cls->cls, addr));
    if (rc == HG_SUCCESS)
        rc = HG_Set_target_id(origin->handle, (uint8_t)call->target_context);
    if (rc == HG_SUCCESS && plan_has_way(call, PLAN_WAY_REFERENCE))
        rc = HG_Ref_incr(origin->handle);
    EXPECT_OK(origin->world, rc);
    return rc == HG_SUCCESS;
}

static void cancel_later(void *arg)
{
    struct origin *origin = arg;
    hg_return_t rc = HG_Cancel(origin->handle);

    if (rc != HG_OPNOTSUPPORTED || origin->call.target != origin->call.origin)
        EXPECT_OK(origin->world, rc);
    EXPECT_OK(origin->world, HG_Destroy(origin->handle));
    origin_unref(origin);
}

static void free_later(void *arg)
{
    struct origin *origin = arg;

    exposed_free_early(origin);
    origin_unref(origin);
}

/* Before the post: references for what happens after it. */
static void plans_prepare(struct origin *origin)
{
    if (origin->call.kind == PLAN_NO_CONTEXT)
        atomic_fetch_add(&origin->cls->absent, 1);
    if (plan_is_group(origin->call.kind))
        atomic_fetch_add(&origin->cls->cancels, group_make(origin));
    else if (!plan_is_sure(&origin->world->plan, &origin->call))
        atomic_fetch_add(&origin->cls->cancels, 1);
    if (plan_has_way(&origin->call, PLAN_WAY_CANCEL)) {
        EXPECT_OK(origin->world, HG_Ref_incr(origin->handle));
        atomic_fetch_add(&origin->references, 1);
    }
    if (plan_has_way(&origin->call, PLAN_WAY_FREE_EARLY))
        atomic_fetch_add(&origin->references, 1);
}

/* A fault has made the post fail: nothing was sent, and no callback comes. */
static void post_refused(
    struct origin *origin, hg_handle_t handle, hg_return_t rc)
{
    struct world *world = origin->world;
    const struct plan_call *call = &origin->call;

    book_refuse(world->book, call->id, (int)rc);
    origin->code = rc;
    if (call->kind == PLAN_NO_CONTEXT)
        atomic_fetch_sub(&origin->cls->absent, 1);
    if (plan_has_way(call, PLAN_WAY_CANCEL)) {
        EXPECT_OK(world, HG_Destroy(handle));
        origin_unref(origin);
    }
    if (plan_has_way(call, PLAN_WAY_FREE_EARLY))
        free_later(origin);
    if (call->kind == PLAN_ONE_WAY && plan_is_sure(&world->plan, call))
        book_over(world->book);
    origin_over(origin, handle);
}

static void plans_start(struct origin *origin)
{
    const struct plan_call call = origin->call;

    if (plan_has_way(&call, PLAN_WAY_CANCEL) &&
        (call.cancel_us == 0 ||
            !later_add(call.cancel_us, false, cancel_later, origin)))
        cancel_later(origin);
    if (plan_has_way(&call, PLAN_WAY_FREE_EARLY) &&
        !later_add(call.free_us, false, free_later, origin))
        free_later(origin);
}

static hg_return_t origin_forward(struct origin *origin)
{
    struct plan_call *call = &origin->call;
    struct world_context *context =
        &origin->cls->contexts[call->origin_context];
    struct message_in in;
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    memset(&in, 0, sizeof(in));
    in.id = call->id;
    in.bulk =
        call->kind == PLAN_PASSED ? origin->waiting->in.bulk : origin->bulk;
    in.bytes = message_bytes(call, false, &len);
    if (plan_is_group(call->kind)) {
        rc = group_forward(origin, origin_ended, &in);
        goto free_bytes;
    }
    message_head_write(origin->world, call, origin->handle, false);
    pthread_mutex_lock(&context->lock);
    if (call->target_context < PLAN_CONTEXTS_MAX)
        in.order = ++context->sent[call->target][call->target_context];
    do
        rc = HG_Forward(origin->handle, origin_ended, origin,
            call->kind == PLAN_EMPTY ? NULL : &in);
    while (plan_draw(call->hash, SALT_AGAIN, 2) == 0 &&
           faults_again(origin->world, rc));
    pthread_mutex_unlock(&context->lock);

free_bytes:
    memset(in.bytes, 0xcc, len);
    free(in.bytes);
    return rc;
}

static bool post_handle(struct origin *origin)
{
    struct world *world = origin->world;
    const struct plan_call call = origin->call;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t rc = HG_SUCCESS;
    bool counts =
        call.kind != PLAN_ONE_WAY || plan_is_sure(&world->plan, &call);

    if (!handle_find(origin))
        exchange_abort(world->exchange);
    handle = origin->handle;
    if (plan_kind_exposes(call.kind))
        exposed_make(origin);
    plans_prepare(origin);
    if (call.kind == PLAN_EMPTY)
        book_count(world->book, BOOK_EMPTY, call.cls, true, call.target);
    book_post(world->book, call.id);
    if (counts)
        book_begin(world->book);
    if (origin->window != NULL)
        atomic_fetch_add(origin->window, 1);
    if (call.depth == 0 && call.waits)
        atomic_fetch_add(&world->chains, 1);
    atomic_fetch_add(&origin->references, 1); /* of this function */
    rc = origin_forward(origin);
    if (rc != HG_SUCCESS && !faults_may_be(world, (int)rc)) {
        EXPECT_OK(world, rc);
        exchange_abort(world->exchange);
    }
    if (rc != HG_SUCCESS)
        post_refused(origin, handle, rc);
    if (plan_has_way(&call, PLAN_WAY_DESTROY_EARLY)) {
        EXPECT_OK(world, HG_Destroy(handle));
        if (plan_has_way(&call, PLAN_WAY_REFERENCE))
            EXPECT_OK(world, HG_Destroy(handle));
    }
    if (rc == HG_SUCCESS)
        plans_start(origin);
    origin_unref(origin);
    return rc == HG_SUCCESS;
}

/* Refused while calls to that rank wait: makes progress and calls again, but
 * not in a handler, which others may wait for. */
static bool post_stream(struct world *world, const struct plan_call *call)
{
    struct world_class *cls = &world->classes[call->cls];
    struct world_context *context = &cls->contexts[call->origin_context];
    bool is_empty = call->kind == PLAN_STREAM_EMPTY;
    uint8_t bytes[MESSAGE_STREAM_CAP];
    hg_addr_t addr = world_addr(cls, call->target);
    hg_return_t rc = HG_AGAIN;
    unsigned tries = call->depth > 0 || call->is_last ? 1 : STREAM_TRIES;

    book_post(world->book, call->id);
    if (!is_empty)
        book_begin(world->book);
    for (; rc == HG_AGAIN && tries > 0; tries--) {
        size_t len = 0;

        pthread_mutex_lock(&context->lock);
        if (!is_empty)
            len = message_stream(call, ++context->sent[call->target][0], bytes);
        rc = amalgam_forward_oneway(context->context, addr,
            cls->ids[is_empty ? WORLD_STREAM_EMPTY : WORLD_STREAM], bytes, len);
        pthread_mutex_unlock(&context->lock);
        if (rc == HG_AGAIN && tries > 1)
            turn(world);
    }
    EXPECT_OK(world, HG_Addr_free(cls->cls, addr));
    if (rc == HG_SUCCESS && is_empty)
        book_count(
            world->book, BOOK_STREAM_EMPTY, call->cls, true, call->target);
    if (rc == HG_SUCCESS)
        return true;
    if (rc != HG_AGAIN)
        EXPECT_OK(world, rc);
    book_refuse(world->book, call->id, (int)rc);
    if (!is_empty)
        book_over(world->book);
    return false;
}

bool origin_post(struct world *world, uint64_t id, atomic_uint *window,
    struct served *waiting)
{
    struct plan_call call = plan_call(&world->plan, id);
    struct origin *origin = NULL;

    crossings_count(world, &call);
    if (!plan_kind_ends(call.kind))
        return post_stream(world, &call);
    origin = calloc(1, sizeof(*origin));
    if (origin == NULL)
        abort();
    origin->world = world;
    origin->cls = &world->classes[call.cls];
    origin->call = call;
    origin->window = window;
    origin->waiting = waiting;
    atomic_store(&origin->references, 1);
    atomic_fetch_add(&world->open, 1);
    return post_handle(origin);
}

void origin_finish(struct world *world)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    while ((handle = handle_pop(&world->kept_lock, &world->kept)) !=
           HG_HANDLE_NULL)
        EXPECT_OK(world, HG_Destroy(handle));
    for (unsigned i = 0; i < world->plan.classes; i++)
        for (unsigned k = 0; k < world->plan.contexts; k++) {
            struct world_context *context = &world->classes[i].contexts[k];

            while ((handle = handle_pop(&context->lock, &context->idle)) !=
                   HG_HANDLE_NULL)
                EXPECT_OK(world, HG_Destroy(handle));
        }
    while (world->kept_memory != NULL) {
        struct origin *origin = world->kept_memory;

        world->kept_memory = origin->next;
        exposed_finish(origin);
        free(origin);
    }
}

unsigned origin_rank(void *world, uint64_t id)
{
    const struct plan *plan = &((struct world *)world)->plan;

    return plan_call(plan, id).origin;
}

/* The code and the runs of the handler that a kind of call ends with. */
static bool is_right(const struct plan *plan, const struct plan_call *call,
    const struct book_fate *fate)
{
    switch (call->kind) {
    case PLAN_DROPPED:
        return fate->code == HG_CANCELED && fate->handled == 1;
    case PLAN_UNKNOWN:
    case PLAN_NO_CONTEXT:
        return fate->code == HG_NOENTRY && fate->handled == 0;
    case PLAN_NO_HANDLER:
        return fate->code == HG_INVALID_ARG && fate->handled == 0;
    case PLAN_LATE:
        return fate->code == HG_SUCCESS
                   ? fate->handled == 1
                   : fate->code == HG_NOENTRY && fate->handled == 0;
    case PLAN_GROUP:
    case PLAN_GATHER: /* group_ended() has checked the code */
        return fate->handled == 0;
    case PLAN_MEMBER:
        return group_member_is_right(plan, call, fate);
    case PLAN_EMPTY:
    case PLAN_STREAM_EMPTY: /* counted */
        return fate->code == HG_SUCCESS && fate->handled == 0;
    default:
        return fate->code == HG_SUCCESS && fate->handled == 1;
    }
}

const char *origin_judge(void *world, uint64_t id, const struct book_fate *fate)
{
    const struct plan *plan = &((struct world *)world)->plan;
    struct plan_call call = plan_call(plan, id);

    if (fate->was_refused) {
        if ((plan_kind_ends(call.kind) || fate->code != HG_AGAIN) &&
            !faults_may_be(world, fate->code))
            return "it was refused";
        if (fate->ends > 0)
            return "refused, and ended";
        return fate->handled == 0 ? NULL : "refused, and handled";
    }
    if (fate->ends != (plan_kind_ends(call.kind) ? 1 : 0))
        return "it has not ended once";
    if (plan_has_way(&call, PLAN_WAY_CANCEL) && fate->code == HG_CANCELED)
        return fate->handled <= 1 ? NULL : "cancelled, and handled twice";
    if (plan_may_be_gone(plan, &call) &&
        (fate->code == HG_CANCELED || fate->code == HG_NOENTRY ||
            call.kind == PLAN_ONE_WAY))
        return fate->handled <= 1 ? NULL : "context gone, and handled twice";
    if (faults_may_be(world, fate->code))
        return fate->handled <= 1 ? NULL : "failed, and handled twice";
    if (((struct world *)world)->options.faults > 0 && fate->handled == 0 &&
        (call.kind == PLAN_ONE_WAY || call.kind == PLAN_STREAM)) {
        book_vanish(((struct world *)world)->book);
        return NULL;
    }
    if (!is_right(plan, &call, fate))
        return plan_kind_name(call.kind);
    return NULL;
}
