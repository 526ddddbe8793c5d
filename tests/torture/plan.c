/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of a run: what each rank does, and what a handler does for a call.
 *
 * Bits of an id, from above: 16 of the seed, 4 of the round, 8 of the rank, 20
 * of the number of the root, 8 of the path (2 for each handler on it: 1 to 3
 * names its child), 8 of the calls of a ring so far, or, if it is 16 or more,
 * of the member of a group (16 is rank 0). */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "content.h"

enum {
    CHECK_SHIFT = 48,
    ROUND_SHIFT = 44,
    RANK_SHIFT = 36,
    INDEX_SHIFT = 16,
    PATH_SHIFT = 8,
    INDEX_MAX = (1 << 20) - 1,
    HOPS_MAX = 8,
    MEMBER_FIRST = 16,
    NODES_MAX = 9,
    CREDITS = 64, /* defaults of the library */
    MESSAGE_BYTES = 4096,
    ROOM_FACTOR = 4, /* messages in a receive: longer ones take two */
    CALLS = 300,
    WINDOW_MAX = 600,
    SHORT_LEN = 100,
};

/* Purposes of plan_draw() in this file; those of other files begin at 1000. */
enum {
    SALT_TARGET = 1,
    SALT_HOT,
    SALT_KIND,
    SALT_CLASS,
    SALT_CONTEXT,
    SALT_LEN = 10,
    SALT_REPLY = 20,
    SALT_WAY = 30,
    SALT_HANDLER = 50,
    SALT_TIME = 60,
    SALT_TREE = 70,
    SALT_BULK = 80,
    SALT_GROUP = 140,
    SALT_PLAN = 200,
};

/* How often a root is of a kind. */
static const unsigned kind_weights[PLAN_KINDS] = {
    [PLAN_CALL] = 12,
    [PLAN_EMPTY] = 2,
    [PLAN_ONE_WAY] = 5,
    [PLAN_STREAM] = 8,
    [PLAN_STREAM_EMPTY] = 1,
    [PLAN_PULL] = 5,
    [PLAN_PUSH] = 5,
    [PLAN_TREE] = 2,
    [PLAN_RING] = 1,
    [PLAN_DROPPED] = 1,
    [PLAN_UNKNOWN] = 1,
    [PLAN_NO_HANDLER] = 1,
    [PLAN_NO_CONTEXT] = 1,
    [PLAN_LATE] = 1,
    [PLAN_PASS] = 2,
};

/* Calls to groups beside the sum of those. */
enum { GROUP_WEIGHT = 8 };

unsigned plan_draw(uint64_t hash, unsigned salt, unsigned n)
{
    return n == 0 ? 0 : (unsigned)(content_mix(hash + salt) >> 20) % n;
}

static bool has_bit(uint32_t mask, unsigned bit)
{
    return (mask >> bit & 1) != 0;
}

static unsigned env_number(const char *name, unsigned fallback)
{
    const char *text = getenv(name);

    return text == NULL ? fallback : (unsigned)strtoul(text, NULL, 0);
}

static bool is_mpi(const char *transport)
{
    return strcmp(transport, "shm") == 0 || strcmp(transport, "auto") == 0 ||
           strncmp(transport, "mpi", strlen("mpi")) == 0 ||
           strncmp(transport, "ofi+", strlen("ofi+")) == 0;
}

/* A call whose handler waits for others keeps a credit meanwhile. With few of
 * them such calls wait for each other in a circle, which is no fault of the
 * library: so all calls that wait in the job are fewer than the credits of one
 * pair of ranks. A ring or a tree has at most NODES_MAX of them. */
static unsigned chains_of(const struct plan *plan)
{
    if (getenv("AMALGAM_MAX_REQUEST_BYTES") != NULL || plan->credits == 0)
        return 0;
    return (plan->credits - 1) / (plan->ranks * NODES_MAX);
}

/* While a rank waits in the end of one class it does not serve the other: so
 * two classes end when nothing waits for an answer any more. */
