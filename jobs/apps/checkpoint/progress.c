/* SPDX-License-Identifier: BSD-3-Clause */
/* How far all senders have come, shown by rank 0. */
#include "jobs/apps/checkpoint/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amalgam.h"
#include "jobs/apps/checkpoint/part.h"
#include "jobs/apps/checkpoint/report.h"

enum { BAR_LEN = 40 };

#define BAR_EVERY_NS  100000000ull
#define LINE_EVERY_NS 1000000000ull

/* What rank 0 knows of a sender. */
struct sender_seen {
    uint64_t heard_ns;
    bool is_done;
};

/* Owned by main(). */
struct progress {
    struct job *job;
    uint64_t files, files_all;
    uint64_t bytes, bytes_all;
    uint64_t start_ns;
    uint64_t shown_ns;
    uint64_t shown_files;
    uint64_t shown_bytes;
    bool is_terminal;
    struct sender_seen senders[]; /* by rank; those that serve are done */
};

/* The ranks write to mpiexec, so the launcher may say that it has a terminal.
 */
static bool is_on_terminal(void)
{
    const char *said = getenv("AMALGAM_TERMINAL");

    return (said != NULL && strcmp(said, "1") == 0) || isatty(STDOUT_FILENO);
}

struct progress *progress_open(struct job *job, uint64_t files, uint64_t bytes)
{
    struct progress *progress = calloc(
        1, sizeof(*progress) + (size_t)job->size * sizeof(struct sender_seen));
    int i = 0;

    if (progress == NULL)
        return NULL;
    progress->job = job;
    progress->files_all = files;
    progress->bytes_all = bytes;
    progress->start_ns = job_now_ns();
    progress->shown_ns = progress->start_ns;
    progress->is_terminal = is_on_terminal();
    for (i = 0; i < job->size; i++) {
        progress->senders[i].heard_ns = progress->start_ns;
        progress->senders[i].is_done = i < job->size - job->senders;
    }
    if (HG_Register_data(job->cls, job->beat_id, progress, NULL) !=
        HG_SUCCESS) {
        free(progress);
        return NULL;
    }
    return progress;
}

static void bar_draw(const struct progress *progress, double rate)
{
    char bar[BAR_LEN + 1];
    int filled = progress->bytes >= progress->bytes_all
                     ? BAR_LEN
                     : (int)(progress->bytes * BAR_LEN / progress->bytes_all);

    memset(bar, '.', BAR_LEN);
    memset(bar, '#', (size_t)filled);
    bar[BAR_LEN] = '\0';
    printf("\r[%s] %llu of %llu files, %.1f of %.1f MB, %.2f GB/s ", bar,
        (unsigned long long)progress->files,
        (unsigned long long)progress->files_all, (double)progress->bytes / 1e6,
        (double)progress->bytes_all / 1e6, rate);
}

void progress_show(struct progress *progress)
{
    uint64_t now_ns = job_now_ns();
    double rate = 0;

    if (now_ns - progress->shown_ns <
            (progress->is_terminal ? BAR_EVERY_NS : LINE_EVERY_NS) ||
        (progress->shown_files == progress->files &&
            progress->shown_bytes == progress->bytes))
        return;
    rate = (double)progress->bytes / (double)(now_ns - progress->start_ns);
    progress->shown_ns = now_ns;
    progress->shown_files = progress->files;
    progress->shown_bytes = progress->bytes;
    if (progress->is_terminal)
        bar_draw(progress, rate);
    else
        printf("%llu of %llu files, %.1f of %.1f MB, %.2f GB/s\n",
            (unsigned long long)progress->files,
            (unsigned long long)progress->files_all,
            (double)progress->bytes / 1e6, (double)progress->bytes_all / 1e6,
            rate);
    fflush(stdout);
}

int progress_silent_rank(const struct progress *progress, int limit_s)
{
    uint64_t now_ns = job_now_ns();
    int i = 0;

    for (i = 0; i < progress->job->size; i++) {
        const struct sender_seen *seen = &progress->senders[i];

        if (!seen->is_done &&
            now_ns - seen->heard_ns > (uint64_t)limit_s * JOB_NS_PER_S)
            return i;
    }
    return -1;
}

void progress_close(struct progress *progress)
{
    if (progress == NULL)
        return;
    if (progress->is_terminal) {
        bar_draw(progress, (double)progress->bytes /
                               (double)(job_now_ns() - progress->start_ns));
        printf("\n");
        fflush(stdout);
    }
    HG_Register_data(progress->job->cls, progress->job->beat_id, NULL, NULL);
    free(progress);
}

hg_return_t progress_serve_beat(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct progress *progress = HG_Registered_data(info->hg_class, info->id);
    beat_in_t beat;
    int rank = -1;

    if (progress != NULL &&
        amalgam_addr_get_rank(info->hg_class, info->addr, &rank) ==
            HG_SUCCESS &&
        HG_Get_input(handle, &beat) == HG_SUCCESS) {
        progress->files += beat.files;
        progress->bytes += beat.bytes;
        progress->senders[rank].heard_ns = job_now_ns();
        progress->senders[rank].is_done = beat.is_done != 0;
        HG_Free_input(handle, &beat);
    }
    if (HG_Respond(handle, NULL, NULL, NULL) != HG_SUCCESS)
        report_error("cannot answer rank %d", rank);
    return HG_Destroy(handle);
}
