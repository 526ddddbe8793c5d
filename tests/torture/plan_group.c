/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a plan's classes, and of the groups that calls go to. */
#include <stdlib.h>

#include "content.h"
#include "plan.h"

enum {
    SALT_SHAPE = 900,
    SALT_MEMBERS = 910,
    ODD_DRAWS = 16, /* so many have an odd member one time each */
    LONG_MS = 60000,
    SHORT_MS = 80,
    FEW_RANKS = 6,
    MANY_LEN = 20000, /* of outputs, where they are many */
};

bool plan_is_member(const struct plan *plan, unsigned cls, unsigned rank)
{
    return cls == 0 || rank != plan->absent;
}

unsigned plan_class_size(const struct plan *plan, unsigned cls)
{
    return cls == 1 && plan->absent < plan->ranks ? plan->ranks - 1
                                                  : plan->ranks;
}

unsigned plan_class_rank(const struct plan *plan, unsigned cls, unsigned rank)
{
    if (cls == 0)
        return rank;
    rank = rank > plan->absent ? rank - 1 : rank;
    return plan_class_size(plan, cls) - 1 - rank;
}

unsigned plan_job_rank(
    const struct plan *plan, unsigned cls, unsigned class_rank)
{
    unsigned rank = class_rank;

    if (cls == 0)
        return rank;
    rank = plan_class_size(plan, cls) - 1 - class_rank;
    return rank >= plan->absent ? rank + 1 : rank;
}

void plan_group_draw(
    const struct plan *plan, uint64_t hash, struct plan_call *call)
{
    unsigned odd = plan_draw(hash, SALT_SHAPE, ODD_DRAWS);

    call->shape = (enum plan_shape)plan_draw(hash, SALT_SHAPE + 1, PLAN_SHAPES);
    call->fold = (enum plan_fold)plan_draw(hash, SALT_SHAPE + 2, PLAN_FOLDS);
    call->odd = odd < PLAN_ODDS ? (enum plan_odd)odd : PLAN_ODD_NONE;
    if (call->target == call->origin &&
        (call->odd == PLAN_ODD_UNKNOWN || call->odd == PLAN_ODD_LATE))
        call->odd = PLAN_ODD_NONE;
    if (call->odd == PLAN_ODD_UNKNOWN)
        call->fold = PLAN_FOLD_SUM;
    if (call->odd == PLAN_ODD_LATE)
        call->fold = PLAN_FOLD_NONE;
    if (call->odd == PLAN_ODD_ABSENT)
        call->target_context = plan->contexts;
    if (plan->ranks > FEW_RANKS && call->reply_len > MANY_LEN)
        call->reply_len %= MANY_LEN;
    call->waits = plan->chains > 0 && !plan_has_way(call, PLAN_WAY_CANCEL) &&
                  plan_draw(hash, SALT_SHAPE + 3, 4) == 0;
    if ((plan->ways >> PLAN_WAY_TIMED & 1) == 0 ||
        plan_draw(hash, SALT_SHAPE + 4, 3) != 0)
        return;
    call->ways |= 1u << PLAN_WAY_TIMED;
    call->may_be_late = !call->waits && plan_draw(hash, SALT_SHAPE + 5, 2) == 0;
    call->timeout_ms = call->may_be_late
                           ? 1 + plan_draw(hash, SALT_SHAPE + 6, SHORT_MS)
                           : LONG_MS;
}

/* All ranks of the class, but those that the shape leaves out. */
static unsigned ranks_draw(const struct plan *plan,
    const struct plan_call *call, uint64_t hash, int *ret_ranks)
{
    unsigned size = plan->is_self ? 1 : plan_class_size(plan, call->cls);
    int own =
        plan->is_self ? 0 : (int)plan_class_rank(plan, call->cls, call->origin);
    unsigned stride = 1;
    unsigned first = 0;
    unsigned count = 0;

    if (call->shape == PLAN_SHAPE_STRIDED) {
        stride = 1 + plan_draw(hash, SALT_MEMBERS, size);
        first = plan_draw(hash, SALT_MEMBERS + 1, size);
    }
    for (unsigned rank = first; rank < size; rank += stride) {
        bool is_in = true;

        if (call->shape == PLAN_SHAPE_RANDOM)
            is_in = plan_draw(hash, SALT_MEMBERS + 20 + rank, 2) == 0;
        if (call->shape == PLAN_SHAPE_OTHERS)
            is_in = (int)rank != own;
        if (is_in)
            ret_ranks[count++] = (int)rank;
    }
    return count;
}

static void ranks_swap(int *ranks, unsigned one, unsigned other)
{
    int kept = ranks[one];

    ranks[one] = ranks[other];
    ranks[other] = kept;
}

unsigned plan_members(
    const struct plan *plan, const struct plan_call *call, int *ret_ranks)
{
    uint64_t hash = content_mix(call->message_id ^ plan->hash);
    unsigned count = 0;

    if (call->shape == PLAN_SHAPE_EMPTY)
        return 0;
    count = ranks_draw(plan, call, hash, ret_ranks);
    if (call->shape == PLAN_SHAPE_ONE) {
        ret_ranks[0] = ret_ranks[plan_draw(hash, SALT_MEMBERS + 2, count)];
        return 1;
    }
    if (plan_draw(hash, SALT_MEMBERS + 3, 2) == 0)
        for (unsigned i = 0; 2 * i + 1 < count; i++)
            ranks_swap(ret_ranks, i, count - 1 - i);
    for (unsigned i = count; call->shape == PLAN_SHAPE_RANDOM && i > 1; i--)
        ranks_swap(
            ret_ranks, i - 1, plan_draw(hash, SALT_MEMBERS + 100 + i, i));
    return count;
}

uint64_t plan_output(const struct plan_call *call, unsigned rank)
{
    uint64_t value = content_mix(call->message_id + rank);

    return call->fold == PLAN_FOLD_COMPOSE ? value | (uint64_t)1 << 32 : value;
}

/* Composed are functions a * x + b of 32 bits: a above, which is odd, b below.
 */
uint64_t plan_folded(enum plan_fold fold, uint64_t lower, uint64_t higher)
{
    uint32_t a = (uint32_t)(lower >> 32);

    if (fold != PLAN_FOLD_COMPOSE)
        return lower + higher;
    return (uint64_t)(uint32_t)(a * (uint32_t)(higher >> 32)) << 32 |
           (uint32_t)(a * (uint32_t)higher + (uint32_t)lower);
}
