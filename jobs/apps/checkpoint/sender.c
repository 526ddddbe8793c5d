/* SPDX-License-Identifier: BSD-3-Clause */
/* Sender of files: `depth` lanes, each with one file in flight.
 *
 * Up to FILE_PARTS parts of a file are in flight: one is read while others are
 * pulled. A file that failed is dropped at its server by a call of its own,
 * once the calls in flight are answered. A file must not change while it is
 * read. It is read by calls and not mapped: behind the end of a file that
 * shrinks, a mapping ends the process by a signal, and a read just ends. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "amalgam.h"

/* One call at a time. */
struct call {
    struct lane *lane;
    hg_handle_t handle;
    double start_s; /* INFINITY: canceled; its callback comes */
    bool is_busy;
    void *bytes; /* PART_LEN + 1 of them, from the first use on */
    hg_bulk_t bulk;
};

/* One file after the other. */
struct lane {
    uint64_t number;           /* of the file in the list */
    const struct entry *entry; /* NULL: no file */
    int server;
    int fd;             /* -1: of an empty directory, or not open */
    struct stat status; /* when it was opened */
    uint64_t offset;    /* bytes read so far */
    bool is_sent;       /* to its last part */
    bool is_opened;     /* the server may have it open */
    bool has_failed;    /* and was reported */
};

struct server {
    hg_addr_t addr;
    bool is_silent; /* let a call wait too long */
};

static struct {
    uint64_t next; /* in the list */
    struct server *servers;
    struct lane lanes[DEPTH_MAX];
    struct call parts[DEPTH_MAX][FILE_PARTS]; /* of the lanes */
} sender;

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

static void call_unexpose(struct call *call)
{
    if (HG_Bulk_free(call->bulk) != HG_SUCCESS) {
        report(NOTE,
            "server rank %d still uses memory of this rank, which is not freed",
            call->lane->server);
        call->bytes = NULL;
    }
    call->bulk = HG_BULK_NULL;
}

static hg_return_t on_reply(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    struct lane *lane = call->lane;
    part_out_t out = {NULL};
    hg_return_t rc = info->ret;

    call->is_busy = false;
    if (rc == HG_SUCCESS)
        rc = HG_Get_output(call->handle, &out);
    if (rc != HG_SUCCESS)
        lane_fail(lane, "server rank %d: %s", lane->server,
            isinf(call->start_s) ? "it did not answer in time"
                                 : HG_Error_to_string(rc));
    else if (out.error[0] != '\0')
        lane_fail(lane, "server rank %d: %s", lane->server, out.error);
    if (rc == HG_SUCCESS) {
        stats_add(job.calls, (MPI_Wtime() - call->start_s) * 1e9);
        HG_Free_output(call->handle, &out);
    }
    call_unexpose(call);
    return HG_SUCCESS;
}

