/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint job: ranks send files by RPC and bulk, others write and verify
 * them.
 *
 * The first ranks serve, the others send the files that the command line names;
 * a single rank does both. Each file goes to the server that the hash of its
 * name chooses. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amalgam.h"

enum {
    USAGE_CODE = 2,
    DEPTH_DEFAULT = 4,
    DEPTH_MAX = 64,
    WAIT_S_DEFAULT = 60,
    WAIT_S_MAX = 86400,
    TRIGGER_MAX = 16,
    PROGRESS_MS = 5,   /* between looks at signals, silent ranks and the end */
    CLOSE_S = 60,      /* for closing; the library itself waits 30 s */
    SILENT_FACTOR = 2, /* rank 0 waits that much longer than a sender */
};

/* Sent where nothing is named: this project, without what was built in it. */
static const char *const own_tree[] = {"README.md", "CMakeLists.txt",
    "CHANGELOG.md", "LICENSE", "include", "src", "mpi_backend", "ofi_backend",
    "jobs", "tests", "slurm"};

enum { OWN_COUNT = sizeof(own_tree) / sizeof(own_tree[0]) };

static const char usage[] =
    "checkpoint [-o DIR] [-s SERVERS] [-d DEPTH] [-w SECONDS] [PATH...]\n"
    "\n"
    "  PATH        files and directories to send; this project's own tree\n"
    "  -o DIR      output directory of the servers; default: a fresh one,\n"
    "              removed once all files in it were verified\n"
    "  -s SERVERS  number of server ranks, the first; default: a quarter\n"
    "  -d DEPTH    files in flight per sender; default: 4\n"
    "  -w SECONDS  how long a server may take to answer; default: 60\n";

/* Everything that is open; NULL where a rank has no use for it. */
struct run {
    struct job job;
    const char *out_dir;
    char *const *paths;
    int path_count;
    char *own[OWN_COUNT];
    char own_text[OWN_COUNT][PATH_MAX];
    struct list list;
    struct outdir outdir;
    struct server *server;
    struct sender *sender;
    struct progress *progress;
};

static bool number_read(const struct job *job, int letter, int max, int *ret)
{
    char *end = NULL;
    long number = strtol(optarg, &end, 10);

    *ret = (int)number;
    if (end != optarg && *end == '\0' && number >= 1 && number <= max)
        return true;
    if (job->rank == 0)
        fprintf(stderr,
            "checkpoint: -%c %s: a number from 1 to %d is wanted%s\n", letter,
            optarg, max,
            letter == 's' ? ", so that a rank is left to send" : "");
    return false;
}

/* False: the process ends with `*ret_code`. */
static bool options_read(struct run *run, int argc, char **argv, int *ret_code)
{
    struct job *job = &run->job;
    bool is_fine = true;
    int letter = 0;

    job->servers = job->size >= 8 ? job->size / 4 : 1;
    job->depth = DEPTH_DEFAULT;
    job->wait_s = WAIT_S_DEFAULT;
    opterr = job->rank == 0;
    while (is_fine && (letter = getopt(argc, argv, "+o:s:d:w:h")) != -1) {
        if (letter == 'o')
            run->out_dir = optarg;
        else if (letter == 's')
            is_fine = number_read(
                job, 's', job->size > 1 ? job->size - 1 : 1, &job->servers);
        else if (letter == 'd')
            is_fine = number_read(job, 'd', DEPTH_MAX, &job->depth);
        else if (letter == 'w')
            is_fine = number_read(job, 'w', WAIT_S_MAX, &job->wait_s);
        else
            is_fine = false;
    }
    if (job->rank == 0 && (letter == 'h' || letter == '?'))
        fputs(usage, letter == 'h' ? stdout : stderr);
    *ret_code = letter == 'h' ? 0 : USAGE_CODE;
    run->paths = argv + optind;
    run->path_count = argc - optind;
    job->senders = job->size == 1 ? 1 : job->size - job->servers;
    return is_fine;
}

/* Takes this project's tree, if it is where the build found it. */
static void own_tree_take(struct run *run)
{
    int i = 0;

    for (i = 0; i < OWN_COUNT; i++) {
        char *text = run->own_text[i];

        snprintf(text, PATH_MAX, "%s/%s", CHECKPOINT_TREE, own_tree[i]);
        if (access(text, F_OK) == 0)
            run->own[run->path_count++] = text;
    }
    run->paths = run->own;
}

/* Collective. False: some rank cannot go on, and has reported it. */
static bool input_open(struct run *run)
{
    bool is_fine = true;

    if (run->path_count == 0)
        own_tree_take(run);
    if (run->job.rank == 0)
        is_fine =
            list_find(&run->list, run->paths, run->path_count, run->out_dir);
    if (!all_agree(is_fine))
        return false;
    if (!list_share(&run->list)) {
        report_error("no memory on some rank for the list of files");
        return false;
    }
    return outdir_open(&run->outdir, run->out_dir, &run->job);
}

/* Collective, up to an error, which is reported. Handlers run within
 * library_step() alone: the loop looks at what a rank stores and sends, and has
 * nothing else to do, so a thread of the library would only need locks. */
