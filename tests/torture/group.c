/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin's side of calls to groups. */
#include "group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_group.h"
#include "faults.h"
#include "target.h"

enum { SALT_AGAIN = 1410, SALT_FREE, EDGES_PER_MEMBER = 2 };

/* A member at the origin. */
struct member {
    int rank;       /* of the class */
    unsigned given; /* by a gathering call, with `code` */
    hg_return_t code;
};

struct group {
    amalgam_group_t group; /* NULL: freed */
    unsigned count;
    struct member members[PLAN_RANKS_MAX]; /* by ascending ranks */
};

/* Folds, and makes bytes that the proc of the output frees. */
static void outputs_fold(
    struct world_class *cls, const void *from_out, void *inout_out)
{
    const struct message_out *from = from_out;
    struct message_out *inout = inout_out;
    struct plan_call call = plan_call(&cls->world->plan, inout->id);
    uint8_t *bytes = malloc(call.reply_len + 1);

    if (bytes == NULL)
        abort();
    if (from->id != inout->id)
        book_finding(cls->world->book,
            "outputs of %016" PRIx64 " and %016" PRIx64 " are folded", from->id,
            inout->id);
    else
        memcpy(bytes, from->bytes, call.reply_len);
    free(inout->bytes);
    inout->bytes = bytes;
    inout->status = plan_folded(call.fold, from->status, inout->status);
}

static void fold(const void *from_out, void *inout_out, void *arg)
{
    outputs_fold(arg, from_out, inout_out);
}

void group_register(struct world_class *cls)
{
    static const char *const names[PLAN_FOLDS] = {
        "torture_group", "torture_group_sum", "torture_group_compose"};
    struct world *world = cls->world;
    size_t len = sizeof(struct message_out);

    for (int kind = 0; kind < PLAN_FOLDS; kind++)
        cls->ids[WORLD_GROUP + kind] = HG_Register_name(cls->cls, names[kind],
            message_in_proc, message_out_proc, target_call);
    EXPECT_OK(
        world, amalgam_register_reduce(cls->cls,
                   cls->ids[WORLD_GROUP + PLAN_FOLD_SUM], fold, cls, len, 0));
    EXPECT_OK(world, amalgam_register_reduce(cls->cls,
                         cls->ids[WORLD_GROUP + PLAN_FOLD_COMPOSE], fold, cls,
                         len, AMALGAM_REDUCE_ORDERED));
    for (unsigned rank = 0; rank < world->plan.ranks; rank++)
        if (rank != world->rank)
            EXPECT_OK(world, amalgam_register_reduce(cls->cls,
                                 cls->group_unknown[rank], fold, cls, len, 0));
}

hg_id_t group_rpc(const struct origin *origin)
{
    const struct plan_call *call = &origin->call;

    switch (call->odd) {
    case PLAN_ODD_UNKNOWN:
        return origin->cls->group_unknown[call->target];
    case PLAN_ODD_LATE:
        return origin->cls->group_late[call->target];
    default:
        return origin->cls->ids[WORLD_GROUP + call->fold];
    }
}

static int member_compare(const void *one, const void *other)
{
    return ((const struct member *)one)->rank -
           ((const struct member *)other)->rank;
}

unsigned group_make(struct origin *origin)
{
    const struct plan_call *call = &origin->call;
    struct world *world = origin->world;
    struct group *group = calloc(1, sizeof(*group));
    int ranks[PLAN_RANKS_MAX];
    hg_return_t rc = HG_SUCCESS;

    if (group == NULL)
        abort();
    origin->group = group;
    group->count = plan_members(&world->plan, call, ranks);
    for (unsigned i = 0; i < group->count; i++)
        group->members[i].rank = ranks[i];
    qsort(group->members, group->count, sizeof(group->members[0]),
        member_compare);
    if (call->shape == PLAN_SHAPE_ALL)
        group->group = AMALGAM_GROUP_ALL;
    else
        do
            rc = amalgam_group_create_ranks(
                origin->cls->cls, ranks, group->count, &group->group);
        while (faults_again(world, rc));
    EXPECT_OK(world, rc);
    return plan_has_way(call, PLAN_WAY_CANCEL) || call->may_be_late ||
                   call->odd != PLAN_ODD_NONE ||
                   plan_may_be_gone(&world->plan, call)
               ? EDGES_PER_MEMBER * group->count
               : 0;
}