static bool end_may(const struct plan *plan, enum plan_end end)
{
    if (end == PLAN_END_QUIET || end == PLAN_END_CONTEXTS)
        return true;
    return plan->is_job && (end == PLAN_END_AT_ONCE || plan->classes == 1);
}

static enum plan_end end_of(const struct plan *plan, uint32_t ends)
{
    unsigned at =
        plan_draw(plan->hash, SALT_PLAN + 20 + plan->round, PLAN_ENDS);

    for (unsigned i = 0; i < PLAN_ENDS; i++) {
        enum plan_end end = (enum plan_end)((at + i) % PLAN_ENDS);

        if (has_bit(ends, end) && end_may(plan, end))
            return end;
    }
    return PLAN_END_QUIET;
}

static void end_fill(struct plan *plan, uint32_t ends)
{
    plan->end = end_of(plan, ends);
    plan->end_rank = plan_draw(plan->hash, SALT_PLAN + 13, plan->ranks);
    plan->gone_rank = plan_draw(plan->hash, SALT_PLAN + 40, plan->ranks);
    if (plan->threads == 1 && plan_draw(plan->hash, SALT_PLAN + 41, 3) == 0)
        plan->gone_context = plan->contexts - 1;
    if (plan->end == PLAN_END_AT_ONCE)
        plan->burst = 1 + plan_draw(plan->hash, SALT_PLAN + 14, 200);
}

/* What the options leave open. */
static void plan_fill(struct plan *plan, const struct plan_options *options)
{
    static const unsigned windows[] = {1, 4, 16, 40, 80, WINDOW_MAX};
    static const uint32_t longest[] = {
        PLAN_LEN_MAX, 600000, 300000, 70000, 5000, 300, 66000, 20000};
    static const unsigned threads[] = {1, 1, 1, 1, 1, 2, 2, 3};
    bool has_ranks = plan->is_job || plan->is_self;
    uint64_t hash = plan->hash;

    plan->window = windows[plan_draw(hash, SALT_PLAN + 1, 6)];
    plan->len_max = longest[plan_draw(hash, SALT_PLAN + 2, 8)];
    if (plan->threads == 0)
        plan->threads = threads[plan_draw(hash, SALT_PLAN + 3, 8)];
    if (!plan->is_threaded)
        plan->threads = 1;
    if (plan->contexts == 0)
        plan->contexts = 1 + plan_draw(hash, SALT_PLAN + 4, PLAN_CONTEXTS_MAX);
    if (plan->classes == 0)
        plan->classes = plan_draw(hash, SALT_PLAN + 5, 3) == 0 ? 2 : 1;
    if (!plan->is_job)
        plan->classes = 1;
    plan->absent = plan->ranks > 2 && plan_draw(hash, SALT_PLAN + 6, 2) == 0
                       ? plan_draw(hash, SALT_PLAN + 7, plan->ranks)
                       : plan->ranks;
    if (options->ops == UINT32_MAX && plan_draw(hash, SALT_PLAN + 8, 2) == 0)
        plan->ops =
            1u << PLAN_CALL | (uint32_t)content_mix(hash + SALT_PLAN + 9);
    if (options->ways == UINT32_MAX && plan_draw(hash, SALT_PLAN + 10, 3) == 0)
        plan->ways = (uint32_t)content_mix(hash + SALT_PLAN + 11);
    plan->is_mute = plan_draw(hash, SALT_PLAN + 50, 4) == 0;
    if (plan->is_mute)
        plan->window = WINDOW_MAX;
    if (plan->message_bytes <= MESSAGE_BYTES &&
        plan_draw(hash, SALT_PLAN + 51, 3) == 0)
        plan->long_len = ROOM_FACTOR * plan->message_bytes;
    if (getenv("AMALGAM_MAX_PENDING_BYTES") != NULL && plan->window > 16 &&
        (plan->ops & (1u << PLAN_TREE | 1u << PLAN_RING)) != 0)
        plan->window = 16;
    plan->phases = plan_draw(hash, SALT_PLAN + 12, 4);
    plan->head_len = plan_draw(hash, SALT_PLAN + 30, 4) == 0
                         ? 1 + plan_draw(hash, SALT_PLAN + 31, PLAN_HEAD_MAX)
                         : 0;
    plan->has_handles =
        plan->head_len == 0 && plan_draw(hash, SALT_PLAN + 36, 2) == 0;
    plan->checksums = plan_draw(hash, SALT_PLAN + 32, 3) == 0
                          ? plan_draw(hash, SALT_PLAN + 33, 3)
                          : 0;
    plan->no_bulk_eager = plan_draw(hash, SALT_PLAN + 34, 3) == 0;
    plan->no_loopback = plan_draw(hash, SALT_PLAN + 35, 3) == 0;
    plan->has_groups = has_ranks && plan->head_len == 0;
    plan->quiesces = has_ranks && plan_draw(hash, SALT_PLAN + 60, 2) == 0;
    plan->chains = chains_of(plan);
    end_fill(plan, options->ends);
    plan->hot = plan_draw(hash, SALT_PLAN + 15, 4) == 0
                    ? plan_draw(hash, SALT_PLAN + 16, plan->ranks)
                    : plan->ranks;
}

