/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer between two bulk handles: push or pull, as a state machine.
 *
 * Both sides are lists of segments. The transfer walks over both at once; each
 * stretch that is contiguous on both sides is a piece, which the driver of the
 * route moves. A few pieces are in motion at a time: when one has ended, its
 * place takes the next, so that a transfer of any number of segments needs a
 * fixed amount of memory. The cursor and the counters are guarded by the lock;
 * posting happens outside of it. The thread that starts the transfer counts as
 * a piece until it is through, so the end cannot overtake the start.
 *
 * Most transfers are one piece that nobody can cancel: they are alone. Then
 * only one thread at a time knows of the transfer - who starts it, up to the
 * post; the driver, whose own guard hands it on; the progress owner, from the
 * step on - and nobody takes the lock. Who starts it does not touch it after
 * the post, so it is not counted, and the address is only borrowed: a driver
 * keeps the peer of what is posted by itself. */
#include "bulk/bulk_transfer.h"

#include <assert.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"

enum { PIECES = 8 };

struct piece {
    struct amg_op op;
    struct hg_op_id *transfer;
};

/* Owned by the library until `done` was called, by the callee then. */
struct hg_op_id {
    struct amg_transfer_plan plan;
    struct hg_addr addr;
    amg_transfer_done_fn done;
    void *owner;
    bool is_alone;        /* see above; then nothing below is guarded */
    struct amg_lock lock; /* guards all below */
    enum amg_transfer_state state;
    struct amg_place at_origin;
    struct amg_place at_local;
    uint64_t left;      /* bytes not yet given to a piece */
    unsigned in_motion; /* pieces, and the starting thread */
    unsigned posted;    /* a bit for each piece that is in motion */
    bool is_cancelled;
    hg_return_t ret;                 /* the first error */
    struct amg_transfer_asked asked; /* guarded by its owner */
    struct piece pieces[PIECES];     /* each set up when it is first used */
};

static_assert(
    sizeof(struct hg_op_id) <= AMG_CONTEXT_TRANSFER_LEN, "must fit the pool");

static const unsigned state_edges[AMG_TRANSFER_STATE_COUNT] = {
    [AMG_TRANSFER_IDLE] = 1u << AMG_TRANSFER_MOVING,
    [AMG_TRANSFER_MOVING] = 1u << AMG_TRANSFER_READY,
};

static void transfer_set_state(
    struct hg_op_id *transfer, enum amg_transfer_state next)
{
    AMG_ASSERT((state_edges[transfer->state] >> next & 1u) != 0);
    transfer->state = next;
}

/* Moves `at` over segments that are used up or empty; how much is left in the
 * one it stands in then. */
static uint64_t place_left(struct amg_place *at)
{
    while (at->into >= at->segments[at->segment].len &&
           at->segment + 1 < at->count) {
        at->into -= at->segments[at->segment].len;
        at->segment++;
    }
    return at->segments[at->segment].len - at->into;
}

static unsigned piece_bit(const struct piece *piece)
{
    return 1u << (piece - piece->transfer->pieces);
}

/* What one piece is to move. */
struct stretch {
    struct amg_place local;
    struct amg_remote remote;
    uint64_t len;
};

static bool takes_lists(const struct hg_op_id *transfer)
{
    const struct amg_domain *domain =
        transfer->plan.context->cls->domains[transfer->addr.route];
    struct amg_limits limits;

    domain->transport->domain.limits(domain, &limits);
    return limits.takes_lists;
}

/* Takes the next stretch off what is left. */
static void stretch_take(struct hg_op_id *transfer, struct stretch *ret_stretch)
{
    uint64_t origin_left = place_left(&transfer->at_origin);
    uint64_t len = place_left(&transfer->at_local);

    len = len < origin_left ? len : origin_left;
    len = len < transfer->left ? len : transfer->left;
    if (takes_lists(transfer))
        len = transfer->left;
    AMG_ASSERT(len > 0);
    ret_stretch->len = len;
    ret_stretch->local = transfer->at_local;
    ret_stretch->remote.key = transfer->plan.origin->keys[transfer->addr.route];
    ret_stretch->remote.at = transfer->at_origin;
    transfer->at_origin.into += len;
    transfer->at_local.into += len;
    transfer->left -= len;
}

