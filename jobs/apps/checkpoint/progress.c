/* SPDX-License-Identifier: BSD-3-Clause */
/* Error lines, the progress of all senders, and the table at the end.
 *
 * Each rank sends its status to rank 0 about ten times a second. Rank 0 replies
 * whether all ranks are done; it delays its reply to a rank that is done until
 * all are, or a tenth of a second has passed. No rank blocks for a message that
 * may not come, so each detects silence: rank 0 gets no status of a silent
 * rank; if rank 0 is silent, the other ranks get no reply. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BAR_LEN = 40,
    STATS_STEPS = 16, /* buckets in a power of two */
    STATUS_TAG = 1,
    SILENT_FACTOR = 2, /* a rank may be silent so many times job.wait_s */
    NAMED_MAX = 8,     /* silent ranks that get a line of their own */
};

#define STATUS_EVERY_S 0.1
#define LINE_EVERY_S   1.0

struct peer {
    char host[MPI_MAX_PROCESSOR_NAME];
    struct totals totals;
    double heard_s;  /* INFINITY: no more messages are expected */
    bool is_waiting; /* for the reply */
};

static struct {
    struct peer *peers; /* on rank 0, all ranks; on others, rank 0 */
    int peer_count;
    struct totals sum;
    double start_s;
    double shown_s;
    unsigned long long shown_files;
    bool is_terminal;
} progress;

