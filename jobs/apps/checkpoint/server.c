/* SPDX-License-Identifier: BSD-3-Clause */
/* Server of files: pulls their parts, verifies and writes them.
 *
 * Parts may arrive in any order: the file gets its final name once all of its
 * bytes are stored. If some part fails, the file stays partial until its sender
 * drops it, or the server closes. Memory is bounded: a request waits until one
 * of SLOT_COUNT buffers is free.
 *
 * A signal handler removes all partial files, which are in a list: the handler
 * interrupts the only thread, which changes the list by single stores. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "amalgam.h"

enum {
    SLOT_COUNT = 32,
    BASE_LEN = 200,    /* kept of a long name, so that the suffix fits too */
    REMOVE_TRIES = 8,  /* servers of a node remove the same files */
    STOP_LIMIT_S = 10, /* less than mpiexec waits before it kills */
};

/* A file being written, named `.NAME.partial.RANK.NUMBER` until complete.
 * Functions of partial files that return int return 0 or an errno. */
struct partial {
    _Atomic(struct partial *) next;
    uint64_t number; /* of the file in the list of rank `from` */
    uint64_t len;    /* bytes written */
    int from;
    int fd;
    char path[PATH_MAX + NAME_MAX];
};

/* A buffer of PART_LEN bytes, and the request that it is used for. */
struct slot {
    void *bytes;
    hg_bulk_t bulk;
    hg_handle_t handle; /* NULL: free */
    part_in_t in;
    int from; /* the rank that sends */
};

static _Atomic(struct partial *) partials;
volatile sig_atomic_t stop_is_asked;

static struct {
    bool is_stopped;
    struct slot slots[SLOT_COUNT];
    hg_handle_t *waiting; /* a ring of all requests that can be in flight */
    uint64_t waiting_cap;
    uint64_t arrived;
    uint64_t served;
} server;

/* Static, so that it outlives a pull in flight when the server closes. */
static char buffers[SLOT_COUNT][PART_LEN];

/* Is the name relative, without empty, "." and ".." components? */
static bool name_is_safe(const char *name)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "/%s/", name);

    return len < PATH_MAX && strstr(path, "//") == NULL &&
           strstr(path, "/./") == NULL && strstr(path, "/../") == NULL;
}

/* Makes directories along `len` bytes of `path`. Returns 0 or an errno. */
static int directories_make(int root, const char *path, size_t len)
{
    char part[PATH_MAX] = "";

    for (size_t i = 0; i < len; i++) {
        if (i + 1 >= sizeof(part))
            return ENAMETOOLONG;
        part[i] = path[i];
        if ((i + 1 == len || path[i + 1] == '/') &&
            mkdirat(root, part, 0777) != 0 && errno != EEXIST)
            return errno;
    }
    return 0;
}

/* The file `number` of rank `from`, or NULL. */
static struct partial *partial_find(int from, uint64_t number)
{
    for (struct partial *one = partials; one != NULL; one = one->next)
        if (one->from == from && one->number == number)
            return one;
    return NULL;
}

static int partial_create(
    const char *name, int from, uint64_t number, struct partial **ret_partial)
{
    static unsigned serial;
    const char *slash = strrchr(name, '/');
    size_t folder_len = slash == NULL ? 0 : (size_t)(slash + 1 - name);
    struct partial *partial = NULL;
    int error = directories_make(job.out_fd, name, folder_len);

    if (error != 0)
        return error;
    partial = calloc(1, sizeof(*partial));
    if (partial == NULL)
        return ENOMEM;
    partial->number = number;
    partial->from = from;
    do { /* a job that was killed may have left a file of that name */
        snprintf(partial->path, sizeof(partial->path),
            "%.*s.%.*s.partial.%d.%u", (int)folder_len, name, (int)BASE_LEN,
            name + folder_len, from, serial++);
        partial->fd = openat(job.out_fd, partial->path,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    } while (partial->fd < 0 && errno == EEXIST);
    if (partial->fd < 0) {
        error = errno;
        free(partial);
        return error;
    }
    partial->next = partials;
    partials = partial;
    *ret_partial = partial;
    return 0;
}

static int partial_write(
    struct partial *partial, const char *bytes, size_t len, uint64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t now = pwrite(
            partial->fd, bytes + done, len - done, (off_t)(offset + done));

        if (now == 0 || (now < 0 && errno != EINTR))
            return now == 0 ? EIO : errno;
        done += now > 0 ? (size_t)now : 0;
    }
    partial->len += len;
    return 0;
}