struct plan plan_make(const struct plan_options *options, uint64_t seed,
    unsigned ranks, unsigned round)
{
    struct plan plan;

    memset(&plan, 0, sizeof(plan));
    plan.hash = content_mix(seed);
    plan.ranks = ranks;
    plan.round = round;
    plan.is_self = strcmp(options->transport, "self") == 0;
    plan.is_job = is_mpi(options->transport);
    plan.is_threaded = !plan.is_job || options->level == 3;
    plan.calls = options->calls == 0 ? CALLS : options->calls;
    if (plan.calls > INDEX_MAX / 2)
        plan.calls = INDEX_MAX / 2;
    plan.first =
        (unsigned)((uint64_t)plan.calls * options->part / options->parts);
    plan.last =
        (unsigned)((uint64_t)plan.calls * (options->part + 1) / options->parts);
    plan.threads = options->threads;
    plan.contexts = options->contexts;
    plan.classes = options->classes;
    plan.ops = options->ops;
    plan.ways = options->ways;
    plan.handlers = options->handlers;
    plan.credits = env_number("AMALGAM_CREDITS", CREDITS);
    plan.message_bytes = env_number("AMALGAM_MESSAGE_BYTES", MESSAGE_BYTES);
    plan_fill(&plan, options);
    return plan;
}

static uint64_t check_of(const struct plan *plan)
{
    return plan->hash >> CHECK_SHIFT | 1; /* no id is 0 */
}

uint64_t plan_root(const struct plan *plan, unsigned rank, unsigned index)
{
    return check_of(plan) << CHECK_SHIFT |
           (uint64_t)(plan->round & 15) << ROUND_SHIFT |
           (uint64_t)rank << RANK_SHIFT | (uint64_t)index << INDEX_SHIFT;
}

static unsigned path_of(uint64_t id)
{
    return (unsigned)(id >> PATH_SHIFT & 0xff);
}

static unsigned depth_of(uint64_t id)
{
    unsigned depth = 0;

    while (depth < PLAN_DEPTH_MAX && (path_of(id) >> 2 * depth & 3) != 0)
        depth++;
    return depth;
}

uint64_t plan_child(const struct plan_call *call, unsigned n)
{
    if (call->kind == PLAN_RING)
        return call->id + 1;
    return call->id | (uint64_t)(n + 1)
                          << (PATH_SHIFT + 2 * depth_of(call->id));
}

uint64_t plan_member(uint64_t id, unsigned rank)
{
    return (id & ~(uint64_t)0xffff) | (MEMBER_FIRST + rank);
}

