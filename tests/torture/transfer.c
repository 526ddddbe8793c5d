/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer at the target of a call: between memory that the origin exposes,
 * and memory of this process in segments of odd lengths. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "faults.h"
#include "later.h"
#include "target.h"

enum {
    PARTS = 3,
    LOCAL_SEGMENTS_MAX = 5,
    SALT_SEGMENTS = 1100,
    SALT_OFFSET,
    SALT_CANCEL,
    SALT_CANCEL_AT_ONCE = SALT_CANCEL + PARTS,
    SALT_SEGMENT = SALT_CANCEL_AT_ONCE + PARTS,
};

/* A call that a fault ended has freed its memory. */
static bool may_fail(const struct served *served, hg_return_t rc)
{
    const struct plan_call *call = &served->call;

    return faults_may_be(served->world, (int)rc) ||
           (rc == HG_NOENTRY && served->world->options.faults > 0) ||
           (call->ways & (1u << PLAN_WAY_CANCEL | 1u << PLAN_WAY_CANCEL_BULK |
                             1u << PLAN_WAY_FREE_EARLY)) != 0;
}

static void part_failed(struct served *served, hg_return_t rc)
{
    const struct plan_call *call = &served->call;

    atomic_store(&served->failure, (int)rc);
    if (!may_fail(served, rc))
        book_finding(served->world->book,
            "transfer of %s %016" PRIx64 " of rank %u: %s",
            plan_kind_name(call->kind), call->id, call->origin,
            HG_Error_to_string(rc));
}

static void transfer_finish(struct served *served)
{
    const struct plan_call *call = &served->call;
    size_t len = call->bulk.size;

    served->status = (hg_return_t)atomic_load(&served->failure);
    if (served->status == HG_SUCCESS && !call->pushes) {
        size_t at = content_differs(served->memory + served->offset, len,
            content_key(call->memory_id, CONTENT_EXPOSED), call->bulk.offset);

        if (at < len)
            book_finding(served->world->book,
                "pull %016" PRIx64 " from rank %u: byte %zu of %zu differs",
                call->id, call->origin, at, len);
    }
    EXPECT_OK(served->world, HG_Bulk_free(served->local));
    memset(served->memory, 0x77, served->offset + len);
    free(served->memory);
    target_answer(served);
}

static void part_over(struct served *served)
{
    if (atomic_fetch_sub(&served->parts, 1) == 1)
        transfer_finish(served);
}

static hg_return_t part_ended(const struct hg_cb_info *info)
{
    struct served *served = info->arg;

    if (info->ret != HG_SUCCESS)
        part_failed(served, info->ret);
    part_over(served);
    return HG_SUCCESS;
}

static void memory_make(struct served *served)
{
    const struct plan_call *call = &served->call;
    void *starts[LOCAL_SEGMENTS_MAX];
    hg_size_t lens[LOCAL_SEGMENTS_MAX];
    unsigned count =
        1 + plan_draw(call->hash, SALT_SEGMENTS, LOCAL_SEGMENTS_MAX);
    size_t left = 0;
    size_t at = 0;
    hg_return_t rc = HG_SUCCESS;

    served->offset = plan_draw(call->hash, SALT_OFFSET, 32);
    left = served->offset + call->bulk.size;
    served->memory = malloc(left + 1);
    if (served->memory == NULL)
        abort();
    memset(served->memory, 0x55, left);
    if (call->pushes)
        content_fill(served->memory + served->offset, call->bulk.size,
            content_key(call->memory_id, CONTENT_PUSHED), call->bulk.offset);
    for (unsigned i = 0; i < count; i++) {
        starts[i] = served->memory + at;
        lens[i] = i + 1 == count ? left
                                 : plan_draw(call->hash, SALT_SEGMENT + i,
                                       (unsigned)left + 1);
        at += lens[i];
        left -= lens[i];
    }
    do
        rc = HG_Bulk_create(served->cls->cls, count, starts, lens,
            HG_BULK_READWRITE, &served->local);
    while (faults_again(served->world, rc));
    EXPECT_OK(served->world, rc);
}

static void cancel_later(void *arg)
{
    (void)HG_Bulk_cancel((hg_op_id_t)arg);
}

/* Any time is a right one, also after the transfer has ended. */
static void part_cancel(struct served *served, unsigned part, hg_op_id_t op)
{
    const struct plan_call call = served->call;

    if (plan_draw(call.hash, SALT_CANCEL + part, 3) != 0)
        return;
    if (plan_draw(call.hash, SALT_CANCEL_AT_ONCE + part, 2) == 0 ||
        !later_add(call.busy_us, false, cancel_later, op))
        EXPECT_OK(served->world, HG_Bulk_cancel(op));
}

static hg_return_t part_post(
    struct served *served, hg_size_t at, hg_size_t len, hg_op_id_t *ret_op)
{
    const struct plan_call *call = &served->call;
    const struct hg_info *info = HG_Get_info(served->handle);
    hg_bulk_op_t op = call->pushes ? HG_BULK_PUSH : HG_BULK_PULL;
    hg_size_t remote = call->bulk.offset + at;
    hg_size_t local = served->offset + at;

    if (plan_has_way(call, PLAN_WAY_BIND))
        return HG_Bulk_bind_transfer(info->context, part_ended, served, op,
            served->in.bulk, remote, served->local, local, len, ret_op);
    return HG_Bulk_transfer(info->context, part_ended, served, op, info->addr,
        served->in.bulk, remote, served->local, local, len, ret_op);
}

void transfer_start(void *arg)
{
    struct served *served = arg;
    const struct plan_call call = served->call;
    bool cancels = plan_has_way(&call, PLAN_WAY_CANCEL_BULK);
    unsigned parts = plan_has_way(&call, PLAN_WAY_PARTS) ? PARTS : 1;
    hg_size_t at = 0;

    memory_make(served);
    atomic_store(&served->parts, parts + 1);
    if (call.kind == PLAN_PULL && plan_has_way(&call, PLAN_WAY_BEYOND) &&
        !plan_has_way(&call, PLAN_WAY_BIND))
        beyond_post(served, part_over);
    for (unsigned part = 0; part < parts; part++) {
        hg_size_t len =
            part + 1 == parts ? call.bulk.size - at : call.bulk.size / parts;
        hg_op_id_t op = HG_OP_ID_NULL;
        hg_return_t rc =
            part_post(served, at, len, cancels ? &op : HG_OP_ID_IGNORE);

        if (rc != HG_SUCCESS) {
            part_failed(served, rc);
            part_over(served);
        } else if (cancels && op != HG_OP_ID_NULL) {
            part_cancel(served, part, op);
        }
        at += len;
    }
    part_over(served);
}