void group_free(struct group *group)
{
    if (group != NULL)
        (void)amalgam_group_free(group->group);
    free(group);
}

static struct member *member_find(struct group *group, int rank)
{
    struct member key = {.rank = rank};

    return bsearch(
        &key, group->members, group->count, sizeof(key), member_compare);
}

static unsigned job_rank(const struct origin *origin, int rank)
{
    const struct plan *plan = &origin->world->plan;

    return plan->is_self
               ? origin->call.origin
               : plan_job_rank(plan, origin->call.cls, (unsigned)rank);
}

/* An output of one member, or of all that have answered. */
static void output_check(
    struct origin *origin, hg_handle_t handle, uint64_t wanted)
{
    const struct plan_call *call = &origin->call;
    struct world *world = origin->world;
    struct message_out out;
    hg_return_t rc = HG_SUCCESS;

    do
        rc = HG_Get_output(handle, &out);
    while (faults_again(world, rc));
    if (rc != HG_SUCCESS) {
        book_finding(world->book, "HG_Get_output of %s %016" PRIx64 ": %s",
            plan_kind_name(call->kind), call->id, HG_Error_to_string(rc));
        return;
    }
    if (out.id != call->id || out.status != wanted)
        book_finding(world->book,
            "%s %016" PRIx64 " has the output %016" PRIx64 " of %016" PRIx64
            ", not %016" PRIx64,
            plan_kind_name(call->kind), call->id, out.status, out.id, wanted);
    else
        message_check(world, call, true, out.bytes);
    EXPECT_OK(world, HG_Free_output(handle, &out));
}

static void gathered(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    struct origin *origin = arg;
    struct member *member = member_find(origin->group, rank);

    if (member == NULL || member->given++ > 0) {
        book_finding(origin->world->book,
            "gather %016" PRIx64 " has given rank %d: %s", origin->call.id,
            rank, member == NULL ? "no member" : "twice");
        return;
    }
    member->code = ret;
    if (ret == HG_SUCCESS)
        output_check(
            origin, handle, plan_output(&origin->call, job_rank(origin, rank)));
}

hg_return_t group_forward(
    struct origin *origin, hg_cb_t callback, struct message_in *in)
{
    /* The callback may free `origin` before the call returns. */
    const struct plan_call call = origin->call;
    struct world *world = origin->world;
    hg_handle_t handle = origin->handle;
    amalgam_group_t group = origin->group->group;
    hg_return_t rc = HG_SUCCESS;

    if (plan_draw(call.hash, SALT_FREE, 2) == 0)
        origin->group->group = NULL; /* freed after the post */
    do
        rc = call.kind == PLAN_GATHER
                 ? amalgam_forward_gather(handle, group, call.timeout_ms,
                       gathered, callback, origin, in)
             : plan_has_way(&call, PLAN_WAY_TIMED)
                 ? amalgam_forward_group_timed(
                       handle, group, call.timeout_ms, callback, origin, in)
                 : amalgam_forward_group(handle, group, callback, origin, in);
    while (plan_draw(call.hash, SALT_AGAIN, 2) == 0 && faults_again(world, rc));
    if (plan_draw(call.hash, SALT_FREE, 2) == 0)
        EXPECT_OK(world, amalgam_group_free(group));
    return rc;
}