void report(enum report kind, const char *format, ...)
{
    va_list args;

    job.errors += kind == ERROR;
    fprintf(stderr, "checkpoint: rank %d: %s", job.rank,
        kind == NOTE ? "note: " : "");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void stats_add(uint64_t *counts, double duration_ns)
{
    counts[(unsigned)(STATS_STEPS * log2(duration_ns + 1))]++;
}

double stats_percentile_us(
    const uint64_t *counts, uint64_t count, double percent)
{
    uint64_t below = 0;

    for (unsigned i = 0; count > 0 && i < STATS_LEN; i++) {
        below += counts[i];
        if (below > 0 && (double)below >= (double)count * percent / 100)
            return exp2((i + 0.5) / STATS_STEPS) / 1000;
    }
    return 0;
}

bool all_agree(bool is_fine)
{
    int all = is_fine;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

void progress_open(void)
{
    /* Open MPI gives each rank a terminal: only jobs/run sees the user's. */
    const char *said = getenv("AMALGAM_TERMINAL");
    struct peer own = {.is_waiting = false};
    int len = 0;

    progress.peer_count = job.rank == 0 ? job.size : 1;
    progress.peers = calloc((size_t)progress.peer_count, sizeof(own));
    if (progress.peers == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Get_processor_name(own.host, &len);
    MPI_Gather(&own, sizeof(own), MPI_BYTE, progress.peers, sizeof(own),
        MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(progress.peers, sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD);
    progress.start_s = progress.shown_s = MPI_Wtime();
    for (int i = 0; i < progress.peer_count; i++)
        progress.peers[i].heard_s = i == job.rank ? INFINITY : progress.start_s;
    progress.is_terminal =
        said != NULL ? *said == '1' : job.size == 1 && isatty(STDOUT_FILENO);
}

static void progress_print(void)
{
    double bytes = (double)progress.sum.bytes;
    double all = (double)job.bytes;
    char bar[BAR_LEN + 1] = "";

    memset(bar, '.', BAR_LEN);
    memset(bar, '#', (size_t)(BAR_LEN * (bytes < all ? bytes / all : 1)));
    if (progress.is_terminal)
        printf("\r[%s] ", bar);
    printf("%llu of %llu files, %.1f of %.1f MB, %.2f GB/s%s",
        progress.sum.files, job.files, bytes / 1e6, all / 1e6,
        bytes / 1e9 / (MPI_Wtime() - progress.start_s),
        progress.is_terminal ? " " : "\n");
    fflush(stdout);
}

/* On rank 0: receives what other ranks have sent, and sums it up. */
static void statuses_receive(double now)
{
    struct peer *peers = progress.peers;
    MPI_Status status;
    int has_come = 0;

    while (MPI_Iprobe(MPI_ANY_SOURCE, STATUS_TAG, MPI_COMM_WORLD, &has_come,
               &status) == MPI_SUCCESS &&
           has_come) {
        struct peer *peer = &peers[status.MPI_SOURCE];

        MPI_Recv(&peer->totals, sizeof(struct totals), MPI_BYTE,
            status.MPI_SOURCE, STATUS_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        peer->heard_s = now;
        peer->is_waiting = true;
    }
    peers[0].totals = job.totals;
    progress.sum = (struct totals){0};
    for (int i = 0; i < job.size; i++) {
        progress.sum.files += peers[i].totals.files;
        progress.sum.bytes += peers[i].totals.bytes;
        progress.sum.is_done += peers[i].totals.is_done;
    }
}

/* On rank 0: replies. True: all ranks know that all are done. */
static bool statuses_reply(double now)
{
    static const int replies[] = {0, 1};
    int is_over = progress.sum.is_done == (unsigned)job.size;
    bool is_known = is_over;
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 1; i < job.size; i++) {
        struct peer *peer = &progress.peers[i];

        if (peer->is_waiting && (is_over || !peer->totals.is_done ||
                                    now - peer->heard_s >= STATUS_EVERY_S)) {
            MPI_Isend(&replies[is_over], 1, MPI_INT, i, STATUS_TAG,
                MPI_COMM_WORLD, &request);
            MPI_Request_free(&request); /* `replies` stay as they are */
            peer->is_waiting = false;
            peer->heard_s = is_over ? INFINITY : peer->heard_s;
        }
        is_known = is_known && isinf(peer->heard_s);
    }
    return is_known;
}

/* On other ranks: sends the status, and receives the reply. True: all ranks are
 * done. */
static bool status_send(double now)
{
    static MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    static struct totals totals; /* being sent */
    static double sent_s;
    static int is_over; /* the reply */
    int has_come = 0;

    if (requests[0] == MPI_REQUEST_NULL &&
        (job.totals.is_done || now - sent_s >= STATUS_EVERY_S)) {
        sent_s = now;
        totals = job.totals;
        MPI_Irecv(
            &is_over, 1, MPI_INT, 0, STATUS_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&totals, sizeof(totals), MPI_BYTE, 0, STATUS_TAG,
            MPI_COMM_WORLD, &requests[1]);
    }
    if (requests[0] != MPI_REQUEST_NULL)
        MPI_Test(&requests[0], &has_come, MPI_STATUS_IGNORE);
    if (!has_come)
        return false;
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* rank 0 has the status */
    progress.peers[0].heard_s = now;
    return is_over;
}

bool progress_step(bool is_done)
{
    double every_s = progress.is_terminal ? STATUS_EVERY_S : LINE_EVERY_S;
    double now = MPI_Wtime();

    job.totals.is_done = is_done;
    if (job.rank != 0)
        return status_send(now);
    statuses_receive(now);
    if (progress.sum.files != progress.shown_files &&
        now - progress.shown_s >= every_s) {
        progress.shown_s = now;
        progress.shown_files = progress.sum.files;
        progress_print();
    }
    return statuses_reply(now);
}

bool progress_is_silent(void)
{
    double now = MPI_Wtime();
    double longest_s = 0;
    int named = 0;

    for (int i = 0; i < progress.peer_count; i++)
        longest_s = fmax(longest_s, now - progress.peers[i].heard_s);
    if (longest_s <= SILENT_FACTOR * job.wait_s)
        return false;
    /* Ranks that stopped at the same time may be a little below the limit. */
    for (int i = 0; i < progress.peer_count; i++) {
        const struct peer *peer = &progress.peers[i];

        if (now - peer->heard_s > job.wait_s && named++ < NAMED_MAX)
            report(ERROR,
                "no message from rank %d on host %s for %.0f s; the job is "
                "aborted",
                i, peer->host, now - peer->heard_s);
    }
    return true;
}

void progress_table(void)
{
    const struct totals *totals = &progress.sum;
    struct peer own = {.totals = job.totals};
    double seconds = MPI_Wtime() - progress.start_s;
    unsigned long long count = 0;

    MPI_Reduce(job.rank == 0 ? MPI_IN_PLACE : job.calls, job.calls, STATS_LEN,
        MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(&own, sizeof(own), MPI_BYTE, progress.peers, sizeof(own),
        MPI_BYTE, 0, MPI_COMM_WORLD);
    if (job.rank != 0)
        return;
    if (progress.is_terminal) {
        progress_print();
        printf("\n");
    }
    for (unsigned i = 0; i < STATS_LEN; i++)
        count += job.calls[i];
    printf("%8s %15s %9s %8s %9s %9s %9s\n", "files", "bytes", "seconds",
        "GB/s", "RPCs", "p50 us", "p99 us");
    printf("%8llu %15llu %9.3f %8.3f %9llu %9.1f %9.1f\n", totals->files,
        totals->bytes, seconds, (double)totals->bytes / seconds / 1e9, count,
        stats_percentile_us(job.calls, count, 50),
        stats_percentile_us(job.calls, count, 99));
    for (int i = 0; i < job.servers; i++) {
        totals = &progress.peers[i].totals;
        printf("%8llu %15llu %9s %8.3f stored by rank %d\n",
            totals->stored_files, totals->stored_bytes, "",
            (double)totals->stored_bytes / seconds / 1e9, i);
    }
}
