/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of calls, transfers and collective calls that wait for long.
 *
 * Four times a second, while context 0 makes progress, a tick looks at what is
 * under way (hang_look.c), writes the result into the status page, and, if
 * something has waited for AMALGAM_HANG_S, claims at a reporter. The reporter
 * is rank 0, or if that does not answer rank 1, or this rank. The reporter
 * walks along the ranks that wait for each other (hang_walk.c), and logs the
 * chain (hang_report.c). A report changes nothing: no call ends by it.
 *
 * All messages are control messages, which take no credit. Every wait for a
 * message has a deadline, only the reporter has state, and what it does not
 * hear of is claimed again later. So no lost message matters, and nothing waits
 * in a circle. Two ranks report one hang only if an answer to a claim is later
 * than CLAIM_MS. Messages leave and lines are logged with no lock held.
 *
 * A long look makes ticks rarer, so that they take a hundredth of the time. */
#include "rpc/hang.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/process.h"
#include "rpc/handle.h"
#include "transport/calls.h"

enum {
    REST = 100,     /* share of the time that ticks take at most */
    CLAIM_MS = 350, /* until a claim goes to the next reporter */
    LOOK_MS = 50,   /* between two looks while a claim or a walk is open */
    REPORTERS = 2,
};

/* Least time between two ticks, which come from several sources, and most time
 * by which a long look puts off the next tick: a thread may have been off its
 * core during the look. */
#define LEAST_NS (AMG_TICK_NS / 5 * 4)
#define MOST_NS  (2 * NS_PER_S)
#define NS_PER_S (1000 * AMG_NS_PER_MS)

/* Contents of HANG_CLAIM and HANG_TAKEN. */
struct claim {
    uint32_t from, serial, is_asked;
};

_Static_assert(sizeof(struct amg_hang_ask) <= AMG_CONTROL_LEN &&
                   sizeof(struct amg_hang_piece) <= AMG_CONTROL_LEN,
    "fit");

static struct amg_hang *hang_of(const hg_class_t *cls)
{
    return amg_rpc_class_of(cls)->hang;
}

/* Sends a message; no code, as its deadline or a later claim repeats it. */
static void message_send(hg_context_t *context, uint32_t rank,
    enum amg_control kind, const void *bytes, size_t len)
{
    struct hg_addr to;

    if (amg_addr_init_rank(context->cls, rank, &to) != HG_SUCCESS)
        return;
    (void)amg_control_send(context, &to, 0, kind, bytes, len);
    amg_addr_fini(&to);
}

/* Reads the page of a rank of this node. False: it cannot be read, or has no
 * such class. */
static bool page_read(const hg_class_t *cls, const struct amg_class_mate *mate,
    struct amg_doing *ret_doing)
{
    struct amg_status *page = NULL;
    struct amg_status_facts facts;
    bool is_there = false;

    if (amg_status_find(mate->pid, mate->start_time, &page) != HG_SUCCESS)
        return false;
    for (unsigned i = 0; i < AMG_STATUS_CLASSES && !is_there; i++)
        is_there = amg_status_read(page, i, &facts) &&
                   facts.doing.rank == mate->rank &&
                   page->classes[i].size == cls->job.size;
    amg_status_drop(page);
    if (is_there)
        *ret_doing = facts.doing;
    return is_there;
}

/* Tells of another rank of this node. False: it is of another node, or nothing
 * is known. */
static bool mate_read(
    const hg_class_t *cls, uint32_t rank, struct amg_doing *ret_doing)
{
    for (uint32_t i = 0; i < cls->job.mate_count; i++) {
        const struct amg_class_mate *mate = &cls->job.mates[i];

        if (mate->rank != rank || mate->pid == 0)
            continue;
        if (amg_process_life(mate->pid, mate->start_time) != AMG_LIFE_DEAD)
            return page_read(cls, mate, ret_doing);
        *ret_doing = (struct amg_doing){.pid = mate->pid,
            .from = AMG_FROM_PAGE | AMG_FROM_DEAD,
            .to = AMG_STATUS_NOBODY};
        return true;
    }
    return false;
}

static uint32_t late_ms_of(const struct amg_hang *hang)
{
    return hang->late_ns == 0 ? UINT32_MAX
                              : (uint32_t)(hang->late_ns / AMG_NS_PER_MS);
}

/* Tells of the rank in a question. False: this rank does not know. */
static bool ask_answer(hg_context_t *context, const struct amg_hang_ask *ask,
    struct amg_doing *ret_doing)
{
    hg_class_t *cls = context->cls;
    struct amg_hang *hang = hang_of(cls);

    if (ask->about != cls->job.rank)
        return mate_read(cls, ask->about, ret_doing);
    amg_lock_lock(&hang->lock);
    amg_hang_read(cls, late_ms_of(hang), ask->caller, ask->call, ret_doing);
    amg_lock_unlock(&hang->lock);
    return true;
}

