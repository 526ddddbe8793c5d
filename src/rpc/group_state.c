/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers and failures of a call to a group, as one rank knows them. */
#include "rpc/group_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

void amg_group_state_fini(struct amg_group_state *state)
{
    if (state->failed != state->few)
        amg_mem_free(state->failed);
}

/* Makes room for one more range. False: no memory. */
static bool failed_grow(struct amg_group_state *state)
{
    bool is_first = state->failed_cap == 0;
    uint32_t cap = is_first ? AMG_GROUP_FEW : 2 * state->failed_cap;
    struct amg_group_range *grown =
        is_first ? state->few : amg_mem_alloc(cap * sizeof(*grown));

    if (grown == NULL)
        return false;
    if (!is_first)
        memcpy(grown, state->failed, state->failed_count * sizeof(*grown));
    amg_group_state_fini(state);
    state->failed = grown;
    state->failed_cap = cap;
    return true;
}

void amg_group_state_name(
    struct amg_group_state *state, struct amg_tree_part part, hg_return_t ret)
{
    AMG_ASSERT(ret != HG_SUCCESS && part.count > 0);
    state->named += part.count;
    AMG_ASSERT(state->answered + state->named <= state->part.count);
    if (state->ret == HG_SUCCESS)
        state->ret = ret;
    if (state->failed_count == state->failed_cap && !failed_grow(state)) {
        state->lacks_names = true;
        return;
    }
    state->failed[state->failed_count++] =
        (struct amg_group_range){part.first, part.count, (uint32_t)ret};
}

/* Are the ranges in order within the part, without overlap, and the rest as
 * many as have answered? */
static bool answer_is_right(struct amg_tree_part part, uint32_t answered,
    const struct amg_group_range *ranges, uint32_t count)
{
    uint32_t end = part.first;
    uint32_t last = part.first + part.count;
    uint32_t named = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct amg_group_range *range = &ranges[i];

        if (range->first < end || range->first >= last || range->count == 0 ||
            range->count > last - range->first || range->ret == HG_SUCCESS ||
            range->ret >= HG_RETURN_MAX)
            return false;
        end = range->first + range->count;
        named += range->count;
    }
    return answered == part.count - named;
}

bool amg_group_state_answered(struct amg_group_state *state,
    struct amg_tree_part part, uint32_t answered,
    const struct amg_group_range *ranges, uint32_t count)
{
    if (!answer_is_right(part, answered, ranges, count))
        return false;
    state->answered += answered;
    for (uint32_t i = 0; i < count; i++)
        amg_group_state_name(state,
            (struct amg_tree_part){ranges[i].first, ranges[i].count},
            (hg_return_t)ranges[i].ret);
    return true;
}

int amg_group_compare(const void *one, const void *other)
{
    uint32_t left = *(const uint32_t *)one;
    uint32_t right = *(const uint32_t *)other;

    return left < right ? -1 : left > right;
}

void amg_group_state_end(struct amg_group_state *state)
{
    uint32_t kept = 0;

    AMG_ASSERT(amg_group_state_is_over(state));
    if (state->lacks_names) {
        state->failed[0] = (struct amg_group_range){
            state->part.first, state->part.count, (uint32_t)HG_NOMEM};
        state->failed_count = 1;
        state->answered = 0;
        state->named = state->part.count;
    }
    if (state->failed_count == 0)
        return;
    qsort(state->failed, state->failed_count, sizeof(*state->failed),
        amg_group_compare);
    for (uint32_t i = 1; i < state->failed_count; i++) {
        struct amg_group_range *range = &state->failed[kept];
        const struct amg_group_range *next = &state->failed[i];

        if (range->first + range->count == next->first &&
            range->ret == next->ret)
            range->count += next->count;
        else
            state->failed[++kept] = *next;
    }
    state->failed_count = kept + 1;
}
