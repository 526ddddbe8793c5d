/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments, outputs and bulk handles that are freed twice, or without a get,
 * and a handle, timer or pool of buffers that is destroyed twice: logged,
 * refused, and later objects are intact. With AMALGAM_ABORT_ON_MISUSE=1
 * the process aborts. */
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "margo-bulk-pool.h"
#include "margo-timer.h"

enum { LEN = 64 };

static hg_id_t echo_id;
static unsigned lines;

/* Counts the library's log lines. */
static int listen_to(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    va_start(args, format);
    len = vfprintf(stream, format, args);
    va_end(args);
    lines++;
    return len;
}

/* The call is refused, with a log line. */
#define REFUSED(call)                                                          \
    do {                                                                       \
        lines = 0;                                                             \
        CHECK_RC(call, HG_INVALID_ARG);                                        \
        CHECK(lines > 0);                                                      \
    } while (0)

#define REFUSED_INT(call)                                                      \
    do {                                                                       \
        lines = 0;                                                             \
        CHECK((call) == -1);                                                   \
        CHECK(lines > 0);                                                      \
    } while (0)

static void echo(hg_handle_t handle)
{
    uint64_t number = 0;

    REFUSED(margo_free_input(handle, &number));
    CHECK_RC(margo_get_input(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &number), HG_SUCCESS);
    REFUSED(margo_free_input(handle, &number));
    number++;
    CHECK_RC(margo_respond(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(echo)

static void arguments(void)
{
    hg_handle_t handle = alone_handle(echo_id);
    uint64_t number = 1;

    for (unsigned i = 0; i < 3; i++) {
        CHECK_RC(margo_forward(handle, &number), HG_SUCCESS);
        REFUSED(margo_free_output(handle, &number));
        CHECK_RC(margo_get_output(handle, &number), HG_SUCCESS);
        CHECK(number == i + 2u);
        CHECK_RC(margo_free_output(handle, &number), HG_SUCCESS);
        REFUSED(margo_free_output(handle, &number));
    }
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static hg_bulk_t bulk_make(void *bytes)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_size_t len = LEN;

    CHECK_RC(
        margo_bulk_create(pair.mid, 1, &bytes, &len, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    return bulk;
}

static void bulk_handles(void)
{
    static char from[LEN] = "bytes";
    static char to[LEN];
    hg_bulk_t first = bulk_make(from);
    hg_bulk_t second = HG_BULK_NULL;

    CHECK_RC(margo_bulk_free(first), HG_SUCCESS);
    REFUSED(margo_bulk_free(first));
    REFUSED(margo_bulk_ref_incr(first));
    first = bulk_make(from);
    second = bulk_make(to);
    CHECK(first != second);
    CHECK_RC(margo_bulk_transfer(
                 pair.mid, HG_BULK_PULL, pair.self, first, 0, second, 0, LEN),
        HG_SUCCESS);
    CHECK(to[0] == from[0]);
    CHECK_RC(margo_bulk_free(first), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(second), HG_SUCCESS);
    REFUSED(margo_bulk_free(second));
}

/* A handle that the instance does not keep for later calls. */
static void handles(void)
{
    hg_handle_t first = alone_handle(echo_id);
    hg_handle_t second = HG_HANDLE_NULL;
    uint64_t number = 1;

    lines = 0;
    CHECK_RC(margo_destroy(first), HG_SUCCESS);
    CHECK(lines == 0);
    REFUSED(margo_destroy(first));
    REFUSED(margo_ref_incr(first));
    REFUSED(margo_forward(first, &number));
    REFUSED(margo_respond(first, &number));
    REFUSED(margo_get_input(first, &number));
    REFUSED(margo_free_output(first, &number));
    first = alone_handle(echo_id);
    second = alone_handle(echo_id);
    CHECK(first != second);
    CHECK_RC(margo_forward(first, &number), HG_SUCCESS);
    CHECK_RC(margo_forward(second, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(first), HG_SUCCESS);
    CHECK_RC(margo_destroy(second), HG_SUCCESS);
}

static void timer_fire(void *arg)
{
    ++*(unsigned *)arg;
}

/* The first one is started, and fires after it was destroyed. */
static void timers(void)
{
    margo_timer_t first = MARGO_TIMER_NULL;
    margo_timer_t second = MARGO_TIMER_NULL;
    unsigned fired = 0;

    CHECK(margo_timer_create(pair.mid, timer_fire, &fired, &first) == 0);
    CHECK(margo_timer_start(first, 1) == 0);
    CHECK(margo_timer_destroy(first) == 0);
    REFUSED_INT(margo_timer_destroy(first));
    REFUSED_INT(margo_timer_cancel(first));
    while (fired == 0)
        margo_thread_sleep(pair.mid, 1);
    REFUSED_INT(margo_timer_destroy(first));
    REFUSED_INT(margo_timer_start(first, 1));
    CHECK(margo_timer_create(pair.mid, timer_fire, &fired, &second) == 0);
    CHECK(margo_timer_start(second, 1) == 0);
    while (fired == 1)
        margo_thread_sleep(pair.mid, 1);
    CHECK(margo_timer_destroy(second) == 0);
    REFUSED_INT(margo_timer_cancel_many(1, &second));
}

static void pools(void)
{
    margo_bulk_pool_t pool = MARGO_BULK_POOL_NULL;
    margo_bulk_poolset_t set = MARGO_BULK_POOLSET_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK_RC(margo_bulk_pool_create(pair.mid, 1, LEN, HG_BULK_READWRITE, &pool),
        HG_SUCCESS);
    CHECK(margo_bulk_pool_destroy(pool) == 0);
    REFUSED_INT(margo_bulk_pool_destroy(pool));
    REFUSED_INT(margo_bulk_pool_get(pool, &bulk));
    CHECK_RC(margo_bulk_poolset_create(
                 pair.mid, 2, 1, LEN, 2, HG_BULK_READWRITE, &set),
        HG_SUCCESS);
    CHECK(margo_bulk_poolset_destroy(set) == 0);
    REFUSED_INT(margo_bulk_poolset_destroy(set));
    REFUSED_INT(margo_bulk_poolset_get(set, 1, &bulk));
}

static void open_up(void)
{
    alone_open("{\"handle_cache_size\":0}", NULL);
    HG_Set_log_func(listen_to);
    echo_id = MARGO_REGISTER(pair.mid, "echo", uint64_t, uint64_t, echo);
}

/* Runs in a process that aborts at the first misuse. */
static void stopped(void (*what)(void))
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        CHECK(setenv("AMALGAM_ABORT_ON_MISUSE", "1", 1) == 0);
        open_up();
        what();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    stopped(bulk_handles);
    stopped(handles);
    open_up();
    arguments();
    bulk_handles();
    handles();
    timers();
    pools();
    lines = 0;
    alone_close();
    CHECK(lines == 0);
    return 0;
}
