/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of each call: handlers, and what follows them. */
#include "target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "job.h"
#include "later.h"
#include "origin.h"
#include "turn.h"

enum { SALT_CALLBACK = 1200, ALIGNED = 8, HEAD = 16 };

static hg_return_t answer_left(const struct hg_cb_info *info)
{
    struct served *served = info->arg;

    if (info->ret != HG_SUCCESS &&
        !plan_has_way(&served->call, PLAN_WAY_CANCEL) &&
        !faults_may_be(served->world, (int)info->ret))
        book_finding(served->world->book,
            "answer to %016" PRIx64 " of rank %u: %s", served->call.id,
            served->call.origin, HG_Error_to_string(info->ret));
    book_over(served->world->book);
    free(served);
    return HG_SUCCESS;
}

/* Sends the result. True: the callback frees `served`. */
static bool respond(struct served *served, bool has_handle)
{
    const struct plan_call *call = &served->call;
    bool has_callback = plan_draw(call->hash, SALT_CALLBACK, 2) == 0;
    struct message_out out = {call->message_id, (uint64_t)served->status, NULL};
    struct world *world = served->world;
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (call->kind == PLAN_MEMBER)
        out.status = plan_output(call, call->target);
    out.bytes = message_bytes(call, true, &len);
    if (has_handle)
        message_head_write(world, call, served->handle, true);
    if (has_callback)
        book_begin(world->book);
    do
        rc = HG_Respond(
            served->handle, has_callback ? answer_left : NULL, served, &out);
    while (faults_again(world, rc));
    memset(out.bytes, 0xdd, len);
    free(out.bytes);
    EXPECT_OK(world, rc);
    if (has_callback && rc != HG_SUCCESS)
        book_over(world->book);
    return has_callback && rc == HG_SUCCESS;
}

static void input_free(struct served *served)
{
    if (served->has_input)
        EXPECT_OK(served->world, HG_Free_input(served->handle, &served->in));
    served->has_input = false;
}

/* Frees a call that needs no answer any more. */
static void served_over(struct served *served, bool is_kept)
{
    struct world *world = served->world;

    if (!is_kept)
        free(served);
    atomic_fetch_sub(&world->open, 1);
    book_over(world->book);
}

/* The callback of the answer may run in another thread before this returns: it
 * frees `served`, so what follows the answer keeps what it needs. */
void target_answer(void *arg)
{
    struct served *served = arg;
    struct served copy = *served;
    bool is_kept = respond(served, true);

    input_free(&copy);
    EXPECT_OK(copy.world, HG_Destroy(copy.handle));
    served_over(is_kept ? &copy : served, is_kept);
}

/* The argument, or also the handle, is gone before the answer leaves. */
static void answer_without(struct served *served, bool has_handle)
{
    struct served copy;
    bool is_kept = false;

    input_free(served);
    copy = *served;
    if (!has_handle) {
        message_head_write(copy.world, &copy.call, copy.handle, true);
        EXPECT_OK(copy.world, HG_Destroy(copy.handle));
    }
    is_kept = respond(served, has_handle);
    if (has_handle)
        EXPECT_OK(copy.world, HG_Destroy(copy.handle));
    served_over(is_kept ? &copy : served, is_kept);
}

static void answer_with_references(struct served *served)
{
    hg_handle_t handle = served->handle;
    struct world *world = served->world;

    EXPECT_OK(world, HG_Ref_incr(handle));
    EXPECT_OK(world, HG_Ref_incr(handle));
    target_answer(served);
    EXPECT_OK(world, HG_Destroy(handle));
    EXPECT_OK(world, HG_Destroy(handle));
}

static void decode_again(struct served *served)
{
    struct message_in again;
    hg_return_t rc = HG_SUCCESS;

    do
        rc = HG_Get_input(served->handle, &again);
    while (faults_again(served->world, rc));
    EXPECT_OK(served->world, rc);
    if (rc != HG_SUCCESS)
        return;
    if (again.id != served->in.id || again.order != served->in.order)
        book_finding(served->world->book, "a second HG_Get_input differs");
    message_check(served->world, &served->call, false, again.bytes);
    EXPECT_OK(served->world, HG_Free_input(served->handle, &again));
}

static void compute(unsigned us)
{
    uint64_t until_ns = world_now_ns() + (uint64_t)us * 1000;

    while (world_now_ns() < until_ns)
        ;
}