/* Takes the next stretch for `piece`; false when there is none. */
static bool transfer_take(
    struct hg_op_id *transfer, struct piece *piece, struct stretch *ret_stretch)
{
    bool has_more = false;

    amg_lock_take(&transfer->lock);
    has_more = transfer->left > 0 && !transfer->is_cancelled &&
               transfer->ret == HG_SUCCESS;
    if (has_more) {
        stretch_take(transfer, ret_stretch);
        transfer->in_motion++;
        transfer->posted |= piece_bit(piece);
    }
    amg_lock_give(&transfer->lock);
    return has_more;
}

/* One thing less in motion; the last one tells the owner. */
static void transfer_leave(
    struct hg_op_id *transfer, struct piece *piece, hg_return_t rc)
{
    bool is_last = false;

    amg_lock_take(&transfer->lock);
    if (piece != NULL)
        transfer->posted &= ~piece_bit(piece);
    if (transfer->ret == HG_SUCCESS)
        transfer->ret = rc;
    transfer->in_motion--;
    is_last = transfer->in_motion == 0;
    if (is_last) {
        if (transfer->ret == HG_SUCCESS && transfer->left > 0)
            transfer->ret = HG_CANCELED;
        transfer_set_state(transfer, AMG_TRANSFER_READY);
    }
    amg_lock_give(&transfer->lock);
    if (is_last)
        transfer->done(transfer);
}

/* One that is alone may be gone after it. */
static hg_return_t stretch_post(
    struct hg_op_id *transfer, struct piece *piece, struct stretch *stretch)
{
    hg_context_t *context = transfer->plan.context;
    unsigned route = transfer->addr.route;
    struct amg_ep *ep = amg_context_ep(context, route);
    hg_return_t rc = HG_SUCCESS;

    if (transfer->plan.op == HG_BULK_PULL)
        rc = ep->transport->bulk.get(ep, transfer->addr.peer,
            transfer->plan.origin_context, &stretch->local, &stretch->remote,
            stretch->len, &piece->op);
    else
        rc = ep->transport->bulk.put(ep, transfer->addr.peer,
            transfer->plan.origin_context, &stretch->local, &stretch->remote,
            stretch->len, &piece->op);
    if (rc == HG_SUCCESS)
        amg_context_posted(context, route);
    return rc;
}

static void piece_init(struct hg_op_id *transfer, struct piece *piece,
    void (*step)(struct amg_op *))
{
    piece->transfer = transfer;
    piece->op =
        (struct amg_op){.step = step, .is_final = transfer->plan.is_final};
}

static void alone_end(struct hg_op_id *transfer, hg_return_t rc)
{
    transfer->ret = rc;
    transfer_set_state(transfer, AMG_TRANSFER_READY);
    transfer->done(transfer);
}

static void alone_step(struct amg_op *op)
{
    alone_end(AMG_OBJECT(op, struct piece, op)->transfer, op->ret);
}

static void alone_go(struct hg_op_id *transfer)
{
    struct stretch stretch;
    hg_return_t rc = HG_SUCCESS;

    transfer_set_state(transfer, AMG_TRANSFER_MOVING);
    stretch_take(transfer, &stretch);
    piece_init(transfer, transfer->pieces, alone_step);
    rc = stretch_post(transfer, transfer->pieces, &stretch);
    if (rc != HG_SUCCESS)
        alone_end(transfer, rc);
}

static bool transfer_is_cancelled(struct hg_op_id *transfer)
{
    bool is_cancelled = false;

    amg_lock_take(&transfer->lock);
    is_cancelled = transfer->is_cancelled;
    amg_lock_give(&transfer->lock);
    return is_cancelled;
}

static void piece_cancel(struct hg_op_id *transfer, struct piece *piece)
{
    hg_context_t *context = transfer->plan.context;
    unsigned route = transfer->addr.route;
    struct amg_ep *ep = amg_context_ep(context, route);

    ep->transport->ep.cancel(ep, &piece->op);
    amg_context_posted(context, route);
}

/* Gives the piece the next stretch; false: there is none. The caller counts as
 * one in motion, so the transfer is still there after the post. A wish to
 * cancel that came before the post found nothing to cancel: it is granted here.
 */
