/* SPDX-License-Identifier: BSD-3-Clause */
/* Quiescence of a class: every rank learns that in the whole class no call is
 * under way, and no handler or callback runs.
 *
 * The ranks form the tree of calls to all ranks, with root 0. In a round each
 * rank tells its parent the sum of the calls that the ranks of its part have
 * ever sent, as soon as its children have told, and it is idle: it has entered,
 * none of its calls is unanswered or its callback due, each of its one-way
 * calls has come to its target, and no handler runs here. If two rounds have
 * equal sums, rank 0 tells all that the quiescence is over.
 *
 * Why it is right: let T be the time at which rank 0 has ended the last round
 * but one, and suppose that a call, or its handler or callback, is under way
 * after a rank was idle in the last round. The first such call was sent, by a
 * rank i, before i was idle in the last round, so, as the sums are equal,
 * before i was idle in the round before. At that moment it was answered, or, of
 * a one-way call, its handler was queued or running at a rank j. As this was
 * before T, j had no such handler any more when it was idle in the last round.
 * So there is no such call. Model: tests/models/quiet.pml.
 *
 * A rank is idle at a moment although sent_if_idle() checks one thing after the
 * other: no counter of calls sent and received, replies, transfers and runs of
 * handlers changes meanwhile. A handler counts as running from the arrival of
 * its call, or while the origin has its credit: until the call's handle is
 * destroyed (or its message released) and the handler has returned. NOTE(self):
 * a class of one process counts runs of handlers only from its first quiescence
 * on (a run takes 22 instructions more); before, the check sees a handler that
 * has destroyed its handle only if the handler runs in the thread that checks.
 *
 * No message flows while a handler runs or waits: a rank tells once in a round,
 * and a further round begins only after all have told. A rank that is not idle
 * looks again after 50 us, and at growing intervals up to 1 ms. Messages are
 * control messages, which take no credit. A parent has begun a round before its
 * children hear of that round, so no message comes too early, and a message for
 * which there is no memory is sent again: amg_quiet_look() does all that is
 * due, under the lock. */
#include "rpc/group.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "mercury_class.h"

#define LOOK_FIRST_NS 50000ull
#define LOOK_LAST_NS  AMG_NS_PER_MS

#define NO_SUM UINT64_MAX

/* Contents of a control message. */
struct notice {
    uint64_t sum;     /* to the parent */
    uint64_t is_over; /* to a child: the end; else the next round begins */
};

_Static_assert(sizeof(struct notice) <= AMG_CONTROL_LEN, "fits");

static struct amg_quiet *quiet_of(const hg_class_t *cls)
{
    return &amg_groups_of(cls)->quiet;
}

/* Does a context have an operation in flight, or a driver a request whose
 * answer or credit has not returned? */
static bool is_out(hg_class_t *cls, const hg_context_t *context)
{
    bool is_out = false;

    for (unsigned route = 0; route < AMG_ROUTE_COUNT && !is_out; route++) {
        struct amg_ep *ep = amg_context_ep(context, route);

        is_out = ep != NULL && !ep->transport->ep.is_clear(ep);
    }
    /* NOTE(not a leaf lock): keeps the contexts open, as for a report. */
    amg_lock_lock(&cls->report_lock);
    context = amg_class_context(cls, 0);
    for (; context != NULL && !is_out;
         context = amg_class_context(cls, context->id + 1u))
        is_out = amg_tally_sum(&context->in_flight) != 0;
    amg_lock_unlock(&cls->report_lock);
    return is_out;
}

/* The number of calls that this rank has sent. False: it is not idle. The
 * counters only grow; as all are equal before and after the checks, nothing has
 * begun or ended meanwhile in any thread. */
static bool sent_if_idle(const hg_context_t *context, uint64_t *ret_sent)
{
    hg_class_t *cls = context->cls;
    uint64_t before[AMG_COUNTERS] = {0};
    uint64_t after[AMG_COUNTERS] = {0};

    (void)amg_context_sum_all(cls, before);
    if (amg_role.is_running ||
        before[AMG_COUNT_RUNS_BEGUN] != before[AMG_COUNT_RUNS_ENDED] ||
        amg_pool_live(&amg_rpc_class_of(cls)->incoming) > 0 ||
        is_out(cls, context))
        return false;
    (void)amg_context_sum_all(cls, after);
    *ret_sent = after[AMG_COUNT_REQUESTS_SENT];
    return memcmp(before, after, sizeof(after)) == 0;
}

