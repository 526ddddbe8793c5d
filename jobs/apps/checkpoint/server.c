/* SPDX-License-Identifier: BSD-3-Clause */
/* Server of files: pulls their parts, verifies and writes them.
 *
 * A part may come in any order: the file gets its name when as many bytes are
 * stored as it has. A file that failed stays partial until its sender drops it,
 * or the server closes. Memory is bounded: a request that finds no free slot
 * waits for one. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "amalgam.h"

enum { SLOT_COUNT = 32 };

static const char told_to_stop[] = "the server was told to stop";

/* A buffer of PART_LEN bytes, and the request that it is used for. */
struct slot {
    void *bytes;
    hg_bulk_t bulk;
    hg_handle_t handle; /* NULL: free */
    part_in_t in;
    int from; /* the rank that sends */
};

static struct {
    bool is_stopped;
    unsigned pulls; /* in flight */
    struct slot slots[SLOT_COUNT];
    /* Requests that wait for a slot, a ring that has room for all that senders
     * can have in flight. */
    hg_handle_t *waiting;
    uint64_t waiting_cap;
    uint64_t arrived;
    uint64_t served;
} server;

/* Static, so that it outlives a pull in flight when the server closes. */
static char buffers[SLOT_COUNT][PART_LEN];

/* Replies to the request of a slot, and frees the slot. */
static void slot_reply(struct slot *slot, const char *error)
{
    part_out_t out = {(char *)error};
    hg_return_t rc = HG_Respond(slot->handle, NULL, NULL, &out);

    if (rc != HG_SUCCESS)
        report(ERROR, "cannot answer rank %d: %s", slot->from,
            HG_Error_to_string(rc));
    if (slot->in.name != NULL)
        HG_Free_input(slot->handle, &slot->in);
    HG_Destroy(slot->handle);
    slot->handle = HG_HANDLE_NULL;
}

/* Writes the bytes that have arrived, names the file if it is whole, and
 * replies. */
static void slot_store(struct slot *slot)
{
    const part_in_t *in = &slot->in;
    struct partial *partial = partial_find(slot->from, in->file);
    uint64_t hash = XXH3_64bits(slot->bytes, in->len);
    const char *what = "create";
    char text[256] = "";
    int error = 0;

    if (hash != in->hash) {
        snprintf(text, sizeof(text),
            "checksum %016" PRIx64 " arrived, %016" PRIx64 " was sent", hash,
            in->hash);
        slot_reply(slot, text);
        return;
    }
    if (partial == NULL)
        error = partial_create(in->name, slot->from, in->file, &partial);
    if (error == 0) {
        what = "write";
        error = partial_write(partial, slot->bytes, in->len, in->offset);
    }
    if (error == 0 && partial_len(partial) == in->size) {
        what = "name";
        error = partial_commit(partial, in->mode);
        job.totals.stored_files += error == 0;
        job.totals.stored_bytes += error == 0 ? in->size : 0;
    }
    if (error != 0)
        snprintf(text, sizeof(text), "cannot %s: %s", what, strerror(error));
    slot_reply(slot, text);
}

static hg_return_t on_pulled(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;

    server.pulls--;
    if (server.is_stopped)
        slot_reply(slot, told_to_stop);
    else if (info->ret != HG_SUCCESS)
        slot_reply(slot, HG_Error_to_string(info->ret));
    else
        slot_store(slot);
    return HG_SUCCESS;
}

static void slot_pull(struct slot *slot)
{
    const part_in_t *in = &slot->in;
    hg_return_t rc = HG_Bulk_transfer(job.context, on_pulled, slot,
        HG_BULK_PULL, HG_Get_info(slot->handle)->addr, in->data, 0, slot->bulk,
        0, in->len, HG_OP_ID_IGNORE);

    server.pulls += rc == HG_SUCCESS;
    if (rc != HG_SUCCESS)
        slot_reply(slot, HG_Error_to_string(rc));
}

/* Serves a request, up to its reply or its pull. */
static void slot_serve(struct slot *slot, hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    const part_in_t *in = &slot->in;

    slot->handle = handle;
    slot->from = -1;
    memset(&slot->in, 0, sizeof(slot->in));
    if (amalgam_addr_get_rank(info->hg_class, info->addr, &slot->from) !=
            HG_SUCCESS ||
        HG_Get_input(handle, &slot->in) != HG_SUCCESS) {
        slot_reply(slot, "the server cannot read the request");
    } else if (in->is_drop) {
        partial_remove(partial_find(slot->from, in->file));
        slot_reply(slot, "");
    } else if (server.is_stopped) {
        slot_reply(slot, told_to_stop);
    } else if (!partial_name_is_safe(in->name)) {
        slot_reply(slot, "its name leads out of the output directory");
    } else if (in->len > PART_LEN || in->offset > in->size ||
               in->len > in->size - in->offset ||
               (in->len == 0 && in->size > 0) ||
               HG_Bulk_get_size(in->data) != in->len) {
        slot_reply(slot, "the request has a wrong length");
    } else if (S_ISDIR(in->mode)) { /* an empty one */
        bool is_made =
            directories_make(job.out_fd, in->name, strlen(in->name)) == 0;

        slot_reply(slot, is_made ? "" : "cannot make the directory");
    } else if (in->len > 0) {
        slot_pull(slot);
    } else {
        slot_store(slot);
    }
}

void server_step(void)
{
    for (int i = 0; i < SLOT_COUNT; i++)
        /* A request that needs no pull leaves its slot free at once. */
        while (server.slots[i].handle == HG_HANDLE_NULL &&
               server.served < server.arrived)
            slot_serve(&server.slots[i],
                server.waiting[server.served++ % server.waiting_cap]);
}

hg_return_t server_on_part(hg_handle_t handle)
{
    server.waiting[server.arrived++ % server.waiting_cap] = handle;
    return HG_SUCCESS;
}

bool server_open(void)
{
    const hg_size_t len = PART_LEN;
    hg_return_t rc = HG_SUCCESS;

    server.waiting_cap =
        (uint64_t)job.senders * (uint64_t)job.depth * FILE_PARTS;
    server.waiting = calloc(server.waiting_cap, sizeof(hg_handle_t));
    if (server.waiting == NULL)
        rc = HG_NOMEM;
    for (int i = 0; rc == HG_SUCCESS && i < SLOT_COUNT; i++) {
        struct slot *slot = &server.slots[i];

        slot->bytes = buffers[i];
        rc = HG_Bulk_create(
            job.cls, 1, &slot->bytes, &len, HG_BULK_WRITE_ONLY, &slot->bulk);
    }
    if (rc != HG_SUCCESS)
        report(ERROR, "no memory to serve: %s", HG_Error_to_string(rc));
    return rc == HG_SUCCESS;
}

void server_stop(void)
{
    server.is_stopped = true;
    partial_remove_all();
    server_step();
}

void server_close(void)
{
    hg_return_t rc = HG_SUCCESS;

    server_stop();
    for (int i = 0; i < SLOT_COUNT && rc == HG_SUCCESS; i++)
        if (server.slots[i].bulk != HG_BULK_NULL)
            rc = HG_Bulk_free(server.slots[i].bulk);
    if (server.pulls > 0 || rc != HG_SUCCESS)
        report(ERROR, "a sender still holds on to memory of this server");
}