/* Logs the blocked threads of this process, once for a report. */
static void threads_show(struct amg_hang *hang)
{
    uint64_t now_ns = amg_clock_ns();
    void (*show)(void) = NULL;

    amg_lock_lock(&hang->lock);
    if (now_ns >= hang->show_ns)
        show = hang->show;
    hang->show_ns = now_ns + hang->late_ns;
    amg_lock_unlock(&hang->lock);
    if (show != NULL)
        show();
}

/* Answers a question, in pieces. */
static void ask_take(hg_context_t *context, const struct amg_hang_ask *ask)
{
    struct amg_hang *hang = hang_of(context->cls);
    struct amg_doing doing;

    if (!ask_answer(context, ask, &doing))
        return;
    if (ask->about == context->cls->job.rank)
        threads_show(hang);
    for (uint32_t i = 0; i < AMG_HANG_PIECES; i++) {
        struct amg_hang_piece piece = {.serial = ask->serial, .piece = i};

        memcpy(piece.bytes, (const char *)&doing + i * AMG_HANG_BYTES,
            AMG_HANG_BYTES);
        if (ask->from == context->cls->job.rank) {
            amg_lock_lock(&hang->lock);
            amg_hang_walk_tell(&hang->walk, &piece);
            amg_lock_unlock(&hang->lock);
        } else {
            message_send(context, ask->from, AMG_CONTROL_HANG_TELL, &piece,
                sizeof(piece));
        }
    }
}

/* The process that HANG_CLAIM number `tried` goes to. */
static uint32_t reporter_of(const hg_class_t *cls, unsigned tried)
{
    return tried < REPORTERS && tried < cls->job.rank ? tried : cls->job.rank;
}

/* Claims at the next reporter, if it is time to. */
static void claim_move(hg_context_t *context, uint64_t now_ns)
{
    hg_class_t *cls = context->cls;
    struct amg_hang *hang = hang_of(cls);
    struct amg_hang_claim *own = &hang->claim;
    struct claim claim = {.from = cls->job.rank};
    uint32_t to = claim.from;
    bool is_due = false;

    amg_lock_lock(&hang->lock);
    is_due = own->is_open && now_ns >= own->try_ns;
    if (is_due) {
        to = reporter_of(cls, own->tried++);
        own->try_ns = now_ns + CLAIM_MS * AMG_NS_PER_MS;
        claim.serial = own->serial;
        claim.is_asked = own->is_asked;
    }
    if (is_due && to == claim.from) {
        own->is_open = false;
        amg_hang_walk_claim(&hang->walk, to, own->is_asked);
    }
    amg_lock_unlock(&hang->lock);
    if (is_due && to != claim.from)
        message_send(
            context, to, AMG_CONTROL_HANG_CLAIM, &claim, sizeof(claim));
}

/* Goes on with the walk of this rank, the reporter. */
static void walk_move(hg_context_t *context, uint64_t now_ns)
{
    struct amg_hang *hang = hang_of(context->cls);
    uint32_t me = context->cls->job.rank;
    struct amg_hang_report report;
    struct amg_hang_ask ask;
    uint32_t to = 0;
    bool is_asking = false;
    bool is_over = false;

    do {
        amg_lock_lock(&hang->lock);
        is_over = amg_hang_walk_take(&hang->walk, now_ns, &report);
        is_asking = amg_hang_walk_next(&hang->walk, me, now_ns, &ask, &to);
        amg_lock_unlock(&hang->lock);
        if (is_over)
            amg_hang_log(context->cls, &report);
        if (is_asking && to == me)
            ask_take(context, &ask);
        else if (is_asking)
            message_send(context, to, AMG_CONTROL_HANG_ASK, &ask, sizeof(ask));
    } while (is_asking || is_over);
}

void amg_hang_told(hg_context_t *context, unsigned kind, const void *bytes)
{
    struct amg_hang *hang = hang_of(context->cls);
    struct amg_hang_piece piece;
    struct amg_hang_ask ask;
    struct claim claim;

    if (hang == NULL)
        return;
    memcpy(&piece, bytes, sizeof(piece));
    memcpy(&ask, bytes, sizeof(ask));
    memcpy(&claim, bytes, sizeof(claim));
    amg_status_stamp(context->cls->job.status, amg_clock_ns());
    if (kind == AMG_CONTROL_HANG_ASK) {
        ask_take(context, &ask);
        return;
    }
    amg_lock_lock(&hang->lock);
    if (kind == AMG_CONTROL_HANG_TELL)
        amg_hang_walk_tell(&hang->walk, &piece);
    else if (kind == AMG_CONTROL_HANG_CLAIM)
        amg_hang_walk_claim(&hang->walk, claim.from, claim.is_asked != 0);
    else if (claim.serial == hang->claim.serial)
        hang->claim.is_open = false;
    amg_lock_unlock(&hang->lock);
    if (kind == AMG_CONTROL_HANG_CLAIM)
        message_send(
            context, claim.from, AMG_CONTROL_HANG_TAKEN, &claim, sizeof(claim));
    amg_context_look_at(context, 0);
}

