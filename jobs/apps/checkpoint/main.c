/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores files, which ranks send by RPC and bulk, and others write and verify.
 *
 * The first ranks serve, the others send the files that the command line names;
 * a rank alone does both. Each file goes to the server that the hash of its
 * name chooses. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "amalgam.h"
#include "jobs/apps/checkpoint/job.h"
#include "jobs/apps/checkpoint/list.h"
#include "jobs/apps/checkpoint/options.h"
#include "jobs/apps/checkpoint/outdir.h"
#include "jobs/apps/checkpoint/part.h"
#include "jobs/apps/checkpoint/progress.h"
#include "jobs/apps/checkpoint/report.h"
#include "jobs/apps/checkpoint/send.h"
#include "jobs/apps/checkpoint/stop.h"
#include "jobs/apps/checkpoint/store.h"
#include "jobs/apps/checkpoint/table.h"
#include "jobs/apps/checkpoint/walk.h"

enum {
    TRIGGER_MAX = 16,
    PROGRESS_MS = 5, /* then signals, silent ranks and the end are looked for */
    CLOSE_S = 60,    /* for closing; the library itself waits 30 s */
    SILENT_FACTOR = 2, /* rank 0 waits that much longer than a sender */
};

/* Everything that is open; the parts a rank has no use for are NULL. */
struct run {
    struct job job;
    struct options options;
    struct list list;
    struct outdir outdir;
    struct store *store;
    struct sender *sender;
    struct progress *progress;
    double seconds;
};

static bool all_agree(bool is_fine)
{
    int mine = is_fine;
    int all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

/* Collective. False: some rank cannot go on, and has said why. */
static bool input_open(struct run *run)
{
    struct job *job = &run->job;
    bool is_fine = true;

    if (job->rank == 0)
        is_fine = walk_paths(&run->list, run->options.paths,
            run->options.path_count, run->options.out_dir);
    if (!all_agree(is_fine))
        return false;
    if (!list_share(&run->list, MPI_COMM_WORLD)) {
        report_error("no memory on some rank for the list of files");
        return false;
    }
    return outdir_open(&run->outdir, run->options.out_dir,
        job->rank < job->servers, MPI_COMM_WORLD);
}

/* Collective, up to an error. Handlers run within library_step() alone: what a
 * rank stores and what it sends are looked at in one loop, which has nothing
 * else to do, so a thread of the library would only need locks. */
static bool library_open(struct job *job)
{
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    bool is_server = job->rank < job->servers;

    progress.progress = AMALGAM_PROGRESS_CALLER;
    options.progress = &progress;
    job->cls = amalgam_init(MPI_COMM_WORLD, NULL, &options);
    if (job->cls == NULL) {
        report_error("cannot open the library; see the line above");
        return false;
    }
    job->context = HG_Context_create(job->cls);
    job->part_id = MERCURY_REGISTER(job->cls, PART_RPC, part_in_t, part_out_t,
        is_server ? store_serve_part : NULL);
    job->beat_id = MERCURY_REGISTER(job->cls, BEAT_RPC, beat_in_t, void,
        job->rank == 0 ? progress_serve_beat : NULL);
    if (job->context != NULL && job->part_id != 0 && job->beat_id != 0)
        return true;
    report_error("cannot open a context with two RPCs");
    return false;
}

static bool roles_open(struct run *run)
{
    struct job *job = &run->job;
    bool is_server = job->rank < job->servers;
    bool is_sender = job->rank >= job->size - job->senders;

    if (is_server) {
        run->store = store_open(job, run->outdir.fd);
        if (run->store == NULL)
            report_error("no memory to serve");
    }
    if (is_sender)
        run->sender = sender_open(
            job, &run->list, run->options.depth, run->options.wait_s);
    if (job->rank == 0) {
        run->progress = progress_open(job, run->list.files, run->list.bytes);
        if (run->progress == NULL)
            report_error("no memory to watch %d ranks", job->size);
    }
    return (!is_server || run->store != NULL) &&
           (!is_sender || run->sender != NULL) &&
           (job->rank != 0 || run->progress != NULL);
}

/* The job cannot come to its end: a rank is silent. */
static void run_abort(struct run *run)
{
    if (run->store != NULL)
        store_stop(run->store);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Ends the job where a rank has been silent for too long, or a server that let
 * a call wait does not come to the end. `end_ns` is when this rank did, or 0.
 */
static void silence_check(struct run *run, uint64_t end_ns)
{
    int limit_s = SILENT_FACTOR * run->options.wait_s;
    int rank = -1;

    if (run->progress != NULL)
        rank = progress_silent_rank(run->progress, limit_s);
    if (rank >= 0) {
        report_error("rank %d has not been heard of for %d s", rank, limit_s);
        run_abort(run);
    }
    if (end_ns != 0 && run->sender != NULL && sender_has_silent(run->sender) &&
        job_now_ns() - end_ns > (uint64_t)run->options.wait_s * JOB_NS_PER_S) {
        report_error("a server does not come to the end");
        run_abort(run);
    }
}

static void stop_all(struct run *run)
{
    report_note("told to stop");
    if (run->sender != NULL)
        sender_stop(run->sender);
    if (run->store != NULL)
        store_stop(run->store);
}

/* Progress and callbacks, once. */
static void library_step(struct job *job)
{
    unsigned count = 0;

    if (HG_Progress(job->context, PROGRESS_MS) != HG_SUCCESS)
        return;
    do {
        if (HG_Trigger(job->context, 0, TRIGGER_MAX, &count) != HG_SUCCESS)
            break;
    } while (count > 0);
}

/* Serves and sends until all senders have come to their end. */
static void run_loop(struct run *run)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    uint64_t end_ns = 0;
    bool is_stopped = false;
    int is_over = 0;

    while (!is_over) {
        if (stop_is_asked() && !is_stopped) {
            is_stopped = true;
            stop_all(run);
        }
        if (run->sender != NULL)
            sender_step(run->sender);
        library_step(&run->job);
        if (run->store != NULL)
            store_poll(run->store);
        if (run->progress != NULL)
            progress_show(run->progress);
        if (end_ns == 0 &&
            (run->sender == NULL || sender_is_done(run->sender))) {
            end_ns = job_now_ns();
            MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        }
        if (end_ns != 0)
            MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE);
        silence_check(run, end_ns);
    }
}

