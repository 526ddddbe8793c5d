/* SPDX-License-Identifier: BSD-3-Clause */
/* Saves a file's content at another rank, which pulls it as bulk data.
 *
 *   save [FILE [DIRECTORY]]
 *
 * By default, FILE is this program itself, and DIRECTORY a new one that is
 * removed at the end.
 *
 * Large data do not travel as arguments. The client exposes its memory, and
 * sends a handle of it; the server decides when to pull, and moves the bytes
 * straight from the client's memory to its own. A transfer ends in a callback,
 * so serving has two halves: save() starts the transfer, and data_came()
 * continues after it, maybe in another thread. Their common state is a struct
 * that belongs to one of them at a time.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"
#include "save_file.h"

MERCURY_GEN_PROC(save_in_t, ((hg_string_t)(name))((hg_bulk_t)(content)))
/* `error` is an errno; `checksum` is that of the written file. */
MERCURY_GEN_PROC(save_out_t, ((int32_t)(error))((uint64_t)(checksum)))

/* State of the server, kept as class data. */
struct store {
    char path[PATH_MAX];
    atomic_int files;
};

/* One call while it is served. */
struct saving {
    struct store *store;
    hg_handle_t handle;
    save_in_t in;
    void *bytes; /* the content, after the transfer */
    hg_size_t len;
    hg_bulk_t local; /* `bytes`, exposed to be written by the transfer */
};

/* Replies, and frees all objects of the call. */
static void saving_end(struct saving *saving, int error, uint64_t checksum)
{
    save_out_t out = {error, checksum};

    job_check(HG_Respond(saving->handle, NULL, NULL, &out), "HG_Respond");
    job_check(HG_Free_input(saving->handle, &saving->in), "HG_Free_input");
    job_check(HG_Bulk_free(saving->local), "HG_Bulk_free");
    job_check(HG_Destroy(saving->handle), "HG_Destroy");
    free(saving->bytes);
    free(saving);
}

/* Second half, when the content has arrived: writes it, and reads the file
 * again for its checksum. */
static hg_return_t data_came(const struct hg_cb_info *info)
{
    struct saving *saving = info->arg;
    char path[PATH_MAX];
    void *written = NULL;
    size_t len = 0;
    uint64_t checksum = 0;
    int err = EIO;

    if (info->ret == HG_SUCCESS)
        err = snprintf(path, sizeof(path), "%s/%s", saving->store->path,
                  saving->in.name) < (int)sizeof(path)
                  ? file_write(path, saving->bytes, saving->len)
                  : ENAMETOOLONG;
    if (err == 0)
        err = file_read(path, &written, &len);
    if (err == 0) {
        checksum = file_checksum(written, len);
        atomic_fetch_add(&saving->store->files, 1);
        free(written);
    }
    saving_end(saving, err, checksum);
    return HG_SUCCESS;
}

/* A client may not leave the server's directory. */
static bool name_is_plain(const char *name)
{
    return name != NULL && name[0] != '\0' && name[0] != '.' &&
           strchr(name, '/') == NULL;
}

/* First half, when a request arrives. */
static hg_return_t save(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct saving *saving = calloc(1, sizeof(*saving));

    if (saving == NULL)
        job_fail("no memory for a call");
    saving->store = HG_Class_get_data(info->hg_class);
    saving->handle = handle;
    job_check(HG_Get_input(handle, &saving->in), "HG_Get_input");
    saving->len = HG_Bulk_get_size(saving->in.content);
    saving->bytes = malloc(saving->len + 1);
    if (saving->bytes == NULL || !name_is_plain(saving->in.name)) {
        saving_end(saving, saving->bytes == NULL ? ENOMEM : EINVAL, 0);
        return HG_SUCCESS;
    }
    job_check(HG_Bulk_create(info->hg_class, 1, &saving->bytes, &saving->len,
                  HG_BULK_WRITE_ONLY, &saving->local),
        "HG_Bulk_create");
    /* Returns at once: other calls are served during the transfer. */
    job_check(HG_Bulk_transfer(info->context, data_came, saving, HG_BULK_PULL,
                  info->addr, saving->in.content, 0, saving->local, 0,
                  saving->len, HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
    return HG_SUCCESS;
}

/* Sends the content as `name`; false, with a message, if it was not saved. */
static bool send_content(
    const struct job *job, hg_id_t id, char *name, void *bytes, hg_size_t len)
{
    hg_handle_t handle = job_create_call(job, id);
    save_in_t in = {.name = name};
    save_out_t out;
    bool is_saved = false;

    job_check(HG_Bulk_create(job->hg_class, 1, &bytes, &len, HG_BULK_READ_ONLY,
                  &in.content),
        "HG_Bulk_create");
    job_forward(job, handle, &in);
    /* The reply means that the server needs the memory no more. */
    job_check(HG_Bulk_free(in.content), "HG_Bulk_free");

    job_check(HG_Get_output(handle, &out), "HG_Get_output");
    is_saved = out.error == 0 && out.checksum == file_checksum(bytes, len);
    if (is_saved)
        printf("rank %d: saved %s, %llu bytes, the same checksum\n", job->rank,
            name, (unsigned long long)len);
    else
        fprintf(stderr, "rank %d: rank %d could not save %s: %s\n", job->rank,
            SERVER, name,
            out.error == 0 ? "checksums differ" : strerror(out.error));
    job_check(HG_Free_output(handle, &out), "HG_Free_output");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return is_saved;
}

/* A client that cannot read its file says so, and does not disturb others. */
static bool client_run(const struct job *job, hg_id_t id, const char *path)
{
    const char *slash = strrchr(path, '/');
    char name[NAME_MAX];
    void *bytes = NULL;
    size_t len = 0;
    bool is_saved = false;
    int err = file_read(path, &bytes, &len);

    if (err != 0) {
        fprintf(stderr, "rank %d: cannot read %s: %s\n", job->rank, path,
            strerror(err));
        return false;
    }
    snprintf(name, sizeof(name), "%.200s.rank%d",
        slash == NULL ? path : slash + 1, job->rank);
    is_saved = send_content(job, id, name, bytes, len);
    free(bytes);
    return is_saved;
}

/* Chooses or creates the directory, before calls are served. */
static void store_open(struct store *store, const char *path)
{
    int err = 0;

    if (path == NULL)
        err = folder_create(store->path, sizeof(store->path));
    else if (snprintf(store->path, sizeof(store->path), "%s", path) >=
             (int)sizeof(store->path))
        err = ENAMETOOLONG;
    else if (mkdir(path, 0777) != 0 && errno != EEXIST)
        err = errno;
    if (err != 0)
        job_fail("cannot make the directory %s: %s",
            path == NULL ? store->path : path, strerror(err));
}

int main(int argc, char **argv)
{
    struct job job;
    struct store store = {.files = 0};
    bool is_good = true;
    hg_id_t id = 0;

    job_open(&argc, &argv, 2, &job);
    id = MERCURY_REGISTER(job.hg_class, "save", save_in_t, save_out_t, save);
    if (id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_check(
        HG_Class_set_data(job.hg_class, &store, NULL), "HG_Class_set_data");
    if (job.rank == SERVER)
        store_open(&store, argc > 2 ? argv[2] : NULL);
    job_begin(&job);
    if (job.rank != SERVER)
        is_good = client_run(&job, id, argc > 1 ? argv[1] : argv[0]);
    job_close(&job);

    if (job.rank == SERVER) {
        printf("rank %d: %d files\n", SERVER, atomic_load(&store.files));
        is_good = argc > 2 || folder_destroy(store.path) == 0;
    }
    return is_good ? 0 : 1;
}
