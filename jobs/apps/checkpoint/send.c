/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends files to the servers, several at a time: in `depth` lanes, each with
 * one file under way. */
#include "jobs/apps/checkpoint/send.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/apps/checkpoint/lane.h"
#include "jobs/apps/checkpoint/report.h"

/* Rank 0 hears of this rank at least that often, also when nothing is done. */
#define BEAT_EVERY_NS 1000000000ull
/* And no more often than that. */
#define BEAT_MIN_NS 100000000ull

/* Owned by main(). */
struct sender {
    struct job *job;
    const struct list *list;
    size_t next; /* in the list */
    int depth;
    bool is_stopped;
    struct sender_totals totals;
    struct callers callers;
    struct call beat;
    struct sender_totals told; /* what rank 0 knows */
    uint64_t told_ns;
    bool is_end_told;
    struct lane lanes[];
};

static void on_beat_done(struct call *call, hg_return_t ret)
{
    if (ret != HG_SUCCESS && !call->is_late)
        report_error("rank 0 does not take beats: %s", call_error(call, ret));
}

struct sender *sender_open(
    struct job *job, const struct list *list, int depth, int wait_s)
{
    struct sender *sender =
        calloc(1, sizeof(*sender) + (size_t)depth * sizeof(struct lane));
    int i = 0;

    if (sender == NULL) {
        report_error("no memory for %d files under way", depth);
        return NULL;
    }
    if (!callers_open(&sender->callers, job, wait_s)) {
        free(sender);
        return NULL;
    }
    sender->job = job;
    sender->list = list;
    sender->next = job->size == 1 ? 0 : (size_t)(job->rank - job->servers);
    sender->depth = depth;
    call_init(&sender->beat, &sender->callers, on_beat_done);
    for (i = 0; i < depth; i++)
        lane_init(&sender->lanes[i], &sender->callers);
    return sender;
}

static bool has_files(const struct sender *sender)
{
    return !sender->is_stopped && sender->next < sender->list->count;
}

/* One file after the other, while they end at once. */
static void lane_move(struct sender *sender, struct lane *lane, uint64_t now_ns)
{
    for (;;) {
        if (lane_step(lane, now_ns) && lane->is_verified &&
            S_ISREG(lane->source.status.st_mode)) {
            sender->totals.files++;
            sender->totals.bytes += source_size(&lane->source);
        }
        if (lane->is_busy || !has_files(sender))
            return;
        lane_start(lane, &sender->list->entries[sender->next], sender->next);
        sender->next += (size_t)sender->job->senders;
    }
}

/* True: all files have come to an end. */
static bool lanes_step(struct sender *sender, uint64_t now_ns)
{
    bool is_idle = true;
    int i = 0;

    for (i = 0; i < sender->depth; i++) {
        lane_move(sender, &sender->lanes[i], now_ns);
        is_idle = is_idle && !sender->lanes[i].is_busy;
    }
    return is_idle && !has_files(sender);
}

/* Tells rank 0 how far this rank has come, when it is time to. */
static void beat_step(struct sender *sender, uint64_t now_ns, bool is_done)
{
    uint64_t quiet_ns = now_ns - sender->told_ns;
    beat_in_t beat = {sender->totals.files - sender->told.files,
        sender->totals.bytes - sender->told.bytes, is_done};

    if (sender->beat.is_busy) {
        call_poll(&sender->beat, now_ns);
        return;
    }
    if (sender->is_end_told ||
        (!is_done && (beat.files == 0 || quiet_ns < BEAT_MIN_NS) &&
            quiet_ns < BEAT_EVERY_NS))
        return;
    if (sender->callers.is_silent[0]) {
        sender->is_end_told = is_done;
        return;
    }
    if (call_forward(&sender->beat, 0, sender->job->beat_id, &beat) !=
        HG_SUCCESS)
        return;
    sender->told = sender->totals;
    sender->told_ns = now_ns;
    sender->is_end_told = is_done;
}

void sender_step(struct sender *sender)
{
    uint64_t now_ns = job_now_ns();

    beat_step(sender, now_ns, lanes_step(sender, now_ns));
}

void sender_stop(struct sender *sender)
{
    int i = 0;

    sender->is_stopped = true;
    for (i = 0; i < sender->depth; i++)
        lane_stop(&sender->lanes[i]);
}

bool sender_is_done(const struct sender *sender)
{
    return sender->is_end_told && !sender->beat.is_busy;
}

bool sender_has_silent(const struct sender *sender)
{
    return sender->callers.has_silent;
}

const struct sender_totals *sender_totals(const struct sender *sender)
{
    return &sender->totals;
}

const struct stats *sender_stats(const struct sender *sender)
{
    return &sender->callers.stats;
}

void sender_close(struct sender *sender)
{
    int i = 0;

    if (sender == NULL)
        return;
    for (i = 0; i < sender->depth; i++)
        lane_fini(&sender->lanes[i]);
    call_fini(&sender->beat);
    callers_close(&sender->callers);
    free(sender);
}
