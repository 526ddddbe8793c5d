/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle that the program destroys while another thread answers it ends after
 * the answer, and not before. */
#include "rpc/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mercury.h"
#include "wire/header.h"

static hg_class_t *cls;
static hg_context_t *context;
static struct hg_handle *served;
static unsigned ended;
static hg_return_t ended_ret;

/* Drops its only reference while another thread is in HG_Respond(). */
static hg_return_t serve(hg_handle_t handle)
{
    served = handle;
    amg_handle_set_state(handle, AMG_HANDLE_REPLYING);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(HG_Destroy(handle), HG_INVALID_ARG);
    return HG_SUCCESS;
}

/* As that thread does, without a reference of its own. */
static void answer_leaves(struct hg_handle *handle)
{
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_buf *buf = NULL;

    assert_int_equal(
        ep->transport->msg.get_buf(ep, handle->addr.peer, &buf), HG_SUCCESS);
    amg_header_write_reply(buf->data, 0, HG_SUCCESS, 0);
    assert_int_equal(ep->transport->msg.send_reply(
                         ep, handle->arrival, buf, AMG_HEADER_LEN, NULL),
        HG_SUCCESS);
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
}

static hg_return_t forward_ended(const struct hg_cb_info *info)
{
    ended++;
    ended_ret = info->ret;
    return HG_SUCCESS;
}

static void turn(unsigned timeout_ms)
{
    (void)HG_Progress(context, timeout_ms);
    (void)HG_Trigger(context, 0, 1, NULL);
}

static void test_unanswered_during_its_answer_ends_after_that(void **state)
{
    hg_id_t id = 0;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t self = HG_ADDR_NULL;

    (void)state;
    cls = HG_Init("self", HG_TRUE);
    context = HG_Context_create(cls);
    id = HG_Register_name(cls, "during", NULL, NULL, serve);
    assert_int_equal(HG_Addr_self(cls, &self), HG_SUCCESS);
    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    assert_int_equal(HG_Forward(handle, forward_ended, NULL, NULL), HG_SUCCESS);
    for (unsigned i = 0; i < 100; i++)
        turn(0);
    assert_non_null(served);
    assert_int_equal(ended, 0);
    assert_int_equal(
        amg_tally_sum(&context->handles), 2); /* both handles are alive */
    answer_leaves(served);
    while (ended == 0 || amg_tally_sum(&context->handles) > 1)
        turn(10);
    assert_int_equal(ended_ret, HG_SUCCESS);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(HG_Addr_free(cls, self), HG_SUCCESS);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unanswered_during_its_answer_ends_after_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
