/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle: what is served from its arrival and what
 * another way; streams without credits; memory that runs out; the ends of
 * contexts. */
#include "rpc/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "amalgam_oneway.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/progress.h"
#include "mercury.h"
#include "wire/header.h"

enum { CREDITS = 3 };

static hg_class_t *cls;
static hg_context_t *context;
static hg_addr_t self;
static hg_id_t id;
static unsigned served;
static uint32_t last;
static hg_return_t destroyed; /* by the handler; HG_OTHER_ERROR: it did not */

static void serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    assert_ptr_equal(hg_class, cls);
    assert_int_equal(from_rank, -1);
    served++;
    if (len == sizeof(last))
        memcpy(&last, arg, len);
}

static void serve_and_destroy(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    serve(hg_class, from_rank, arg, len);
    destroyed = HG_Context_destroy(context);
}

static hg_return_t note(uint32_t value)
{
    return amalgam_forward_oneway(context, self, id, &value, sizeof(value));
}

/* Writes and sends a message of the driver. */
static void raw_send(const struct amg_header *header, uint32_t len)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_buf *buf = NULL;

    assert_int_equal(
        ep->transport->msg.get_buf(ep, self->peer, &buf), HG_SUCCESS);
    memset(buf->data, 0, buf->cap);
    memcpy(buf->data, header, sizeof(*header));
    assert_int_equal(
        ep->transport->msg.send_request(
            ep, (struct amg_target){self->peer, 0}, buf, len, false, NULL),
        HG_SUCCESS);
}

static struct amg_header header_of(hg_id_t of)
{
    return (struct amg_header){.magic = AMG_HEADER_REQUEST,
        .version = AMG_HEADER_VERSION,
        .flags = AMG_HEADER_ONE_WAY,
        .id = of};
}

static unsigned poll_and_trigger(void)
{
    unsigned count = 0;

    while (
        HG_Progress(context, 0) == HG_SUCCESS && !amg_context_has_due(context))
        continue;
    (void)HG_Trigger(context, 0, UINT32_MAX, &count);
    return count;
}

static int64_t incoming_handles(void)
{
    return amg_tally_sum(&context->handles);
}

static void test_oneway_usual_needs_no_handle(void **state)
{
    (void)state;
    assert_int_equal(note(7), HG_SUCCESS);
    assert_int_equal(served, 0);
    while (
        HG_Progress(context, 0) == HG_SUCCESS && !amg_context_has_due(context))
        continue;
    assert_int_equal(served, 0); /* HG_Progress() runs no handler */
    assert_int_equal(incoming_handles(), 0);
    assert_int_equal(poll_and_trigger(), 1);
    assert_int_equal(served, 1);
    assert_int_equal(last, 7);
}

/* None of these is served, and the next good one is. */
static void test_oneway_malformed_is_dropped(void **state)
{
    struct amg_header rows[6];

    (void)state;
    for (unsigned i = 0; i < 6; i++)
        rows[i] = header_of(id);
    rows[0].magic = AMG_HEADER_REPLY;
    rows[1].version++;
    rows[2].flags = AMG_HEADER_ONE_WAY | AMG_HEADER_SUMMED;
    rows[3].user_len = 8;
    rows[4].sum = 1;
    rows[5].flags = 0; /* it wants a reply, and came without */
    for (unsigned i = 0; i < 6; i++) {
        raw_send(&rows[i], AMG_HEADER_LEN + 8);
        poll_and_trigger();
        assert_int_equal(served, 0);
    }
    rows[0] = header_of(id);
    raw_send(&rows[0], AMG_HEADER_LEN - 1);
    poll_and_trigger();
    raw_send(&rows[0], 0);
    poll_and_trigger();
    raw_send(&rows[0], AMG_HEADER_LEN + AMALGAM_ONEWAY_MAX + 1);
    poll_and_trigger();
    assert_int_equal(served, 0);
    raw_send(&rows[0], AMG_HEADER_LEN + AMALGAM_ONEWAY_MAX);
    poll_and_trigger();
    assert_int_equal(served, 1);
    assert_int_equal(incoming_handles(), 0);
}

/* It waits for its registration, as any request that a thread receives. */
static void test_oneway_early_is_served_when_registered(void **state)
{
    struct amg_header header = {0};

    (void)state;
    assert_int_equal(HG_Deregister(cls, id), HG_SUCCESS);
    header = header_of(id);
    raw_send(&header, AMG_HEADER_LEN + sizeof(last));
    amg_role.is_library_thread = true;
    while (amg_progress_wait(context, 0) == HG_SUCCESS)
        continue;
    amg_role.is_library_thread = false;
    assert_int_equal(amalgam_register_oneway(cls, "oneway", serve), id);
    assert_int_equal(served, 0);
    (void)HG_Trigger(context, 0, 1, NULL);
    assert_int_equal(served, 1);
}

