/* SPDX-License-Identifier: BSD-3-Clause */
/* Look at all handles and transfers: the operations that wait in this process,
 * for which rank, and since when.
 *
 * No call gets a time stamp when it is made. Four times a second, while context
 * 0 makes progress, a tick visits all handles and transfers and stamps those
 * that have no stamp yet (base/stamp.h), so the tick knows ages to a quarter of
 * a second, and a call that is not hung pays nothing. The tick takes the oldest
 * operation, asks the driver where it is, and writes the result into the status
 * page. Among late operations those that a handler has begun come first: they
 * are the links of a chain of ranks that wait for each other.
 *
 * A look reads a cache line per handle that ever existed. */
#include "rpc/hang.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/stamp.h"
#include "bulk/bulk_transfer.h"
#include "rpc/handle.h"
#include "transport/calls.h"

/* States of a call that waits for somebody. */
enum {
    AWAITED_HERE =
        AMG_HANDLE_BIT(POSTED) | AMG_HANDLE_BIT(FETCHING), /* at its origin */
    AWAITED_THERE = AMG_HANDLE_BIT(PULLING) | AMG_HANDLE_BIT(WAITING) |
                    AMG_HANDLE_BIT(RUNNING) | AMG_HANDLE_BIT(REPLYING) |
                    AMG_HANDLE_BIT(ACK_WAIT),
};

enum { SOON_MS = 500 }; /* two looks */

/* An operation under way, which may end meanwhile. */
struct found_op {
    const struct amg_op *op; /* NULL: none, or a pull of `handle` */
    struct hg_handle *handle;
    unsigned word; /* state and stamp of `handle` */
    unsigned route;
    bool is_served; /* begun in a handler */
    uint32_t age_ms;
    uint64_t id; /* of the RPC; 0: a transfer */
};

/* A look at all that is under way. */
struct scan {
    uint32_t now;     /* stamp */
    uint32_t late_ms; /* from this age on an operation is late */
    struct found_op oldest;
    struct amg_doing doing; /* collects counts and the oldest handler */
    /* A call that was asked about; the peer is only compared. */
    const struct amg_peer *caller;
    uint64_t call;
};

/* How much an operation is worth telling of. Links of a chain of ranks, begun
 * in handlers, come first. The call that began the chain is often a bit older;
 * for SOON_MS after that call is late, links may still become late. */
static unsigned worth_of(const struct scan *look, const struct found_op *found)
{
    if (found->is_served && found->age_ms >= look->late_ms)
        return 3;
    if (found->age_ms >= SOON_MS && found->age_ms - SOON_MS >= look->late_ms)
        return 2;
    return found->is_served && found->age_ms + SOON_MS >= look->late_ms ? 1 : 0;
}

/* Takes a later found operation, if it is more worth telling of. */
static void found_take(struct scan *look, const struct found_op *other)
{
    struct found_op *oldest = &look->oldest;
    bool is_first = oldest->handle == NULL && oldest->op == NULL;
    unsigned worth = worth_of(look, other);
    unsigned was_worth = worth_of(look, oldest);

    look->doing.more += other->age_ms >= look->late_ms;
    if (is_first || worth > was_worth ||
        (worth == was_worth && other->age_ms > oldest->age_ms))
        *oldest = *other;
}

AMG_STAMP_READS static void outgoing_visit(void *object, void *arg)
{
    struct hg_handle *handle = object;
    struct scan *look = arg;
    unsigned word = amg_stamp_visit(&handle->state, AWAITED_HERE, look->now);
    bool is_pull = (word & AMG_STAMP_STATE) == AMG_HANDLE_FETCHING;
    struct found_op found = {.op = is_pull ? NULL : &handle->op,
        .handle = handle,
        .word = word,
        .route = handle->addr.route,
        .is_served = handle->entry.is_incoming,
        .age_ms = amg_stamp_age_ms(look->now, word),
        .id = handle->info.id};

    if (word != 0 && amg_stamp_is_same(&handle->state, word))
        found_take(look, &found);
}

/* The stage of a call at its target. */
static enum amg_stage stage_of(unsigned state)
{
    switch (state) {
    case AMG_HANDLE_PULLING:
        return AMG_STAGE_PULLING;
    case AMG_HANDLE_WAITING:
        return AMG_STAGE_QUEUED;
    case AMG_HANDLE_RUNNING:
        return AMG_STAGE_RUNS;
    default:
        return AMG_STAGE_ANSWER;
    }
}

/* Counts a call of a peer at its target. */
static void incoming_take(struct scan *look, enum amg_stage stage,
    const struct amg_peer *from, uint64_t id, uint32_t age_ms)
{
    struct amg_doing *doing = &look->doing;

    doing->running += stage == AMG_STAGE_RUNS && doing->running < UINT16_MAX;
    doing->queued +=
        (stage == AMG_STAGE_QUEUED || stage == AMG_STAGE_PULLING) &&
        doing->queued < UINT16_MAX;
    if (stage == AMG_STAGE_RUNS &&
        (doing->handler == 0 || age_ms > doing->handler_ms)) {
        doing->handler = id;
        doing->handler_ms = age_ms;
    }
    if (from != look->caller || id != look->call ||
        (doing->call_stage != AMG_STAGE_NONE && age_ms <= doing->call_ms))
        return;
    doing->call_stage = (uint8_t)stage;
    doing->call_ms = age_ms;
}

