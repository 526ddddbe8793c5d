/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects can be destroyed after margo_finalize(), as by C++ destructors, while
 * the instance has a reference: an address, handles, a decoded output, exposed
 * memory, a finished request, a timer. The last reference closes the class,
 * with nothing left in it. */
#include <string.h>

#include "alone.h"
#include "echo.h"
#include "margo-timer.h"

static char said[4096];

static void note(void *arg, const char *message)
{
    (void)arg;
    strncat(said, message, sizeof(said) - strlen(said) - 1);
}

static void echo(hg_handle_t handle)
{
    echo_t args;

    CHECK_RC(margo_get_input(handle, &args), HG_SUCCESS);
    CHECK_RC(margo_respond(handle, &args), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &args), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(echo)

static void never(void *arg)
{
    (void)arg;
    CHECK(false);
}

/* Drops the last reference, in another stream than the instance's or in
 * main(). */
static void objects_end(const char *json)
{
    const struct margo_logger logger = {
        NULL, note, note, note, note, note, note};
    echo_t args = {.number = 5, .text = "five"};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_handle_t unused = HG_HANDLE_NULL;
    margo_request request = MARGO_REQUEST_NULL;
    margo_timer_t timer = MARGO_TIMER_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_size_t size = sizeof(said);
    void *memory = said;
    bool is_finalized = false;
    unsigned refs = 0;
    hg_id_t id = 0;

    alone_open(json, NULL);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    CHECK(margo_set_log_level(pair.mid, MARGO_LOG_WARNING) == 0);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    id = MARGO_REGISTER(pair.mid, "echo", echo_t, echo_t, echo);
    handle = alone_handle(id);
    unused = alone_handle(id);
    CHECK_RC(margo_bulk_create(
                 pair.mid, 1, &memory, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    CHECK(margo_timer_create(pair.mid, never, NULL, &timer) == 0);
    CHECK(margo_timer_start(timer, 60000) == 0);
    CHECK_RC(margo_iforward(handle, &args, &request), HG_SUCCESS);
    CHECK_RC(margo_wait(request), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &args), HG_SUCCESS);

    margo_finalize(pair.mid);
    CHECK_RC(margo_instance_is_finalized(pair.mid, &is_finalized), HG_SUCCESS);
    CHECK(is_finalized);
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_SUCCESS);
    CHECK(refs == 1);
    CHECK(margo_get_class(pair.mid) != NULL);
    CHECK_RC(margo_forward(unused, NULL), HG_OTHER_ERROR);
    said[0] = '\0'; /* that the instance has ended */

    CHECK(args.number == 5 && strcmp(args.text, "five") == 0);
    CHECK_RC(margo_free_output(handle, &args), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_destroy(unused), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(bulk), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    CHECK(margo_timer_cancel(timer) == 0);
    CHECK(margo_timer_destroy(timer) == 0);
    CHECK_RC(margo_deregister(pair.mid, id), HG_SUCCESS);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
    CHECK_RC(margo_instance_ref_count(pair.mid, &refs), HG_INVALID_ARG);
    if (said[0] != '\0')
        fprintf(stderr, "the end said: %s\n", said);
    CHECK(said[0] == '\0');
}

int main(void)
{
    objects_end(NULL);
    objects_end("{\"use_progress_thread\":true,\"rpc_thread_count\":1}");
    CHECK(ABT_initialized() != ABT_SUCCESS);
    return 0;
}