/* Removes the file, and frees it. NULL is fine. */
static void partial_remove(struct partial *partial)
{
    _Atomic(struct partial *) *link = &partials;

    if (partial == NULL)
        return;
    if (partial->fd >= 0)
        close(partial->fd);
    unlinkat(job.out_fd, partial->path, 0);
    while (*link != partial)
        link = &(*link)->next;
    *link = partial->next;
    free(partial);
}

/* Renames the file to `name`; frees `partial`. On an error no file is left. */
static int partial_commit(
    struct partial *partial, const char *name, uint32_t mode)
{
    int error = fchmod(partial->fd, mode & 0777) != 0 ? errno : 0;

    /* A file system may report only here that its disk is full. */
    if (close(partial->fd) != 0 && error == 0)
        error = errno;
    partial->fd = -1;
    if (error == 0 &&
        renameat(job.out_fd, partial->path, job.out_fd, name) != 0)
        error = errno;
    if (error == 0)
        partial->path[0] = '\0'; /* nothing is left to unlink */
    partial_remove(partial);
    return error;
}

bool outdir_open(const char *wanted)
{
    const char *tmp = getenv("TMPDIR");
    bool is_fresh = false;
    int error = 0;

    if (tmp == NULL || *tmp == '\0')
        tmp = "/tmp";
    if (job.rank == 0) {
        if (snprintf(job.out_path, PATH_MAX, "%s%s",
                wanted != NULL ? wanted : tmp,
                wanted != NULL ? "" : "/checkpoint.XXXXXX") >= PATH_MAX)
            error = ENAMETOOLONG;
        else if (wanted == NULL && mkdtemp(job.out_path) == NULL)
            error = errno;
    }
    MPI_Bcast(&error, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(job.out_path, PATH_MAX, MPI_BYTE, 0, MPI_COMM_WORLD);
    is_fresh = error == 0 && wanted == NULL;
    if (error == 0 && job.is_server) {
        error = directories_make(AT_FDCWD, job.out_path, strlen(job.out_path));
        job.out_fd = open(job.out_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (error == 0 && (job.out_fd < 0 || faccessat(job.out_fd, ".",
                                                 W_OK | X_OK, AT_EACCESS) != 0))
            error = errno;
    }
    if (error != 0 && job.is_server)
        report(ERROR, "cannot write to the output directory %s: %s",
            job.out_path, strerror(error));
    if (all_agree(error == 0))
        return true;
    outdir_close(is_fresh);
    return false;
}

void outdir_close(bool is_removed)
{
    char *paths[] = {job.out_path, NULL};

    if (!job.is_server)
        return;
    for (int i = 0; is_removed && i < REMOVE_TRIES; i++) {
        FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        FTSENT *found = NULL;

        while (walk != NULL && (found = fts_read(walk)) != NULL)
            if (found->fts_info != FTS_D)
                (void)remove(found->fts_path); /* checked below */
        if (walk != NULL)
            fts_close(walk);
        is_removed = access(job.out_path, F_OK) == 0;
    }
    if (is_removed)
        report(
            NOTE, "cannot remove all of %s; remove it by hand", job.out_path);
    if (job.out_fd > 0)
        close(job.out_fd);
}

static void on_signal(int number)
{
    static const char text[] =
        "checkpoint: another rank did not finish in time; exiting\n";

    if (number != SIGALRM) {
        if (!stop_is_asked)
            alarm(STOP_LIMIT_S);
        stop_is_asked = 1;
        return;
    }
    for (struct partial *one = partials; one != NULL; one = one->next)
        unlinkat(job.out_fd, one->path, 0);
    if (stop_is_asked)
        _exit(STOP_CODE);
    _exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

void stop_install(void)
{
    /* BSD semantics: handlers stay, and system calls restart. */
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGALRM, on_signal);
}

void stop_watch(unsigned seconds)
{
    if (!stop_is_asked)
        alarm(seconds);
}

/* Replies to the request of a slot, and frees the slot. */
static void slot_reply(struct slot *slot, const char *error)
{
    part_out_t out = {(char *)error};
    hg_return_t rc = HG_Respond(slot->handle, NULL, NULL, &out);

    if (rc != HG_SUCCESS)
        report(ERROR, "cannot reply to rank %d: %s", slot->from,
            HG_Error_to_string(rc));
    if (slot->in.name != NULL)
        HG_Free_input(slot->handle, &slot->in);
    HG_Destroy(slot->handle);
    slot->handle = HG_HANDLE_NULL;
}

/* Writes the bytes, renames the file if it is complete, and replies. */
static void slot_store(struct slot *slot)
{
    const part_in_t *in = &slot->in;
    struct partial *partial = partial_find(slot->from, in->file);
    const char *what = "create";
    char text[256] = "";
    int error = 0;

    if (XXH3_64bits(slot->bytes, in->len) != in->hash) {
        slot_reply(slot, "wrong checksum: the bytes differ from those sent");
        return;
    }
    if (partial == NULL)
        error = partial_create(in->name, slot->from, in->file, &partial);
    if (error == 0) {
        what = "write";
        error = partial_write(partial, slot->bytes, in->len, in->offset);
    }
    if (error == 0 && partial->len == in->size) {
        what = "name";
        error = partial_commit(partial, in->name, in->mode);
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

    if (server.is_stopped)
        slot_reply(slot, "the server was stopped by a signal");
    else if (info->ret != HG_SUCCESS)
        slot_reply(slot, HG_Error_to_string(info->ret));
    else
        slot_store(slot);
    return HG_SUCCESS;
}

/* Serves a request, up to its reply or its pull. */
static void slot_serve(struct slot *slot, hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    const part_in_t *in = &slot->in;
    hg_return_t rc = HG_SUCCESS;
    int error = 0;

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
        slot_reply(slot, "the server was stopped by a signal");
    } else if (!name_is_safe(in->name)) {
        slot_reply(slot, "its name points outside the output directory");
    } else if (in->len > PART_LEN || in->offset > in->size ||
               in->len > in->size - in->offset ||
               (in->len == 0 && in->size > 0) ||
               HG_Bulk_get_size(in->data) != in->len) {
        slot_reply(slot, "the request has an invalid length");
    } else if (S_ISDIR(in->mode)) { /* an empty one */
        error = directories_make(job.out_fd, in->name, strlen(in->name));
        slot_reply(slot, error == 0 ? "" : "cannot make the directory");
    } else if (in->len == 0) {
        slot_store(slot);
    } else {
        rc = HG_Bulk_transfer(job.context, on_pulled, slot, HG_BULK_PULL,
            info->addr, in->data, 0, slot->bulk, 0, in->len, HG_OP_ID_IGNORE);
        if (rc != HG_SUCCESS)
            slot_reply(slot, HG_Error_to_string(rc));
    }
}

void server_step(void)
{
    for (int i = 0; i < SLOT_COUNT; i++)
        /* A request that needs no pull frees its slot at once. */
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
        report(ERROR, "cannot register buffers to serve from: %s",
            HG_Error_to_string(rc));
    return rc == HG_SUCCESS;
}

void server_stop(void)
{
    server.is_stopped = true;
    while (partials != NULL)
        partial_remove(partials);
    server_step();
}

void server_close(void)
{
    bool is_held = false;

    server_stop();
    for (int i = 0; i < SLOT_COUNT; i++)
        if (server.slots[i].bulk != HG_BULK_NULL)
            is_held |= server.slots[i].handle != HG_HANDLE_NULL ||
                       HG_Bulk_free(server.slots[i].bulk) != HG_SUCCESS;
    if (is_held)
        report(ERROR, "a transfer from a client has not ended");
}
