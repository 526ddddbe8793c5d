/* SPDX-License-Identifier: BSD-3-Clause */
/* Walk along a chain of ranks that wait for each other, by the rank that
 * reports.
 *
 * The walk begins at a rank that claims to wait, and asks that rank what it
 * does, then the rank that it waits for, and so on. Ranks that are asked keep
 * nothing. Each question has a deadline and a serial number, so a lost or late
 * answer ends a step and is not taken for another. A rank that does not answer
 * is asked for at its neighbours, who read its status page.
 *
 * A rank in a collective call waits for any rank that is not in that call: the
 * walk asks one rank after the other, and goes on at the first that is not.
 *
 * All ranks behind one cause lead to the same end, and the key of a result
 * names that end alone: so many claims give one report. */
#include "rpc/hang.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"

enum {
    ANSWER_MS = 300,
    CHECK_MS = 100,
    IDLE_MS =
        1000, /* without progress: the rank is not merely slow to answer */
};

void amg_hang_walk_claim(
    struct amg_hang_walk *walk, uint32_t rank, bool is_asked)
{
    unsigned i = 0;

    while (i < walk->claim_count && walk->claims[i].rank != rank)
        i++;
    if (rank >= walk->size || i == AMG_HANG_CLAIMS)
        return;
    if (i == walk->claim_count)
        walk->claims[walk->claim_count++] = (struct amg_hang_claimant){rank, 0};
    walk->claims[i].is_asked |= is_asked;
}

static void asks_add(struct amg_hang_walk *walk, uint32_t rank)
{
    AMG_ASSERT(walk->to_count < AMG_HANG_ASKED);
    walk->to[walk->to_count++] = rank;
}

/* Asks a rank about itself, and about a call of the rank before. */
static void ask_begin(
    struct amg_hang_walk *walk, uint32_t about, uint32_t caller, uint64_t call)
{
    walk->ask = (struct amg_hang_ask){.serial = walk->ask.serial,
        .about = about,
        .caller = caller,
        .call = call};
    walk->is_by_others = false;
    walk->to_count = 0;
    walk->to_sent = 0;
    walk->pieces = 0;
    walk->deadline_ns = 0;
    asks_add(walk, about);
}

/* The rank has not answered: asks this process and its neighbours about it. */
static void ask_others(struct amg_hang_walk *walk, uint32_t me)
{
    uint32_t about = walk->ask.about;

    walk->is_by_others = true;
    walk->to_count = 0;
    walk->to_sent = 0;
    walk->pieces = 0;
    walk->deadline_ns = 0;
    if (me != about)
        asks_add(walk, me);
    if (about > 0 && about - 1 != me)
        asks_add(walk, about - 1);
    if (about + 1 < walk->size && about + 1 != me)
        asks_add(walk, about + 1);
}

static void walk_end(struct amg_hang_walk *walk, enum amg_hang_end end)
{
    walk->result.end = end;
    walk->is_walking = false;
    walk->is_over = true;
}

/* Is the rank part of the chain? */
static bool is_in_chain(
    const struct amg_hang_report *result, uint32_t rank, uint32_t *ret_at)
{
    for (uint32_t i = 0; i < result->count; i++)
        if (result->chain[i].rank == rank) {
            *ret_at = i;
            return true;
        }
    return false;
}

/* Is the rank in a collective call that its own handlers keep from ending? */
static bool is_held_up(const struct amg_doing *doing)
{
    return doing->running > 0 && (doing->wait == AMG_AWAIT_QUIESCE ||
                                     doing->wait == AMG_AWAIT_MARGO_FINALIZE);
}

/* Asks the next rank whether it is in the collective call, too. */
static void await_step(struct amg_hang_walk *walk, uint32_t rank)
{
    uint32_t at = 0;

    while (rank < walk->size && is_in_chain(&walk->result, rank, &at))
        rank++;
    if (rank == walk->size)
        walk_end(walk, AMG_HANG_AWAIT);
    else
        ask_begin(walk, rank, AMG_STATUS_NOBODY, 0);
}

/* The last rank waits for nobody, perhaps because the cause has just gone away:
 * asks the rank before again, CHECK_MS later. */
static void handler_end(struct amg_hang_walk *walk)
{
    const struct amg_hang_report *result = &walk->result;
    const struct amg_doing *last = &result->chain[result->count - 1];

    if (result->count == 1 && last->wait == AMG_AWAIT_NONE &&
        !result->is_asked) {
        walk_end(walk, AMG_HANG_MOVES); /* the claimant's operation has ended */
        return;
    }
    walk->check_ns = 0;
    walk->is_checking = result->count > 1 && !result->is_asked;
    if (walk->is_checking)
        ask_begin(walk, last[-1].rank, AMG_STATUS_NOBODY, 0);
    else
        walk_end(walk, AMG_HANG_HANDLER);
}

