/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the threads of a rank run.
 *
 * All threads of ours on the node are placed, one after the other, on one
 * board: the progress threads of all ranks, then the first handler thread of
 * all, and so on; where the user named cores, these first. The asking rank
 * keeps what falls to it. So every rank comes to the same map.
 *
 * A round places one thread of each rank, level by level: first those who find
 * something idle in their own binding, last those who have to go far, so that
 * nobody takes from another what is near to him. Within a level the ranks
 * choose in their order, cores that none of ours uses before others. Who finds
 * nothing then shares: progress threads, as these mostly sleep where they
 * share. Handler threads compute, and rather go unpinned. */
#include "place/policy.h"

#include <string.h>

#include "base/assert.h"
#include "place/policy_words.h"

/* Ranks of a node beyond that get a seat when it comes to share. */
enum { RANKS_KNOWN = 4096 };

/* One placing of all threads; on the stack of who asks. */
struct placing {
    struct amg_board board;
    struct amg_list lists[AMG_CROWDS];
    unsigned handlers;     /* of each rank */
    bool has_progress;     /* threads that make progress may come of it */
    bool is_auto_handlers; /* only where something is idle */
    /* What falls to the asking rank. */
    bool has_pick;
    struct amg_pick progress;
    unsigned handler_count;
    struct amg_pick handler_picks[AMALGAM_HANDLERS_MAX];
};

/* The n-th thread of each rank. */
struct round {
    enum amg_crowd crowd;
    unsigned n;
    bool is_auto;   /* no thread where nothing is idle */
    bool may_share; /* rather than to go unpinned */
    bool has_seat;  /* somebody got one */
    uint64_t seated[RANKS_KNOWN / 64];
};

static void keep(struct placing *placing, struct round *round, uint32_t rank,
    struct amg_pick pick)
{
    if (pick.index != AMG_NO_PU) {
        amg_board_take(&placing->board, pick.index);
        round->has_seat = true;
    }
    if (rank < RANKS_KNOWN)
        round->seated[rank / 64] |= 1ull << rank % 64;
    if (rank != placing->board.ask->self)
        return;
    if (round->crowd == AMG_CROWD_PROGRESS) {
        placing->has_pick = true;
        placing->progress = pick;
    } else {
        placing->handler_picks[round->n] = pick;
        placing->handler_count = placing->handlers;
    }
}

static struct amg_pick named_pick(
    const struct placing *placing, const struct round *round, uint32_t rank)
{
    bool is_progress = round->crowd == AMG_CROWD_PROGRESS;

    return amg_seek_named(&placing->board, &placing->lists[round->crowd], rank,
        is_progress ? 1 : placing->handlers, round->n);
}

/* A core that is named is taken, idle or not, but by handler threads of which
 * there are as many as idle cores. */
static void named_place(struct placing *placing, struct round *round)
{
    struct amg_board *board = &placing->board;

    for (uint32_t rank = 0; rank < board->ask->rank_count; rank++) {
        struct amg_pick pick = named_pick(placing, round, rank);

        if (pick.index == AMG_NO_PU)
            continue;
        if (round->crowd == AMG_CROWD_PROGRESS || !round->is_auto ||
            (board->spots[pick.index].used == 0 &&
                amg_board_is_idle(
                    board, pick.index, amg_board_group(board, rank))))
            keep(placing, round, rank, pick);
    }
}

/* Those who have no seat yet look for one at that level. */
static void level_place(
    struct placing *placing, struct round *round, enum amg_level level)
{
    const struct amg_board *board = &placing->board;
    bool is_last = level == AMG_LEVEL_SHARED;
    bool is_none = placing->lists[round->crowd].kind == AMG_LIST_NONE;

    for (uint32_t rank = 0; rank < board->ask->rank_count; rank++) {
        bool is_known = rank < RANKS_KNOWN;
        struct amg_pick pick = AMG_PICK_NOWHERE;

        if (is_known ? (round->seated[rank / 64] >> rank % 64 & 1) != 0
                     : !is_last)
            continue;
        if (named_pick(placing, round, rank).index != AMG_NO_PU)
            continue;
        if (!is_last || round->may_share)
            pick = amg_seek_idle(board, rank, level);
        if (pick.index == AMG_NO_PU && (round->is_auto || !is_last))
            continue;
        if (is_none)
            pick = (struct amg_pick){AMG_NO_PU, AMG_SEAT_UNPINNED, true};
        else if (pick.index == AMG_NO_PU && round->may_share)
            pick = amg_seek_last(board, rank);
        keep(placing, round, rank, pick);
    }
}

/* True: somebody got a seat. */
static bool round_play(
    struct placing *placing, enum amg_crowd crowd, unsigned n)
{
    const struct amg_place_ask *ask = placing->board.ask;
    bool is_progress = crowd == AMG_CROWD_PROGRESS;
    struct round round = {.crowd = crowd,
        .n = n,
        .is_auto = is_progress ? ask->progress == AMALGAM_PROGRESS_AUTO
                               : placing->is_auto_handlers,
        .may_share = is_progress};

    named_place(placing, &round);
    for (unsigned level = 0; level < AMG_LEVELS; level++)
        level_place(placing, &round, (enum amg_level)level);
    return round.has_seat;
}

static void progress_place(struct placing *placing)
{
    if (placing->has_progress)
        round_play(placing, AMG_CROWD_PROGRESS, 0);
}

/* Ends when nobody finds a seat any more: all others are not pinned. */
static void handlers_place(struct placing *placing)
{
    bool has_seat = true;

    for (unsigned n = 0; n < placing->handlers && has_seat; n++)
        has_seat = round_play(placing, AMG_CROWD_HANDLERS, n);
}

