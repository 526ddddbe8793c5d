/* SPDX-License-Identifier: BSD-3-Clause */
/* A long reply ends once, with an error, when its origin was killed before or
 * after it was sent, has closed its context and lives on, or when the target
 * cancels it; and the context closes. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_proc.h"
#include "slow.h"

enum { LEN = 1 << 20, TEXT_CAP = 256, DEADLINE_S = 60 * TEST_SLOW };

static char bytes[LEN];
static hg_handle_t held;
static unsigned ended;
static hg_return_t ended_ret;

static void fail(int line, const char *what)
{
    fprintf(stderr, "reply_to_dead_origin: line %d: %s\n", line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

static hg_return_t hg_proc_long(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_FREE ? HG_SUCCESS
                                           : hg_proc_raw(proc, data, LEN);
}

static hg_return_t answered(const struct hg_cb_info *info)
{
    ended_ret = info->ret;
    ended++;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    held = handle;
    return HG_SUCCESS;
}

/* Calls, and makes no progress any more. On a byte from the pipe, it cancels,
 * and closes its context. */
static void be_client(const char *transport, int from, int to)
{
    char text[TEXT_CAP];
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t id = 0;

    CHECK(read(from, text, sizeof(text)) == sizeof(text));
    cls = HG_Init(transport, HG_FALSE);
    CHECK(cls != NULL);
    context = HG_Context_create(cls);
    id = HG_Register_name(cls, "long", NULL, hg_proc_long, NULL);
    CHECK(HG_Addr_lookup2(cls, text, &addr) == HG_SUCCESS);
    CHECK(HG_Create(context, addr, id, &handle) == HG_SUCCESS);
    CHECK(HG_Forward(handle, NULL, NULL, NULL) == HG_SUCCESS);
    /* Until the server has it, and kills this process. */
    CHECK(fcntl(from, F_SETFL, O_NONBLOCK) == 0);
    while (read(from, text, 1) != 1)
        (void)HG_Progress(context, 0);
    CHECK(HG_Cancel(handle) == HG_SUCCESS);
    CHECK(HG_Destroy(handle) == HG_SUCCESS);
    while (HG_Context_destroy(context) == HG_BUSY)
        (void)HG_Trigger(context, 0, 1, NULL);
    CHECK(write(to, "", 1) == 1);
    (void)pause();
}

static void until(hg_context_t *context, const unsigned *count, unsigned wanted)
{
    time_t deadline = time(NULL) + DEADLINE_S;

    while (*count < wanted) {
        CHECK(time(NULL) < deadline);
        (void)HG_Progress(context, 100);
        (void)HG_Trigger(context, 0, 10, NULL);
    }
}

static void client_kill(pid_t client)
{
    CHECK(kill(client, SIGKILL) == 0);
    CHECK(waitpid(client, NULL, 0) == client);
}

/* Writes the address of this process. */
static void address_write(hg_class_t *cls, int to)
{
    char text[TEXT_CAP] = "";
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    CHECK(HG_Addr_self(cls, &self) == HG_SUCCESS);
    CHECK(HG_Addr_to_string(cls, text, &len, self) == HG_SUCCESS);
    CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    CHECK(write(to, text, sizeof(text)) == sizeof(text));
}

int main(int argc, char **argv)
{
    const char *transport = argc > 1 ? argv[1] : "na+sm";
    const char *when = argc > 2 ? argv[2] : "after";
    bool is_to_live = strcmp(when, "closed") == 0;
    bool is_killed = strcmp(when, "before") == 0 || strcmp(when, "after") == 0;
    unsigned is_held = 0;
    hg_class_t *cls = NULL;
    hg_context_t *context = NULL;
    int pipes[2];
    int back[2];
    char byte = 0;
    pid_t client = 0;

    CHECK(pipe(pipes) == 0 && pipe(back) == 0);
    client = fork();
    CHECK(client >= 0);
    if (client == 0) {
        be_client(transport, pipes[0], back[1]);
        return EXIT_FAILURE;
    }
    cls = HG_Init(transport, HG_TRUE);
    if (cls == NULL) {
        client_kill(client);
        return 77;
    }
    context = HG_Context_create(cls);
    (void)HG_Register_name(cls, "long", NULL, hg_proc_long, serve);
    address_write(cls, pipes[1]);
    while (held == HG_HANDLE_NULL) {
        (void)HG_Progress(context, 100);
        (void)HG_Trigger(context, 0, 1, NULL);
    }
    if (is_to_live) {
        CHECK(write(pipes[1], "", 1) == 1);
        CHECK(read(back[0], &byte, 1) == 1);
    } else {
        CHECK(kill(client, SIGSTOP) == 0); /* so it does not pull */
        CHECK(waitpid(client, NULL, WUNTRACED) == client);
    }
    if (strcmp(when, "before") == 0)
        client_kill(client);
    CHECK(HG_Respond(held, answered, NULL, bytes) == HG_SUCCESS);
    while (is_held++ < 10) /* it was sent, as far as possible */
        (void)HG_Progress(context, 0);
    CHECK(ended == 0);
    if (strcmp(when, "after") == 0)
        client_kill(client);
    if (strcmp(when, "cancel") == 0)
        CHECK(HG_Cancel(held) == HG_SUCCESS);
    until(context, &ended, 1);
    CHECK(ended_ret == (is_killed ? HG_HOSTUNREACH : HG_CANCELED));
    CHECK(HG_Cancel(held) == HG_SUCCESS); /* ended: no effect */
    CHECK(HG_Destroy(held) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(ended == 1);
    if (!is_killed)
        client_kill(client);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    return EXIT_SUCCESS;
}