/* The rank before the last has been asked again. */
static void check_end(struct amg_hang_walk *walk)
{
    const struct amg_hang_report *result = &walk->result;
    const struct amg_doing *before = &result->chain[result->count - 2];
    const struct amg_doing *now = &walk->answer;

    walk->is_checking = false;
    walk_end(walk, now->to == before->to && now->to_ms >= before->to_ms &&
                           now->wait == before->wait &&
                           now->wait_ms >= before->wait_ms
                       ? AMG_HANG_HANDLER
                       : AMG_HANG_MOVES);
}

/* Goes on from the last rank of the chain, or ends there. */
static void walk_step(struct amg_hang_walk *walk)
{
    struct amg_hang_report *result = &walk->result;
    const struct amg_doing *last = &result->chain[result->count - 1];

    walk->awaited = AMG_AWAIT_NONE;
    if ((last->from & AMG_FROM_DEAD) != 0) {
        walk_end(walk, AMG_HANG_DEAD);
    } else if ((last->from & AMG_FROM_PAGE) != 0 && last->idle_ms >= IDLE_MS) {
        walk_end(walk, AMG_HANG_SILENT);
    } else if (last->to == AMG_STATUS_NOBODY) {
        walk->awaited = last->wait;
        if (last->wait == AMG_AWAIT_NONE ||
            last->wait == AMG_AWAIT_MPI_REQUEST || is_held_up(last) ||
            result->count == AMG_HANG_CHAIN)
            handler_end(walk);
        else
            await_step(walk, 0);
    } else if (last->to_ms < walk->late_ms / 2 && !result->is_asked) {
        walk_end(walk, AMG_HANG_MOVES);
    } else if (result->count == AMG_HANG_CHAIN) {
        walk_end(walk, AMG_HANG_LONG);
    } else {
        walk->is_closing = is_in_chain(result, last->to, &result->circle_at);
        ask_begin(walk, last->to, last->rank, last->to_call);
    }
}

/* The whole answer of a question is here. */
static void answer_take(struct amg_hang_walk *walk)
{
    struct amg_hang_report *result = &walk->result;
    struct amg_doing *before =
        result->count == 0 ? NULL : &result->chain[result->count - 1];
    struct amg_doing *answer = &walk->answer;

    answer->rank = walk->ask.about;
    if (walk->is_checking) {
        check_end(walk);
        return;
    }
    if (walk->awaited != AMG_AWAIT_NONE && answer->wait == walk->awaited &&
        !is_held_up(answer)) {
        if (answer->wait_ms < walk->late_ms / 2 && !result->is_asked)
            walk_end(walk, AMG_HANG_MOVES); /* a rank has just come */
        else
            await_step(walk, answer->rank + 1);
        return;
    }
    if (before != NULL && before->to == answer->rank && before->to_call != 0 &&
        answer->call_stage != AMG_STAGE_NONE)
        before->stage = answer->call_stage;
    if (walk->is_closing) {
        walk_end(walk, AMG_HANG_CIRCLE);
        return;
    }
    if (answer->to >= walk->size)
        answer->to = AMG_STATUS_NOBODY;
    AMG_ASSERT(result->count < AMG_HANG_CHAIN);
    result->chain[result->count++] = *answer;
    walk_step(walk);
}

void amg_hang_walk_tell(
    struct amg_hang_walk *walk, const struct amg_hang_piece *piece)
{
    uint32_t first = walk->ask.serial - walk->to_sent;

    if (!walk->is_walking || piece->piece >= AMG_HANG_PIECES ||
        piece->serial - first - 1 >= walk->to_sent ||
        (walk->pieces != 0 && piece->serial != walk->answer_serial))
        return;
    walk->answer_serial = piece->serial;
    walk->pieces |= 1u << piece->piece;
    memcpy((char *)&walk->answer + piece->piece * AMG_HANG_BYTES, piece->bytes,
        AMG_HANG_BYTES);
    if (walk->pieces == (1u << AMG_HANG_PIECES) - 1)
        answer_take(walk);
}

/* Begins the walk of the oldest claim, if any. */
static void walk_begin(struct amg_hang_walk *walk)
{
    struct amg_hang_claimant claim = walk->claims[0];

    if (walk->claim_count == 0)
        return;
    walk->claim_count--;
    memmove(&walk->claims[0], &walk->claims[1],
        walk->claim_count * sizeof(walk->claims[0]));
    walk->result.count = 0;
    walk->result.is_asked = claim.is_asked;
    walk->awaited = AMG_AWAIT_NONE;
    walk->is_closing = false;
    walk->is_checking = false;
    walk->is_walking = true;
    ask_begin(walk, claim.rank, AMG_STATUS_NOBODY, 0);
}