/* Is the call one to a group at a member, or a call of its handler? */
static bool is_below_member(uint64_t id)
{
    return (id & 0xff) >= MEMBER_FIRST;
}

bool plan_knows(const struct plan *plan, uint64_t id)
{
    return id >> CHECK_SHIFT == check_of(plan) &&
           (id >> ROUND_SHIFT & 15) == (plan->round & 15) &&
           plan_root_rank(id) < plan->ranks &&
           ((id & 0xff) <= HOPS_MAX ||
               (is_below_member(id) &&
                   (id & 0xff) - MEMBER_FIRST < plan->ranks));
}

unsigned plan_root_rank(uint64_t id)
{
    return (unsigned)(id >> RANK_SHIFT & 0xff);
}

unsigned plan_root_index(uint64_t id)
{
    return (unsigned)(id >> INDEX_SHIFT & INDEX_MAX);
}

/* A length near one of the limits, or any. */
static uint32_t len_draw(const struct plan *plan, uint64_t hash, unsigned salt)
{
    static const uint32_t limits[] = {0, 8, 48, 64, 128, 200, 256, 328, 512,
        1024, 2048, 4000, 4096, 8192, 16384, 32768, 65536, 65536, 131072,
        262144, 262144, 600000, PLAN_LEN_MAX};
    unsigned count = sizeof(limits) / sizeof(limits[0]);
    unsigned how = plan_draw(hash, salt, 100);
    uint32_t len = 0;
    int beside = (int)plan_draw(hash, salt + 1, 161) - 110;

    if (plan->long_len > 0 && plan_draw(hash, salt + 7, 4) != 0)
        return plan->long_len + plan_draw(hash, salt + 2, plan->long_len);
    if (how < 45)
        return plan_draw(hash, salt + 2, 300) % (plan->len_max + 1);
    if (how < 60)
        return plan_draw(hash, salt + 2, 5000) % (plan->len_max + 1);
    if (plan_draw(hash, salt + 3, 3) == 0)
        len = plan->message_bytes;
    else
        len = limits[plan_draw(hash, salt + 4,
            plan_draw(hash, salt + 5, 3) == 0 ? count : count - 6)];
    len = beside < 0 && (uint32_t)-beside > len ? 0
                                                : (uint32_t)((int)len + beside);
    return len > plan->len_max  ? plan_draw(hash, salt + 6, plan->len_max + 1)
           : len > PLAN_LEN_MAX ? PLAN_LEN_MAX
                                : len;
}

static bool kind_may(const struct plan *plan, enum plan_kind kind)
{
    if (!has_bit(plan->ops, kind))
        return false;
    if (plan_is_group(kind))
        return plan->has_groups;
    return (kind != PLAN_RING && kind != PLAN_PASS) || plan->chains > 0;
}

/* Groups are drawn apart, so that the other calls of a seed stay as they are.
 */
static enum plan_kind root_kind(const struct plan *plan, uint64_t hash)
{
    unsigned sum = 0;
    unsigned at = 0;

    for (int kind = 0; kind < PLAN_KINDS; kind++)
        if (kind_may(plan, (enum plan_kind)kind))
            sum += kind_weights[kind];
    if ((kind_may(plan, PLAN_GROUP) || kind_may(plan, PLAN_GATHER)) &&
        plan_draw(hash, SALT_GROUP, sum + GROUP_WEIGHT) < GROUP_WEIGHT)
        return kind_may(plan, PLAN_GATHER) &&
                       (!kind_may(plan, PLAN_GROUP) ||
                           plan_draw(hash, SALT_GROUP + 1, 3) == 0)
                   ? PLAN_GATHER
                   : PLAN_GROUP;
    at = plan_draw(hash, SALT_KIND, sum);
    for (int kind = 0; kind < PLAN_KINDS; kind++) {
        if (!kind_may(plan, (enum plan_kind)kind))
            continue;
        if (at < kind_weights[kind])
            return (enum plan_kind)kind;
        at -= kind_weights[kind];
    }
    return PLAN_CALL;
}