static hg_return_t notice_send(hg_context_t *context, uint32_t rank,
    enum amg_control kind, const struct notice *notice)
{
    struct hg_addr to;
    hg_return_t rc = amg_addr_init_rank(context->cls, rank, &to);

    if (rc == HG_SUCCESS) {
        rc = amg_control_send(context, &to, 0, kind, notice, sizeof(*notice));
        amg_addr_fini(&to);
    }
    if (rc != HG_SUCCESS && rc != HG_NOMEM)
        AMG_LOG_ERROR("rpc",
            "rank %u cannot be told about a quiescence (%s), which will not "
            "end",
            rank, HG_Error_to_string(rc));
    return rc;
}

/* Tells the children what follows the last round. False: no memory for that. */
static bool children_tell_locked(hg_context_t *context, struct amg_quiet *quiet)
{
    struct notice notice = {.is_over = quiet->is_over};
    struct amg_tree_walk walk = quiet->walk;
    struct amg_tree_part child;

    AMG_ASSERT_HELD(&quiet->lock);
    while (
        quiet->must_tell && amg_tree_walk_next(&quiet->tree, &walk, &child)) {
        if (notice_send(context, child.first, AMG_CONTROL_QUIET_DOWN,
                &notice) == HG_NOMEM)
            return false;
        quiet->walk = walk;
    }
    quiet->must_tell = false;
    return true;
}

/* The next round begins here, or all is over; the children are to be told. */
static void round_end_locked(struct amg_quiet *quiet, bool is_over)
{
    AMG_ASSERT_HELD(&quiet->lock);
    AMG_ASSERT(!quiet->must_tell && !quiet->is_over);
    quiet->is_over = is_over;
    quiet->walk = quiet->first;
    quiet->must_tell = true;
    quiet->has_told = false;
    quiet->came = 0;
    quiet->sum = 0;
    quiet->wait_ns = LOOK_FIRST_NS;
}

/* All ranks of this part have told: tells the parent, or at the root compares
 * the sums. False: no memory for the message. */
static bool part_tell_locked(
    hg_context_t *context, struct amg_quiet *quiet, uint64_t sum)
{
    struct notice notice = {.sum = sum};
    bool is_over = sum == quiet->before;

    AMG_ASSERT_HELD(&quiet->lock);
    if (context->cls->job.rank == 0) {
        quiet->before = is_over ? NO_SUM : sum;
        round_end_locked(quiet, is_over);
        return true;
    }
    quiet->has_told = notice_send(context, quiet->parent, AMG_CONTROL_QUIET_UP,
                          &notice) != HG_NOMEM;
    return quiet->has_told;
}

static void end_locked(
    hg_context_t *context, struct amg_quiet *quiet, hg_return_t ret)
{
    AMG_ASSERT_HELD(&quiet->lock);
    quiet->is_over = false;
    quiet->ret = ret;
    if (quiet->callback == NULL) {
        amg_context_ring(context);
        return;
    }
    amg_context_enter(context); /* until the callback has returned */
    quiet->context = context;
    amg_context_queue(context, &quiet->entry);
}

/* Does what is due. False: something is due, but not possible yet. */
static bool move_locked(hg_context_t *context, struct amg_quiet *quiet)
{
    uint64_t sent = 0;

    AMG_ASSERT_HELD(&quiet->lock);
    while (children_tell_locked(context, quiet)) {
        if (quiet->is_over)
            end_locked(context, quiet, HG_SUCCESS);
        if (!quiet->has_entered || quiet->ret != HG_AGAIN || quiet->has_told ||
            quiet->came < quiet->children)
            return true;
        if (!sent_if_idle(context, &sent) ||
            !part_tell_locked(context, quiet, quiet->sum + sent))
            return false;
    }
    return false;
}

void amg_quiet_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_quiet *quiet = quiet_of(context->cls);

    if (context->id != 0)
        return;
    amg_lock_lock(&quiet->lock);
    if (now_ns == AMG_CONTEXT_NEVER) {
        if (quiet->has_entered && quiet->ret == HG_AGAIN)
            end_locked(context, quiet, HG_CANCELED);
    } else if (amg_job_has_deaths(&context->cls->job)) {
        if (quiet->has_entered && quiet->ret == HG_AGAIN)
            end_locked(context, quiet, HG_HOSTUNREACH);
    } else if (!move_locked(context, quiet)) {
        amg_context_look_at(context, amg_clock_ns() + quiet->wait_ns);
        if (quiet->wait_ns < LOOK_LAST_NS)
            quiet->wait_ns *= 2;
    }
    amg_lock_unlock(&quiet->lock);
}

