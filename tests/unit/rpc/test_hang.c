/* SPDX-License-Identifier: BSD-3-Clause */
/* Ticks write to the status page what a class waits for and what its handlers
 * do, with ages; and what has ended is gone at the next tick. */
#include "rpc/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "core/context.h"
#include "mercury.h"

static hg_class_t *cls;
static hg_context_t *context;
static hg_handle_t kept;
static int ended;

static hg_return_t serve(hg_handle_t handle)
{
    kept = handle;
    return HG_SUCCESS;
}

static hg_return_t done(const struct hg_cb_info *info)
{
    ended += info->ret == HG_SUCCESS;
    return HG_SUCCESS;
}

static void turn(void)
{
    while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
        continue;
    (void)HG_Progress(context, 1);
}

/* A rank's own view of its page. */
static const volatile struct amg_doing *doing_now(void)
{
    return &cls->job.status->doing;
}

static void test_hang_tick_tells_of_a_kept_call_until_it_is_answered(
    void **state)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t id = 0;

    (void)state;
    cls = HG_Init("self", HG_TRUE);
    context = HG_Context_create(cls);
    id = HG_Register_name(cls, "kept", NULL, NULL, serve);
    assert_int_equal(HG_Addr_self(cls, &self), HG_SUCCESS);
    assert_int_equal(HG_Create(context, self, id, &handle), HG_SUCCESS);
    assert_int_equal(HG_Forward(handle, done, NULL, NULL), HG_SUCCESS);
    while (doing_now()->handler_ms < 300)
        turn();
    assert_int_equal(doing_now()->running, 1);
    assert_int_equal(doing_now()->queued, 0);
    assert_int_equal(doing_now()->handler, id);
    assert_int_equal(doing_now()->to, 0);
    assert_int_equal(doing_now()->to_call, id);
    assert_int_equal(doing_now()->stage, AMG_STAGE_SENT);
    assert_false(doing_now()->is_served);
    assert_true(doing_now()->to_ms >= 300);
    assert_int_equal(doing_now()->more, 0);
    assert_int_equal(strcmp(cls->job.status->names[0], "kept"), 0);
    assert_int_equal(HG_Respond(kept, NULL, NULL, NULL), HG_SUCCESS);
    assert_int_equal(HG_Destroy(kept), HG_SUCCESS);
    while (ended == 0)
        turn();
    while (doing_now()->running > 0 || doing_now()->to != AMG_STATUS_NOBODY)
        turn();
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    assert_int_equal(HG_Addr_free(cls, self), HG_SUCCESS);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_hang_tick_tells_of_a_kept_call_until_it_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
