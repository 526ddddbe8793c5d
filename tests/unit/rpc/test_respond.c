/* SPDX-License-Identifier: BSD-3-Clause */
/* A long answer that nobody pulls does not keep a class from its end. */
#include "rpc/respond.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "init.h"
#include "mercury.h"
#include "mercury_proc.h"
#include "wire/header.h"

enum { LONG_LEN = 50000 };

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

    assert_int_equal(
        HG_Respond(handle, respond_ended, NULL, bytes), HG_SUCCESS);
    return HG_Destroy(handle);
}

static void op_step(struct amg_op *op)
{
    *(bool *)(uintptr_t)op->priv[AMG_OP_PRIV_WORDS - 1] = true;
}

/* Asks as an origin that looks at no reply. */
static void ask(hg_context_t *context, struct amg_peer *self, hg_id_t id)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_op op = {.step = op_step};
    struct amg_buf *buf = NULL;
    bool is_answered = false;

    op.priv[AMG_OP_PRIV_WORDS - 1] = (uintptr_t)&is_answered;
    assert_int_equal(ep->transport->msg.get_buf(ep, self, &buf), HG_SUCCESS);
    amg_header_write_request(buf->data, 0, id);
    assert_int_equal(ep->transport->msg.send_request(
                         ep, self, 0, buf, AMG_HEADER_LEN, true, &op),
        HG_SUCCESS);
    while (!is_answered) {
        (void)HG_Progress(context, 100);
        (void)HG_Trigger(context, 0, 1, NULL);
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
    ask(context, self.peer, id);
    amg_addr_fini(&self);
    assert_int_equal(ended, 0); /* it waits to be pulled */
    assert_int_equal(amg_init_finalize(cls, true), HG_SUCCESS);
    assert_int_equal(ended, 1);
    assert_int_equal(ended_ret, HG_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_respond_never_pulled_lets_the_class_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
