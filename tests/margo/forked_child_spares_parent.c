/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of fork() leaves its parent alone, and does not hang, whatever it
 * does with what it inherits; afterwards the parent serves another process.
 * forked_child_spares_parent TRANSPORT LAYER DOES: LAYER is hg, margo (with a
 * progress thread) or abt; DOES is what the child does
 *
 *   close   ends all that it inherits
 *   call    uses all of it, which is refused
 *   own     opens its own, and calls itself
 *   exit    exit(3) */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "one.h"

#include "../slow.h"

enum { LIMIT_S = 30 * TEST_SLOW, CODE = 3, LEN = 4096, TEXT_CAP = 256 };

/* A server that may call itself. */
struct side {
    margo_instance_id mid; /* NULL: a class without Margo */
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t id;
    hg_addr_t to;
    hg_handle_t handle;
    hg_bulk_t bulk;
    char *bytes;     /* of the library, exposed by `bulk` */
    ABT_xstream own; /* a stream of its own */
    bool is_done;
    hg_return_t ret;
};

static const char *transport;
static bool is_margo;

static hg_return_t answer(hg_handle_t handle)
{
    CHECK_RC(HG_Respond(handle, NULL, NULL, NULL), HG_SUCCESS);
    return HG_Destroy(handle);
}

static void serve(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
static DEFINE_MARGO_RPC_HANDLER(serve)

    static hg_return_t ended(const struct hg_cb_info *info)
{
    struct side *side = info->arg;

    side->ret = info->ret;
    side->is_done = true;
    return HG_SUCCESS;
}

static hg_return_t call(struct side *side)
{
    unsigned count = 0;
    hg_return_t rc = HG_SUCCESS;

    if (is_margo)
        return margo_forward_timed(side->handle, NULL, LIMIT_S * 1e3);
    side->is_done = false;
    rc = HG_Forward(side->handle, ended, side, NULL);
    while (rc == HG_SUCCESS && !side->is_done) {
        (void)HG_Progress(side->context, 10);
        (void)HG_Trigger(side->context, 0, 1, &count);
    }
    return rc == HG_SUCCESS ? side->ret : rc;
}

/* `address`: whom it calls; NULL: itself. */
static void side_open(struct side *side, const char *address)
{
    hg_size_t len = LEN;
    void *place = NULL;

    memset(side, 0, sizeof(*side));
    if (is_margo) {
        side->mid = margo_init(transport, MARGO_SERVER_MODE, 1, 0);
        CHECK(side->mid != MARGO_INSTANCE_NULL);
        side->cls = margo_get_class(side->mid);
        side->context = margo_get_context(side->mid);
        side->id = MARGO_REGISTER(side->mid, "forked", void, void, serve);
    } else {
        side->cls = HG_Init(transport, HG_TRUE);
        CHECK(side->cls != NULL);
        side->context = HG_Context_create(side->cls);
        CHECK(side->context != NULL);
        side->id = HG_Register_name(side->cls, "forked", NULL, NULL, answer);
    }
    if (address == NULL)
        CHECK_RC(HG_Addr_self(side->cls, &side->to), HG_SUCCESS);
    else
        CHECK_RC(HG_Addr_lookup2(side->cls, address, &side->to), HG_SUCCESS);
    CHECK_RC(is_margo
                 ? margo_create(side->mid, side->to, side->id, &side->handle)
                 : HG_Create(side->context, side->to, side->id, &side->handle),
        HG_SUCCESS);
    CHECK_RC(HG_Bulk_create(
                 side->cls, 1, NULL, &len, HG_BULK_READWRITE, &side->bulk),
        HG_SUCCESS);
    CHECK_RC(HG_Bulk_access(
                 side->bulk, 0, LEN, HG_BULK_READWRITE, 1, &place, &len, NULL),
        HG_SUCCESS);
    side->bytes = place;
    side->bytes[0] = 'p';
    CHECK_RC(call(side), HG_SUCCESS);
}

static void side_close(struct side *side)
{
    CHECK_RC(is_margo ? margo_destroy(side->handle) : HG_Destroy(side->handle),
        HG_SUCCESS);
    CHECK_RC(HG_Bulk_free(side->bulk), HG_SUCCESS);
    CHECK_RC(HG_Addr_free(side->cls, side->to), HG_SUCCESS);
    if (is_margo) {
        margo_finalize(side->mid);
        return;
    }
    CHECK_RC(HG_Context_destroy(side->context), HG_SUCCESS);
    CHECK_RC(HG_Finalize(side->cls), HG_SUCCESS);
}

/* In the child. */
static void side_use(struct side *side)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned count = 0;

    CHECK(side->bytes[0] == 'p');
    side->bytes[0] = 'c';
    CHECK_RC(call(side), HG_OPNOTSUPPORTED);
    CHECK_RC(HG_Progress(side->context, LIMIT_S * 1000), HG_OPNOTSUPPORTED);
    CHECK_RC(HG_Trigger(side->context, LIMIT_S * 1000, 1, &count),
        HG_OPNOTSUPPORTED);
    CHECK_RC(HG_Create(side->context, side->to, side->id, &handle),
        HG_OPNOTSUPPORTED);
    CHECK(HG_Context_create(side->cls) == NULL);
    CHECK(HG_Get_info(side->handle)->id == side->id);
    if (!is_margo)
        return;
    CHECK_RC(margo_create(side->mid, side->to, side->id, &handle),
        HG_OPNOTSUPPORTED);
    margo_thread_sleep(side->mid, 1);
    margo_wait_for_finalize(side->mid);
}

