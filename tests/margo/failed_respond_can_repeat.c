/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_respond() with an output that cannot be encoded, or for which there is
 * no memory, fails; the handler may respond again. Otherwise its caller gets
 * HG_CANCELED, and the log does not say that the handler never responded. */
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "alone.h"
#include "base/mem.h"

/* More than a message without a buffer holds. */
enum { LONG = 100, TIMES = 8 };

static hg_id_t ids[4];
static atomic_uint blames;
static uint64_t fail_at; /* the allocation of an answer that fails; 0: none */
static bool has_failed;

static hg_return_t hg_proc_odd(hg_proc_t proc, void *data)
{
    if (hg_proc_get_op(proc) == HG_ENCODE && *(uint64_t *)data % 2 == 0)
        return HG_OVERFLOW;
    return hg_proc_uint64_t(proc, data);
}

static hg_return_t hg_proc_blob(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, LONG);
}

static void look(const char *line)
{
    fputs(line, stderr);
    if (strstr(line, "without an answer") != NULL ||
        strstr(line, "answered before") != NULL)
        blames++;
}

static int listen_to(FILE *stream, const char *format, ...)
{
    char line[1024];
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    look(line);
    return len;
}

static void listen_to_margo(void *arg, const char *line)
{
    (void)arg;
    look(line);
    look("\n");
}

static void given_up(hg_handle_t handle)
{
    uint64_t number = 0;

    CHECK_RC(margo_respond(handle, &number), HG_OVERFLOW);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(given_up)

static void tried_again(hg_handle_t handle)
{
    uint64_t number = 0;

    CHECK_RC(margo_respond(handle, &number), HG_OVERFLOW);
    number = 1;
    CHECK_RC(margo_respond(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(tried_again)

/* Without memory for the first answer. */
static void starved(hg_handle_t handle)
{
    static char blob[LONG];
    hg_return_t rc = HG_SUCCESS;

    amg_mem_fail_nth(fail_at);
    rc = margo_respond(handle, blob);
    amg_mem_fail_nth(0);
    has_failed = rc != HG_SUCCESS;
    if (has_failed) {
        CHECK_RC(rc, HG_NOMEM);
        CHECK_RC(margo_respond(handle, blob), HG_SUCCESS);
    }
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(starved)

/* The same by HG alone. */
static hg_return_t by_hg(hg_handle_t handle)
{
    uint64_t number = 0;

    CHECK_RC(HG_Respond(handle, NULL, NULL, &number), HG_OVERFLOW);
    return HG_Destroy(handle);
}

static void ends(hg_id_t id, hg_return_t wanted)
{
    hg_handle_t handle = alone_handle(id);

    for (unsigned i = 0; i < 3; i++)
        CHECK_RC(margo_forward(handle, NULL), wanted);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK(blames == 0);
}

int main(void)
{
    static const struct margo_logger logger = {
        .trace = listen_to_margo,
        .debug = listen_to_margo,
        .info = listen_to_margo,
        .warning = listen_to_margo,
        .error = listen_to_margo,
        .critical = listen_to_margo,
    };
    unsigned failures = 0;

    alone_open(NULL, NULL);
    HG_Set_log_func(listen_to);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    ids[0] = MARGO_REGISTER(pair.mid, "given_up", void, odd, given_up);
    ids[1] = MARGO_REGISTER(pair.mid, "tried_again", void, odd, tried_again);
    ids[2] = MARGO_REGISTER(pair.mid, "by_hg", void, odd, NULL);
    CHECK_RC(HG_Register(
                 margo_get_class(pair.mid), ids[2], NULL, hg_proc_odd, by_hg),
        HG_SUCCESS);
    ids[3] = MARGO_REGISTER(pair.mid, "starved", void, blob, starved);
    ends(ids[3], HG_SUCCESS);
    for (fail_at = 1; fail_at <= TIMES; fail_at++) {
        ends(ids[3], HG_SUCCESS);
        failures += has_failed;
    }
    CHECK(failures > 0);
    ends(ids[0], HG_CANCELED);
    ends(ids[1], HG_SUCCESS);
    ends(ids[2], HG_CANCELED);
    alone_close();
    return 0;
}