static bool piece_go_on(struct hg_op_id *transfer, struct piece *piece)
{
    struct stretch stretch;
    hg_return_t rc = HG_SUCCESS;

    if (!transfer_take(transfer, piece, &stretch))
        return false;
    rc = stretch_post(transfer, piece, &stretch);
    if (rc != HG_SUCCESS)
        transfer_leave(transfer, piece, rc);
    else if (transfer_is_cancelled(transfer))
        piece_cancel(transfer, piece);
    return true;
}

static void piece_step(struct amg_op *op)
{
    struct piece *piece = AMG_OBJECT(op, struct piece, op);
    struct hg_op_id *transfer = piece->transfer;
    hg_return_t rc = op->ret;

    amg_lock_take(&transfer->lock);
    transfer->posted &= ~piece_bit(piece);
    amg_lock_give(&transfer->lock);
    if (rc == HG_SUCCESS)
        (void)piece_go_on(transfer, piece);
    transfer_leave(transfer, NULL, rc);
}

/* All bytes came with the descriptor: no piece is needed. */
static void transfer_copy_eager(struct hg_op_id *transfer)
{
    const char *from = (const char *)transfer->plan.origin->eager +
                       transfer->plan.origin_offset;

    while (transfer->left > 0) {
        void *to = NULL;
        uint64_t len = amg_place_take(&transfer->at_local, transfer->left, &to);

        memcpy(to, from, len);
        from += len;
        transfer->left -= len;
    }
}

static bool is_eager(const struct amg_transfer_plan *plan)
{
    return plan->op == HG_BULK_PULL && plan->origin->eager != NULL;
}

static hg_return_t plan_check(const struct amg_transfer_plan *plan)
{
    const struct hg_bulk *origin = plan->origin;
    const struct hg_bulk *local = plan->local;
    bool is_pull = plan->op == HG_BULK_PULL;
    unsigned origin_needs = is_pull ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY;
    unsigned local_needs = is_pull ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY;

    if (!AMG_CONTRACT(plan->op == HG_BULK_PULL || plan->op == HG_BULK_PUSH))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(local->is_local))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(origin->cls == plan->context->cls &&
                      local->cls == plan->context->cls &&
                      plan->origin_addr->cls == plan->context->cls))
        return HG_INVALID_ARG;
    if (plan->origin_offset > origin->len ||
        plan->len > origin->len - plan->origin_offset ||
        plan->local_offset > local->len ||
        plan->len > local->len - plan->local_offset) {
        AMG_LOG_ERROR("bulk",
            "%llu bytes from offset %llu of %llu (origin) and %llu of %llu "
            "(local) reach beyond the end",
            (unsigned long long)plan->len,
            (unsigned long long)plan->origin_offset,
            (unsigned long long)origin->len,
            (unsigned long long)plan->local_offset,
            (unsigned long long)local->len);
        return HG_INVALID_ARG;
    }
    if ((origin->flags & origin_needs) == 0 ||
        (local->flags & local_needs) == 0) {
        AMG_LOG_ERROR("bulk",
            "a %s needs the origin's handle %s (it is flags %u) and the local "
            "one %s (flags %u)",
            is_pull ? "pull" : "push", is_pull ? "readable" : "writable",
            origin->flags, is_pull ? "writable" : "readable", local->flags);
        return HG_PERMISSION;
    }
    return HG_SUCCESS;
}

/* The origin's handle has a key for the route that leads to it. */
static hg_return_t route_check(const struct hg_op_id *transfer)
{
    char text[256];

    if (transfer->plan.origin->keys[transfer->addr.route].len > 0)
        return HG_SUCCESS;
    AMG_LOG_ERROR("bulk",
        "the descriptor has no key for the way to %s: it was made by a class "
        "that has that transport not open",
        amg_addr_text(&transfer->addr, text, sizeof(text)));
    return HG_OPNOTSUPPORTED;
}

static bool transfer_is_alone(struct hg_op_id *transfer)
{
    const struct amg_transfer_plan *plan = &transfer->plan;

    return plan->is_final && plan->len > 0 && !is_eager(plan) &&
           (takes_lists(transfer) ||
               (place_left(&transfer->at_origin) >= plan->len &&
                   place_left(&transfer->at_local) >= plan->len));
}