/* Calls of a handler: no root of theirs is asked for in --ops. */
static enum plan_kind child_kind(uint64_t hash, unsigned depth)
{
    static const enum plan_kind kinds[] = {PLAN_CALL, PLAN_CALL, PLAN_ONE_WAY,
        PLAN_STREAM, PLAN_PULL, PLAN_PUSH, PLAN_TREE, PLAN_TREE};

    return kinds[plan_draw(hash, SALT_KIND, depth < PLAN_DEPTH_MAX ? 8 : 6)];
}

static unsigned target_draw(
    const struct plan *plan, uint64_t hash, unsigned origin)
{
    if (plan->is_self)
        return origin;
    if (plan->hot < plan->ranks && plan_draw(hash, SALT_HOT, 2) == 0)
        return plan->hot;
    return plan_draw(hash, SALT_TARGET, plan->ranks);
}

/* Calls under way when the class ends: mostly without an answer. */
static enum plan_kind last_kind(uint64_t hash)
{
    static const enum plan_kind kinds[] = {PLAN_STREAM, PLAN_STREAM,
        PLAN_STREAM, PLAN_ONE_WAY, PLAN_ONE_WAY, PLAN_CALL};

    return kinds[plan_draw(hash, SALT_KIND, 6)];
}

/* Origin, class and target of a call: each call on the path leads from the
 * target of the one above it; below a call to a group, from the member. Memory
 * is passed on within its class. */
static void route_find(const struct plan *plan, uint64_t id, bool is_passed,
    struct plan_call *call)
{
    unsigned depth = depth_of(id);
    unsigned hops = is_below_member(id) ? 0 : (unsigned)(id & 0xff);

    call->target = plan_root_rank(id);
    for (unsigned step = 0; step <= depth + hops; step++) {
        unsigned levels = step < depth ? step : depth;
        uint64_t kept = ((uint64_t)1 << 2 * levels) - 1;
        uint64_t at = (id & ~(uint64_t)0xffff) |
                      (path_of(id) & kept) << PATH_SHIFT |
                      (step > depth ? step - depth : 0) |
                      (step > 0 && is_below_member(id) ? id & 0xff : 0);
        uint64_t hash = content_mix(at ^ plan->hash);

        call->origin = call->target;
        if (step == 0 || !is_passed)
            call->cls =
                plan->classes > 1 && plan_is_member(plan, 1, call->origin)
                    ? plan_draw(hash, SALT_CLASS, 2)
                    : 0;
        call->target = target_draw(plan, hash, call->origin);
        if (!plan_is_member(plan, call->cls, call->target))
            call->target = (call->target + 1) % plan->ranks;
        call->hash = hash;
        if (step == 0 && is_below_member(id))
            call->target = (unsigned)(id & 0xff) - MEMBER_FIRST;
    }
    call->depth = depth + hops + (is_below_member(id) ? 1 : 0);
}

bool plan_has_way(const struct plan_call *call, enum plan_way way)
{
    return has_bit(call->ways, way);
}

bool plan_may_be_gone(const struct plan *plan, const struct plan_call *call)
{
    return plan->gone_context > 0 && call->cls == 0 &&
           (call->target == plan->gone_rank || plan_is_group(call->kind)) &&
           call->target_context == plan->gone_context;
}

bool plan_is_sure(const struct plan *plan, const struct plan_call *call)
{
    return !plan_has_way(call, PLAN_WAY_CANCEL) &&
           !plan_may_be_gone(plan, call);
}

unsigned plan_last(const struct plan *plan, unsigned rank)
{
    unsigned count = plan->last - plan->first;

    if (plan->end == PLAN_END_EARLY && rank == plan->end_rank)
        return plan->first + count / 8;
    return plan->last;
}