/* A call that waits for its handler runs as it was registered then. */
static void test_oneway_deregistered_meanwhile_still_runs(void **state)
{
    (void)state;
    assert_int_equal(note(1), HG_SUCCESS);
    while (
        HG_Progress(context, 0) == HG_SUCCESS && !amg_context_has_due(context))
        continue;
    assert_int_equal(HG_Deregister(cls, id), HG_SUCCESS);
    assert_int_equal(poll_and_trigger(), 1);
    assert_int_equal(served, 1);
}

/* Without credits one call waits, and further ones are refused; all that were
 * taken are served in order. */
static void test_oneway_without_credits_is_refused(void **state)
{
    uint32_t count = 0;

    (void)state;
    while (note(count) == HG_SUCCESS)
        count++;
    assert_int_equal(count, CREDITS + 1);
    assert_int_equal(note(count), HG_AGAIN);
    assert_int_equal(amg_tally_sum(&context->in_flight), 1);
    while (served < count)
        (void)poll_and_trigger();
    assert_int_equal(last, CREDITS);
    poll_and_trigger();
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
    assert_int_equal(note(count), HG_SUCCESS);
    while (served < count + 1)
        (void)poll_and_trigger();
}

static void test_oneway_without_memory_was_not_sent(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CREDITS; i++)
        assert_int_equal(note(i), HG_SUCCESS);
    amg_mem_fail_nth(1);
    assert_int_equal(note(CREDITS), HG_NOMEM);
    amg_mem_fail_nth(0);
    assert_int_equal(note(CREDITS), HG_SUCCESS);
    while (served < CREDITS + 1)
        (void)poll_and_trigger();
}

/* It leaves first; a context that ends serves no calls, its own neither. */
static void test_oneway_that_waits_leaves_before_its_context_ends(void **state)
{
    (void)state;
    while (note(0) == HG_SUCCESS)
        continue;
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(served, 0);
    context = NULL;
}

static void test_oneway_handler_cannot_destroy_its_context(void **state)
{
    hg_id_t ending = amalgam_register_oneway(cls, "ending", serve_and_destroy);

    (void)state;
    assert_int_equal(
        amalgam_forward_oneway(context, self, ending, NULL, 0), HG_SUCCESS);
    poll_and_trigger();
    assert_int_equal(served, 1);
    assert_int_equal(destroyed, HG_BUSY);
}

static void test_oneway_to_unposted_context_is_dropped(void **state)
{
    (void)state;
    assert_int_equal(HG_Context_unpost(context), HG_SUCCESS);
    assert_int_equal(note(0), HG_SUCCESS);
    poll_and_trigger();
    assert_int_equal(served, 0);
}

/* There is no context 0 that could serve it. */
static void test_oneway_to_no_context_is_an_error(void **state)
{
    hg_context_t *other = HG_Context_create_id(cls, 1);

    (void)state;
    assert_non_null(other);
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    context = other;
    assert_int_equal(note(0), HG_NOENTRY);
    assert_int_equal(note(0), HG_NOENTRY); /* its credit came back */
}

static int start(void **state)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    (void)state;
    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    served = 0;
    destroyed = HG_OTHER_ERROR;
    info.na_init_info.max_contexts = 2;
    cls = HG_Init_opt2(
        "self", HG_TRUE, HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL || HG_Addr_self(cls, &self) != HG_SUCCESS)
        return -1;
    id = amalgam_register_oneway(cls, "oneway", serve);
    return id == 0;
}

static int stop(void **state)
{
    (void)state;
    amg_log_level_set(AMG_LOG_LEVEL_WARNING);
    if (HG_Addr_free(cls, self) != HG_SUCCESS ||
        (context != NULL && HG_Context_destroy(context) != HG_SUCCESS))
        return -1;
    return HG_Finalize(cls) == HG_SUCCESS ? 0 : -1;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_oneway_usual_needs_no_handle),
        UNIT_TEST(test_oneway_malformed_is_dropped),
        UNIT_TEST(test_oneway_early_is_served_when_registered),
        UNIT_TEST(test_oneway_deregistered_meanwhile_still_runs),
        UNIT_TEST(test_oneway_without_credits_is_refused),
        UNIT_TEST(test_oneway_without_memory_was_not_sent),
        UNIT_TEST(test_oneway_that_waits_leaves_before_its_context_ends),
        UNIT_TEST(test_oneway_handler_cannot_destroy_its_context),
        UNIT_TEST(test_oneway_to_unposted_context_is_dropped),
        UNIT_TEST(test_oneway_to_no_context_is_an_error),
    };

    (void)setenv("AMALGAM_CREDITS", "3", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