static bool library_open(struct run *run)
{
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    struct job *job = &run->job;
    bool is_server = job->rank < job->servers;

    progress.progress = AMALGAM_PROGRESS_CALLER;
    options.progress = &progress;
    job->cls = amalgam_init(MPI_COMM_WORLD, NULL, &options);
    if (job->cls == NULL) {
        report_error("cannot open the library; see the line above");
        return false;
    }
    job->context = HG_Context_create(job->cls);
    job->part_id = MERCURY_REGISTER(job->cls, "checkpoint_part", part_in_t,
        part_out_t, is_server ? server_on_part : NULL);
    job->beat_id = MERCURY_REGISTER(job->cls, "checkpoint_beat", beat_in_t,
        void, job->rank == 0 ? progress_on_beat : NULL);
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

    if (is_server)
        run->server = server_open(job, run->outdir.fd);
    if (is_server && run->server == NULL)
        report_error("no memory to serve");
    if (is_sender)
        run->sender = sender_open(job, &run->list);
    if (job->rank == 0)
        run->progress = progress_open(job, &run->list);
    if (job->rank == 0 && run->progress == NULL)
        report_error("no memory to watch %d ranks", job->size);
    return (!is_server || run->server != NULL) &&
           (!is_sender || run->sender != NULL) &&
           (job->rank != 0 || run->progress != NULL);
}

/* Aborts the job where a rank has been silent for too long, or a server that
 * let a call wait does not come to the end. This rank did at `end_ns`, or 0. */
static void silence_check(struct run *run, uint64_t end_ns)
{
    int wait_s = run->job.wait_s;
    int limit_s = SILENT_FACTOR * wait_s;
    int rank = run->progress == NULL
                   ? -1
                   : progress_silent_rank(run->progress, limit_s);

    if (rank >= 0)
        report_error("rank %d has not been heard of for %d s", rank, limit_s);
    else if (end_ns != 0 && run->job.has_silent &&
             now_ns() - end_ns > (uint64_t)wait_s * NS_PER_S)
        report_error("a server does not come to the end");
    else
        return;
    if (run->server != NULL)
        server_stop(run->server);
    MPI_Abort(MPI_COMM_WORLD, 1);
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
            report_note("told to stop");
            if (run->sender != NULL)
                sender_stop(run->sender);
            if (run->server != NULL)
                server_stop(run->server);
        }
        if ((run->sender == NULL || sender_step(run->sender)) && end_ns == 0) {
            end_ns = now_ns();
            MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        }
        library_step(&run->job);
        if (run->server != NULL)
            server_step(run->server);
        if (run->progress != NULL)
            progress_show(run->progress);
        if (end_ns != 0)
            MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE);
        silence_check(run, end_ns);
    }
}

/* Collective: opens the library, moves the files, and closes it again. */
static void run_files(struct run *run)
{
    struct job *job = &run->job;
    bool is_open = all_agree(library_open(run)) && all_agree(roles_open(run));
    double start = MPI_Wtime();
    double seconds = 0;
    hg_return_t rc = HG_SUCCESS;

    if (is_open) {
        run_loop(run);
        seconds = MPI_Wtime() - start;
        stop_watch(SILENT_FACTOR * (unsigned)job->wait_s);
    }
    progress_close(run->progress);
    if (is_open)
        table_print(job, seconds);
    sender_close(run->sender);
    if (!server_close(run->server))
        report_error("a sender still holds on to memory of this server");
    stop_watch(CLOSE_S + (unsigned)job->wait_s);
    if (job->cls != NULL)
        rc = amalgam_finalize(job->cls);
    if (rc != HG_SUCCESS)
        report_error("cannot end the library: %s", HG_Error_to_string(rc));
}

/* Removes or keeps the files that were written, and says so. */
static void outdir_end(struct run *run, int code)
{
    struct outdir *outdir = &run->outdir;
    bool is_removed = outdir->is_fresh && (code == 0 || code == STOP_CODE);

    if (is_removed && run->job.rank < run->job.servers)
        outdir_remove(outdir);
    if (outdir->fd >= 0)
        close(outdir->fd);
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

/* Collective: returns the worst code of all ranks. */
static int run_all(struct run *run)
{
    struct job *job = &run->job;
    int mine = 0;
    int worst = 0;

    stop_install();
    if (input_open(run)) {
        if (job->rank == 0)
            printf("checkpoint: %llu files, %.1f MB, %d client rank%s -> %d "
                   "server rank%s, directory %s\n",
                (unsigned long long)run->list.files,
                (double)run->list.bytes / 1e6, job->senders,
                job->senders == 1 ? "" : "s", job->servers,
                job->servers == 1 ? "" : "s", run->outdir.path);
        fflush(stdout);
        run_files(run);
    } else {
        run->outdir.path[0] = '\0';
    }
    mine = stop_is_asked() ? STOP_CODE : report_error_count() > 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    stop_watch(0);
    outdir_end(run, worst);
    list_free(&run->list);
    return worst;
}

int main(int argc, char **argv)
{
    static struct run run = {.outdir = {.fd = -1}};
    int provided = 0;
    int code = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.job.size);
    report_rank_set(run.job.rank);
    if (options_read(&run, argc, argv, &code))
        code = run_all(&run);
    MPI_Finalize();
    return code;
}
