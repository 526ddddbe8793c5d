/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint job: ranks send files by RPC, others write and verify them.
 *
 * The first ranks serve, the others send the files that the command line names;
 * a single rank does both. Each file goes to the server that the hash of its
 * name chooses. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <stdio.h>
#include <unistd.h>

#include "amalgam.h"

struct job job = {.depth = 4, .wait_s = 60};

enum {
    USAGE_CODE = 2,
    WAIT_S_MAX = 86400,
    PROGRESS_MS = 5, /* between checks for signals, silent ranks and the end */
    CLOSE_S = 60,    /* for closing; the library itself waits 30 s */
};

/* Sent if no PATH is given: this project, if it is still at this place. */
static char *own_tree[] = {CHECKPOINT_TREE "/README.md",
    CHECKPOINT_TREE "/CMakeLists.txt", CHECKPOINT_TREE "/CHANGELOG.md",
    CHECKPOINT_TREE "/LICENSE", CHECKPOINT_TREE "/include",
    CHECKPOINT_TREE "/src", CHECKPOINT_TREE "/mpi_backend",
    CHECKPOINT_TREE "/ofi_backend", CHECKPOINT_TREE "/jobs",
    CHECKPOINT_TREE "/tests", CHECKPOINT_TREE "/slurm", NULL};

static const char usage[] =
    "checkpoint [-o DIR] [-s SERVERS] [-d DEPTH] [-w SECONDS] [PATH...]\n\n"
    "  PATH        files and directories to send; default: this project\n"
    "  -o DIR      directory that the servers write into; default: a new one\n"
    "              in TMPDIR, removed at the end unless a file failed\n"
    "  -s SERVERS  number of server ranks, which are the lowest ranks;\n"
    "              default: a quarter of all ranks, at least 1\n"
    "  -d DEPTH    files that a client rank sends at a time; default: 4\n"
    "  -w SECONDS  limit for a server's reply; the job is aborted if a rank\n"
    "              sends nothing for twice that time; default: 60\n";

static const char *out_dir; /* as the user named it; NULL: a fresh one */
static char **paths;
static int path_count;

static bool number_read(int letter, int max, int *ret)
{
    char rest = 0;

    if (sscanf(optarg, "%9d%c", ret, &rest) == 1 && *ret >= 1 && *ret <= max)
        return true;
    if (job.rank == 0)
        fprintf(stderr, "checkpoint: -%c %s: must be a number from 1 to %d%s\n",
            letter, optarg, max,
            letter == 's' ? ", as at least one rank must send" : "");
    return false;
}

/* False: the process ends with `*ret_code`. */
static bool options_read(int argc, char **argv, int *ret_code)
{
    int servers_max = job.size > 1 ? job.size - 1 : 1;
    bool is_fine = true;
    int letter = 0;

    job.servers = job.size >= 8 ? job.size / 4 : 1;
    opterr = job.rank == 0;
    while (is_fine && (letter = getopt(argc, argv, "+o:s:d:w:h")) != -1) {
        if (letter == 'o')
            out_dir = optarg;
        else
            is_fine =
                (letter == 's' &&
                    number_read('s', servers_max, &job.servers)) ||
                (letter == 'd' && number_read('d', DEPTH_MAX, &job.depth)) ||
                (letter == 'w' && number_read('w', WAIT_S_MAX, &job.wait_s));
    }
    if (job.rank == 0 && (letter == 'h' || letter == '?'))
        fputs(usage, letter == 'h' ? stdout : stderr);
    *ret_code = letter == 'h' ? 0 : USAGE_CODE;
    paths = argv + optind;
    path_count = argc - optind;
    job.senders = job.size == 1 ? 1 : job.size - job.servers;
    job.is_server = job.rank < job.servers;
    return is_fine;
}

/* Collective, up to an error, which is reported. Handlers run only within
 * run_loop(): with a thread of the library they would need locks. */