/* Takes the names of the failed members. */
static void names_take(struct origin *origin, hg_handle_t handle)
{
    const struct plan_call *call = &origin->call;
    struct group *group = origin->group;
    struct book *book = origin->world->book;
    const hg_return_t *codes = NULL;
    const int *ranks = NULL;
    size_t count = 0;
    /* The end of the whole call goes before the codes of its members. */
    bool has_code =
        origin->code == HG_SUCCESS ||
        (plan_has_way(call, PLAN_WAY_CANCEL) && origin->code == HG_CANCELED) ||
        (call->may_be_late && origin->code == HG_TIMEOUT);
    hg_return_t rc = amalgam_group_failed(handle, &count, &ranks, &codes);

    EXPECT_OK(origin->world, rc);
    for (unsigned i = 0; rc != HG_SUCCESS && i < group->count; i++)
        group->members[i].code = origin->code;
    if (rc != HG_SUCCESS)
        return;
    for (size_t i = 0; i < count; i++) {
        struct member *member = member_find(group, ranks[i]);

        has_code = has_code || codes[i] == origin->code;
        if (member == NULL || codes[i] == HG_SUCCESS ||
            (i > 0 && ranks[i] <= ranks[i - 1]))
            book_finding(book, "%s %016" PRIx64 " names rank %d with %s",
                plan_kind_name(call->kind), call->id, ranks[i],
                HG_Error_to_string(codes[i]));
        else if (member->given > 0 && member->code != codes[i])
            book_finding(book,
                "gather %016" PRIx64 " has given rank %d with %s, and names "
                "%s",
                call->id, ranks[i], HG_Error_to_string(member->code),
                HG_Error_to_string(codes[i]));
        else
            member->code = codes[i];
    }
    if ((count > 0) != (origin->code != HG_SUCCESS) || !has_code)
        book_finding(book,
            "%s %016" PRIx64 " ended with %s, and names %zu, first %s",
            plan_kind_name(call->kind), call->id,
            HG_Error_to_string(origin->code), count,
            HG_Error_to_string(count > 0 ? codes[0] : HG_SUCCESS));
}

void group_ended(struct origin *origin, hg_handle_t handle)
{
    const struct plan_call *call = &origin->call;
    struct world *world = origin->world;
    struct group *group = origin->group;
    uint64_t wanted = 0;
    unsigned answered = 0;

    names_take(origin, handle);
    for (unsigned i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        unsigned rank = job_rank(origin, member->rank);
        uint64_t id = plan_member(call->id, rank);
        uint64_t output = plan_output(call, rank);

        book_post(world->book, id);
        (void)book_end(world->book, id, (int)member->code);
        if (call->kind == PLAN_GATHER && member->given != 1 &&
            world->options.faults == 0)
            book_finding(world->book,
                "gather %016" PRIx64 " has not given rank %d", call->id,
                member->rank);
        if (member->code == HG_SUCCESS)
            wanted = answered++ == 0 ? output
                                     : plan_folded(call->fold, wanted, output);
    }
    if (answered > 0 && call->kind == PLAN_GROUP &&
        call->fold != PLAN_FOLD_NONE &&
        (world->options.faults == 0 || origin->code == HG_SUCCESS))
        output_check(origin, handle, wanted);
}

/* The context of a rank may close while it waits for ranks above it. */
static bool may_be_given_up(
    const struct plan *plan, const struct plan_call *call)
{
    struct plan_call below = *call;

    below.target = plan->gone_rank;
    return call->target > plan->gone_rank && plan_may_be_gone(plan, &below);
}

bool group_member_is_right(const struct plan *plan,
    const struct plan_call *call, const struct book_fate *fate)
{
    if (fate->code == HG_CANCELED && may_be_given_up(plan, call))
        return fate->handled <= 1;
    if (call->may_be_late && fate->code == HG_TIMEOUT)
        return fate->handled <= 1;
    switch (call->odd) {
    case PLAN_ODD_UNKNOWN:
    case PLAN_ODD_ABSENT:
        return fate->code == HG_NOENTRY && fate->handled == 0;
    case PLAN_ODD_LATE:
        return fate->code == HG_SUCCESS
                   ? fate->handled == 1
                   : fate->code == HG_NOENTRY && fate->handled == 0;
    case PLAN_ODD_DROPS:
        return fate->code == HG_CANCELED && fate->handled == 1;
    default:
        return fate->code == HG_SUCCESS && fate->handled == 1;
    }
}
