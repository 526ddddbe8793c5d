/* SPDX-License-Identifier: BSD-3-Clause */
/* Files to send: their list, and the sender of a rank.
 *
 * Rank 0 finds the files; all ranks have the same list. A sender has `depth`
 * lanes, each with one file, of which up to FILE_PARTS parts are in flight: one
 * is read while others are pulled. A file that failed is dropped at its server
 * by a call of its own, once the calls in flight are answered. A file must not
 * change while it is read. It is read by pread() and not mapped: if the file
 * shrinks, a mapping raises SIGBUS, and pread() returns fewer bytes. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "amalgam.h"

/* One file, or one empty directory. */
struct entry {
    uint64_t size; /* as listed; the file may have changed since */
    unsigned mode; /* as of stat() */
    const char *path;
    const char *name; /* in the output: the end of the path */
};

/* One call at a time. */
struct call {
    struct lane *lane;
    hg_handle_t handle;
    double start_s;
    bool is_busy;
    bool is_late; /* canceled; the callback is still to come */
    void *bytes;  /* PART_LEN + 1 of them, from the first use on */
    hg_bulk_t bulk;
};

/* One file after the other. */
struct lane {
    const struct entry *entry; /* NULL: no file */
    int server;
    int fd;             /* -1: of an empty directory, or not open */
    struct stat status; /* when it was opened */
    uint64_t offset;    /* bytes read so far */
    bool is_sent;       /* to its last part */
    bool is_opened;     /* the server may have the file open */
    bool has_failed;    /* and was reported */
};

struct server {
    hg_addr_t addr;
    bool is_silent; /* let a call wait too long */
};

static struct {
    char *text; /* of the list, and 8 bytes of padding */
    uint64_t text_len;
    struct entry *entries; /* the list, biggest first */
    uint64_t entry_count;
    uint64_t next; /* file to send */
    struct server *servers;
    struct lane lanes[DEPTH_MAX];
    struct call parts[DEPTH_MAX][FILE_PARTS]; /* of the lanes */
} sender;

/* A file is listed as "SIZE MODE NAME PATH" and a zero byte; NAME is the offset
 * in the path at which the name in the output begins. */
static void entry_add(FILE *file, const FTSENT *found, size_t name)
{
    const struct stat *status = found->fts_statp;
    bool is_file = S_ISREG(status->st_mode);

    fprintf(file, "%jd %u %zu %s%c", is_file ? (intmax_t)status->st_size : 0,
        status->st_mode, name, found->fts_path, '\0');
    sender.entry_count++;
}

/* Takes an entry from `at`, and returns the end of its text. */
static char *entry_read(struct entry *entry, char *at)
{
    size_t name = 0;
    int len = 0;

    sscanf(at, "%" SCNu64 "%u%zu%n", &entry->size, &entry->mode, &name, &len);
    entry->path = at + len + 1;
    entry->name = entry->path + name;
    job.files += S_ISREG(entry->mode);
    job.bytes += entry->size;
    return at + len + strlen(at + len) + 1;
}