static void page_write(
    hg_class_t *cls, const struct amg_doing *doing, uint64_t now_ns)
{
    char names[2][AMG_RPC_NAME_CAP];
    const char *both[2] = {amg_rpc_name(cls, doing->handler, names[0]),
        amg_rpc_name(cls, doing->to_call, names[1])};

    amg_status_write(cls->job.status, now_ns, doing, NULL, 0, both);
}

/* Has something waited for so long that the rank claims? */
static bool is_late(const struct amg_hang *hang, const struct amg_doing *doing)
{
    uint32_t late_ms = late_ms_of(hang);

    return (doing->to_ms >= late_ms && doing->stage != AMG_STAGE_NONE) ||
           (doing->wait != AMG_AWAIT_NONE &&
               doing->wait != AMG_AWAIT_MPI_REQUEST &&
               doing->wait_ms >= late_ms);
}

/* Opens a claim if something is late, at once, then after 1, 2, 4 ... times
 * AMALGAM_HANG_S; or if a user asks. */
static void claim_open_locked(struct amg_hang *hang,
    const struct amg_doing *doing, bool is_asked, uint64_t now_ns)
{
    struct amg_hang_claim *claim = &hang->claim;

    AMG_ASSERT_HELD(&hang->lock);
    if (!is_late(hang, doing)) {
        claim->wait_ns = hang->late_ns;
        claim->next_ns = 0;
    }
    if (is_asked || (is_late(hang, doing) && now_ns >= claim->next_ns)) {
        claim->next_ns = now_ns + claim->wait_ns;
        claim->wait_ns *= 2;
        claim->is_asked = is_asked;
        claim->try_ns = 0;
        claim->tried = 0;
        claim->serial++;
        claim->is_open = true;
    }
}

static void tick_locked(hg_class_t *cls, struct amg_hang *hang, uint64_t now_ns)
{
    struct amg_doing doing;
    uint64_t took_ns = 0;

    AMG_ASSERT_HELD(&hang->lock);
    amg_hang_read(cls, late_ms_of(hang), AMG_STATUS_NOBODY, 0, &doing);
    page_write(cls, &doing, now_ns);
    if (cls->job.size > 0)
        claim_open_locked(hang, &doing,
            atomic_exchange_explicit(
                &cls->job.status->asked, 0, memory_order_relaxed) != 0,
            now_ns);
    took_ns = (amg_clock_ns() - now_ns) * REST;
    took_ns = took_ns > MOST_NS ? MOST_NS : took_ns;
    hang->next_ns = now_ns + (took_ns > LEAST_NS ? took_ns : LEAST_NS);
}

void amg_hang_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_hang *hang = hang_of(context->cls);
    bool is_due = false;

    if (context->id != 0 || hang == NULL)
        return;
    amg_lock_lock(&hang->lock);
    if (now_ns >= hang->next_ns)
        tick_locked(context->cls, hang, now_ns);
    is_due = hang->claim.is_open || amg_hang_walk_is_due(&hang->walk);
    amg_lock_unlock(&hang->lock);
    if (!is_due)
        return;
    claim_move(context, now_ns);
    walk_move(context, now_ns);
    amg_context_look_at(context, now_ns + LOOK_MS * AMG_NS_PER_MS);
}

void amg_hang_begin(hg_context_t *context)
{
    const struct amg_hang *hang = hang_of(context->cls);

    if (context->id == 0 && hang != NULL &&
        (hang->late_ns > 0 || context->cls->job.size > 0))
        amg_context_begin_ticks(context);
}

void amg_hang_set_show(hg_class_t *cls, void (*show)(void))
{
    struct amg_hang *hang = hang_of(cls);

    if (hang == NULL)
        return;
    amg_lock_lock(&hang->lock);
    hang->show = show;
    amg_lock_unlock(&hang->lock);
}

void amg_hang_attach(hg_class_t *cls)
{
    struct amg_hang *hang = amg_mem_zalloc(sizeof(*hang));

    amg_rpc_class_of(cls)->hang = hang;
    if (hang == NULL)
        return;
    amg_lock_init(&hang->lock);
    hang->late_ns = amg_env_number(AMG_ENV_HANG) * NS_PER_S;
    hang->walk.size = cls->job.size;
    hang->walk.late_ms = late_ms_of(hang);
}
