/* SPDX-License-Identifier: BSD-3-Clause */
/* A request that a library thread receives before its RPC is registered waits
 * for the registration, in the order of arrival, and is refused once the
 * program makes progress without it. */
#include "rpc/handle.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_progress.h"
#include "amalgam_state.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/progress.h"
#include "init/init.h"
#include "mercury.h"
#include "wire/header.h"

#define OLD_NS (60000 * AMG_NS_PER_MS)

enum { ID = 4711, OTHER_ID = 4712 };

/* An origin that uses the wire format directly, as the class knows no such RPC.
 */
struct origin {
    struct amg_op op;
    bool is_answered;
};

static hg_class_t *cls;
static hg_context_t *context;
static unsigned served;

static hg_return_t serve(hg_handle_t handle)
{
    served++;
    assert_int_equal(HG_Respond(handle, NULL, NULL, NULL), HG_SUCCESS);
    return HG_Destroy(handle);
}

static void op_step(struct amg_op *op)
{
    amg_container_of(op, struct origin, op)->is_answered = true;
}

static void ask_by(struct origin *origin, hg_id_t id, bool wants_reply)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_buf *buf = NULL;
    struct hg_addr self;

    *origin = (struct origin){.op.step = op_step};
    amg_addr_init_self(cls, &self);
    assert_int_equal(
        ep->transport->msg.get_buf(ep, self.peer, &buf), HG_SUCCESS);
    amg_header_write_request(
        buf->data, wants_reply ? 0 : AMG_HEADER_ONE_WAY, id);
    assert_int_equal(
        ep->transport->msg.send_request(ep, (struct amg_target){self.peer, 0},
            buf, AMG_HEADER_LEN, wants_reply, &origin->op),
        HG_SUCCESS);
    amg_addr_fini(&self);
}

static void ask(struct origin *origin, hg_id_t id)
{
    ask_by(origin, id, true);
}

/* Returns the code of the reply, and releases it. */
static hg_return_t answer(struct origin *origin)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_header header;
    const char *why = NULL;

    assert_true(origin->is_answered);
    assert_int_equal(origin->op.ret, HG_SUCCESS);
    assert_int_equal(amg_header_read(origin->op.data, origin->op.len,
                         AMG_HEADER_REPLY, &header, &why),
        HG_SUCCESS);
    ep->transport->msg.release_reply(ep, &origin->op);
    return (hg_return_t)header.ret;
}

/* Progress by a library thread. */
static void look(void)
{
    amg_role.is_library_thread = true;
    while (amg_progress_wait(context, 0) == HG_SUCCESS &&
           !amg_context_has_due(context))
        continue;
    amg_role.is_library_thread = false;
}

/* Progress by the program. */
static void drive(void)
{
    while (HG_Progress(context, 0) == HG_SUCCESS)
        while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
            continue;
}

/* The report of the class has these words. */
static void expect_named(const char *words)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    assert_true(amalgam_write_state(cls, out) > 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, words));
    free(text);
}

static void test_early_is_served_when_registered(void **state)
{
    struct origin one, two, other;

    (void)state;
    ask(&one, ID);
    ask(&other, OTHER_ID);
    ask(&two, ID);
    look();
    assert_false(one.is_answered || two.is_answered || other.is_answered);
    expect_named("requests waiting for their RPC to be registered 3");
    assert_int_equal(HG_Register(cls, ID, NULL, NULL, serve), HG_SUCCESS);
    assert_int_equal(served, 0); /* HG_Register() runs no callback */
    assert_int_equal(HG_Trigger(context, 0, 2, NULL), HG_SUCCESS);
    assert_int_equal(served, 2);
    drive();
    assert_int_equal(answer(&one), HG_SUCCESS);
    assert_int_equal(answer(&two), HG_SUCCESS);
    assert_int_equal(answer(&other), HG_NOENTRY);
}

static struct origin late;

/* The library thread receives a further request before a kept one is queued. */
static void ask_at_point(const char *name)
{
    if (strcmp(name, "begin.kept") != 0)
        return;
    amg_test_point_set(NULL);
    ask(&late, ID);
    look();
}

static void test_early_is_not_overtaken(void **state)
{
    struct origin one, two;

    (void)state;
#ifndef AMG_TEST_POINTS
    skip();
#endif
    ask(&one, ID);
    ask(&two, ID);
    look();
    amg_test_point_set(ask_at_point);
    assert_int_equal(HG_Register(cls, ID, NULL, NULL, serve), HG_SUCCESS);
    assert_int_equal(HG_Trigger(context, 0, 1, NULL), HG_SUCCESS);
    look();
    assert_true(one.is_answered && !two.is_answered && !late.is_answered);
    assert_int_equal(HG_Trigger(context, 0, 1, NULL), HG_SUCCESS);
    look();
    assert_true(two.is_answered && !late.is_answered);
    drive();
    assert_int_equal(answer(&one), HG_SUCCESS);
    assert_int_equal(answer(&two), HG_SUCCESS);
    assert_int_equal(answer(&late), HG_SUCCESS);
    assert_int_equal(atomic_load(&context->gates), 0);
}