/* The question has had no answer in time. */
static void walk_late(struct amg_hang_walk *walk, uint32_t me)
{
    if (walk->is_closing || walk->is_checking) {
        walk_end(walk, walk->is_closing ? AMG_HANG_CIRCLE : AMG_HANG_HANDLER);
        return;
    }
    if (!walk->is_by_others) {
        ask_others(walk, me);
        return;
    }
    if (walk->awaited == AMG_AWAIT_NONE && walk->result.count > 0)
        walk->result.chain[walk->result.count - 1].stage = AMG_STAGE_UNSEEN;
    walk->result.lost = walk->ask.about;
    walk_end(walk, AMG_HANG_UNSEEN);
}

bool amg_hang_walk_next(struct amg_hang_walk *walk, uint32_t me,
    uint64_t now_ns, struct amg_hang_ask *ret_ask, uint32_t *ret_to)
{
    if (walk->is_over)
        return false;
    if (!walk->is_walking)
        walk_begin(walk);
    else if (walk->to_sent == walk->to_count && now_ns >= walk->deadline_ns)
        walk_late(walk, me);
    if (!walk->is_walking || walk->to_sent == walk->to_count)
        return false;
    if (walk->is_checking && walk->check_ns == 0)
        walk->check_ns = now_ns + CHECK_MS * AMG_NS_PER_MS;
    if (walk->is_checking && now_ns < walk->check_ns)
        return false;
    walk->ask.from = me;
    walk->ask.serial++;
    *ret_ask = walk->ask;
    *ret_to = walk->to[walk->to_sent++];
    walk->deadline_ns = now_ns + ANSWER_MS * AMG_NS_PER_MS;
    return true;
}

/* A number for the end of a walk, which is equal for all walks that lead there.
 */
static uint64_t key_of(const struct amg_hang_report *result)
{
    uint32_t rank = result->lost;
    uint64_t handler = 0;

    if (result->end == AMG_HANG_CIRCLE) {
        rank = UINT32_MAX;
        for (uint32_t i = result->circle_at; i < result->count; i++)
            if (result->chain[i].rank < rank)
                rank = result->chain[i].rank;
    } else if (result->end != AMG_HANG_UNSEEN) {
        rank = result->chain[result->count - 1].rank;
        handler = result->chain[result->count - 1].handler;
    }
    return ((uint64_t)rank << 8 | (uint64_t)result->end << 1 | 1) ^ handler
                                                                        << 20;
}

/* The place of a key; a new one replaces the one that was told first. */
static struct amg_hang_known *known_find(
    struct amg_hang_walk *walk, uint64_t key)
{
    struct amg_hang_known *first = &walk->known[0];

    for (unsigned i = 0; i < AMG_HANG_KNOWN; i++) {
        if (walk->known[i].key == key)
            return &walk->known[i];
        if (walk->known[i].told_ns < first->told_ns)
            first = &walk->known[i];
    }
    *first = (struct amg_hang_known){.key = key};
    return first;
}

bool amg_hang_walk_take(struct amg_hang_walk *walk, uint64_t now_ns,
    struct amg_hang_report *ret_report)
{
    const uint64_t first_ns = 2 * (uint64_t)walk->late_ms * AMG_NS_PER_MS;
    struct amg_hang_known *known = NULL;

    if (!walk->is_over)
        return false;
    walk->is_over = false;
    if (walk->result.end == AMG_HANG_MOVES || walk->result.count == 0)
        return false;
    if (walk->result.is_asked) {
        walk->result.is_again = false;
        walk->result.number = ++walk->reports;
        *ret_report = walk->result;
        return true;
    }
    known = known_find(walk, key_of(&walk->result));
    /* An end that was not claimed for long is another one. */
    if (known->number != 0 &&
        now_ns - known->told_ns >= 2 * known->wait_ns + first_ns)
        known->number = 0;
    if (known->number != 0 && now_ns - known->told_ns < known->wait_ns)
        return false;
    walk->result.is_again = known->number != 0;
    if (!walk->result.is_again) {
        known->number = ++walk->reports;
        known->wait_ns = first_ns / 2;
    }
    known->told_ns = now_ns;
    known->wait_ns *= 2;
    walk->result.number = known->number;
    *ret_report = walk->result;
    return true;
}