static void answer_as_planned(struct served *served)
{
    hg_context_t *context = HG_Get_info(served->handle)->context;
    unsigned later_us = served->call.later_us;

    switch (served->call.handler) {
    case PLAN_HANDLER_RELEASE:
        EXPECT_OK(served->world, HG_Release_input_buf(served->handle));
        target_answer(served);
        break;
    case PLAN_HANDLER_TWICE:
        decode_again(served);
        target_answer(served);
        break;
    case PLAN_HANDLER_FREED:
        answer_without(served, true);
        break;
    case PLAN_HANDLER_GONE:
        answer_without(served, false);
        break;
    case PLAN_HANDLER_REFERENCE:
        answer_with_references(served);
        break;
    case PLAN_HANDLER_PROGRESS:
        turn_inside(context);
        target_answer(served);
        turn_inside(context);
        break;
    case PLAN_HANDLER_BUSY:
        compute(served->call.busy_us);
        target_answer(served);
        break;
    case PLAN_HANDLER_LATER:
        if (!later_add(later_us, false, target_answer, served))
            target_answer(served);
        break;
    case PLAN_HANDLER_THREAD:
        if (!later_add(later_us, true, target_answer, served))
            target_answer(served);
        break;
    default:
        target_answer(served);
    }
}

void target_child_ended(struct served *served, uint64_t status)
{
    if (served->call.kind == PLAN_PASS && status != 0)
        served->status = (hg_return_t)status;
    if (atomic_fetch_sub(&served->left, 1) == 1)
        target_answer(served);
}

/* Makes the calls of a handler; those that end are told to `waiting`. */
static void children_post(
    struct world *world, const struct plan_call *call, struct served *waiting)
{
    for (unsigned n = 0; n < call->children; n++) {
        uint64_t id = plan_child(call, n);
        bool ends = plan_kind_ends(plan_call(&world->plan, id).kind);

        if (waiting != NULL && ends)
            atomic_fetch_add(&waiting->left, 1);
        (void)origin_post(world, id, NULL, ends ? waiting : NULL);
    }
}

/* Checks who called, and whether an earlier call of that context to this one
 * has begun before. */
static void arrived(struct world_class *cls, const struct plan_call *call,
    unsigned context, int from, uint64_t order)
{
    struct world *world = cls->world;

    (void)atomic_load(&world->is_open);
    (void)book_handle(world->book, call->id);
    if (call->target != world->rank || call->cls != cls->index ||
        call->target_context != context)
        book_finding(world->book,
            "%s %016" PRIx64 " came to class %u context %u of rank %u, and was "
            "for class %u context %u of rank %u",
            plan_kind_name(call->kind), call->id, cls->index, context,
            world->rank, call->cls, call->target_context, call->target);
    else if (from != (int)call->origin)
        book_finding(world->book,
            "%s %016" PRIx64 " of rank %u came from rank %d",
            plan_kind_name(call->kind), call->id, call->origin, from);
    else if (world->checks_order && call->kind != PLAN_LATE &&
             call->kind != PLAN_MEMBER) {
        uint64_t last = atomic_exchange(
            &cls->contexts[context].begun[call->origin][call->origin_context],
            order);

        if (last >= order)
            book_finding(world->book,
                "%s %016" PRIx64 " of rank %u began as number %" PRIu64
                ", after number %" PRIu64,
                plan_kind_name(call->kind), call->id, call->origin, order,
                last);
    }
}

static void one_way_serve(struct served *served)
{
    const struct plan_call *call = &served->call;
    bool is_counted = plan_is_sure(&served->world->plan, call);
    hg_context_t *context = HG_Get_info(served->handle)->context;
    struct world *world = served->world;

    children_post(world, call, NULL);
    if (call->handler == PLAN_HANDLER_RELEASE)
        EXPECT_OK(world, HG_Release_input_buf(served->handle));
    if (call->handler == PLAN_HANDLER_BUSY)
        compute(call->busy_us);
    if (call->handler == PLAN_HANDLER_PROGRESS)
        turn_inside(context);
    input_free(served);
    EXPECT_OK(world, HG_Destroy(served->handle));
    free(served);
    if (is_counted)
        book_over(world->book);
}

static void call_serve(struct served *served)
{
    const struct plan_call *call = &served->call;

    atomic_fetch_add(&served->world->open, 1);
    book_begin(served->world->book);
    if (call->kind == PLAN_DROPPED || call->odd == PLAN_ODD_DROPS) {
        input_free(served);
        EXPECT_OK(served->world, HG_Destroy(served->handle));
        served_over(served, false);
    } else if (plan_kind_moves(call->kind)) {
        bool is_own = call->handler == PLAN_HANDLER_THREAD;

        if ((call->handler != PLAN_HANDLER_LATER && !is_own) ||
            !later_add(call->later_us, is_own, transfer_start, served))
            transfer_start(served);
    } else if (call->waits) {
        atomic_store(&served->left, 1);
        children_post(served->world, call, served);
        target_child_ended(served, 0);
    } else {
        children_post(served->world, call, NULL);
        answer_as_planned(served);
    }
}