/* Cancels a call that takes too long. */
static void call_check(struct call *call)
{
    int rank = call->lane->server;

    if (MPI_Wtime() - call->start_s < job.wait_s)
        return;
    call->start_s = INFINITY;
    if (!sender.servers[rank].is_silent)
        report(ERROR,
            "server rank %d did not answer within %d s; nothing more is sent "
            "there (-w sets the time)",
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
    in->file = lane->number;
    in->size = (uint64_t)lane->status.st_size;
    in->mode = lane->status.st_mode;
    in->name = (char *)lane->entry->name;
    in->data = part->bulk;
    if (rc == HG_SUCCESS && part->handle == HG_HANDLE_NULL)
        rc = HG_Create(job.context, addr, job.part_id, &part->handle);
    else if (rc == HG_SUCCESS)
        rc = HG_Reset(part->handle, addr, job.part_id);
    part->start_s = MPI_Wtime();
    if (rc == HG_SUCCESS)
        rc = HG_Forward(part->handle, on_reply, part, in);
    part->is_busy = rc == HG_SUCCESS;
    if (rc == HG_SUCCESS)
        return true;
    call_unexpose(part);
    return lane_fail(part->lane, "cannot call server rank %d: %s", lane->server,
        HG_Error_to_string(rc));
}

/* Reads `len` bytes or up to the end. Returns how many. */
static uint64_t lane_read(struct lane *lane, char *ret_bytes, uint64_t len)
{
    uint64_t done = 0;
    ssize_t now = 1;

    while (done < len && now != 0 && !lane->has_failed) {
        now = pread(lane->fd, ret_bytes + done, len - done,
            (off_t)(lane->offset + done));
        if (now < 0 && errno != EINTR)
            lane_fail(lane, "cannot read at %" PRIu64 ": %s",
                lane->offset + done, strerror(errno));
        done += now > 0 ? (uint64_t)now : 0;
    }
    return done;
}

/* Reads the next part, and one byte more at the end of the file, which must be
 * as it was when it was opened. False: reported. */
static bool part_read(struct call *part, uint64_t len)
{
    struct lane *lane = part->lane;
    const struct timespec *then = &lane->status.st_mtim;
    uint64_t size = (uint64_t)lane->status.st_size;
    bool is_last = lane->offset + len == size;
    uint64_t done = lane_read(lane, part->bytes, len + is_last);
    struct stat now;

    if (lane->has_failed)
        return false;
    if (done < len)
        return lane_fail(lane,
            "shrank from %" PRIu64 " to %" PRIu64 " bytes while it was read",
            size, lane->offset + done);
    if (done > len)
        return lane_fail(
            lane, "grew beyond its %" PRIu64 " bytes while it was read", size);
    if (is_last &&
        (fstat(lane->fd, &now) != 0 || now.st_mtim.tv_sec != then->tv_sec ||
            now.st_mtim.tv_nsec != then->tv_nsec))
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
    const struct entry *entry = &job.entries[sender.next];
    uint64_t hash = XXH3_64bits(entry->name, strlen(entry->name));

    *lane = (struct lane){.number = sender.next,
        .entry = entry,
        .server = (int)(hash % (uint64_t)job.servers),
        .fd = -1,
        .status.st_mode = entry->mode};
    sender.next += (uint64_t)job.senders;
    if (sender.servers[lane->server].is_silent)
        return lane_fail(
            lane, "not sent, server rank %d does not answer", lane->server);
    if (S_ISDIR(entry->mode))
        return true;
    /* Must not wait if a pipe has taken the file's place. */
    lane->fd = open(entry->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (lane->fd < 0 && errno == ENOENT)
        return lane_fail(lane, "has vanished since it was listed");
    if (lane->fd < 0 || fstat(lane->fd, &lane->status) != 0)
        return lane_fail(lane, "cannot open: %s", strerror(errno));
    return S_ISREG(lane->status.st_mode) ||
           lane_fail(lane, "is no file any more");
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
    if (!lane->has_failed && !lane->is_sent)
        return;
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
        while (lane->entry == NULL && sender.next < job.entry_count) {
            lane_start(lane);
            lane_step(lane);
        }
        is_idle = is_idle && lane->entry == NULL;
    }
    return is_idle;
}

void sender_stop(void)
{
    sender.next = job.entry_count;
    for (int i = 0; i < job.depth; i++)
        sender.lanes[i].has_failed = true;
}

bool sender_open(void)
{
    hg_return_t rc = HG_SUCCESS;

    sender.next = job.size == 1 ? 0 : (uint64_t)(job.rank - job.servers);
    sender.servers = calloc((size_t)job.servers, sizeof(*sender.servers));
    if (sender.servers == NULL)
        rc = HG_NOMEM;
    for (int i = 0; rc == HG_SUCCESS && i < job.servers; i++)
        rc = amalgam_addr_rank(job.cls, i, &sender.servers[i].addr);
    if (rc != HG_SUCCESS)
        report(ERROR, "no addresses of %d server ranks: %s", job.servers,
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