AMG_STAMP_READS static void incoming_visit(void *object, void *arg)
{
    struct hg_handle *handle = object;
    struct scan *look = arg;
    unsigned word = amg_stamp_visit(&handle->state, AWAITED_THERE, look->now);
    uint32_t age_ms = amg_stamp_age_ms(look->now, word);
    enum amg_stage stage = stage_of(word & AMG_STAMP_STATE);
    const struct amg_peer *from = handle->addr.peer;
    uint64_t id = handle->info.id;
    struct found_op pull = {.handle = handle,
        .word = word,
        .route = handle->addr.route,
        .is_served = true,
        .age_ms = age_ms};

    if (word == 0 || !amg_stamp_is_same(&handle->state, word))
        return;
    incoming_take(look, stage, from, id, age_ms);
    if (stage == AMG_STAGE_PULLING)
        found_take(look, &pull);
}

static void transfers_look(hg_class_t *cls, struct scan *look)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL;
         context = amg_class_context(cls, context->id + 1u)) {
        struct amg_transfers_look at = {
            .now = look->now, .late_ms = look->late_ms};
        struct found_op found;

        amg_transfers_look(context, &at);
        if (at.op == NULL)
            continue;
        found = (struct found_op){.op = at.op,
            .route = at.route,
            .is_served = at.is_served,
            .age_ms = at.age_ms};
        found_take(look, &found);
        look->doing.more += at.late - (at.age_ms >= look->late_ms);
    }
}

/* Visits all that is under way. No domain or context closes meanwhile, as the
 * caller holds the lock for reports. */
static void look_take(hg_class_t *cls, struct scan *look)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);

    AMG_ASSERT_HELD(&cls->report_lock);
    amg_pool_visit(&rpcs->handles, outgoing_visit, look);
    amg_pool_visit(&rpcs->incoming, incoming_visit, look);
    transfers_look(cls, look);
}

/* The rank whose memory a handle pulls from. False: the pull has ended, or has
 * not begun. NOTE(not a leaf): while `fetch` is set, which the lock guards, the
 * pull has a reference to the handle, and the handle to the peer. */
static bool pull_find(
    const struct found_op *found, struct amg_whereabouts *where)
{
    struct hg_handle *handle = found->handle;
    hg_context_t *context = handle->info.context;
    int rank = -1;
    bool is_there = false;

    amg_lock_lock(&context->rpc->lock);
    is_there = atomic_load_explicit(&handle->state, memory_order_relaxed) ==
                   found->word &&
               handle->fetch != NULL;
    if (is_there) {
        rank = amg_addr_rank(&handle->addr);
        (void)amg_addr_text(&handle->addr, where->name, sizeof(where->name));
    }
    amg_lock_unlock(&context->rpc->lock);
    where->rank = rank < 0 ? AMG_STATUS_NOBODY : (uint32_t)rank;
    where->stage = found->id == 0 ? AMG_STAGE_MOVES : AMG_STAGE_ANSWER;
    return is_there;
}

/* Finds out where the oldest operation is. False: none, or it has ended. */
static bool oldest_find(const hg_class_t *cls, const struct found_op *oldest,
    struct amg_whereabouts *where)
{
    struct amg_domain *domain = cls->domains[oldest->route];

    *where = (struct amg_whereabouts){.rank = AMG_STATUS_NOBODY};
    if (oldest->op == NULL)
        return oldest->handle != NULL && pull_find(oldest, where);
    if (oldest->route == AMG_ROUTE_SELF) {
        where->rank = cls->job.size > 0 ? cls->job.rank : AMG_STATUS_NOBODY;
        where->stage = AMG_STAGE_SENT;
        return true;
    }
    return domain != NULL &&
           domain->transport->domain.look(domain, oldest->op, where);
}

void amg_hang_read(hg_class_t *cls, uint32_t late_ms, uint32_t caller,
    uint64_t call, struct amg_doing *ret_doing)
{
    struct scan look = {.now = amg_stamp_of(amg_clock_ns()),
        .late_ms = late_ms,
        .call = call,
        .doing = {.rank = cls->job.rank, .to = AMG_STATUS_NOBODY}};
    const struct found_op *oldest = &look.oldest;
    struct amg_doing *doing = &look.doing;
    struct amg_whereabouts where;
    struct hg_addr from = {.peer = NULL};

    if (caller < cls->job.size &&
        amg_addr_init_rank(cls, caller, &from) == HG_SUCCESS)
        look.caller = from.peer;
    amg_lock_lock(&cls->report_lock);
    look_take(cls, &look);
    if (oldest_find(cls, oldest, &where)) {
        doing->to = where.rank;
        doing->stage = where.stage;
        doing->to_ms = oldest->age_ms;
        doing->to_call = oldest->id;
        doing->is_served = oldest->is_served;
        doing->waiting =
            (uint16_t)(where.waiting < UINT16_MAX ? where.waiting : UINT16_MAX);
        doing->more -= oldest->age_ms >= late_ms;
    }
    amg_lock_unlock(&cls->report_lock);
    if (look.caller != NULL)
        amg_addr_fini(&from);
    amg_doing_complete(cls->job.status, doing);
    *ret_doing = *doing;
}
