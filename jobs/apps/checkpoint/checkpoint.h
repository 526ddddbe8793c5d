/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared declarations of the checkpoint job.
 *
 *   main.c      options, the loop, the order of opening and closing
 *   sender.c    lists the files, reads them, and sends them in parts
 *   server.c    pulls the parts, verifies and writes them; signals
 *   progress.c  error lines, the progress of all ranks, silent ranks, the table
 *
 * The one RPC, checkpoint_part, is about one part of a file, at most PART_LEN
 * bytes: the server pulls them, and renames the file to its final name once
 * all of its bytes are stored, so a small file is one call. With `is_drop`, the
 * server removes what it has of the file instead. A file is identified by the
 * rank that sends it and its index in the list. */
#ifndef CHECKPOINT_CHECKPOINT_H
#define CHECKPOINT_CHECKPOINT_H

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "mercury.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"

enum {
    PART_LEN = 1 << 20, /* bytes that a server pulls at once */
    FILE_PARTS = 8,     /* parts of one file in flight */
    DEPTH_MAX = 64,     /* files that a sender has in flight */
    STOP_CODE = 130,    /* exit code of a job that a signal stopped */
    STATS_LEN = 1025,   /* buckets of a histogram of durations */
};

/* `hash` is the XXH3 hash of the part's bytes. */
MERCURY_GEN_PROC(
    part_in_t, ((uint64_t)(file))((uint64_t)(size))((uint64_t)(offset))(
                   (uint64_t)(len))((uint64_t)(hash))((uint32_t)(mode))(
                   (uint32_t)(is_drop))((hg_string_t)(name))((hg_bulk_t)(data)))

/* The reply: an error text, empty on success. */
MERCURY_GEN_PROC(part_out_t, ((hg_string_t)(error)))

/* The work of a rank; zeros for a role that the rank does not have. */
struct totals {
    unsigned long long files; /* sent and verified */
    unsigned long long bytes;
    unsigned long long stored_files;
    unsigned long long stored_bytes;
    unsigned long long is_done; /* 1: has nothing more to send */
};

/* This rank of the job. */
struct job {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t part_id;
    int rank;
    int size;
    bool is_server;
    int servers;              /* ranks 0 to servers - 1 serve */
    int senders;              /* the others send; a single rank does both */
    int depth;                /* files that a sender has in flight */
    int wait_s;               /* limit for the reply of a server */
    unsigned long long files; /* to be sent by all ranks */
    uint64_t bytes;
    char out_path[PATH_MAX]; /* the directory that the servers write into */
    int out_fd;              /* on a server */
    unsigned long errors;    /* that this rank has reported */
    struct totals totals;
    uint64_t calls[STATS_LEN]; /* durations of this rank's calls */
};

extern struct job job;

/* sender.c */

/* Collective: rank 0 finds all files and empty directories below `paths`, named
 * as by `cp -r`, and sends the list to all ranks. Unreadable files are reported
 * as errors; links, special files and `out_dir` are left out, with a note.
 * False: some rank has reported why nothing may be sent. */
bool list_open(char **paths, int count, const char *out_dir);
/* Called on all ranks, also on those that do not send. False: reported. */
bool sender_open(void);
/* Sends what can be sent now. True: all files are sent or have failed. */
bool sender_step(void);
/* Starts no more files, and gives up those in flight. */
void sender_stop(void);
void sender_close(void);

/* server.c */

/* Collective: takes `wanted` or, if this is NULL, makes a new directory. False,
 * on every rank: some rank could not, and has reported it. */
bool outdir_open(const char *wanted);
/* On a server: closes the directory; `is_removed`: removes all of it first. */
void outdir_close(bool is_removed);
/* False: reported. */
bool server_open(void);
/* Starts pulls. */
void server_step(void);
/* Removes all incomplete files, and refuses new ones. */
void server_stop(void);
void server_close(void);
hg_return_t server_on_part(hg_handle_t handle);

/* From now on SIGINT and SIGTERM only set stop_is_asked. If the process is
 * still there 10 s later, it removes its partial files and exits at once. */
void stop_install(void);
extern volatile sig_atomic_t stop_is_asked;
/* Watchdog: removes the partial files, and exits with code 1 and a message,
 * unless stop_watch() is called again within `seconds`; 0: no watchdog. */
void stop_watch(unsigned seconds);

/* progress.c */

enum report { ERROR, NOTE };

/* One line to stderr, with the rank in front; errors are counted. */
__attribute__((format(printf, 2, 3))) void report(
    enum report kind, const char *format, ...);

void stats_add(uint64_t *counts, double duration_ns);
/* Microseconds below which `percent` of the `count` durations lie. */
double stats_percentile_us(
    const uint64_t *counts, uint64_t count, double percent);

/* Collective: whether all ranks are fine. */
bool all_agree(bool is_fine);

void progress_open(void); /* collective */
/* By all ranks, again and again: exchanges messages with rank 0, which prints a
 * bar on a terminal, else a line a second. True: all ranks are done. */
bool progress_step(bool is_done);
/* Has a rank sent nothing for twice job.wait_s? Reports all silent ranks. */
bool progress_is_silent(void);
/* Collective: rank 0 prints the table of all ranks. */
void progress_table(void);

#endif