static bool library_open(void)
{
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;

    progress.progress = AMALGAM_PROGRESS_CALLER;
    options.progress = &progress;
    job.cls = amalgam_init(MPI_COMM_WORLD, NULL, &options);
    if (job.cls != NULL) {
        job.context = HG_Context_create(job.cls);
        job.part_id = MERCURY_REGISTER(job.cls, "checkpoint_part", part_in_t,
            part_out_t, job.is_server ? server_on_part : NULL);
    }
    if (job.context == NULL || job.part_id == 0) {
        report(ERROR, "cannot open the library; see the line above");
        return false;
    }
    return (!job.is_server || server_open()) && sender_open();
}

/* Serves and sends until all ranks are done, or ends the job if one of them is
 * silent. */
static void run_loop(void)
{
    bool is_stopped = false;
    bool is_done = false;
    unsigned count = 0;

    while (!progress_step(is_done)) {
        if (stop_is_asked && !is_stopped) {
            is_stopped = true;
            report(NOTE, "stopped by a signal");
            sender_stop();
            server_stop();
        }
        is_done = sender_step();
        (void)HG_Progress(job.context, PROGRESS_MS);
        while (HG_Trigger(job.context, 0, 1, &count) == HG_SUCCESS && count > 0)
            continue;
        server_step();
        if (progress_is_silent()) {
            server_stop();
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* Collective: opens the library, moves the files, and closes it again. */
static void run_files(void)
{
    hg_return_t rc = HG_SUCCESS;

    if (all_agree(library_open())) {
        progress_open();
        run_loop();
        stop_watch(2 * (unsigned)job.wait_s);
        progress_table();
    }
    sender_close();
    server_close();
    stop_watch(CLOSE_S + (unsigned)job.wait_s);
    if (job.cls != NULL)
        rc = amalgam_finalize(job.cls);
    if (rc != HG_SUCCESS)
        report(
            ERROR, "cannot finalize the library: %s", HG_Error_to_string(rc));
}

/* Collective: returns the worst code of all ranks. */
static int run_all(void)
{
    bool is_open = false;
    bool is_removed = false;
    int code = 0;

    stop_install();
    if (path_count == 0 && access(own_tree[0], F_OK) == 0) {
        paths = own_tree;
        path_count = sizeof(own_tree) / sizeof(own_tree[0]) - 1;
    }
    is_open = list_open(paths, path_count, out_dir) && outdir_open(out_dir);
    if (is_open && job.rank == 0)
        printf("checkpoint: %llu files, %.1f MB, %d client rank%s -> %d server "
               "rank%s, directory %s\n",
            job.files, (double)job.bytes / 1e6, job.senders,
            job.senders == 1 ? "" : "s", job.servers,
            job.servers == 1 ? "" : "s", job.out_path);
    if (is_open)
        run_files();
    code = stop_is_asked ? STOP_CODE : job.errors > 0;
    MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    stop_watch(0);
    if (!is_open)
        return code;
    is_removed = out_dir == NULL && (code == 0 || code == STOP_CODE);
    outdir_close(is_removed);
    if (job.rank == 0 && code == 0)
        printf("All files were verified in %s%s\n", job.out_path,
            is_removed ? ", which is removed now (-o DIR keeps them)" : "");
    else if (job.rank == 0)
        printf("%s; %s %s\n",
            code == STOP_CODE ? "Stopped by a signal" : "Some files failed",
            is_removed ? "removed" : "verified files are in", job.out_path);
    return code;
}

int main(int argc, char **argv)
{
    int provided = 0;
    static char line[9000]; /* holds two long paths and some words */
    int code = 0;

    /* One write per line, so that the lines of several ranks do not mix. */
    setvbuf(stderr, line, _IOLBF, sizeof(line));
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    if (options_read(argc, argv, &code))
        code = run_all();
    MPI_Finalize();
    return code;
}