/* Says what of a list makes no sense for the asking rank. */
static void list_check(const struct placing *placing, enum amg_crowd crowd,
    const char *text, char *notes)
{
    static const char *const variables[] = {
        "AMALGAM_PROGRESS_CPUS", "AMALGAM_HANDLER_CPUS"};
    const struct amg_list *list = &placing->lists[crowd];
    const struct amg_board *board = &placing->board;
    uint32_t self = board->ask->self;
    unsigned per = crowd == AMG_CROWD_PROGRESS ? 1 : placing->handlers;

    if (list->kind == AMG_LIST_BAD)
        amg_words_note(notes,
            "%s (%s) is \"%.64s\", but %s: the policy chooses instead",
            amg_words_option(crowd), variables[crowd], text, list->why);
    if (list->kind != AMG_LIST_CPUS)
        return;
    for (unsigned n = 0; n < per; n++) {
        unsigned cpu = amg_seek_named_cpu(list, self, per, n);

        if (amg_seek_is_allowed(board, cpu))
            continue;
        amg_words_note(notes,
            "%s (%s) is \"%.64s\", but cpu %u, which falls to rank %u, %s: the "
            "policy chooses instead",
            amg_words_option(crowd), variables[crowd], text, cpu,
            board->ask->ranks[self].rank,
            board->index_of[cpu] == AMG_NO_PU ? "does not exist here"
                                              : "is not allowed by the cgroup");
    }
    if ((uint64_t)self * per + per > list->count)
        amg_words_note(notes,
            "%s (%s) is \"%.64s\", which names %u for %u threads on this node: "
            "they share",
            amg_words_option(crowd), variables[crowd], text, list->count,
            board->ask->rank_count * per);
}

static void placing_init(
    struct placing *placing, const struct amg_place_ask *ask)
{
    unsigned handlers = ask->handlers;

    amg_board_init(&placing->board, ask);
    amg_list_parse(ask->progress_cpus, &placing->lists[AMG_CROWD_PROGRESS]);
    amg_list_parse(ask->handler_cpus, &placing->lists[AMG_CROWD_HANDLERS]);
    placing->is_auto_handlers = handlers == AMALGAM_HANDLERS_AUTO;
    if (handlers > AMALGAM_HANDLERS_MAX)
        handlers = AMALGAM_HANDLERS_MAX;
    placing->handlers = placing->is_auto_handlers ? 1 : handlers;
    placing->has_progress = ask->progress == AMALGAM_PROGRESS_AUTO ||
                            amg_policy_has_thread(ask->progress);
    placing->has_pick = false;
    placing->handler_count = placing->is_auto_handlers ? 0 : placing->handlers;
    placing->progress = AMG_PICK_NOWHERE;
    for (unsigned i = 0; i < AMALGAM_HANDLERS_MAX; i++)
        placing->handler_picks[i] = AMG_PICK_NOWHERE;
}

static void mode_answer(
    const struct placing *placing, struct amg_placement *placement)
{
    const struct amg_place_ask *ask = placing->board.ask;
    const char *reason = "as was asked for";

    placement->progress = ask->progress;
    if (ask->progress == AMALGAM_PROGRESS_AUTO && !placing->has_pick) {
        placement->progress = AMALGAM_PROGRESS_CALLER;
        amg_words_none_idle(&placing->board, placement->reason);
        return;
    }
    if (ask->progress == AMALGAM_PROGRESS_AUTO) {
        placement->progress =
            ask->is_mercury ? AMALGAM_PROGRESS_ASSIST : AMALGAM_PROGRESS_THREAD;
        reason = placing->progress.rule == AMG_SEAT_CHOSEN
                     ? "a core was named for it"
                     : "a core is idle";
    }
    memcpy(placement->reason, reason, strlen(reason) + 1);
}

static void seats_answer(
    const struct placing *placing, struct amg_placement *placement)
{
    const struct amg_seat none = {
        .cpu = -1, .rule = AMG_SEAT_UNPINNED, .reason = "there is no thread"};

    placement->seat = none;
    if (placing->has_pick)
        amg_words_seat(&placing->board, AMG_CROWD_PROGRESS, placing->progress,
            &placement->seat);
    placement->handlers = placing->handler_count;
    for (unsigned n = 0; n < AMALGAM_HANDLERS_MAX; n++) {
        placement->handler_seats[n] = none;
        if (n < placing->handler_count)
            amg_words_seat(&placing->board, AMG_CROWD_HANDLERS,
                placing->handler_picks[n], &placement->handler_seats[n]);
    }
}

void amg_policy_place(
    const struct amg_place_ask *ask, struct amg_placement *ret_placement)
{
    struct placing placing;
    uint16_t number = AMG_NO_GROUP;

    AMG_ASSERT(ask->rank_count > 0 && ask->self < ask->rank_count);
    memset(ret_placement, 0, sizeof(*ret_placement));
    placing_init(&placing, ask);
    if (placing.lists[AMG_CROWD_HANDLERS].kind == AMG_LIST_CPUS &&
        placing.lists[AMG_CROWD_PROGRESS].kind != AMG_LIST_CPUS) {
        handlers_place(&placing);
        progress_place(&placing);
    } else {
        progress_place(&placing);
        handlers_place(&placing);
    }
    mode_answer(&placing, ret_placement);
    seats_answer(&placing, ret_placement);

    number = amg_board_group(&placing.board, ask->self);
    if (number != AMG_NO_GROUP)
        ret_placement->is_crowded = placing.board.groups[number].threads >
                                    placing.board.groups[number].pus;
    if (placing.has_progress)
        list_check(&placing, AMG_CROWD_PROGRESS, ask->progress_cpus,
            ret_placement->notes);
    if (placing.handlers > 0)
        list_check(&placing, AMG_CROWD_HANDLERS, ask->handler_cpus,
            ret_placement->notes);
}
