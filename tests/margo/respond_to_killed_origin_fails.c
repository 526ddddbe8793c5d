/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_respond() with a long output returns with an error when its origin was
 * killed before or after the reply was sent, and so does the next one to that
 * origin; and no log line blames the handlers. */
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"
#include "processes/processes.h"
#include "slow.h"

enum { LEN = 1 << 20, CALLS = 2, ALARM_S = 50 * TEST_SLOW };

static char bytes[LEN];
static pid_t client;
static bool is_killed_after;
static atomic_uint arrived;
static atomic_uint answered;
static atomic_uint errors;

static hg_return_t hg_proc_long(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_FREE ? HG_SUCCESS
                                           : hg_proc_raw(proc, data, LEN);
}

/* Lines of the library and of Margo. */
static int listen_to(FILE *stream, const char *format, ...)
{
    char line[1024];
    va_list args;
    int len = 0;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fputs(line, stream);
    if (strstr(line, "error: ") != NULL)
        errors++;
    return len;
}

static void count_error(void *arg, const char *message)
{
    (void)arg;
    fprintf(stderr, "[error] %s\n", message);
    errors++;
}

static void ignore(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

static void client_kill(void)
{
    CHECK(kill(client, SIGKILL) == 0);
    CHECK(waitpid(client, NULL, 0) == client);
}

static hg_return_t answer_first(hg_handle_t handle)
{
    margo_request request = MARGO_REQUEST_NULL;

    CHECK(kill(client, SIGSTOP) == 0); /* so it does not pull */
    CHECK(waitpid(client, NULL, WUNTRACED) == client);
    if (!is_killed_after) {
        client_kill();
        return margo_respond(handle, bytes);
    }
    CHECK_RC(margo_irespond(handle, bytes, &request), HG_SUCCESS);
    client_kill();
    return margo_wait(request);
}

static void serve(hg_handle_t handle)
{
    unsigned index = arrived++;

    while (arrived < CALLS || answered < index)
        ABT_thread_yield();
    if (index == 0)
        CHECK_RC(answer_first(handle), HG_HOSTUNREACH);
    else
        CHECK_RC(margo_respond(handle, bytes), HG_HOSTUNREACH);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    answered++;
}
DEFINE_MARGO_RPC_HANDLER(serve)

/* Calls, and then only makes progress. */
static void be_client(const char *transport, int from)
{
    char text[PROCESSES_TEXT_CAP];
    margo_request request = MARGO_REQUEST_NULL;
    hg_id_t id = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(read(from, text, sizeof(text)) == sizeof(text));
    pair.mid = margo_init(transport, MARGO_CLIENT_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    id = margo_register_name(pair.mid, "long", NULL, hg_proc_long, NULL);
    CHECK_RC(margo_addr_lookup(pair.mid, text, &pair.other), HG_SUCCESS);
    for (unsigned i = 0; i < CALLS; i++)
        CHECK_RC(margo_iforward(pair_handle(id), NULL, &request), HG_SUCCESS);
    (void)margo_wait(request);
    fprintf(stderr, "the client has an answer\n");
}

int main(int argc, char **argv)
{
    static const struct margo_logger logger = {.trace = ignore,
        .debug = ignore,
        .info = ignore,
        .warning = ignore,
        .error = count_error,
        .critical = count_error};
    const char *transport = argc > 1 ? argv[1] : "na+sm";
    char text[PROCESSES_TEXT_CAP] = "";
    hg_size_t len = sizeof(text);
    int pipes[2];

    is_killed_after = argc > 2 && strcmp(argv[2], "after") == 0;
    alarm(ALARM_S);
    CHECK(pipe(pipes) == 0);
    client = fork();
    CHECK(client >= 0);
    if (client == 0) {
        be_client(transport, pipes[0]);
        return EXIT_FAILURE;
    }
    pair.mid = margo_init(transport, MARGO_SERVER_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    HG_Set_log_func(listen_to);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    (void)margo_register_name(
        pair.mid, "long", NULL, hg_proc_long, _handler_for_serve);
    CHECK_RC(margo_addr_self(pair.mid, &pair.self), HG_SUCCESS);
    CHECK_RC(margo_addr_to_string(pair.mid, text, &len, pair.self), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    CHECK(write(pipes[1], text, sizeof(text)) == sizeof(text));
    while (answered < CALLS)
        margo_thread_sleep(pair.mid, 1);
    margo_finalize(pair.mid);
    CHECK(errors == 0);
    return EXIT_SUCCESS;
}
