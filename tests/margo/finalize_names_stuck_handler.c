/* SPDX-License-Identifier: BSD-3-Clause */
/* An end that waits for a handler logs which one, and for which call,
 * repeatedly; after its limit, margo_finalize() returns, and the process
 * exits. */
#include <string.h>

#include "alone.h"

static ABT_eventual never;
static ABT_eventual begun;
static char said[65536];

static void note(void *arg, const char *message)
{
    (void)arg;
    strncat(said, message, sizeof(said) - strlen(said) - 1);
    strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

static void stands(hg_handle_t handle)
{
    (void)handle;
    CHECK(ABT_eventual_set(begun, NULL, 0) == ABT_SUCCESS);
    (void)ABT_eventual_wait(never, NULL);
}
DEFINE_MARGO_RPC_HANDLER(stands)

static unsigned times_said(const char *words)
{
    const char *at = said;
    unsigned times = 0;

    for (; (at = strstr(at, words)) != NULL; at++)
        times++;
    return times;
}

int main(void)
{
    const struct margo_logger logger = {
        NULL, note, note, note, note, note, note};
    margo_request request = MARGO_REQUEST_NULL;
    hg_id_t id = 0;

    alone_open("{\"rpc_thread_count\":1}", NULL);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    CHECK(ABT_eventual_create(0, &never) == ABT_SUCCESS);
    CHECK(ABT_eventual_create(0, &begun) == ABT_SUCCESS);
    id = MARGO_REGISTER(pair.mid, "stands", void, void, stands);
    CHECK_RC(margo_iforward(alone_handle(id), NULL, &request), HG_SUCCESS);
    CHECK(ABT_eventual_wait(begun, NULL) == ABT_SUCCESS);
    margo_finalize(pair.mid);
    if (times_said("a handler of RPC \"stands\"") < 2 ||
        times_said("a call of RPC \"stands\"") < 2 ||
        times_said("finalize gives up on 1 calls and 1 handlers") != 1)
        fprintf(stderr, "%s", said);
    CHECK(times_said("a handler of RPC \"stands\", provider 65535, which has "
                     "not answered") >= 2);
    CHECK(times_said("a call of RPC \"stands\"") >= 2);
    CHECK(times_said("finalize gives up on 1 calls and 1 handlers") == 1);
    return 0;
}
