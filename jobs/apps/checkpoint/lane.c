/* SPDX-License-Identifier: BSD-3-Clause */
/* One file after the other on its way to a server. */
#include "jobs/apps/checkpoint/lane.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/apps/checkpoint/report.h"

static void part_unexpose(struct lane_part *part)
{
    if (HG_Bulk_free(part->bulk) != HG_SUCCESS) {
        /* A server that is silent may still reach for it: so it stays. */
        report_note("server rank %d holds on to memory", part->call.server);
        part->bytes = NULL;
    }
    part->bulk = HG_BULK_NULL;
}

/* The server has committed the file. */
static void lane_verify(struct lane *lane, uint64_t hash)
{
    uint64_t wanted = source_hash(&lane->source);

    lane->is_opened = false;
    lane->is_verified = hash == wanted;
    if (lane->is_verified)
        return;
    report_error("%s: server rank %d has the checksum %016" PRIx64
                 ", it should be %016" PRIx64,
        lane->source.entry->path, lane->server, hash, wanted);
    lane->has_failed = true;
}

/* An answer: the first error of a file is reported. */
static void part_answered(struct lane_part *part, const part_out_t *out)
{
    struct lane *lane = part->lane;

    if (out->error != 0) {
        lane->is_opened = false;
        if (!lane->has_failed)
            report_error("%s: server rank %d: %s", lane->source.entry->path,
                lane->server, out->text != NULL ? out->text : "failed");
        lane->has_failed = true;
    } else if (part->is_last) {
        lane_verify(lane, out->hash);
    }
}

static void on_part_done(struct call *call, hg_return_t ret)
{
    struct lane_part *part =
        (struct lane_part *)(void *)((char *)call -
                                     offsetof(struct lane_part, call));
    struct lane *lane = part->lane;
    part_out_t out;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(call->handle, &out);
    if (ret == HG_SUCCESS) {
        part_answered(part, &out);
        HG_Free_output(call->handle, &out);
    } else {
        if (!lane->has_failed)
            report_error("%s: server rank %d: %s", lane->source.entry->path,
                lane->server, call_error(call, ret));
        lane->has_failed = true;
    }
    part_unexpose(part);
}

void lane_init(struct lane *lane, struct callers *callers)
{
    unsigned i = 0;

    memset(lane, 0, sizeof(*lane));
    lane->callers = callers;
    lane->source.fd = -1;
    for (i = 0; i < FILE_PARTS; i++) {
        call_init(&lane->parts[i].call, callers, on_part_done);
        lane->parts[i].lane = lane;
        lane->parts[i].bulk = HG_BULK_NULL;
    }
}

static int server_of(const struct job *job, const char *name)
{
    return (int)(XXH3_64bits(name, strlen(name)) % (uint64_t)job->servers);
}

void lane_start(struct lane *lane, const struct entry *entry, uint64_t number)
{
    lane->number = number;
    lane->server = server_of(lane->callers->job, entry->name);
    lane->is_busy = true;
    lane->is_sent = false;
    lane->is_opened = false;
    lane->is_verified = false;
    lane->has_failed = false;
    lane->source.entry = entry;
    if (lane->callers->is_silent[lane->server]) {
        report_error("%s: not sent, server rank %d does not answer",
            entry->path, lane->server);
        lane->has_failed = true;
    } else {
        lane->has_failed = !source_open(&lane->source, entry);
    }
}

static hg_return_t part_expose(struct lane_part *part, uint64_t len)
{
    const hg_size_t size = len;

    if (len == 0)
        return HG_SUCCESS;
    return HG_Bulk_create(part->lane->callers->job->cls, 1, &part->bytes, &size,
        HG_BULK_READ_ONLY, &part->bulk);
}

/* Makes a call about the file. False: reported. */
static bool part_forward(struct lane_part *part, part_in_t *in)
{
    struct lane *lane = part->lane;
    hg_return_t rc = part_expose(part, in->len);

    in->file = lane->number;
    in->size = source_size(&lane->source);
    in->mode = lane->source.status.st_mode;
    in->name = lane->source.entry->name;
    in->data = part->bulk;
    if (rc == HG_SUCCESS)
        rc = call_forward(
            &part->call, lane->server, lane->callers->job->part_id, in);
    if (rc == HG_SUCCESS)
        return true;
    report_error("%s: cannot call server rank %d: %s", lane->source.entry->path,
        lane->server, HG_Error_to_string(rc));
    part_unexpose(part);
    return false;
}

/* Reads and sends the next part. False: reported. */
static bool part_send(struct lane_part *part)
{
    struct lane *lane = part->lane;
    struct source *source = &lane->source;
    uint64_t left = source_size(source) - source->offset;
    part_in_t in = {.verb = PART_STORE, .offset = source->offset};

    in.len = left < PART_LEN ? left : PART_LEN;
    if (part->bytes == NULL)
        part->bytes = malloc(PART_LEN);
    if (part->bytes == NULL) {
        report_error("%s: no memory to read it into", lane->source.entry->path);
        return false;
    }
    if (!source_read(source, part->bytes, in.len))
        return false;
    lane->is_sent = source->offset == source_size(source);
    in.hash = lane->is_sent ? source_hash(source) : 0;
    part->is_last = lane->is_sent;
    if (!part_forward(part, &in))
        return false;
    lane->is_opened = true;
    return true;
}

static unsigned calls_under_way(const struct lane *lane)
{
    unsigned count = 0;
    unsigned i = 0;

    for (i = 0; i < FILE_PARTS; i++)
        count += lane->parts[i].call.is_busy;
    return count;
}

/* Tells the server to forget a file that failed here, where it may have it. */
static void lane_give_up(struct lane *lane)
{
    part_in_t in = {.verb = PART_DROP};

    lane->is_opened = false;
    lane->parts[0].is_last = false;
    if (!lane->callers->is_silent[lane->server])
        (void)part_forward(&lane->parts[0], &in);
}

bool lane_step(struct lane *lane, uint64_t now_ns)
{
    unsigned i = 0;

    if (!lane->is_busy)
        return false;
    for (i = 0; i < FILE_PARTS; i++) {
        struct lane_part *part = &lane->parts[i];

        if (part->call.is_busy)
            call_poll(&part->call, now_ns);
        else if (!lane->has_failed && !lane->is_sent)
            lane->has_failed = !part_send(part);
    }
    if (calls_under_way(lane) > 0)
        return false;
    if (lane->has_failed && lane->is_opened) {
        lane_give_up(lane);
        return false;
    }
    if (!lane->has_failed && !lane->is_sent)
        return false;
    source_close(&lane->source);
    lane->is_busy = false;
    return true;
}

void lane_stop(struct lane *lane)
{
    if (lane->is_busy && !lane->is_verified)
        lane->has_failed = true;
}

void lane_fini(struct lane *lane)
{
    unsigned i = 0;

    for (i = 0; i < FILE_PARTS; i++) {
        call_fini(&lane->parts[i].call);
        free(lane->parts[i].bytes);
    }
    source_fini(&lane->source);
}
