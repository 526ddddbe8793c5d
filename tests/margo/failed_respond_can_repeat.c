/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_respond() with an output that cannot be encoded fails; the handler may
 * respond again. Otherwise its caller gets HG_CANCELED, and the log does not
 * say that the handler never responded. */
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "alone.h"

static hg_id_t ids[3];
static atomic_uint blames;

static hg_return_t hg_proc_odd(hg_proc_t proc, void *data)
{
    if (hg_proc_get_op(proc) == HG_ENCODE && *(uint64_t *)data % 2 == 0)
        return HG_OVERFLOW;
    return hg_proc_uint64_t(proc, data);
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

    alone_open(NULL, NULL);
    HG_Set_log_func(listen_to);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    ids[0] = MARGO_REGISTER(pair.mid, "given_up", void, odd, given_up);
    ids[1] = MARGO_REGISTER(pair.mid, "tried_again", void, odd, tried_again);
    ids[2] = MARGO_REGISTER(pair.mid, "by_hg", void, odd, NULL);
    CHECK_RC(HG_Register(
                 margo_get_class(pair.mid), ids[2], NULL, hg_proc_odd, by_hg),
        HG_SUCCESS);
    ends(ids[0], HG_CANCELED);
    ends(ids[1], HG_SUCCESS);
    ends(ids[2], HG_CANCELED);
    alone_close();
    return 0;
}