/* The program registers the RPC, and makes progress. */
static void register_at_point(const char *name)
{
    if (strcmp(name, "begin.looked_up") != 0)
        return;
    amg_test_point_set(NULL);
    assert_int_equal(HG_Register(cls, ID, NULL, NULL, serve), HG_SUCCESS);
    atomic_fetch_add(&context->turns, 1);
}

static void test_early_is_served_if_registered_after_the_look_up(void **state)
{
    struct origin origin;

    (void)state;
#ifndef AMG_TEST_POINTS
    skip();
#endif
    amg_test_point_set(register_at_point);
    ask(&origin, ID);
    look();
    drive();
    assert_int_equal(answer(&origin), HG_SUCCESS);
    assert_int_equal(served, 1);
}

static void test_early_is_refused_when_the_program_makes_progress(void **state)
{
    struct origin origin;

    (void)state;
    ask(&origin, ID);
    look();
    assert_false(origin.is_answered);
    drive();
    assert_int_equal(answer(&origin), HG_NOENTRY);
    assert_int_equal(served, 0);
}

/* HG_Trigger counts as progress of the program, where a thread polls. */
static void test_early_is_refused_when_the_program_triggers(void **state)
{
    struct origin origin;

    (void)state;
    ask(&origin, ID);
    look();
    assert_int_equal(HG_Trigger(context, 0, 1, NULL), HG_TIMEOUT);
    look();
    assert_int_equal(answer(&origin), HG_NOENTRY);
}

static void test_early_does_not_keep_a_context_open(void **state)
{
    struct origin origin;

    (void)state;
    ask_by(&origin, ID, false);
    look();
    assert_false(amg_list_is_empty(&context->rpc->early));
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    context = NULL;
}

/* The program has made progress without the RPC, so it will not register it. */
static void test_early_is_refused_once_the_program_made_progress(void **state)
{
    struct origin origin;

    (void)state;
    drive();
    ask(&origin, ID);
    look();
    look();
    assert_int_equal(answer(&origin), HG_NOENTRY);
    assert_true(amg_list_is_empty(&context->rpc->early));
}

/* The program leaves progress to the thread, and its time to register is over.
 */
static void test_early_is_refused_when_the_context_is_old(void **state)
{
    struct origin origin;

    (void)state;
    context->opened_ns -= OLD_NS;
    ask(&origin, ID);
    look();
    look();
    assert_int_equal(answer(&origin), HG_NOENTRY);
}

static bool early_is_empty(void)
{
    bool is_empty = false;

    amg_lock_lock(&context->rpc->lock);
    is_empty = amg_list_is_empty(&context->rpc->early);
    amg_lock_unlock(&context->rpc->lock);
    return is_empty;
}

/* The thread itself refuses requests that wait by then. */
static void test_early_is_refused_by_thread(void **state)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct origin origin;

    (void)state;
    options.progress = AMALGAM_PROGRESS_THREAD;
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(amalgam_set_progress(cls, &options), HG_SUCCESS);
    context = HG_Context_create(cls);
    assert_non_null(context);
    ask(&origin, ID);
    amg_context_posted(context, AMG_ROUTE_SELF);
    while (early_is_empty())
        sched_yield();
    assert_true(amg_service_thread_stop(context));
    context->opened_ns -= OLD_NS;
    amg_service_thread_start(context);
    while (!early_is_empty())
        sched_yield();
    assert_true(amg_service_thread_stop(context));
    look();
    assert_int_equal(answer(&origin), HG_NOENTRY);
}

/* Requests that the program itself receives are refused at once. */
static void test_early_program_keeps_nothing(void **state)
{
    struct origin origin;

    (void)state;
    ask(&origin, ID);
    drive();
    assert_int_equal(answer(&origin), HG_NOENTRY);
    assert_true(amg_list_is_empty(&context->rpc->early));
}

static int start(void **state)
{
    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    served = 0;
    cls = HG_Init("self", HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    return context == NULL ? -1 : 0;
}

static int stop(void **state)
{
    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    if (context != NULL && HG_Context_destroy(context) != HG_SUCCESS)
        return -1;
    return HG_Finalize(cls) == HG_SUCCESS ? 0 : -1;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_early_is_served_when_registered),
        UNIT_TEST(test_early_is_not_overtaken),
        UNIT_TEST(test_early_is_served_if_registered_after_the_look_up),
        UNIT_TEST(test_early_is_refused_when_the_program_makes_progress),
        UNIT_TEST(test_early_is_refused_when_the_program_triggers),
        UNIT_TEST(test_early_does_not_keep_a_context_open),
        UNIT_TEST(test_early_is_refused_once_the_program_made_progress),
        UNIT_TEST(test_early_is_refused_when_the_context_is_old),
        UNIT_TEST(test_early_is_refused_by_thread),
        UNIT_TEST(test_early_program_keeps_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
