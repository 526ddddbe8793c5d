/* SPDX-License-Identifier: BSD-3-Clause */
/* A server that starts another program by exec() in its own process: calls to
 * it end with HG_HOSTUNREACH, both the one that it was serving and a later one,
 * and its address is no longer found. The argument is an init string. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury.h"

enum { CAP = 256 };

static pid_t server = -1;

static void check(bool is_right, const char *what, int line)
{
    if (is_right)
        return;
    fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
    if (server > 0)
        (void)kill(server, SIGKILL);
    _exit(1);
}

#define CHECK(condition) check(condition, #condition, __LINE__)
#define OK(call)         CHECK((call) == HG_SUCCESS)

/* The program that follows lives until its input ends. */
static hg_return_t on_call(hg_handle_t handle)
{
    (void)handle;
    execl("/bin/cat", "cat", (char *)NULL);
    return HG_OTHER_ERROR;
}

static hg_return_t on_answer(const struct hg_cb_info *info)
{
    *(hg_return_t *)info->arg = info->ret;
    return HG_SUCCESS;
}

static void turn(hg_context_t *context)
{
    (void)HG_Progress(context, 100);
    (void)HG_Trigger(context, 0, 8, NULL);
}

/* Writes its address to `out`. */
static void serve(const char *info, int out)
{
    hg_class_t *cls = HG_Init(info, true);
    char text[CAP] = "";
    hg_size_t len = CAP;
    hg_context_t *context = NULL;
    hg_addr_t self = HG_ADDR_NULL;

    CHECK(cls != NULL);
    context = HG_Context_create(cls);
    CHECK(HG_Register_name(cls, "call", NULL, NULL, on_call) != 0);
    OK(HG_Addr_self(cls, &self));
    OK(HG_Addr_to_string(cls, text, &len, self));
    CHECK(write(out, text, CAP) == CAP);
    for (;;)
        turn(context);
}

static hg_return_t call(hg_context_t *context, hg_addr_t addr, hg_id_t id)
{
    hg_return_t ret = HG_RETURN_MAX;
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(HG_Create(context, addr, id, &handle));
    OK(HG_Forward(handle, on_answer, &ret, NULL));
    while (ret == HG_RETURN_MAX)
        turn(context);
    OK(HG_Destroy(handle));
    return ret;
}

/* `in`: the input of the server's next program, which ends with this one. */
static void ask(const char *info, int from, int in)
{
    hg_class_t *cls = HG_Init(info, false);
    hg_context_t *context = NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    char text[CAP];
    hg_id_t id = 0;

    CHECK(cls != NULL);
    context = HG_Context_create(cls);
    id = HG_Register_name(cls, "call", NULL, NULL, NULL);
    CHECK(read(from, text, CAP) == CAP);
    OK(HG_Addr_lookup2(cls, text, &addr));
    CHECK(call(context, addr, id) == HG_HOSTUNREACH);
    CHECK(waitpid(server, NULL, WNOHANG) == 0); /* its process lives */
    CHECK(call(context, addr, id) == HG_HOSTUNREACH);
    OK(HG_Addr_free(cls, addr));
    CHECK(HG_Addr_lookup2(cls, text, &addr) != HG_SUCCESS);
    OK(HG_Context_destroy(context));
    OK(HG_Finalize(cls));
    close(in);
    CHECK(waitpid(server, NULL, 0) == server);
}

int main(int argc, char **argv)
{
    int address[2];
    int input[2];

    CHECK(argc == 2 && pipe(address) == 0 && pipe(input) == 0);
    server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        CHECK(dup2(input[0], STDIN_FILENO) == STDIN_FILENO);
        close(input[1]);
        server = -1;
        serve(argv[1], address[1]);
    }
    close(input[0]);
    ask(argv[1], address[0], input[1]);
    return 0;
}