void amg_quiet_told(
    hg_context_t *context, enum amg_control kind, const void *bytes)
{
    struct amg_quiet *quiet = quiet_of(context->cls);
    struct notice notice;

    memcpy(&notice, bytes, sizeof(notice));
    amg_lock_lock(&quiet->lock);
    if (kind == AMG_CONTROL_QUIET_UP && quiet->came < quiet->children) {
        quiet->came++;
        quiet->sum += notice.sum;
    } else if (kind == AMG_CONTROL_QUIET_DOWN && quiet->has_told) {
        round_end_locked(quiet, notice.is_over != 0);
    }
    amg_lock_unlock(&quiet->lock);
    /* Not here, where the handle of this message exists. */
    amg_context_look_at(context, 0);
}

static void quiet_run(struct amg_cq_entry *entry)
{
    struct amg_quiet *quiet = amg_container_of(entry, struct amg_quiet, entry);
    amalgam_quiesce_cb_t callback = quiet->callback;
    hg_context_t *context = quiet->context;
    hg_return_t ret = quiet->ret;
    void *arg = quiet->arg;

    amg_lock_lock(&quiet->lock);
    quiet->has_entered = false; /* the callback may enter again */
    amg_lock_unlock(&quiet->lock);
    callback(ret, arg);
    amg_context_leave(context);
}

hg_return_t amg_quiet_enter(
    hg_class_t *cls, amalgam_quiesce_cb_t callback, void *arg)
{
    struct amg_quiet *quiet = quiet_of(cls);
    hg_context_t *context = amg_class_context(cls, 0);
    hg_return_t ret = HG_BUSY;

    if (cls->job.size == 0) {
        AMG_LOG_ERROR(
            "rpc", "quiescence: the peers of this class are no ranks");
        return HG_OPNOTSUPPORTED;
    }
    if (!AMG_CONTRACT(context != NULL && context->id == 0,
            "quiescence: the class has no context of id 0"))
        return HG_INVALID_ARG;
    amg_lock_lock(&quiet->lock);
    if (!quiet->has_entered) {
        quiet->ret = ret = HG_AGAIN;
        quiet->has_entered = true;
        quiet->callback = callback;
        quiet->arg = arg;
        quiet->wait_ns = LOOK_FIRST_NS;
        amg_context_look_at(context, 0);
        for (; context != NULL;
             context = amg_class_context(cls, context->id + 1u))
            atomic_store_explicit(&context->rpc->run, amg_serve_run_counted,
                memory_order_relaxed);
    } else if (callback == NULL && quiet->callback == NULL) {
        ret = quiet->ret;
        quiet->has_entered = ret == HG_AGAIN;
    }
    amg_lock_unlock(&quiet->lock);
    return ret;
}

hg_return_t amalgam_quiesce_start(
    hg_class_t *hg_class, amalgam_quiesce_cb_t callback, void *arg)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(callback))
        return amg_refusal();
    rc = amg_quiet_enter(hg_class, callback, arg);
    return rc == HG_AGAIN ? HG_SUCCESS : rc;
}

void amg_quiet_attach(hg_class_t *cls)
{
    struct amg_quiet *quiet = quiet_of(cls);
    const struct amg_class_job *job = &cls->job;
    struct amg_tree_part part = {0, job->size};
    struct amg_tree_walk walk;

    amg_lock_init(&quiet->lock);
    quiet->entry.run = quiet_run;
    quiet->before = NO_SUM;
    if (job->size == 0)
        return;
    quiet->tree = (struct amg_tree){
        .stride = 1, .node_size = job->node_size, .width = AMG_GROUP_WIDTH};
    part = amg_tree_find(&quiet->tree, part, job->rank, &quiet->parent);
    quiet->first =
        amg_tree_walk_begin(&quiet->tree, part, job->rank, job->rank);
    for (walk = quiet->first; amg_tree_walk_next(&quiet->tree, &walk, &part);)
        quiet->children++;
}