static struct amg_place place_of(const struct hg_bulk *bulk, uint64_t offset)
{
    struct amg_place at = {.segments = bulk->segments, .count = bulk->count};

    at.segment = amg_bulk_find(bulk, offset, &at.into);
    return at;
}

/* Field by field: the pieces and what was asked are set when they are used. */
static void transfer_init(struct hg_op_id *transfer,
    const struct amg_transfer_plan *plan, amg_transfer_done_fn done,
    void *owner)
{
    transfer->plan = *plan;
    transfer->done = done;
    transfer->owner = owner;
    amg_lock_init(&transfer->lock);
    transfer->state = AMG_TRANSFER_IDLE;
    transfer->at_origin = place_of(plan->origin, plan->origin_offset);
    transfer->at_local = place_of(plan->local, plan->local_offset);
    transfer->left = plan->len;
    transfer->in_motion = 1; /* this thread */
    transfer->posted = 0;
    transfer->is_cancelled = false;
    transfer->ret = HG_SUCCESS;
    amg_addr_borrow(plan->origin_addr->cls, plan->origin_addr->route,
        plan->origin_addr->peer, &transfer->addr);
    transfer->is_alone = transfer_is_alone(transfer);
    if (!transfer->is_alone)
        amg_addr_init_copy(plan->origin_addr, &transfer->addr);
    transfer->plan.origin_addr = &transfer->addr;
    amg_bulk_hold(plan->origin);
    amg_bulk_hold(plan->local);
    amg_context_enter(plan->context);
}

hg_return_t amg_transfer_create(const struct amg_transfer_plan *plan,
    amg_transfer_done_fn done, void *owner, struct hg_op_id **ret_transfer)
{
    struct hg_op_id *transfer = NULL;
    hg_return_t rc = plan_check(plan);

    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_bulk_register(plan->origin);
    if (rc != HG_SUCCESS)
        return rc;
    transfer = amg_pool_get(&plan->context->transfers);
    if (transfer == NULL)
        return HG_NOMEM;
    transfer_init(transfer, plan, done, owner);
    if (plan->len > 0 && !is_eager(plan)) {
        rc = route_check(transfer);
        if (rc != HG_SUCCESS) {
            amg_transfer_end(transfer);
            return rc;
        }
    }
    *ret_transfer = transfer;
    return HG_SUCCESS;
}

void amg_transfer_go(struct hg_op_id *transfer)
{
    unsigned i = 0;

    if (transfer->is_alone) {
        alone_go(transfer);
        return;
    }
    amg_lock_take(&transfer->lock);
    transfer_set_state(transfer, AMG_TRANSFER_MOVING);
    amg_lock_give(&transfer->lock);
    if (is_eager(&transfer->plan))
        transfer_copy_eager(transfer);
    for (i = 0; i < PIECES; i++) {
        piece_init(transfer, &transfer->pieces[i], piece_step);
        if (!piece_go_on(transfer, &transfer->pieces[i]))
            break;
    }
    transfer_leave(transfer, NULL, HG_SUCCESS);
}

void amg_transfer_cancel(struct hg_op_id *transfer)
{
    unsigned posted = 0;
    unsigned i = 0;

    AMG_ASSERT(!transfer->is_alone);
    amg_lock_take(&transfer->lock);
    transfer->is_cancelled = true;
    posted = transfer->posted;
    amg_lock_give(&transfer->lock);
    for (i = 0; i < PIECES; i++)
        if ((posted >> i & 1u) != 0)
            piece_cancel(transfer, &transfer->pieces[i]);
}

hg_return_t amg_transfer_result(const struct hg_op_id *transfer)
{
    return transfer->ret;
}

void *amg_transfer_owner(const struct hg_op_id *transfer)
{
    return transfer->owner;
}

struct amg_transfer_asked *amg_transfer_asked(struct hg_op_id *transfer)
{
    return &transfer->asked;
}

void amg_transfer_end(struct hg_op_id *transfer)
{
    hg_context_t *context = transfer->plan.context;

    amg_addr_fini(&transfer->addr);
    amg_bulk_leave(transfer->plan.origin);
    amg_bulk_leave(transfer->plan.local);
    amg_pool_put(&context->transfers, transfer);
    amg_context_leave(context);
}