/* The memory follows from the call that exposes it. */
static void bulk_draw(
    const struct plan *plan, uint64_t hash, struct plan_call *call)
{
    struct plan_bulk *bulk = &call->bulk;
    uint32_t left = len_draw(plan, hash, SALT_BULK);

    bulk->total = left;
    bulk->segments =
        1 +
        plan_draw(hash, SALT_BULK + 10,
            plan_draw(hash, SALT_BULK + 11, 3) == 0 ? PLAN_SEGMENTS_MAX : 2);
    for (unsigned i = 0; i < bulk->segments; i++) {
        uint32_t len = left;

        if (i + 1 < bulk->segments)
            len = plan_draw(hash, SALT_BULK + 20 + i, 4) == 0
                      ? 0
                      : plan_draw(hash, SALT_BULK + 30 + i, left + 1);
        bulk->segment_len[i] = len;
        left -= len;
    }
    bulk->gap = plan_draw(hash, SALT_BULK + 12, 2) == 0
                    ? 0
                    : plan_draw(hash, SALT_BULK + 13, 20);
    bulk->offset = plan_draw(hash, SALT_BULK + 14, 2) == 0
                       ? 0
                       : plan_draw(hash, SALT_BULK + 15, bulk->total + 1);
    bulk->size = bulk->total - bulk->offset;
    if (plan_draw(hash, SALT_BULK + 16, 3) == 0)
        bulk->size = plan_draw(hash, SALT_BULK + 17, bulk->size + 1);
    bulk->memory = plan_draw(hash, SALT_BULK + 18, PLAN_MEMORIES);
    bulk->is_restricted = plan_draw(hash, SALT_BULK + 19, 2) == 0;
}

/* One of so many calls has a way; 0: none. That of a time limit is drawn with
 * the group. */
static void ways_draw(const struct plan *plan, struct plan_call *call)
{
    static const unsigned one_of[PLAN_WAYS] = {
        [PLAN_WAY_CANCEL] = 8,
        [PLAN_WAY_DESTROY_EARLY] = 8,
        [PLAN_WAY_REUSE] = 3,
        [PLAN_WAY_KEEP] = 10,
        [PLAN_WAY_REFERENCE] = 8,
        [PLAN_WAY_BIND] = 3,
        [PLAN_WAY_PARTS] = 4,
        [PLAN_WAY_CANCEL_BULK] = 5,
        [PLAN_WAY_FREE_EARLY] = 6,
        [PLAN_WAY_BEYOND] = 6,
    };
    uint32_t ways = 0;

    if (call->is_last) {
        /* No handle may be left when the class ends. */
        call->ways = 1u << PLAN_WAY_DESTROY_EARLY;
        return;
    }
    for (unsigned way = 0; way < PLAN_WAY_TIMED; way++)
        if (has_bit(plan->ways, way) &&
            (way < PLAN_WAY_BIND || plan_kind_exposes(call->kind) ||
                plan_kind_moves(call->kind)) &&
            plan_draw(call->hash, SALT_WAY + way, one_of[way]) == 0)
            ways |= 1u << way;
    /* A handler that waits would wait for an answer that nobody gives; calls
     * without an id are only counted; one to oneself cannot be cancelled. */
    if (call->depth > 0 || call->kind == PLAN_TREE || call->kind == PLAN_RING ||
        call->kind == PLAN_PASS || call->kind == PLAN_EMPTY ||
        (call->target == call->origin && !plan_is_group(call->kind)))
        ways &= ~(1u << PLAN_WAY_CANCEL | 1u << PLAN_WAY_FREE_EARLY);
    if (has_bit(ways, PLAN_WAY_CANCEL) || has_bit(ways, PLAN_WAY_DESTROY_EARLY))
        ways &= ~(1u << PLAN_WAY_REUSE | 1u << PLAN_WAY_KEEP);
    if (has_bit(ways, PLAN_WAY_CANCEL))
        ways &= ~(1u << PLAN_WAY_DESTROY_EARLY);
    if (has_bit(ways, PLAN_WAY_REUSE))
        ways &= ~(1u << PLAN_WAY_KEEP);
    if (call->kind == PLAN_PASS || call->kind == PLAN_PASSED)
        ways |= 1u << PLAN_WAY_BIND;
    call->ways = ways;
}

