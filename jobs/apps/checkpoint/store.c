/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes files in, on a server.
 *
 * A file begins with its first part, and ends when its last one was answered
 * or when it failed. It gets its name only when the checksum of what arrived is
 * that of the sender. A file that failed waits for the pieces that are under
 * way, answers all its parts with the error, and is forgotten; parts that come
 * later are then parts of a file that is not open. */
#include "jobs/apps/checkpoint/store.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "amalgam.h"
#include "jobs/apps/checkpoint/partial.h"
#include "jobs/apps/checkpoint/pull.h"
#include "jobs/apps/checkpoint/report.h"

enum { TEXT_LEN = 256 };

/* A file that is coming in. Owned by the store's list of its sender. */
struct incoming {
    struct pull pull;
    struct store *store;
    struct incoming *next;
    int from;        /* the rank that sends it */
    uint64_t number; /* its place in the list of files */
    uint64_t size;
    uint64_t expected; /* offset of the next part */
    uint32_t mode;
    struct partial *partial;
    XXH3_state_t *hash;
    int error; /* errno, 0 while all is well */
    char text[TEXT_LEN];
};

/* Owned by main(). */
struct store {
    struct job *job;
    int root;
    struct pull_pool *pool;
    bool is_stopped;
    uint64_t files;
    uint64_t bytes;
    struct incoming *by_rank[]; /* open files of each sender */
};

static void part_free(struct pull_part *part)
{
    HG_Free_input(part->handle, &part->in);
    HG_Destroy(part->handle);
    free(part);
}

/* Answers a part, and ends it. */
static void part_reply(
    struct pull_part *part, int error, const char *text, uint64_t hash)
{
    part_out_t out = {hash, error, (char *)text};
    hg_return_t rc = HG_Respond(part->handle, NULL, NULL, &out);

    if (rc != HG_SUCCESS)
        report_error(
            "%s: cannot answer: %s", part->in.name, HG_Error_to_string(rc));
    part_free(part);
}

static void incoming_free(struct incoming *file)
{
    struct incoming **link = &file->store->by_rank[file->from];

    while (*link != NULL && *link != file)
        link = &(*link)->next;
    if (*link == file)
        *link = file->next;
    partial_remove(file->partial);
    XXH3_freeState(file->hash);
    free(file);
}

/* The first error of a file is the one that counts. */
__attribute__((format(printf, 3, 4))) static void incoming_fail(
    struct incoming *file, int error, const char *format, ...)
{
    va_list args;

    if (file->error != 0)
        return;
    file->error = error;
    va_start(args, format);
    vsnprintf(file->text, sizeof(file->text), format, args);
    va_end(args);
    pull_stop(&file->pull);
    partial_remove(file->partial);
    file->partial = NULL;
}

static void incoming_take(struct incoming *file, const struct pull_piece *piece)
{
    int error = 0;

    if (file->error != 0)
        return;
    if (piece->ret != HG_SUCCESS) {
        incoming_fail(file, EIO, "cannot pull its bytes: %s",
            HG_Error_to_string(piece->ret));
        return;
    }
    error = partial_write(file->partial, piece->bytes, piece->len);
    if (error != 0)
        incoming_fail(file, error, "cannot write: %s", strerror(error));
    else
        XXH3_64bits_update(file->hash, piece->bytes, piece->len);
}

/* All bytes are here. */
static void incoming_commit(
    struct incoming *file, const part_in_t *in, uint64_t hash)
{
    int error = 0;

    if (hash != in->hash) {
        incoming_fail(file, EILSEQ,
            "checksum %016" PRIx64 " arrived, %016" PRIx64 " was sent", hash,
            in->hash);
        return;
    }
    error = partial_commit(file->partial, file->mode);
    file->partial = NULL;
    if (error != 0) {
        incoming_fail(
            file, error, "cannot give it its name: %s", strerror(error));
        return;
    }
    file->store->files++;
    file->store->bytes += file->size;
}

/* Answers the first part, of which all is taken. True: it was the last one,
 * and `file` is gone. */
static bool incoming_part_done(struct incoming *file)
{
    struct pull_part *part = file->pull.first;
    bool is_last = part->in.offset + part->in.len == file->size;
    uint64_t hash = 0;

    if (is_last) {
        hash = XXH3_64bits_digest(file->hash);
        incoming_commit(file, &part->in, hash);
    }
    if (file->error != 0)
        return false;
    part_reply(pull_part_pop(&file->pull), 0, "", hash);
    if (is_last)
        incoming_free(file);
    return is_last;
}

/* Goes as far as the pieces that are here allow; `file` may be gone then. */
static void incoming_step(struct incoming *file)
{
    struct pull_part *part = NULL;
    struct pull_piece piece;

    for (;;) {
        part = file->pull.first;
        if (file->error == 0 && part != NULL && part->taken == part->in.len) {
            if (incoming_part_done(file))
                return;
            continue;
        }
        if (!pull_peek(&file->pull, &piece))
            break;
        incoming_take(file, &piece);
        pull_pop(&file->pull);
    }
    if (file->error == 0 || file->pull.count > 0)
        return;
    while ((part = pull_part_pop(&file->pull)) != NULL)
        part_reply(part, file->error, file->text, 0);
    incoming_free(file);
}

static void on_pull_step(struct pull *pull)
{
    incoming_step((struct incoming *)(void *)((char *)pull -
                                              offsetof(struct incoming, pull)));
}

static struct incoming *incoming_find(
    const struct store *store, int from, uint64_t number)
{
    struct incoming *file = store->by_rank[from];

    while (file != NULL && file->number != number)
        file = file->next;
    return file;
}

