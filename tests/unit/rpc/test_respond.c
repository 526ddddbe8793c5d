/* SPDX-License-Identifier: BSD-3-Clause */
/* A long reply that is never pulled does not block the end of its class. It
 * ends when its origin closes its context, unless that class does not listen.
 * Impossible acknowledgements of origins are logged. Probes are not counted as
 * calls. What the library itself answers is answered later where there is no
 * memory. */
#include "rpc/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "init/init.h"
#include "mercury.h"
#include "mercury_log.h"
#include "mercury_proc.h"
#include "wire/header.h"

enum {
    LONG_LEN = 300000, /* more than the longest message */
    ALLOCS = 3,
    CALLS = 64,
    TURNS = 10000,
};

static hg_handle_t served;
static unsigned ended;
static hg_return_t ended_ret;

static hg_return_t hg_proc_long(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_FREE ? HG_SUCCESS
                                           : hg_proc_raw(proc, data, LONG_LEN);
}

static hg_return_t respond_ended(const struct hg_cb_info *info)
{
    ended++;
    ended_ret = info->ret;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    static char bytes[LONG_LEN];

    served = handle;
    assert_int_equal(
        HG_Respond(handle, respond_ended, NULL, bytes), HG_SUCCESS);
    return HG_Destroy(handle);
}

static void op_step(struct amg_op *op)
{
    *(bool *)(uintptr_t)op->priv[AMG_OP_PRIV_WORDS - 1] = true;
}

static void turn(hg_context_t *context)
{
    (void)HG_Progress(context, 0);
    (void)HG_Trigger(context, 0, 1, NULL);
}

/* Sends a request, as an origin that ignores the reply. */
static void ask(hg_context_t *origin, const struct hg_addr *to,
    hg_context_t *target, hg_id_t id)
{
    struct amg_ep *ep = amg_context_ep(origin, to->route);
    struct amg_op op = {.step = op_step};
    struct amg_buf *buf = NULL;
    bool is_answered = false;

    op.priv[AMG_OP_PRIV_WORDS - 1] = (uintptr_t)&is_answered;
    ended = 0;
    assert_int_equal(
        ep->transport->msg.get_buf(ep, to->peer, &buf), HG_SUCCESS);
    amg_header_write_request(buf->data, 0, id);
    assert_int_equal(
        ep->transport->msg.send_request(ep, (struct amg_target){to->peer, 0},
            buf, AMG_HEADER_LEN, true, &op),
        HG_SUCCESS);
    while (!is_answered) {
        turn(origin);
        turn(target);
    }
    assert_int_equal(op.ret, HG_SUCCESS);
    ep->transport->msg.release_reply(ep, &op);
}

static void test_respond_never_pulled_lets_the_class_end(void **state)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    hg_id_t id = HG_Register_name(cls, "long", NULL, hg_proc_long, serve);
    struct hg_addr self;

    (void)state;
    assert_non_null(context);
    amg_addr_init_self(cls, &self);
    ask(context, &self, context, id);
    amg_addr_fini(&self);
    assert_int_equal(ended, 0); /* it waits to be pulled */
    assert_int_equal(amg_init_finalize(cls, true), HG_SUCCESS);
    assert_int_equal(ended, 1);
    assert_int_equal(ended_ret, HG_CANCELED);
}

/* A class that serves, and one that calls, does not listen, and has two
 * contexts. */
struct pair {
    hg_class_t *target_cls;
    hg_class_t *origin_cls;
    hg_context_t *target;
    hg_context_t *origins[2];
    hg_addr_t to;
};

static void pair_open(struct pair *pair, const char *transport)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    char text[256];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    info.na_init_info.max_contexts = 2;
    pair->target_cls = HG_Init(transport, HG_TRUE);
    pair->origin_cls = HG_Init_opt(transport, HG_FALSE, &info);
    if (pair->target_cls == NULL || pair->origin_cls == NULL)
        skip();
    pair->target = HG_Context_create(pair->target_cls);
    for (uint8_t id = 0; id < 2; id++)
        pair->origins[id] = HG_Context_create_id(pair->origin_cls, id);
    assert_int_equal(HG_Addr_self(pair->target_cls, &self), HG_SUCCESS);
    assert_int_equal(
        HG_Addr_to_string(pair->target_cls, text, &len, self), HG_SUCCESS);
    assert_int_equal(HG_Addr_free(pair->target_cls, self), HG_SUCCESS);
    assert_int_equal(
        HG_Addr_lookup2(pair->origin_cls, text, &pair->to), HG_SUCCESS);
}

/* The target asks its origin now, and gets an answer. */
static void be_asked(struct pair *pair)
{
    uint64_t wait_ns = served->ask_wait_ns;

    served->ask_ns = 0;
    amg_context_look_at(pair->target, 0);
    while (ended == 0 && (served->ask_wait_ns == wait_ns || served->ask)) {
        turn(pair->target);
        for (unsigned i = 0; i < 2; i++)
            if (pair->origins[i] != NULL)
                turn(pair->origins[i]);
    }
}

