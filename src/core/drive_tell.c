/* SPDX-License-Identifier: BSD-3-Clause */
/* Says in words how a class is driven. */
#include "core/drive_tell.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "core/class.h"

enum { WORDS_CAP = 512, CPUS_CAP = 128 };

const char *amg_drive_wait_words(
    const struct amg_drive *drive, const struct amg_seat *seat)
{
    switch (drive->wait) {
    case AMALGAM_WAIT_SPIN:
        return "spins, as was asked for";
    case AMALGAM_WAIT_BACKOFF:
        return "naps between looks, as was asked for";
    case AMALGAM_WAIT_SLEEP:
        return "sleeps at once, as was asked for";
    case AMALGAM_WAIT_AUTO:
        break;
    }
    if (seat->is_dedicated)
        return "spins, then sleeps, as the core is its own";
    return seat->cpu < 0 ? "sleeps at once, as no core is its own"
                         : "sleeps at once, as others use the core";
}

const char *amg_drive_caller_words(const struct amg_drive *drive)
{
    static const struct amg_seat none = {.cpu = -1};

    if (drive->wait != AMALGAM_WAIT_AUTO)
        return amg_drive_wait_words(drive, &none);
    return drive->is_crowded
               ? "gives the core away, as the programs run more threads than "
                 "there are cores"
               : "spins, then sleeps";
}

const char *amg_drive_progress_words(
    const struct amg_drive *drive, char *ret_text, size_t cap)
{
    const struct amg_placement *placement = drive->placement;
    const struct amg_seat *seat = NULL;

    if (placement == NULL) {
        snprintf(ret_text, cap, "progress by the caller (%s), who %s",
            drive->reason, amg_drive_caller_words(drive));
        return ret_text;
    }
    seat = &placement->seat;
    if (!amg_policy_has_thread(placement->progress))
        snprintf(ret_text, cap, "progress by %s (%s), who %s",
            placement->progress == AMALGAM_PROGRESS_NONE ? "HG_Progress() alone"
                                                         : "the caller",
            placement->reason, amg_drive_caller_words(drive));
    else if (seat->cpu < 0)
        snprintf(ret_text, cap, "progress by a thread (%s: %s), not pinned; %s",
            amg_drive_progress_name(placement->progress), placement->reason,
            amg_drive_wait_words(drive, seat));
    else
        snprintf(ret_text, cap,
            "progress by a thread (%s: %s) on core %d: %s; %s",
            amg_drive_progress_name(placement->progress), placement->reason,
            (int)seat->cpu, seat->reason, amg_drive_wait_words(drive, seat));
    return ret_text;
}

const char *amg_drive_handler_words(
    const struct amg_drive *drive, char *ret_text, size_t cap)
{
    const struct amg_placement *placement = drive->placement;
    struct amg_cpuset cpus = {{0}};
    char text[CPUS_CAP];
    unsigned loose = 0;

    if (cap > 0)
        ret_text[0] = '\0';
    if (placement == NULL || placement->handlers == 0)
        return ret_text;
    for (unsigned i = 0; i < placement->handlers; i++) {
        int32_t cpu = placement->handler_seats[i].cpu;

        if (cpu < 0)
            loose++;
        else if (cpu < AMG_CPUS_MAX)
            amg_cpuset_add(&cpus, (unsigned)cpu);
    }
    if (loose == placement->handlers)
        snprintf(ret_text, cap, "%u handler thread%s, not pinned", loose,
            loose == 1 ? "" : "s");
    else
        snprintf(ret_text, cap, "%u handler thread%s on core%s %s: %s",
            placement->handlers, placement->handlers == 1 ? "" : "s",
            amg_cpuset_count(&cpus) == 1 ? "" : "s",
            amg_cpuset_format(&cpus, text, sizeof(text)),
            placement->handler_seats[0].reason);
    return ret_text;
}

/* One warning for each line; not again as long as they are the same, since
 * every class would say so. */
static void notes_tell(const char *notes)
{
    static struct amg_lock last_lock;
    static char last[AMG_NOTES_CAP]; /* guarded by it */
    bool is_new = false;

    if (notes[0] == '\0')
        return;
    amg_lock_take(&last_lock);
    is_new = strcmp(last, notes) != 0;
    if (is_new)
        snprintf(last, sizeof(last), "%s", notes);
    amg_lock_give(&last_lock);
    while (is_new && notes[0] != '\0') {
        size_t len = strcspn(notes, "\n");

        AMG_LOG_WARNING("cls", "%.*s", (int)len, notes);
        notes += len + (notes[len] != '\0');
    }
}

void amg_drive_tell(const hg_class_t *cls)
{
    const struct amg_drive *drive = &cls->drive;
    char progress[WORDS_CAP];
    char handlers[WORDS_CAP];

    if (drive->placement != NULL)
        notes_tell(drive->placement->notes);
    amg_drive_progress_words(drive, progress, sizeof(progress));
    amg_drive_handler_words(drive, handlers, sizeof(handlers));
    AMG_LOG_INFO("cls", "%s", progress);
    if (handlers[0] != '\0')
        AMG_LOG_INFO("cls", "%s", handlers);
    if (cls->is_first && amg_env_number(AMG_ENV_REPORT) != 0)
        fprintf(stderr, "amalgam: %s%s%s\n", progress,
            handlers[0] == '\0' ? "" : "; ", handlers);
}
