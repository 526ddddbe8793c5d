/* SPDX-License-Identifier: BSD-3-Clause */
/* /dev/shm is full once two classes are open, before or after the first call:
 * calls with long and short arguments and results end, or are refused with
 * HG_NOMEM, and so do transfers through the segment. Each case has a /dev/shm
 * of its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"

enum {
    SKIP = 77,
    CALLS = 200,
    TURNS = 200000, /* far more than all calls take */
    BULK = 200000,
    LONG = 300000, /* results that are pulled, and acknowledged */
};

/* Lengths of arguments and results. */
static const struct {
    uint32_t request;
    uint32_t reply;
} forms[] = {{20, 8}, {200, 200}, {2000, 1000}, {2000, LONG}, {100, 4000}};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) }; /* one more: a transfer */

struct blob {
    uint32_t wanted; /* bytes of the result */
    uint32_t len;
};

static char bytes[LONG];
static unsigned ended;
static unsigned wrong;

static hg_return_t blob_code(hg_proc_t proc, void *data)
{
    struct blob *blob = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &blob->wanted);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blob->len);
    if (rc != HG_SUCCESS || blob->len > LONG)
        return HG_PROTOCOL_ERROR;
    return hg_proc_raw(proc, bytes, blob->len);
}

static hg_return_t on_end(const struct hg_cb_info *info)
{
    ended++;
    wrong += info->ret != HG_SUCCESS && info->ret != HG_NOMEM &&
             info->ret != HG_CANCELED; /* a result that has no room */
    return info->type == HG_CB_FORWARD ? HG_Destroy(info->info.forward.handle)
                                       : HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    struct blob in;
    struct blob out = {0};
    hg_return_t rc = HG_SUCCESS;

    if (HG_Get_input(handle, &in) != HG_SUCCESS)
        abort();
    out.len = in.wanted;
    (void)HG_Free_input(handle, &in);
    rc = HG_Respond(handle, NULL, NULL, &out);
    if (rc != HG_SUCCESS && rc != HG_NOMEM)
        abort();
    return HG_Destroy(handle);
}

struct side {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t id;
};

static void turn(const struct side *side)
{
    unsigned count = 0;

    (void)HG_Progress(side->context, 0);
    while (HG_Trigger(side->context, 0, 1, &count) == HG_SUCCESS && count > 0)
        continue;
}

static struct side side_open(void)
{
    struct side side = {.cls = HG_Init("na+sm", HG_TRUE)};

    side.context = HG_Context_create(side.cls);
    side.id = HG_Register_name(side.cls, "f", blob_code, blob_code, serve);
    if (side.context == NULL)
        abort();
    return side;
}

static hg_addr_t side_find(const struct side *side, const struct side *other)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    char name[256];
    hg_size_t len = sizeof(name);

    if (HG_Addr_self(other->cls, &self) != HG_SUCCESS ||
        HG_Addr_to_string(other->cls, name, &len, self) != HG_SUCCESS ||
        HG_Addr_free(other->cls, self) != HG_SUCCESS ||
        HG_Addr_lookup2(side->cls, name, &addr) != HG_SUCCESS)
        abort();
    return addr;
}

static bool turns_end(const struct side sides[2], unsigned count)
{
    for (unsigned i = 0; i < TURNS && ended < count; i++) {
        turn(&sides[1]);
        turn(&sides[0]);
    }
    return ended == count;
}

/* Returns how many were accepted. */
static unsigned calls_post(
    const struct side *side, hg_addr_t to, unsigned count, unsigned form)
{
    unsigned posted = 0;

    for (unsigned i = 0; i < count; i++) {
        struct blob in = {forms[form].reply, forms[form].request};
        hg_handle_t handle = HG_HANDLE_NULL;
        hg_return_t rc = HG_Create(side->context, to, side->id, &handle);

        if (rc == HG_SUCCESS)
            rc = HG_Forward(handle, on_end, NULL, &in);
        posted += rc == HG_SUCCESS;
        wrong += rc != HG_SUCCESS && rc != HG_NOMEM;
        if (rc != HG_SUCCESS)
            (void)HG_Destroy(handle);
    }
    return posted;
}

static void shm_fill(void)
{
    int fd = open("/dev/shm/fill", O_CREAT | O_RDWR, 0600);
    off_t at = 0;

    if (fd < 0)
        abort();
    while (posix_fallocate(fd, at, 4096) == 0)
        at += 4096;
}

/* Memory of each side; the first side knows that of the other. */
struct memory {
    hg_bulk_t mine;
    hg_bulk_t theirs;
    hg_bulk_t far;
};

static void memory_expose(const struct side sides[2], struct memory *ret_memory)
{
    static char memory[2][BULK];
    void *at[2] = {memory[0], memory[1]};
    hg_size_t len = BULK;
    char key[1024];

    if (HG_Bulk_create(sides[0].cls, 1, &at[0], &len, HG_BULK_READWRITE,
            &ret_memory->mine) != HG_SUCCESS ||
        HG_Bulk_create(sides[1].cls, 1, &at[1], &len, HG_BULK_READWRITE,
            &ret_memory->theirs) != HG_SUCCESS ||
        HG_Bulk_serialize(key, sizeof(key), 0, ret_memory->theirs) !=
            HG_SUCCESS ||
        HG_Bulk_deserialize(sides[0].cls, &ret_memory->far, key, sizeof(key)) !=
            HG_SUCCESS)
        abort();
}

static unsigned pull_post(
    const struct side *side, hg_addr_t to, const struct memory *memory)
{
    return HG_Bulk_transfer(side->context, on_end, NULL, HG_BULK_PULL, to,
               memory->far, 0, memory->mine, 0, BULK,
               HG_OP_ID_IGNORE) == HG_SUCCESS;
}

static int case_main(bool has_met, unsigned form)
{
    struct side sides[2];
    struct memory memory;
    hg_addr_t to = HG_ADDR_NULL;
    unsigned count = 0;

    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16m") != 0)
        return SKIP;
    sides[0] = side_open();
    sides[1] = side_open();
    to = side_find(&sides[0], &sides[1]);
    memory_expose(sides, &memory);
    if (has_met) {
        count = calls_post(&sides[0], to, 1, form % FORMS);
        if (!turns_end(sides, count))
            return EXIT_FAILURE;
        ended = 0;
    }
    shm_fill();
    count = form < FORMS ? calls_post(&sides[0], to, CALLS, form)
                         : pull_post(&sides[0], to, &memory);
    if (has_met && count == 0)
        return EXIT_FAILURE;
    return turns_end(sides, count) && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
    setenv("AMALGAM_SHM_COPY", "segment", 1);
    setenv("HG_LOG_LEVEL", "none", 0);
    for (unsigned i = 0; i < 2 * (FORMS + 1); i++) {
        bool has_met = i % 2 == 0;
        pid_t pid = fork();
        int status = 0;

        if (pid == 0)
            _exit(case_main(has_met, i / 2));
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return EXIT_FAILURE;
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
            return SKIP;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
            fprintf(stderr, "filled %s the first call, form %u: %s %d\n",
                has_met ? "after" : "before", i / 2,
                WIFSIGNALED(status) ? "signal" : "code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