hg_return_t target_call(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct world_class *cls = world_class_of(info->hg_class);
    struct served *served = calloc(1, sizeof(*served));
    hg_return_t rc = HG_SUCCESS;

    if (served == NULL)
        abort();
    served->world = cls->world;
    served->cls = cls;
    served->handle = handle;
    do
        rc = HG_Get_input(handle, &served->in);
    while (faults_again(cls->world, rc));
    if (rc != HG_SUCCESS) {
        EXPECT_OK(cls->world, rc);
        free(served);
        return HG_Destroy(handle);
    }
    served->has_input = true;
    served->call = plan_call(&cls->world->plan, served->in.id);
    if (plan_is_group(served->call.kind))
        served->call = plan_call(
            &cls->world->plan, plan_member(served->in.id, cls->world->rank));
    arrived(cls, &served->call, HG_Context_get_id(info->context),
        (int)world_rank_of(cls, info->addr), served->in.order);
    message_check(cls->world, &served->call, false, served->in.bytes);
    message_head_check(cls->world, &served->call, handle, false);
    if (served->call.kind == PLAN_ONE_WAY)
        one_way_serve(served);
    else
        call_serve(served);
    return HG_SUCCESS;
}

hg_return_t target_empty(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct world_class *cls = world_class_of(info->hg_class);
    hg_return_t rc = HG_SUCCESS;

    book_count(cls->world->book, BOOK_EMPTY, cls->index, false,
        world_rank_of(cls, info->addr));
    do
        rc = HG_Respond(handle, NULL, NULL, NULL);
    while (faults_again(cls->world, rc));
    EXPECT_OK(cls->world, rc);
    EXPECT_OK(cls->world, HG_Destroy(handle));
    return HG_SUCCESS;
}

/* `from`: the rank of the job, where the library tells who calls; else -1. */
static void stream_take(
    struct world_class *cls, int from, const void *bytes, size_t len)
{
    struct world *world = cls->world;
    struct plan_call call;
    uint64_t head[HEAD / sizeof(uint64_t)];

    if (len >= HEAD)
        memcpy(head, bytes, HEAD);
    if (len < HEAD || !plan_knows(&world->plan, head[0]) ||
        (world->plan.head_len == 0 && (uintptr_t)bytes % ALIGNED != 0)) {
        book_finding(world->book, "a one-way call of %zu bytes is none", len);
        return;
    }
    call = plan_call(&world->plan, head[0]);
    arrived(cls, &call, 0, from < 0 ? (int)call.origin : from, head[1]);
    if (len != HEAD + call.arg_len)
        book_finding(world->book, "stream %016" PRIx64 " has %zu bytes, not %u",
            call.id, len, HEAD + call.arg_len);
    else
        message_check(world, &call, false, (const uint8_t *)bytes + HEAD);
    children_post(world, &call, NULL);
    if (call.handler == PLAN_HANDLER_PROGRESS)
        turn_inside(cls->contexts[0].context);
    book_over(world->book);
}

void target_stream(
    hg_class_t *hg_class, int from_rank, const void *bytes, size_t len)
{
    struct world_class *cls = world_class_of(hg_class);
    const struct plan *plan = &cls->world->plan;

    stream_take(cls,
        plan->is_job ? (int)plan_job_rank(plan, cls->index, (unsigned)from_rank)
                     : -1,
        bytes, len);
}

hg_return_t target_stream_handle(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct world_class *cls = world_class_of(info->hg_class);
    hg_size_t len = 0;
    void *bytes = NULL;

    EXPECT_OK(cls->world, HG_Get_input_buf(handle, &bytes, &len));
    stream_take(cls, (int)world_rank_of(cls, info->addr), bytes, len);
    EXPECT_OK(cls->world, HG_Release_input_buf(handle));
    EXPECT_OK(cls->world, HG_Destroy(handle));
    return HG_SUCCESS;
}

void target_stream_empty(
    hg_class_t *hg_class, int from_rank, const void *bytes, size_t len)
{
    struct world_class *cls = world_class_of(hg_class);
    struct book *book = cls->world->book;

    (void)bytes;
    if (len != 0 || from_rank < 0)
        book_finding(book, "a one-way call of 0 bytes has %zu, of rank %d", len,
            from_rank);
    else
        book_count(book, BOOK_STREAM_EMPTY, cls->index, false,
            plan_job_rank(&cls->world->plan, cls->index, (unsigned)from_rank));
}