/* NULL: no memory. A file that cannot be opened is there, but has failed. */
static struct incoming *incoming_open(
    struct store *store, int from, const part_in_t *in)
{
    struct incoming *file = calloc(1, sizeof(*file));
    int error = 0;

    if (file == NULL)
        return NULL;
    file->hash = XXH3_createState();
    if (file->hash == NULL || XXH3_64bits_reset(file->hash) == XXH_ERROR) {
        XXH3_freeState(file->hash);
        free(file);
        return NULL;
    }
    pull_init(&file->pull, store->pool, on_pull_step);
    file->store = store;
    file->from = from;
    file->number = in->file;
    file->size = in->size;
    file->mode = in->mode;
    file->next = store->by_rank[from];
    store->by_rank[from] = file;
    error =
        partial_create(store->root, in->name, store->job->rank, &file->partial);
    if (error == EPERM && !partial_name_is_safe(in->name))
        incoming_fail(
            file, error, "its name leads out of the output directory");
    else if (error != 0)
        incoming_fail(file, error, "cannot create: %s", strerror(error));
    return file;
}

/* An empty directory: nothing to pull. */
static void directory_make(struct store *store, struct pull_part *part)
{
    char path[PATH_MAX];
    int error = EPERM;
    int len = snprintf(path, sizeof(path), "%s/", part->in.name);

    if (len >= (int)sizeof(path))
        error = ENAMETOOLONG;
    else if (partial_name_is_safe(part->in.name))
        error = partial_make_directories(store->root, path);
    part_reply(part, error, error == 0 ? "" : "cannot make the directory",
        part->in.hash);
}

/* The part's file, opened if this is the first part; else the part was
 * answered. */
static struct incoming *part_file(
    struct store *store, int from, struct pull_part *part)
{
    struct incoming *file = incoming_find(store, from, part->in.file);

    if (part->in.verb == PART_DROP) {
        if (file != NULL)
            incoming_fail(file, ECANCELED, "given up by its sender");
        part_reply(part, 0, "", 0);
        if (file != NULL)
            incoming_step(file);
        return NULL;
    }
    if (store->is_stopped) {
        part_reply(part, ECANCELED, "the server was told to stop", 0);
        return NULL;
    }
    if (file != NULL)
        return file;
    if (part->in.offset != 0) {
        part_reply(part, ESTALE, "the server does not have it open", 0);
        return NULL;
    }
    if (S_ISDIR(part->in.mode)) {
        directory_make(store, part);
        return NULL;
    }
    file = incoming_open(store, from, &part->in);
    if (file == NULL)
        part_reply(part, ENOMEM, "the server has no memory", 0);
    return file;
}

static void store_part(struct store *store, int from, struct pull_part *part)
{
    struct incoming *file = part_file(store, from, part);
    const part_in_t *in = &part->in;

    if (file == NULL)
        return;
    if (in->offset != file->expected || in->size != file->size ||
        in->len > file->size - in->offset || (in->len == 0 && file->size > 0) ||
        HG_Bulk_get_size(in->data) != in->len)
        incoming_fail(file, EPROTO,
            "part of %" PRIu64 " bytes at %" PRIu64 " does not follow", in->len,
            in->offset);
    file->expected = in->offset + in->len;
    pull_add(&file->pull, part);
    incoming_step(file);
}

hg_return_t store_serve_part(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct store *store = HG_Registered_data(info->hg_class, info->id);
    struct pull_part *part = calloc(1, sizeof(*part));
    part_out_t out = {0, EINVAL, "the server cannot read the request"};
    int from = -1;

    if (part != NULL && store != NULL &&
        amalgam_addr_get_rank(info->hg_class, info->addr, &from) ==
            HG_SUCCESS &&
        HG_Get_input(handle, &part->in) == HG_SUCCESS) {
        part->handle = handle;
        store_part(store, from, part);
        return HG_SUCCESS;
    }
    free(part);
    if (HG_Respond(handle, NULL, NULL, &out) != HG_SUCCESS)
        report_error("cannot answer rank %d", from);
    return HG_Destroy(handle);
}

struct store *store_open(struct job *job, int root)
{
    struct store *store = calloc(
        1, sizeof(*store) + (size_t)job->size * sizeof(struct incoming *));

    if (store == NULL)
        return NULL;
    store->job = job;
    store->root = root;
    store->pool = pull_pool_open(job);
    if (store->pool == NULL ||
        HG_Register_data(job->cls, job->part_id, store, NULL) != HG_SUCCESS) {
        pull_pool_close(store->pool);
        free(store);
        return NULL;
    }
    return store;
}

/* Steps all open files, which have failed first if `is_end`. */
static void store_step_all(struct store *store, bool is_end)
{
    int rank = 0;

    for (rank = 0; rank < store->job->size; rank++) {
        struct incoming *file = store->by_rank[rank];

        while (file != NULL) {
            struct incoming *next = file->next;

            if (is_end)
                incoming_fail(file, ECANCELED, "the server was told to stop");
            incoming_step(file);
            file = next;
        }
    }
}

void store_poll(struct store *store)
{
    if (pull_pool_has_failed(store->pool))
        store_step_all(store, false);
}

void store_stop(struct store *store)
{
    store->is_stopped = true;
    store_step_all(store, true);
}

void store_totals(
    const struct store *store, uint64_t *ret_files, uint64_t *ret_bytes)
{
    *ret_files = store->files;
    *ret_bytes = store->bytes;
}

bool store_close(struct store *store)
{
    if (store == NULL)
        return true;
    store_stop(store);
    HG_Register_data(store->job->cls, store->job->part_id, NULL, NULL);
    if (!pull_pool_close(store->pool))
        return false;
    free(store);
    return true;
}