/* Mostly no time, seldom a millisecond, once in a while 100. */
static unsigned time_draw(uint64_t hash, unsigned salt)
{
    unsigned how = plan_draw(hash, salt, 1000);

    return how < 600   ? 0
           : how < 900 ? plan_draw(hash, salt + 1, 200)
           : how < 997 ? plan_draw(hash, salt + 1, 2000)
                       : plan_draw(hash, salt + 1, 100000);
}

static void handler_draw(const struct plan *plan, struct plan_call *call)
{
    unsigned way = plan_draw(call->hash, SALT_HANDLER, PLAN_HANDLERS * 3 / 2);

    if (way >= PLAN_HANDLERS || !has_bit(plan->handlers, way) ||
        (way == PLAN_HANDLER_THREAD && !plan->is_threaded))
        way = PLAN_HANDLER_PLAIN;
    call->handler = (enum plan_handler)way;
    call->later_us = time_draw(call->hash, SALT_TIME);
    call->busy_us = time_draw(call->hash, SALT_TIME + 2) % 2000;
    call->cancel_us = time_draw(call->hash, SALT_TIME + 4);
    call->free_us = time_draw(call->hash, SALT_TIME + 6);
}

/* The hash of the root above a call. */
static uint64_t root_hash(const struct plan *plan, uint64_t id)
{
    return content_mix((id & ~(uint64_t)0xffff) ^ plan->hash);
}

/* All trees below a root wait, or none: a call that waits below one that does
 * not would not be counted in the chains. */
static void tree_draw(const struct plan *plan, struct plan_call *call)
{
    uint64_t hash = call->hash;
    uint64_t above = root_hash(plan, call->id);

    if (call->kind == PLAN_TREE) {
        call->waits = plan->chains > 0 && root_kind(plan, above) == PLAN_TREE &&
                      plan_draw(above, SALT_TREE + 1, 2) == 0;
        call->children =
            1 + plan_draw(hash, SALT_TREE, call->waits ? 2 : PLAN_CHILDREN_MAX);
    } else if (call->kind == PLAN_PASS) {
        call->waits = true;
        call->children = 1;
    } else if (call->kind == PLAN_RING) {
        call->waits = true;
        call->children =
            (call->id & 0xff) < 1 + plan_draw(above, SALT_TREE + 2, HOPS_MAX);
    } else if (call->kind == PLAN_ONE_WAY || call->kind == PLAN_STREAM) {
        if (call->depth == 0 && !call->is_last &&
            plan_draw(hash, SALT_TREE + 3, 10) == 0)
            call->children = 1 + plan_draw(hash, SALT_TREE, 2);
    }
}

static void lengths_draw(const struct plan *plan, struct plan_call *call)
{
    uint64_t hash = call->hash;

    switch (call->kind) {
    case PLAN_EMPTY:
    case PLAN_STREAM_EMPTY:
        break;
    case PLAN_STREAM:
        call->arg_len = plan_draw(hash, SALT_LEN, PLAN_STREAM_MAX + 1);
        break;
    case PLAN_RING:
    case PLAN_TREE:
        call->arg_len = plan_draw(hash, SALT_LEN, 2000);
        call->reply_len = plan_draw(hash, SALT_REPLY, 2000);
        break;
    default:
        call->arg_len = len_draw(plan, hash, SALT_LEN);
        call->reply_len = len_draw(plan, hash, SALT_REPLY);
        if (plan_kind_exposes(call->kind) || plan_kind_moves(call->kind) ||
            plan_is_group(call->kind)) {
            if (plan_draw(hash, SALT_LEN + 8, 3) != 0)
                call->arg_len = plan_draw(hash, SALT_LEN + 9, SHORT_LEN);
            if (plan_draw(hash, SALT_REPLY + 8, 3) != 0)
                call->reply_len = plan_draw(hash, SALT_REPLY + 9, SHORT_LEN);
        }
    }
    if (call->kind == PLAN_ONE_WAY)
        call->reply_len = 0;
}

