/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle that the program destroys while another thread answers it, or ends
 * the answer, ends after the answer, and not before. */
#include "rpc/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"
#include "mercury.h"
#include "mercury_proc.h"
#include "wire/header.h"

static hg_class_t *cls;
static hg_context_t *context;
static struct hg_handle *served;
static unsigned ended;
static unsigned answered;
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
    amg_loop_end(handle, HG_SUCCESS);
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

/* Calls `handler` in this process. */
static hg_handle_t call(hg_rpc_cb_t handler, hg_proc_cb_t in_proc, void *in)
{
    hg_id_t id = 0;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t self = HG_ADDR_NULL;

    ended = 0;
    answered = 0;
    served = NULL;
    cls = HG_Init("self", HG_TRUE);
    context = HG_Context_create(cls);
    id = HG_Register_name(cls, "unanswered", in_proc, NULL, handler);
    assert_int_equal(HG_Addr_self(cls, &self), HG_SUCCESS);
    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    assert_int_equal(HG_Forward(handle, forward_ended, NULL, in), HG_SUCCESS);
    assert_int_equal(HG_Addr_free(cls, self), HG_SUCCESS);
    return handle;
}

/* Ends the call after the handle of its target. */
static void over(hg_handle_t handle)
{
    while (ended == 0 || amg_tally_sum(&context->handles) > 1)
        turn(10);
    assert_int_equal(ended_ret, HG_SUCCESS);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

static void test_unanswered_during_its_answer_ends_after_that(void **state)
{
    hg_handle_t handle = call(serve, NULL, NULL);

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        turn(0);
    assert_non_null(served);
    assert_int_equal(ended, 0);
    assert_int_equal(
        amg_tally_sum(&context->handles), 2); /* both handles are alive */
    answer_leaves(served);
    over(handle);
}

#if defined(AMG_TEST_POINTS)

static hg_return_t answer_ended(const struct hg_cb_info *info)
{
    assert_int_equal(info->ret, HG_SUCCESS);
    answered++;
    return HG_SUCCESS;
}

/* As another thread that makes progress just now. */
static void on_point(const char *name)
{
    while (strcmp(name, "handle.unanswered") == 0 && answered == 0)
        turn(0);
}

/* The answer ends when the program has begun to drop its last reference. */
static hg_return_t serve_slowly(hg_handle_t handle)
{
    assert_int_equal(HG_Respond(handle, answer_ended, NULL, NULL), HG_SUCCESS);
    amg_test_point_set(on_point);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    amg_test_point_set(NULL);
    return HG_SUCCESS;
}

/* So do the arguments, which the program frees last. */
static hg_return_t serve_arguments_slowly(hg_handle_t handle)
{
    uint32_t in = 0;

    assert_int_equal(HG_Get_input(handle, &in), HG_SUCCESS);
    assert_int_equal(in, 42);
    assert_int_equal(HG_Respond(handle, answer_ended, NULL, NULL), HG_SUCCESS);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    amg_test_point_set(on_point);
    assert_int_equal(HG_Free_input(handle, &in), HG_SUCCESS);
    amg_test_point_set(NULL);
    return HG_SUCCESS;
}

static void test_answer_ends_while_handle_is_destroyed(void **state)
{
    (void)state;
    over(call(serve_slowly, NULL, NULL));
    assert_int_equal(answered, 1);
}

static void test_answer_ends_while_arguments_are_freed(void **state)
{
    uint32_t in = 42;

    (void)state;
    over(call(serve_arguments_slowly, hg_proc_uint32_t, &in));
    assert_int_equal(answered, 1);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unanswered_during_its_answer_ends_after_that),
#if defined(AMG_TEST_POINTS)
        cmocka_unit_test(test_answer_ends_while_handle_is_destroyed),
        cmocka_unit_test(test_answer_ends_while_arguments_are_freed),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
