/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of what is under way: its lines, and the counts of the call engine. */
#include "transport/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "transport/calls.h"

void amg_state_init(struct amg_state *state, char *text, size_t cap, int rank)
{
    *state = (struct amg_state){.text = text, .cap = cap};
    snprintf(state->who, sizeof(state->who), "%s %d",
        rank < 0 ? "process" : "rank", rank < 0 ? (int)getpid() : rank);
}

void amg_state_print(struct amg_state *state, const char *format, ...)
{
    size_t room = state->cap - state->len;
    va_list args;
    int len = 0;

    if (state->text == NULL || state->items == 0 || state->is_full)
        return;
    va_start(args, format);
    len = vsnprintf(state->text + state->len, room, format, args);
    va_end(args);
    state->is_full = len < 0 || (size_t)len >= room;
    state->len += state->is_full ? 0 : (size_t)len;
}

void amg_state_begin(struct amg_state *state, const char *part)
{
    state->part = part;
    state->peer = NULL;
    state->begin = state->len;
    state->items = 0;
    state->is_full = false;
}

/* Prints the subject, with the first item: without items there is no line. */
static void subject_print(struct amg_state *state)
{
    char name[AMG_PEER_NAME_CAP];

    amg_state_print(state, "amalgam [%s] state: %s", state->who, state->part);
    if (state->peer == NULL)
        return;
    state->calls->ops->name(state->calls, state->peer, name);
    amg_state_print(state, ": %s", name);
}

void amg_state_add(struct amg_state *state, const char *what, size_t count)
{
    if (count == 0)
        return;
    state->count += count;
    if (state->items++ == 0 && state->text != NULL)
        subject_print(state);
    amg_state_print(
        state, "%s %s %zu", state->items == 1 ? ":" : ",", what, count);
}

void amg_state_end(struct amg_state *state)
{
    AMG_ASSERT(state->part != NULL && state->begin <= state->len);
    state->quiet += state->items == 0 && state->peer != NULL;
    amg_state_print(state, "\n");
    if (!state->is_full)
        return;
    state->len = state->begin;
    state->lacked++;
}

/* Number of calls that have left and are not answered: of cancelled calls, or,
 * with `is_cancelled` false, of calls that were not cancelled. */
static size_t asked_count_locked(
    const struct amg_calls *calls, uint32_t owner, bool is_cancelled)
{
    const struct amg_table *table = &calls->table;
    size_t count = 0;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    for (uint32_t i = 0; i < table->cap; i++) {
        const struct amg_op *op = table->slots[i].object;

        count += op != NULL && table->slots[i].owner_or_next == owner &&
                 (op == &amg_call_cancelled) == is_cancelled &&
                 op->priv[AMG_CALL_PRIV_STATE] != AMG_CALL_WAITING;
    }
    return count;
}

void amg_state_begin_peer_locked(struct amg_state *state,
    const struct amg_calls *calls, const struct amg_flow_peer *peer,
    uint32_t owner)
{
    size_t unanswered = peer->unanswered;
    size_t before = state->count;

    AMG_ASSERT_HELD_BIAS(calls->lock);
    amg_state_begin(state, calls->ops->source);
    state->calls = calls;
    state->peer = peer;
    if (unanswered > 0) {
        size_t asked = asked_count_locked(calls, owner, false);
        size_t late = asked_count_locked(calls, owner, true);

        amg_state_add(state, "unanswered calls", asked);
        amg_state_add(state, "cancelled calls not answered", late);
        before += late;
        amg_state_add(state, "one-way calls not known to be handled",
            unanswered > asked + late ? unanswered - asked - late : 0);
    }
    amg_state_add(state, "requests waiting for a credit or room",
        amg_flow_waiting_count(peer));
    amg_state_add(state, "credits owed to it", peer->owed);
    state->owed += state->count - before;
    amg_state_add(
        state, "notes about credits due to it", amg_flow_has_note(peer));
    amg_state_print(state, ", credits taken %zu of %d", unanswered,
        amg_flow_credits(&calls->flow, peer));
    if (peer->debt > 0 || peer->wish > 0)
        amg_state_print(state, ", credits it recalls %u, and wants %u",
            (unsigned)peer->debt, (unsigned)peer->wish);
}