static void pair_play(const char *transport)
{
    struct pair pair;
    hg_id_t id = 0;

    pair_open(&pair, transport);
    id = HG_Register_name(pair.target_cls, "long", NULL, hg_proc_long, serve);
    ask(pair.origins[0], pair.to, pair.target, id);
    be_asked(&pair);
    assert_int_equal(ended, 0); /* the origin is alive, and may still pull */
    assert_int_equal(HG_Context_destroy(pair.origins[0]), HG_SUCCESS);
    pair.origins[0] = NULL;
    be_asked(&pair);
    turn(pair.target);
    assert_int_equal(ended, 1);
    assert_int_equal(ended_ret, HG_CANCELED);
    assert_int_equal(HG_Context_destroy(pair.origins[1]), HG_SUCCESS);
    assert_int_equal(HG_Addr_free(pair.origin_cls, pair.to), HG_SUCCESS);
    assert_int_equal(HG_Context_destroy(pair.target), HG_SUCCESS);
    assert_int_equal(HG_Finalize(pair.origin_cls), HG_SUCCESS);
    assert_int_equal(HG_Finalize(pair.target_cls), HG_SUCCESS);
}

static void test_respond_shm_origin_closed_ends_it(void **state)
{
    (void)state;
    pair_play("na+sm");
}

static void test_respond_ofi_origin_closed_ends_it(void **state)
{
    (void)state;
    pair_play("ofi+tcp");
}

static unsigned told; /* lines about acknowledgements that cannot be true */

static int log_note(FILE *stream, const char *format, ...)
{
    char line[512];
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    told += strstr(line, "never sent") != NULL;
    return len;
}

static void test_respond_reply_never_sent_is_logged_once(void **state)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    hg_id_t id = HG_Register_name(cls, "long", NULL, hg_proc_long, serve);
    struct hg_addr self;
    uint64_t token = 0;

    (void)state;
    amg_addr_init_self(cls, &self);
    ask(context, &self, context, id);
    HG_Set_log_func(log_note);
    told = 0;
    token = served->token;
    assert_int_equal(HG_Cancel(served), HG_SUCCESS);
    turn(context);
    assert_int_equal(ended, 1);
    amg_respond_take_ack(context, &self, token);
    assert_int_equal(told, 0); /* only late, which is allowed */
    amg_respond_take_ack(context, &self, token + 1);
    amg_respond_take_ack(context, &self, 0);
    assert_int_equal(told, 1);
    HG_Set_log_func(fprintf);
    amg_addr_fini(&self);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

static void test_respond_probe_is_not_counted(void **state)
{
    struct hg_diag_counters counters;
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    hg_id_t id = HG_Register_name(cls, "long", NULL, hg_proc_long, serve);
    struct hg_addr self;

    (void)state;
    amg_addr_init_self(cls, &self);
    ask(context, &self, context, id);
    while (served->is_leaving)
        turn(context);
    served->ask_ns = 0;
    amg_context_look_at(context, 0);
    do
        turn(context);
    while (served->ask != NULL);
    assert_true(served->ask_ns > 0); /* the probe was sent */
    assert_int_equal(HG_Class_get_counters(cls, &counters), HG_SUCCESS);
    assert_int_equal(counters.rpc_req_recv_count, 1);
    assert_int_equal(counters.rpc_resp_sent_count, 1);
    amg_addr_fini(&self);
    assert_int_equal(amg_init_finalize(cls, true), HG_SUCCESS);
}

/* Calls under way, of which the library answers each with a code; the n-th
 * allocation meanwhile fails. */
static void answers_come(hg_rpc_cb_t handler, unsigned count, uint64_t n)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    hg_id_t id = HG_Register_name(cls, "unanswered", NULL, NULL, handler);
    hg_handle_t handles[CALLS];
    struct hg_addr self;

    amg_addr_init_self(cls, &self);
    ended = 0;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(
            HG_Create(context, &self, id, &handles[i]), HG_SUCCESS);
        assert_int_equal(
            HG_Forward(handles[i], respond_ended, NULL, NULL), HG_SUCCESS);
    }
    amg_mem_fail_nth(n);
    for (unsigned turns = 0; ended < count && turns < TURNS; turns++)
        turn(context);
    amg_mem_fail_nth(0);
    assert_int_equal(ended, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(HG_Destroy(handles[i]), HG_SUCCESS);
    amg_addr_fini(&self);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

/* The pools of messages run empty at one of these counts. */
static void test_respond_code_without_memory_comes_later(void **state)
{
    (void)state;
    HG_Set_log_level("fatal");
    for (unsigned count = 1; count <= CALLS; count++)
        for (uint64_t n = 1; n <= ALLOCS; n++) {
            answers_come(NULL, count, n);
            answers_come(HG_Destroy, count, n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_respond_never_pulled_lets_the_class_end),
        cmocka_unit_test(test_respond_shm_origin_closed_ends_it),
        cmocka_unit_test(test_respond_ofi_origin_closed_ends_it),
        cmocka_unit_test(test_respond_reply_never_sent_is_logged_once),
        cmocka_unit_test(test_respond_probe_is_not_counted),
        cmocka_unit_test(test_respond_code_without_memory_comes_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
