/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a report about ranks that wait for each other. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "rpc/hang.h"
#include "rpc/handle.h"

enum { WHO_CAP = 96 };

#define NS_PER_S (1000 * AMG_NS_PER_MS)

/* Writes "rank 3 (pid 881 on node08)". */
static const char *who_write(const struct amg_doing *doing, char who[WHO_CAP])
{
    if (doing->host[0] == '\0')
        snprintf(who, WHO_CAP, "rank %u (pid %u)", doing->rank, doing->pid);
    else
        snprintf(who, WHO_CAP, "rank %u (pid %u on %.*s)", doing->rank,
            doing->pid, (int)sizeof(doing->host), doing->host);
    return who;
}

static void rank_log(
    const hg_class_t *cls, const struct amg_hang_report *report, uint32_t i)
{
    const struct amg_doing *doing = &report->chain[i];
    bool is_seen = (doing->from & AMG_FROM_PAGE) != 0;
    char name[AMG_RPC_NAME_CAP];
    char text[AMG_DOING_TEXT_CAP];
    char who[WHO_CAP];

    if ((doing->from & AMG_FROM_DEAD) != 0)
        return;
    (void)amg_doing_waits(doing, amg_rpc_name(cls, doing->to_call, name), text);
    if (doing->to == AMG_STATUS_NOBODY && i + 1 < report->count)
        AMG_LOG_WARNING("hang", "report %u: %s %s; rank %u %s", report->number,
            who_write(doing, who), text, doing[1].rank,
            doing[1].wait == doing->wait ? "still runs handlers"
                                         : "is not there");
    else
        AMG_LOG_WARNING("hang", "report %u: %s %s%s", report->number,
            who_write(doing, who),
            text[0] == '\0' ? "waits for nobody here" : text,
            is_seen ? " (it does not answer; this is from its status page)"
                    : "");
    AMG_LOG_WARNING("hang", "report %u:   rank %u %s", report->number,
        doing->rank,
        amg_doing_state(doing, amg_rpc_name(cls, doing->handler, name), text));
}

/* Writes "rank 1 -> rank 2 -> rank 1"; the middle of a long circle is left out.
 */
static const char *circle_write(
    const struct amg_hang_report *report, char *text, size_t cap)
{
    size_t len = 0;

    for (uint32_t i = report->circle_at; i < report->count; i++)
        if (len < cap)
            len += (size_t)snprintf(
                text + len, cap - len, "rank %u -> ", report->chain[i].rank);
    if (len < cap)
        snprintf(text + len, cap - len, "rank %u",
            report->chain[report->circle_at].rank);
    return text;
}

static void silent_log(const struct amg_hang_report *report, const char *who)
{
    const struct amg_doing *last = &report->chain[report->count - 1];

    if (last->state == 'T')
        AMG_LOG_WARNING("hang",
            "report %u: end: %s is stopped by a signal: kill -CONT %u",
            report->number, who, last->pid);
    else
        AMG_LOG_WARNING("hang",
            "report %u: end: rank %u does not call the library: %s. "
            "AMALGAM_PROGRESS=thread (Margo: use_progress_thread) serves calls "
            "meanwhile, and amalgam_wait() serves calls while it waits for an "
            "MPI request",
            report->number, last->rank,
            last->running > 0 ? "its handler computes, or sits in a call of MPI"
                              : "it computes, or sits in a call of MPI");
}

/* Logs that the last rank makes progress, and what it does not do. */
static void handler_log(const struct amg_hang_report *report)
{
    const struct amg_doing *last = &report->chain[report->count - 1];
    const char *what =
        ", and its handlers have not answered: does the program keep their "
        "handles and never call HG_Respond()?";

    if (report->count > 1 && last[-1].to == AMG_STATUS_NOBODY &&
        last->wait != last[-1].wait)
        what = ", and has not come to that call";
    else if (last->running == 0)
        what = ", and no call of its peers is in a handler: does it call "
               "HG_Trigger()?";
    AMG_LOG_WARNING("hang", "report %u: end: rank %u makes progress%s",
        report->number, last->rank, what);
}

static void end_log(const struct amg_hang_report *report)
{
    const struct amg_doing *last = &report->chain[report->count - 1];
    char text[AMG_DOING_TEXT_CAP];

    switch (report->end) {
    case AMG_HANG_CIRCLE:
        AMG_LOG_WARNING("hang",
            "report %u: circle: %s. Each waits for the next, so none of these "
            "calls can end: let handlers answer without a call that blocks, or "
            "run them in threads of their own (Margo)",
            report->number, circle_write(report, text, sizeof(text)));
        break;
    case AMG_HANG_SILENT:
        silent_log(report, who_write(last, text));
        break;
    case AMG_HANG_DEAD:
        AMG_LOG_WARNING("hang", "report %u: end: %s has died", report->number,
            who_write(last, text));
        break;
    case AMG_HANG_UNSEEN:
        AMG_LOG_WARNING("hang",
            "report %u: end: rank %u does not answer, and no rank beside it "
            "reads its status page. Its whole node is suspected: the ranks "
            "there sit in MPI, compute, or are dead. No call ends by this",
            report->number, report->lost);
        break;
    case AMG_HANG_AWAIT:
        AMG_LOG_WARNING("hang",
            "report %u: end: all ranks wait in %s, which has not ended",
            report->number, amg_await_text(last->wait));
        break;
    default:
        handler_log(report);
    }
}

void amg_hang_log(const hg_class_t *cls, const struct amg_hang_report *report)
{
    uint64_t late_s = amg_rpc_class_of(cls)->hang->late_ns / NS_PER_S;

    if (report->is_again) {
        AMG_LOG_WARNING("hang", "report %u: still the same", report->number);
        return;
    }
    if (report->is_asked)
        AMG_LOG_WARNING("hang",
            "report %u, asked for by a user; who waits for whom:",
            report->number);
    else
        AMG_LOG_WARNING("hang",
            "report %u: the library has waited for %" PRIu64
            " s (AMALGAM_HANG_S); who waits for whom:",
            report->number, late_s);
    for (uint32_t i = 0; i < report->count; i++)
        rank_log(cls, report, i);
    end_log(report);
}
