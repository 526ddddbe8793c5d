/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of calls. */
#include "plan.h"

static const char *const kind_names[PLAN_KINDS] = {
    [PLAN_CALL] = "call",
    [PLAN_EMPTY] = "empty",
    [PLAN_ONE_WAY] = "one-way",
    [PLAN_STREAM] = "stream",
    [PLAN_STREAM_EMPTY] = "stream-empty",
    [PLAN_PULL] = "pull",
    [PLAN_PUSH] = "push",
    [PLAN_TREE] = "tree",
    [PLAN_RING] = "ring",
    [PLAN_DROPPED] = "dropped",
    [PLAN_UNKNOWN] = "unknown",
    [PLAN_NO_HANDLER] = "no-handler",
    [PLAN_NO_CONTEXT] = "no-context",
    [PLAN_LATE] = "late",
    [PLAN_PASS] = "pass",
    [PLAN_PASSED] = "passed",
    [PLAN_GROUP] = "group",
    [PLAN_GATHER] = "gather",
    [PLAN_MEMBER] = "member",
};

const char *plan_kind_name(enum plan_kind kind)
{
    return kind_names[kind];
}

bool plan_kind_exposes(enum plan_kind kind)
{
    return kind == PLAN_PULL || kind == PLAN_PUSH || kind == PLAN_PASS;
}

bool plan_kind_moves(enum plan_kind kind)
{
    return kind == PLAN_PULL || kind == PLAN_PUSH || kind == PLAN_PASSED;
}

bool plan_is_group(enum plan_kind kind)
{
    return kind == PLAN_GROUP || kind == PLAN_GATHER;
}

bool plan_kind_ends(enum plan_kind kind)
{
    return kind != PLAN_STREAM && kind != PLAN_STREAM_EMPTY;
}