/* Collective. */
static void run_table(struct run *run)
{
    struct stats stats = {{0}};
    struct table_row row = {0, 0, 0, 0};

    if (run->sender != NULL) {
        const struct sender_totals *totals = sender_totals(run->sender);

        row.files = totals->files;
        row.bytes = totals->bytes;
        stats = *sender_stats(run->sender);
    }
    if (run->store != NULL)
        store_totals(run->store, &row.stored_files, &row.stored_bytes);
    table_print(&run->job, &row, &stats, run->seconds, MPI_COMM_WORLD);
}

/* Collective: opens the library, moves the files, and closes it again. */
static void run_files(struct run *run)
{
    struct job *job = &run->job;
    bool is_open = all_agree(library_open(job)) && all_agree(roles_open(run));
    double start = MPI_Wtime();
    hg_return_t rc = HG_SUCCESS;

    if (is_open) {
        run_loop(run);
        run->seconds = MPI_Wtime() - start;
        stop_watch(SILENT_FACTOR * (unsigned)run->options.wait_s);
        progress_close(run->progress);
        run->progress = NULL;
        run_table(run);
    }
    progress_close(run->progress);
    sender_close(run->sender);
    if (!store_close(run->store))
        report_error("a sender still holds on to memory of this server");
    stop_watch(CLOSE_S + (unsigned)run->options.wait_s);
    if (job->cls != NULL)
        rc = amalgam_finalize(job->cls);
    if (rc != HG_SUCCESS)
        report_error("cannot end the library: %s", HG_Error_to_string(rc));
}

/* Collective: the worst code of all ranks. */
static int code_agree(void)
{
    int mine = stop_is_asked() ? STOP_CODE : report_error_count() > 0;
    int worst = 0;

    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    stop_watch(0);
    return worst;
}

/* What becomes of the files that were written. */
static void outdir_end(struct run *run, int code)
{
    struct outdir *outdir = &run->outdir;
    bool is_removed = outdir->is_fresh && (code == 0 || code == STOP_CODE);

    if (is_removed && run->job.rank < run->job.servers)
        outdir_remove(outdir);
    outdir_close(outdir);
    if (run->job.rank != 0 || outdir->path[0] == '\0')
        return;
    if (code == 0)
        printf("All files were verified in %s%s\n", outdir->path,
            is_removed ? ", which is removed now (-o DIR keeps them)" : "");
    else
        printf("%s %s %s\n",
            code == STOP_CODE ? "Told to stop;" : "Not all could be stored;",
            is_removed ? "removed" : "verified are the files in", outdir->path);
    fflush(stdout);
}

static int run_all(int argc, char **argv)
{
    struct run run = {.outdir = {.fd = -1}};
    struct job *job = &run.job;
    int code = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->size);
    report_rank_set(job->rank);
    if (!options_read(&run.options, argc, argv, job->rank, job->size, &code))
        return code;
    job->servers = run.options.servers;
    job->senders = job->size == 1 ? 1 : job->size - job->servers;
    stop_install();
    if (input_open(&run)) {
        if (job->rank == 0) {
            printf("%llu files, %llu bytes, from %d to %d of %d ranks, into "
                   "%s\n",
                (unsigned long long)run.list.files,
                (unsigned long long)run.list.bytes, job->senders, job->servers,
                job->size, run.outdir.path);
            fflush(stdout);
        }
        run_files(&run);
    } else {
        run.outdir.path[0] = '\0';
    }
    code = code_agree();
    outdir_end(&run, code);
    list_free(&run.list);
    options_free(&run.options);
    return code;
}

int main(int argc, char **argv)
{
    int provided = 0;
    int code = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    code = run_all(argc, argv);
    MPI_Finalize();
    return code;
}
