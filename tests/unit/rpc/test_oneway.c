/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle: what is served from its arrival and what
 * another way; streams without credits; memory that runs out; the ends of
 * contexts. */
#include "rpc/handle.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/progress.h"
#include "oneway_world.h"

static hg_return_t destroyed; /* by the handler; HG_OTHER_ERROR: it did not */

static void serve_and_destroy(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    world_serve(hg_class, from_rank, arg, len);
    destroyed = HG_Context_destroy(context);
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
    poll_all();
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
    assert_int_equal(amalgam_register_oneway(cls, "oneway", world_serve), id);
    assert_int_equal(served, 0);
    (void)HG_Trigger(context, 0, 1, NULL);
    assert_int_equal(served, 1);
}

/* A call that waits for its handler runs as it was registered then. */
static void test_oneway_deregistered_meanwhile_still_runs(void **state)
{
    (void)state;
    assert_int_equal(note(1), HG_SUCCESS);
    poll_all();
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
    destroyed = HG_OTHER_ERROR;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_oneway_usual_needs_no_handle),
        WORLD_TEST(test_oneway_malformed_is_dropped),
        WORLD_TEST(test_oneway_early_is_served_when_registered),
        WORLD_TEST(test_oneway_deregistered_meanwhile_still_runs),
        WORLD_TEST(test_oneway_without_credits_is_refused),
        WORLD_TEST(test_oneway_without_memory_was_not_sent),
        WORLD_TEST(test_oneway_that_waits_leaves_before_its_context_ends),
        WORLD_TEST(test_oneway_handler_cannot_destroy_its_context),
        WORLD_TEST(test_oneway_to_unposted_context_is_dropped),
        WORLD_TEST(test_oneway_to_no_context_is_an_error),
    };

    (void)setenv("AMALGAM_CREDITS", "3", 1);
    (void)setenv("AMALGAM_PACK_BYTES", "0", 1); /* test_stream.c */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