/* A call to a group at a member: as that to all, but for what the member does.
 */
static struct plan_call member_call(const struct plan *plan, uint64_t id)
{
    struct plan_call call = plan_call(plan, id & ~(uint64_t)0xffff);
    unsigned rank = (unsigned)(id & 0xff) - MEMBER_FIRST;

    if (call.target != rank && call.odd != PLAN_ODD_ABSENT)
        call.odd = PLAN_ODD_NONE;
    call.id = id;
    call.kind = PLAN_MEMBER;
    call.depth = 1;
    call.target = rank;
    call.hash = content_mix(id ^ plan->hash);
    handler_draw(plan, &call);
    call.children = call.waits || plan_draw(call.hash, SALT_TREE, 8) == 0
                        ? plan_draw(call.hash, SALT_TREE + 1, 3)
                        : 0;
    return call;
}

struct plan_call plan_call(const struct plan *plan, uint64_t id)
{
    struct plan_call call;
    unsigned contexts = plan->contexts;
    uint64_t root = root_hash(plan, id);
    bool is_last = plan_root_index(id) >= plan->calls;
    bool is_passed =
        depth_of(id) > 0 && !is_last && root_kind(plan, root) == PLAN_PASS;

    if (is_below_member(id) && path_of(id) == 0)
        return member_call(plan, id);
    memset(&call, 0, sizeof(call));
    call.id = call.message_id = id;
    call.is_last = is_last;
    route_find(plan, id, is_passed, &call);
    if ((id & 0xff) > 0 && !is_below_member(id))
        call.kind = PLAN_RING;
    else if (is_passed)
        call.kind = PLAN_PASSED;
    else if (call.depth > 0)
        call.kind = child_kind(call.hash, call.depth);
    else if (call.is_last)
        call.kind = last_kind(call.hash);
    else
        call.kind = root_kind(plan, call.hash);
    if ((call.kind == PLAN_UNKNOWN || call.kind == PLAN_LATE) &&
        call.target == call.origin)
        call.kind = PLAN_CALL; /* an unknown RPC has no handle here */
    call.origin_context = plan_draw(call.hash, SALT_CONTEXT, contexts);
    call.target_context = plan_draw(call.hash, SALT_CONTEXT + 1, contexts);
    /* The rank that closes a context makes no calls there. */
    if (call.origin == plan->gone_rank && call.cls == 0 &&
        call.origin_context == plan->gone_context)
        call.origin_context = 0;
    if (call.kind == PLAN_EMPTY && plan_may_be_gone(plan, &call))
        call.target_context = 0; /* only counted */
    if (call.kind == PLAN_STREAM_EMPTY && !plan->is_job)
        call.kind = PLAN_STREAM; /* nothing tells who called */
    if (call.kind == PLAN_STREAM || call.kind == PLAN_STREAM_EMPTY)
        call.target_context = 0;
    if (call.kind == PLAN_NO_CONTEXT)
        call.target_context = contexts;
    lengths_draw(plan, &call);
    ways_draw(plan, &call);
    handler_draw(plan, &call);
    tree_draw(plan, &call);
    if (plan_is_group(call.kind))
        plan_group_draw(plan, root, &call);
    call.memory_id = id;
    call.pushes = call.kind == PLAN_PUSH;
    if (call.kind == PLAN_PASSED)
        call.memory_id = id & ~(uint64_t)0xffff;
    if (call.kind == PLAN_PASSED || call.kind == PLAN_PASS)
        call.pushes = plan_draw(root, SALT_BULK + 50, 2) == 0;
    if (plan_kind_exposes(call.kind) || plan_kind_moves(call.kind))
        bulk_draw(plan, call.kind == PLAN_PASSED ? root : call.hash, &call);
    return call;
}
