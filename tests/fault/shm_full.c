/* SPDX-License-Identifier: BSD-3-Clause */
/* With a full /dev/shm, classes over shared memory fail to open, calls and
 * transfers wait or fail, and no process is killed: with sizes from nothing to
 * more than enough, each in its own /dev/shm. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc_string.h"

enum { SKIP = 77, TURNS = 300, CALLS = 20, BLOB = 3000, BULK = 200000 };

/* In KiB; the last one is enough for all. */
static const unsigned rooms[] = {4, 16, 48, 64, 80, 96, 128, 256, 512, 8192};

static unsigned ended;

static hg_return_t on_end(const struct hg_cb_info *info)
{
    ended += info->ret == HG_SUCCESS;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    (void)HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static void turn(hg_context_t *context)
{
    unsigned count = 0;

    (void)HG_Progress(context, 0);
    while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0)
        continue;
}

struct side {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t id;
    hg_bulk_t bulk;
    char *bytes;
};

static int side_open(struct side *side)
{
    hg_size_t len = BULK;
    void *bytes = NULL;

    memset(side, 0, sizeof(*side));
    side->cls = HG_Init("na+sm", HG_TRUE);
    if (side->cls == NULL)
        return 0;
    side->context = HG_Context_create(side->cls);
    side->id = HG_Register_name(
        side->cls, "f", hg_proc_hg_const_string_t, NULL, serve);
    side->bytes = calloc(1, BULK);
    bytes = side->bytes;
    (void)HG_Bulk_create(
        side->cls, 1, &bytes, &len, HG_BULK_READWRITE, &side->bulk);
    return side->context != NULL;
}

/* Every failure here is an error code. */
static unsigned sides_talk(struct side *one, struct side *other)
{
    static char blob[BLOB];
    hg_const_string_t text = blob;
    hg_handle_t handles[CALLS];
    hg_addr_t addr = HG_ADDR_NULL;
    hg_addr_t self = HG_ADDR_NULL;
    hg_bulk_t far = HG_BULK_NULL;
    char key[1024];
    char name[256];
    hg_size_t len = sizeof(name);

    memset(blob, 'x', BLOB - 1);
    ended = 0;
    (void)HG_Addr_self(other->cls, &self);
    (void)HG_Addr_to_string(other->cls, name, &len, self);
    (void)HG_Addr_free(other->cls, self);
    if (HG_Addr_lookup2(one->cls, name, &addr) != HG_SUCCESS)
        return 0;
    for (unsigned i = 0; i < CALLS; i++) {
        handles[i] = HG_HANDLE_NULL;
        if (HG_Create(one->context, addr, one->id, &handles[i]) == HG_SUCCESS)
            (void)HG_Forward(handles[i], on_end, NULL, &text);
    }
    if (one->bulk != HG_BULK_NULL && other->bulk != HG_BULK_NULL &&
        HG_Bulk_serialize(key, sizeof(key), 0, other->bulk) == HG_SUCCESS &&
        HG_Bulk_deserialize(one->cls, &far, key, sizeof(key)) == HG_SUCCESS)
        (void)HG_Bulk_transfer(one->context, on_end, NULL, HG_BULK_PUSH, addr,
            far, 0, one->bulk, 0, BULK, HG_OP_ID_IGNORE);
    for (unsigned i = 0; i < TURNS; i++) {
        turn(other->context);
        turn(one->context);
    }
    return ended;
}

static int room_main(unsigned kib, int is_enough)
{
    struct side sides[2];
    char option[64];
    unsigned count = 0;

    snprintf(option, sizeof(option), "size=%uk", kib);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, option) != 0)
        return SKIP;
    for (unsigned i = 0; i < 2; i++)
        if (!side_open(&sides[i]))
            return is_enough;
    count = sides_talk(&sides[0], &sides[1]);
    return is_enough && count != CALLS + 1;
}

int main(void)
{
    unsigned last = sizeof(rooms) / sizeof(rooms[0]) - 1;

    setenv("AMALGAM_SHM_COPY", "segment", 1);
    setenv("AMALGAM_LOG_LEVEL", "none", 0);
    for (unsigned i = 0; i <= last; i++) {
        pid_t pid = fork();
        int status = 0;

        if (pid == 0)
            _exit(room_main(rooms[i], i == last));
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return EXIT_FAILURE;
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
            return SKIP;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
            fprintf(stderr, "/dev/shm of %u KiB: %s %d\n", rooms[i],
                WIFSIGNALED(status) ? "signal" : "code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