static int entry_compare(const void *one, const void *other)
{
    const struct entry *a = one;
    const struct entry *b = other;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Reports that `found` is not copied: an error if the user has named it. */
static void entry_skip(const FTSENT *found, const char *why)
{
    if (found->fts_level == FTS_ROOTLEVEL)
        report(ERROR, "%s: not copied, it is %s", found->fts_path, why);
    else
        report(NOTE, "%s: skipped, it is %s", found->fts_path, why);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Looks at one thing that the walk has found. */
static void entry_visit(
    FILE *file, FTS *walk, FTSENT *found, size_t name, const struct stat *out)
{
    if (found->fts_info != FTS_DP)
        found->fts_parent->fts_number++;
    if (found->fts_info == FTS_F) {
        entry_add(file, found, name);
    } else if (found->fts_info == FTS_D) {
        if (!is_same(found->fts_statp, out))
            return;
        entry_skip(found, "the output directory");
        found->fts_number = 1;
        fts_set(walk, found, FTS_SKIP);
    } else if (found->fts_info == FTS_DP) {
        /* A directory is listed only if it is empty, and not "/". */
        if (found->fts_number == 0 && found->fts_path[name] != '\0')
            entry_add(file, found, name);
    } else if (found->fts_info == FTS_SL) {
        entry_skip(found, "a symbolic link");
    } else if (found->fts_info == FTS_DEFAULT) {
        entry_skip(found, "neither file nor directory");
    } else {
        report(ERROR, "%s: %s%s", found->fts_path,
            found->fts_info == FTS_DNR ? "cannot list the directory: " : "",
            strerror(found->fts_errno != 0 ? found->fts_errno : ENOENT));
    }
}

/* The last word of a path of the command line; "" for the whole file system. */
static const char *root_name(const char *root)
{
    const char *slash = strrchr(root, '/');

    return slash == NULL ? root : slash + 1;
}

/* Returns a copy that ends in a name, or NULL: reported. */
static char *root_read(const char *path)
{
    size_t len = strlen(path);
    char *root = NULL;

    while (len > 1 && path[len - 1] == '/')
        len--;
    root = strndup(path, len);
    if (root != NULL && (len == 0 || strcmp(root_name(root), ".") == 0 ||
                            strcmp(root_name(root), "..") == 0)) {
        free(root);
        root = realpath(path, NULL);
    }
    if (root == NULL)
        report(ERROR, "\"%s\": %s", path, strerror(errno));
    return root;
}

/* Whether the files of the last root would overwrite their sources, or files of
 * an earlier root, which is impossible if the names of the roots differ. The
 * root "/" clashes with all others. */
static bool root_clashes(char *const *roots, int last, const char *out_dir)
{
    const char *name = root_name(roots[last]);
    char target[PATH_MAX];
    struct stat source;
    struct stat there;

    for (int i = 0; i < last; i++) {
        const char *other = root_name(roots[i]);

        if (strcmp(other, name) != 0 && *other != '\0' && *name != '\0')
            continue;
        report(ERROR,
            "%s and %s would both be called \"%s\" in the output directory",
            roots[i], roots[last], name);
        return true;
    }
    snprintf(
        target, sizeof(target), "%s/%s", out_dir == NULL ? "" : out_dir, name);
    if (out_dir == NULL || stat(roots[last], &source) != 0 ||
        stat(target, &there) != 0 || !is_same(&source, &there))
        return false;
    report(
        ERROR, "%s: would be written onto itself in %s", roots[last], out_dir);
    return true;
}

/* On rank 0; replaces the paths. False: reported, and nothing may be sent. */
static bool list_find(char **paths, int count, const char *out_dir)
{
    FILE *file = open_memstream(&sender.text, &sender.text_len);
    struct stat out = {.st_ino = 0};
    bool is_fine = count > 0;
    FTS *walk = NULL;
    FTSENT *found = NULL;
    size_t name = 0;
    int last = 0;

    if (count == 0)
        report(ERROR, "nothing to send: give files or directories");
    if (out_dir != NULL)
        (void)stat(out_dir, &out);
    for (int i = 0; is_fine && i < count; i++) {
        paths[last] = root_read(paths[i]);
        if (paths[last] != NULL)
            is_fine = !root_clashes(paths, last++, out_dir);
    }
    paths[last] = NULL;
    if (file != NULL && is_fine && last > 0)
        walk =
            fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    while (walk != NULL && !stop_is_asked && (found = fts_read(walk)) != NULL) {
        if (found->fts_level == FTS_ROOTLEVEL)
            name = (size_t)(root_name(found->fts_path) - found->fts_path);
        entry_visit(file, walk, found, name, &out);
    }
    if (file == NULL || fprintf(file, "%8s", "") < 0 || fclose(file) != 0 ||
        (is_fine && last > 0 && walk == NULL)) {
        report(ERROR, "no memory for the list of files");
        is_fine = false;
    }
    if (walk != NULL)
        fts_close(walk);
    return is_fine;
}

bool list_open(char **paths, int count, const char *out_dir)
{
    char *at = NULL;

    if (!all_agree(job.rank != 0 || list_find(paths, count, out_dir)))
        return false;
    MPI_Bcast(&sender.text_len, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(&sender.entry_count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    sender.entries = malloc((sender.entry_count + 1) * sizeof(struct entry));
    if (job.rank != 0)
        sender.text = malloc(sender.text_len + 1);
    at = sender.text;
    if (!all_agree(at != NULL && sender.entries != NULL)) {
        report(ERROR, "no memory on some rank for the list of files");
        return false;
    }
    /* In units of 8 bytes: counts of MPI are ints. */
    MPI_Bcast(at, (int)(sender.text_len / 8), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < sender.entry_count; i++)
        at = entry_read(&sender.entries[i], at);
    /* Biggest first, so that every n-th is a fair share. */
    qsort(sender.entries, sender.entry_count, sizeof(struct entry),
        entry_compare);
    return true;
}

/* Reports the first error of a file. Returns false. */
__attribute__((format(printf, 2, 3))) static bool lane_fail(
    struct lane *lane, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!lane->has_failed)
        report(ERROR, "%s: %s", lane->entry->path, text);
    lane->has_failed = true;
    return false;
}

static hg_return_t on_reply(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    struct lane *lane = call->lane;
    const char *error = "it did not reply in time";
    part_out_t out = {NULL};
    hg_return_t rc = info->ret;

    call->is_busy = false;
    if (rc == HG_SUCCESS)
        rc = HG_Get_output(call->handle, &out);
    if (rc == HG_SUCCESS)
        error = out.error;
    else if (!call->is_late)
        error = HG_Error_to_string(rc);
    if (*error != '\0')
        lane_fail(lane, "server rank %d: %s", lane->server, error);
    if (rc == HG_SUCCESS) {
        stats_add(job.calls, (MPI_Wtime() - call->start_s) * 1e9);
        HG_Free_output(call->handle, &out);
    }
    if (HG_Bulk_free(call->bulk) != HG_SUCCESS)
        call->bytes = NULL; /* not freed: a late server may still read it */
    call->bulk = HG_BULK_NULL;
    return HG_SUCCESS;
}

/* Cancels a call that takes too long. */
static void call_check(struct call *call)
{
    int rank = call->lane->server;

    if (call->is_late || MPI_Wtime() - call->start_s < job.wait_s)
        return;
    call->is_late = true;
    if (!sender.servers[rank].is_silent)
        report(ERROR,
            "server rank %d did not reply within %d s (option -w); no more "
            "files are sent to it",
            rank, job.wait_s);
    sender.servers[rank].is_silent = true;
    /* A call to oneself cannot be canceled, and cannot be late for long. */
    (void)HG_Cancel(call->handle);
}

/* Makes a call about the file. False: reported. */
static bool part_forward(struct call *part, part_in_t *in)
{
    const struct lane *lane = part->lane;
    hg_addr_t addr = sender.servers[lane->server].addr;
    const hg_size_t len = in->len;
    hg_return_t rc = HG_SUCCESS;

    if (len > 0)
        rc = HG_Bulk_create(
            job.cls, 1, &part->bytes, &len, HG_BULK_READ_ONLY, &part->bulk);
    in->file = (uint64_t)(lane->entry - sender.entries);
    in->size = (uint64_t)lane->status.st_size;
    in->mode = lane->status.st_mode;
    in->name = (char *)lane->entry->name;
    in->data = part->bulk;
    if (rc == HG_SUCCESS && part->handle == HG_HANDLE_NULL)
        rc = HG_Create(job.context, addr, job.part_id, &part->handle);
    else if (rc == HG_SUCCESS)
        rc = HG_Reset(part->handle, addr, job.part_id);
    part->is_late = false;
    part->start_s = MPI_Wtime();
    if (rc == HG_SUCCESS)
        rc = HG_Forward(part->handle, on_reply, part, in);
    part->is_busy = rc == HG_SUCCESS;
    if (rc == HG_SUCCESS)
        return true;
    HG_Bulk_free(part->bulk);
    part->bulk = HG_BULK_NULL;
    return lane_fail(part->lane, "cannot call server rank %d: %s", lane->server,
        HG_Error_to_string(rc));
}

/* Reads the next part. With the last part, tries to read one byte more: the
 * file must not have changed since it was opened. False: reported. */
static bool part_read(struct call *part, uint64_t len)
{
    struct lane *lane = part->lane;
    uint64_t size = (uint64_t)lane->status.st_size;
    bool is_last = lane->offset + len == size;
    uint64_t done = 0;
    ssize_t now = 1;
    struct stat status;

    while (done < len + is_last && now != 0) {
        now = pread(lane->fd, (char *)part->bytes + done, len + is_last - done,
            (off_t)(lane->offset + done));
        if (now < 0 && errno != EINTR)
            return lane_fail(lane, "cannot read at %" PRIu64 ": %s",
                lane->offset + done, strerror(errno));
        done += now > 0 ? (uint64_t)now : 0;
    }
    if (done < len)
        return lane_fail(lane,
            "shrank from %" PRIu64 " to %" PRIu64 " bytes while it was read",
            size, lane->offset + done);
    if (done > len)
        return lane_fail(
            lane, "grew beyond its %" PRIu64 " bytes while it was read", size);
    if (is_last && (fstat(lane->fd, &status) != 0 ||
                       memcmp(&status.st_mtim, &lane->status.st_mtim,
                           sizeof(status.st_mtim)) != 0))
        return lane_fail(lane, "was changed while it was read");
    return true;
}

/* Reads and sends the next part. False: reported. */
static bool part_send(struct call *part)
{
    struct lane *lane = part->lane;
    uint64_t left = (uint64_t)lane->status.st_size - lane->offset;
    part_in_t in = {
        .offset = lane->offset, .len = left < PART_LEN ? left : PART_LEN};

    if (part->bytes == NULL)
        part->bytes = malloc(PART_LEN + 1);
    if (part->bytes == NULL)
        return lane_fail(lane, "no memory to read it into");
    if (lane->fd >= 0 && !part_read(part, in.len))
        return false;
    lane->offset += in.len;
    lane->is_sent = in.len == left;
    lane->is_opened = true;
    in.hash = XXH3_64bits(part->bytes, in.len);
    return part_forward(part, &in);
}

/* Takes the next file of the list that falls to this rank, and opens it. */
static bool lane_start(struct lane *lane)
{
    const struct entry *entry = &sender.entries[sender.next];
    uint64_t hash = XXH3_64bits(entry->name, strlen(entry->name));

    *lane = (struct lane){.entry = entry,
        .server = (int)(hash % (uint64_t)job.servers),
        .fd = -1,
        .status.st_mode = entry->mode};
    sender.next += (uint64_t)job.senders;
    if (sender.servers[lane->server].is_silent)
        return lane_fail(
            lane, "not sent, server rank %d does not reply", lane->server);
    if (S_ISDIR(entry->mode))
        return true;
    /* O_NONBLOCK: by now the path may name a pipe, and open() would wait. */
    lane->fd = open(entry->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (lane->fd < 0 && errno == ENOENT)
        return lane_fail(lane, "has vanished since it was listed");
    if (lane->fd < 0 || fstat(lane->fd, &lane->status) != 0)
        return lane_fail(lane, "cannot open: %s", strerror(errno));
    return S_ISREG(lane->status.st_mode) || lane_fail(lane, "is now no file");
}

/* Sends what can be sent now. */
static void lane_step(struct lane *lane)
{
    struct call *parts = sender.parts[lane - sender.lanes];
    unsigned busy = 0;

    for (unsigned i = 0; i < FILE_PARTS; i++) {
        struct call *part = &parts[i];

        part->lane = lane;
        if (part->is_busy)
            call_check(part);
        else if (!lane->has_failed && !lane->is_sent)
            part_send(part);
        busy += part->is_busy;
    }
    if (busy > 0)
        return;
    if (lane->has_failed && lane->is_opened &&
        !sender.servers[lane->server].is_silent) {
        part_in_t in = {.is_drop = 1};

        lane->is_opened = false;
        part_forward(&parts[0], &in);
        return;
    }
    if (!lane->has_failed && S_ISREG(lane->status.st_mode)) {
        job.totals.files++;
        job.totals.bytes += (uint64_t)lane->status.st_size;
    }
    if (lane->fd >= 0)
        close(lane->fd);
    lane->entry = NULL;
}

bool sender_step(void)
{
    bool is_idle = true;

    for (int i = 0; i < job.depth; i++) {
        struct lane *lane = &sender.lanes[i];

        if (lane->entry != NULL)
            lane_step(lane);
        while (lane->entry == NULL && sender.next < sender.entry_count) {
            lane_start(lane);
            lane_step(lane);
        }
        is_idle = is_idle && lane->entry == NULL;
    }
    return is_idle;
}

void sender_stop(void)
{
    sender.next = sender.entry_count;
    for (int i = 0; i < job.depth; i++)
        sender.lanes[i].has_failed = true;
}

bool sender_open(void)
{
    hg_return_t rc = HG_SUCCESS;

    sender.next = sender.entry_count;
    if (job.rank >= job.size - job.senders)
        sender.next = (uint64_t)(job.rank - job.size + job.senders);
    sender.servers = calloc((size_t)job.servers, sizeof(*sender.servers));
    if (sender.servers == NULL)
        rc = HG_NOMEM;
    for (int i = 0; rc == HG_SUCCESS && i < job.servers; i++)
        rc = amalgam_addr_rank(job.cls, i, &sender.servers[i].addr);
    if (rc != HG_SUCCESS)
        report(ERROR, "cannot look up %d server ranks: %s", job.servers,
            HG_Error_to_string(rc));
    return rc == HG_SUCCESS;
}

void sender_close(void)
{
    for (int i = 0; i < job.depth; i++)
        for (unsigned k = 0; k < FILE_PARTS; k++) {
            HG_Destroy(sender.parts[i][k].handle);
            free(sender.parts[i][k].bytes);
        }
    for (int i = 0; sender.servers != NULL && i < job.servers; i++)
        HG_Addr_free(job.cls, sender.servers[i].addr);
    free(sender.servers);
}
