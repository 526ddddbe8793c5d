/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared declarations of the checkpoint job.
 *
 *   main.c      options, the loop, the order of opening and closing
 *   list.c      the files to send, the same list on all ranks
 *   sender.c    reads files and sends them in parts
 *   server.c    pulls the parts, verifies and writes them
 *   output.c    the output directory, partial files, signals
 *   progress.c  error lines, the progress bar, the table at the end
 *
 * The one RPC, checkpoint_part, is about one part of a file, at most PART_LEN
 * bytes: the server pulls them, and names the file once all of its bytes are
 * stored, so a small file is one call. Or, with `is_drop`, the server removes
 * what it has of the file. A file is known by the rank that sends it and its
 * index in the list. */
#ifndef CHECKPOINT_CHECKPOINT_H
#define CHECKPOINT_CHECKPOINT_H

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "mercury.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"

enum {
    PART_LEN = 1 << 20, /* bytes that a server pulls at once */
    FILE_PARTS = 8,     /* parts of one file in flight */
    STOP_CODE = 130,    /* exit code of a job that a signal stopped */
    STATS_LEN = 1025,   /* buckets of a histogram of durations */
};

#define NS_PER_S 1000000000ull

/* `hash` is that of the part. */
MERCURY_GEN_PROC(
    part_in_t, ((uint64_t)(file))((uint64_t)(size))((uint64_t)(offset))(
                   (uint64_t)(len))((uint64_t)(hash))((uint32_t)(mode))(
                   (uint32_t)(is_drop))((hg_string_t)(name))((hg_bulk_t)(data)))

/* `error` is an errno, 0 on success; `text` says what failed. */
MERCURY_GEN_PROC(part_out_t, ((int32_t)(error))((hg_string_t)(text)))

/* The work of a rank; zeros where it had no such role. */
struct totals {
    uint64_t files; /* sent and verified */
    uint64_t bytes;
    uint64_t stored_files;
    uint64_t stored_bytes;
};

/* This rank of the job: main() fills in what stands before the totals. */
struct job {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t part_id;
    int rank;
    int size;
    int servers; /* ranks 0 to servers - 1 serve */
    int senders; /* the others send; a single rank does both */
    int depth;   /* files that a sender has in flight */
    int wait_s;  /* limit for the reply of a server */
    struct totals totals;
    uint64_t calls[STATS_LEN]; /* durations of this rank's calls */
    bool has_silent; /* some server did not reply in time, and may never end */
};

extern struct job job;

static inline bool is_server(void)
{
    return job.rank < job.servers;
}

static inline bool is_sender(void)
{
    return job.rank >= job.size - job.senders;
}

static inline uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* list.c */

/* One file, or one empty directory. */
struct entry {
    uint64_t size; /* as listed; the file may have changed since */
    uint64_t path; /* where its path begins in the text of the list */
    uint32_t name; /* where its name in the output begins in the path */
    uint32_t mode; /* as of stat() */
};

/* Owned by main(). */
struct list {
    struct entry *entries;
    char *text; /* all paths */
    uint64_t count, cap;
    uint64_t text_len, text_cap;
    uint64_t files; /* the other entries are empty directories */
    uint64_t bytes;
};

/* Adds all files and empty directories below `paths`, named as by `cp -r`. An
 * unreadable one is reported, links, special files and `out_dir` are noted, and
 * left out. False: reported, and nothing may be sent. */
bool list_find(
    struct list *list, char *const *paths, int count, const char *out_dir);
/* Collective: gives the list of rank 0 to all. False: no memory somewhere. */
bool list_share(struct list *list);
void list_free(struct list *list);

/* Collective: whether all ranks are fine. */
bool all_agree(bool is_fine);

/* sender.c, of a rank that sends */

/* False: reported. `list` must outlive it. */
bool sender_open(const struct list *list);
/* Sends what can be sent now. True: all files are sent or have failed. */
bool sender_step(void);
/* Starts no more files, and gives up those in flight. */
void sender_stop(void);
void sender_close(void);

/* server.c, of a rank that serves */

/* Files go below the open directory `root`. False: reported. */
bool server_open(int root);
/* Starts pulls. */
void server_step(void);
/* Gives up all files that are not whole, and refuses new ones. */
void server_stop(void);
void server_close(void);
hg_return_t server_on_part(hg_handle_t handle);

/* output.c */

/* The directory that the servers write into. Owned by main(). */
struct outdir {
    char path[PATH_MAX];
    bool is_fresh; /* made by this job, which removes it after success */
    int fd;        /* on a server, else -1 */
};

/* Collective: takes `wanted`, or makes a fresh directory where that is NULL.
 * False, on every rank: some rank could not, and has reported it. */
bool outdir_open(struct outdir *outdir, const char *wanted);
/* On a server: removes it with all that is in it. */
void outdir_remove(struct outdir *outdir);

/* A file that is being written, `.NAME.partial.RANK.NUMBER` until it is whole.
 * Functions that return int return 0 or an errno. */
struct partial;

/* Is it relative, without empty, "." and ".." components? */
bool partial_name_is_safe(const char *name);
/* Makes the directories down to `name`. */
int partial_make_directories(int root, const char *name);
int partial_create(int root, const char *name, int from, uint64_t number,
    struct partial **ret_partial);
/* The file `number` of rank `from`, or NULL. */
struct partial *partial_find(int from, uint64_t number);
int partial_write(
    struct partial *partial, const void *bytes, size_t len, uint64_t offset);
/* Bytes written. */
uint64_t partial_len(const struct partial *partial);
/* Renames it to its final name, and frees it. On an error nothing is left. */
int partial_commit(struct partial *partial, uint32_t mode);
/* Removes the file, and frees it. NULL is fine. */
void partial_remove(struct partial *partial);
void partial_remove_all(void);

/* From now on SIGINT and SIGTERM only set a mark. If the process has not ended
 * some seconds later, partial files are removed and it exits at once. */
void stop_install(void);
bool stop_is_asked(void);
/* Ends the process the same way, with code 1 and a message, unless it is called
 * again within `seconds`; 0 ends the watch. */
void stop_watch(unsigned seconds);

/* progress.c */

/* One line to stderr, with the rank in front; errors are counted. */
__attribute__((format(printf, 1, 2))) void report_error(const char *, ...);
__attribute__((format(printf, 1, 2))) void report_note(const char *, ...);
unsigned long report_error_count(void);

void stats_add(uint64_t *counts, uint64_t duration_ns);
/* Microseconds below which `percent` of the durations lie; 0 when empty. */
double stats_percentile_us(const uint64_t *counts, double percent);

/* By all ranks: what all have sent is summed up, now and then. */
void progress_open(const struct list *list);
/* By all ranks, again and again: rank 0 shows what has changed, a bar on a
 * terminal, else a line a second. True: all ranks are done. */
bool progress_step(bool is_done);
/* How long some rank has not taken part in the sum that is under way. */
uint64_t progress_silent_ns(void);
/* By rank 0, at the end. */
void progress_close(void);

/* Collective: rank 0 prints the table of all ranks. */
void table_print(double seconds);

#endif