static void nothing(void *arg)
{
    *(bool *)arg = true;
}

/* User-level threads: the primary stream and one more. */
static void abt_open(struct side *side)
{
    bool has_run = false;
    ABT_thread thread = ABT_THREAD_NULL;

    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    CHECK(ABT_xstream_create(ABT_SCHED_NULL, &side->own) == ABT_SUCCESS);
    CHECK(ABT_thread_create_on_xstream(side->own, nothing, &has_run,
              ABT_THREAD_ATTR_NULL, &thread) == ABT_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK(has_run);
}

static void abt_close(struct side *side)
{
    CHECK(ABT_xstream_join(side->own) == ABT_SUCCESS);
    CHECK(ABT_xstream_free(&side->own) == ABT_SUCCESS);
    CHECK(ABT_finalize() == ABT_SUCCESS);
}

/* In the child. */
static void abt_use(void)
{
    ABT_mutex mutex = ABT_MUTEX_NULL;
    ABT_xstream made = ABT_XSTREAM_NULL;

    CHECK(ABT_initialized() == ABT_ERR_UNINITIALIZED);
    CHECK(ABT_self_yield() != ABT_SUCCESS);
    CHECK(ABT_mutex_create(&mutex) == ABT_SUCCESS);
    CHECK(ABT_mutex_lock(mutex) == ABT_SUCCESS);
    CHECK(ABT_mutex_unlock(mutex) == ABT_SUCCESS);
    CHECK(ABT_mutex_free(&mutex) == ABT_SUCCESS);
    (void)ABT_xstream_create(ABT_SCHED_NULL, &made);
}

static void child_run(struct side *side, const char *does, bool is_abt)
{
    struct side own;

    alarm(LIMIT_S);
    if (strcmp(does, "close") == 0)
        (is_abt ? abt_close : side_close)(side);
    if (strcmp(does, "call") == 0 && is_abt)
        abt_use();
    if (strcmp(does, "call") == 0 && !is_abt)
        side_use(side);
    if (strcmp(does, "own") != 0)
        return;
    if (is_abt) {
        abt_open(&own);
        abt_close(&own);
    } else {
        side_open(&own, NULL);
        side_close(&own);
    }
}

/* Waits for a child, which must end with that code; serves meanwhile. */
static void child_await(struct side *side, pid_t child, int code)
{
    int status = 0;
    unsigned count = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (is_margo) {
            margo_thread_sleep(side->mid, 1);
        } else if (side->context != NULL) {
            (void)HG_Progress(side->context, 1);
            (void)HG_Trigger(side->context, 0, 1, &count);
        }
    }
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == code);
}

/* Another process calls this one. */
static void other_serve(struct side *side)
{
    char address[TEXT_CAP];
    hg_size_t len = sizeof(address);
    struct side own;
    pid_t child = 0;

    CHECK_RC(HG_Addr_to_string(side->cls, address, &len, side->to), HG_SUCCESS);
    child = fork();
    if (child == 0) {
        alarm(LIMIT_S);
        side_open(&own, address);
        side_close(&own);
        _exit(CODE);
    }
    child_await(side, child, CODE);
}

int main(int argc, char **argv)
{
    struct side side;
    bool is_abt = false;
    pid_t child = 0;

    CHECK(argc == 4);
#ifdef __SANITIZE_THREAD__
    if (strcmp(argv[2], "margo") == 0 ||
        (strcmp(argv[2], "abt") == 0 && strcmp(argv[3], "own") == 0)) {
        puts("skipped: the thread sanitizer allows a child no new threads");
        return 77;
    }
#endif
    alarm(2 * LIMIT_S);
    memset(&side, 0, sizeof(side));
    transport = argv[1];
    is_margo = strcmp(argv[2], "margo") == 0;
    is_abt = strcmp(argv[2], "abt") == 0;
    if (is_abt)
        abt_open(&side);
    else
        side_open(&side, NULL);
    child = fork();
    if (child == 0) {
        child_run(&side, argv[3], is_abt);
        exit(CODE);
    }
    child_await(&side, child, CODE);
    if (is_abt) {
        abt_close(&side);
        return EXIT_SUCCESS;
    }
    CHECK(side.bytes[0] == 'p');
    if (strcmp(transport, "self") != 0)
        other_serve(&side);
    CHECK_RC(call(&side), HG_SUCCESS);
    side_close(&side);
    return EXIT_SUCCESS;
}
