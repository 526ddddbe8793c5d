/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls that share messages: when they leave, how they are served, and
 * what is refused; credits, memory, and the ends of contexts. */
#include "rpc/handle.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/progress.h"
#include "core/wakeup.h"
#include "log_kept.h"
#include "mercury_proc.h"
#include "oneway_world.h"
#include "wire/records.h"

/* A message has room for so many calls of 4 bytes. */
enum { PER_MESSAGE = 4 };

static uint32_t first; /* the next call that a handler expects */

static bool is_unsent(void)
{
    return atomic_load(&context->unsent) != 0;
}

static struct hg_diag_counters counters(void)
{
    struct hg_diag_counters now;

    assert_int_equal(HG_Class_get_counters(cls, &now), HG_SUCCESS);
    return now;
}

/* Serves all calls that were sent. */
static void drain(unsigned count)
{
    while (served < count)
        (void)poll_and_trigger();
    assert_int_equal(served, count);
}

static void test_stream_first_call_leaves_at_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(note(i), HG_SUCCESS);
        assert_false(is_unsent());
        drain(i + 1);
        assert_int_equal(last, i);
    }
    assert_int_equal(counters().packed_msg_count, 0);
}

static void test_stream_further_calls_share_a_message(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1 + PER_MESSAGE; i++)
        assert_int_equal(note(i), HG_SUCCESS);
    assert_true(is_unsent());
    assert_int_equal(counters().rpc_req_sent_count, 1);
    poll_all();
    assert_false(is_unsent());
    assert_int_equal(served, 0);
    drain(1 + PER_MESSAGE);
    assert_int_equal(last, PER_MESSAGE);
    assert_int_equal(counters().rpc_req_sent_count, 1 + PER_MESSAGE);
    assert_int_equal(counters().rpc_req_recv_count, 1 + PER_MESSAGE);
    assert_int_equal(counters().packed_msg_count, 1);
    assert_int_equal(counters().packed_call_count, PER_MESSAGE);
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
    assert_int_equal(amg_tally_sum(&context->handles), 0);
}

static void test_stream_full_message_leaves(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 + PER_MESSAGE; i++)
        assert_int_equal(note(i), HG_SUCCESS);
    assert_int_equal(counters().rpc_req_sent_count, 1 + PER_MESSAGE);
    drain(2 + PER_MESSAGE);
}

/* Arguments of all lengths come as they were sent. */
static unsigned char bytes_of(uint32_t len, uint32_t at)
{
    return (unsigned char)(len * 7 + at + 1);
}

static void lengths_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    (void)from_rank;
    assert_int_equal(len, first % (AMALGAM_ONEWAY_MAX + 1));
    assert_int_equal((uintptr_t)arg % 8, 0);
    for (uint32_t i = 0; i < len; i++)
        assert_int_equal(
            ((const unsigned char *)arg)[i], bytes_of((uint32_t)len, i));
    first++;
    served++;
}

static void test_stream_argument_of_each_length(void **state)
{
    hg_id_t lengths = amalgam_register_oneway(cls, "lengths", lengths_serve);
    enum { CALLS = 3 * (AMALGAM_ONEWAY_MAX + 1) };

    (void)state;
    first = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        unsigned char arg[AMALGAM_ONEWAY_MAX];
        uint32_t len = i % (AMALGAM_ONEWAY_MAX + 1);

        for (uint32_t at = 0; at < len; at++)
            arg[at] = bytes_of(len, at);
        while (amalgam_forward_oneway(context, self, lengths, arg, len) ==
               HG_AGAIN)
            (void)poll_and_trigger();
    }
    drain(CALLS);
    assert_int_equal(amalgam_forward_oneway(context, self, lengths, &first,
                         AMALGAM_ONEWAY_MAX + 1),
        HG_MSGSIZE);
}

static void in_order(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    world_serve(hg_class, from_rank, arg, len);
    assert_int_equal(last, first);
    first++;
}

static hg_return_t in_order_by_handle(hg_handle_t handle)
{
    in_order(cls, -1, &first, sizeof(first));
    return HG_Destroy(handle);
}

/* A call that takes another way does not overtake those that wait: one of
 * another RPC, or by a handle. */
static void test_stream_order_stays_among_other_calls(void **state)
{
    hg_id_t one = amalgam_register_oneway(cls, "one", in_order);
    hg_id_t two = amalgam_register_oneway(cls, "two", in_order);
    hg_id_t by = HG_Register_name(cls, "by", NULL, NULL, in_order_by_handle);
    hg_handle_t handle = HG_HANDLE_NULL;
    const hg_id_t ids[] = {one, one, one, two, two, one};

    (void)state;
    first = 0;
    assert_int_equal(
        HG_Registered_disable_response(cls, by, HG_TRUE), HG_SUCCESS);
    assert_int_equal(HG_Create(context, self, by, &handle), HG_SUCCESS);
    for (uint32_t i = 0; i < 6; i++) {
        hg_return_t ret = HG_AGAIN;

        while ((ret = amalgam_forward_oneway(
                    context, self, ids[i], &i, sizeof(i))) == HG_AGAIN)
            (void)poll_and_trigger();
        assert_int_equal(ret, HG_SUCCESS);
    }
    assert_int_equal(HG_Forward(handle, NULL, NULL, NULL), HG_SUCCESS);
    assert_false(is_unsent());
    drain(7);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
}

/* HG_Trigger() counts calls, not messages, and a handler that calls it runs
 * those behind its own. */
static void test_stream_trigger_runs_as_many_as_asked_for(void **state)
{
    unsigned count = 0;

    (void)state;
    for (uint32_t i = 0; i < 1 + PER_MESSAGE; i++)
        assert_int_equal(note(i), HG_SUCCESS);
    poll_all();
    for (uint32_t i = 0; i < 1 + PER_MESSAGE; i++) {
        assert_int_equal(HG_Trigger(context, 0, 1, &count), HG_SUCCESS);
        assert_int_equal(count, 1);
        assert_int_equal(served, i + 1);
        assert_int_equal(last, i);
        poll_all();
    }
    assert_int_equal(HG_Trigger(context, 0, 1, &count), HG_TIMEOUT);
}

static void nested_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    uint32_t mine = 0;

    in_order(hg_class, from_rank, arg, len);
    memcpy(&mine, arg, sizeof(mine));
    assert_int_equal(HG_Context_destroy(context), HG_BUSY);
    if (served < 1 + PER_MESSAGE)
        (void)HG_Trigger(context, 0, 1, NULL);
    assert_int_equal(served, 1 + PER_MESSAGE);
    assert_int_equal(memcmp(arg, &mine, sizeof(mine)), 0); /* still there */
}

static void test_stream_handler_may_run_the_next_one(void **state)
{
    hg_id_t nested = amalgam_register_oneway(cls, "nested", nested_serve);

    (void)state;
    first = 0;
    for (uint32_t i = 0; i < 1 + PER_MESSAGE; i++)
        assert_int_equal(
            amalgam_forward_oneway(context, self, nested, &i, sizeof(i)),
            HG_SUCCESS);
    poll_all();
    (void)poll_and_trigger();
    assert_int_equal(served, 1 + PER_MESSAGE);
}

/* Each message takes a credit. What cannot leave is refused before anything is
 * lost, and all that were taken are served in order. */
static void test_stream_without_credits_is_refused(void **state)
{
    uint32_t count = 0;

    (void)state;
    while (note(count) == HG_SUCCESS)
        count++;
    /* One by itself, one that waits for a credit, and one that is full. */
    assert_int_equal(count, 1 + (CREDITS - 1 + 2) * PER_MESSAGE);
    assert_int_equal(note(count), HG_AGAIN);
    drain(count);
    assert_int_equal(last, count - 1);
    (void)poll_and_trigger();
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
}

/* A call by a handle does not overtake messages that have no credit, either. */
static void test_stream_order_stays_without_credits(void **state)
{
    hg_id_t one = amalgam_register_oneway(cls, "one", in_order);
    hg_id_t by = HG_Register_name(cls, "by", NULL, NULL, in_order_by_handle);
    hg_handle_t handles[2] = {HG_HANDLE_NULL, HG_HANDLE_NULL};
    uint32_t count = 0;

    (void)state;
    first = 0;
    assert_int_equal(
        HG_Registered_disable_response(cls, by, HG_TRUE), HG_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(HG_Create(context, self, by, &handles[i]), HG_SUCCESS);
        while (amalgam_forward_oneway(
                   context, self, one, &count, sizeof(count)) == HG_SUCCESS)
            count++;
        assert_int_equal(is_unsent(), i == 0);
        amg_mem_fail_nth(1);
        assert_int_equal(HG_Forward(handles[i], NULL, NULL, NULL),
            i == 0 ? HG_NOMEM : HG_SUCCESS);
        amg_mem_fail_nth(0);
        if (i == 0)
            assert_int_equal(
                HG_Forward(handles[i], NULL, NULL, NULL), HG_SUCCESS);
        assert_false(is_unsent());
        count++;
    }
    drain(count);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(HG_Destroy(handles[i]), HG_SUCCESS);
}

static void test_stream_without_memory_was_not_sent(void **state)
{
    uint32_t count = 0;

    (void)state;
    /* The last one waits for a credit, which takes memory. */
    while (count < 1 + (CREDITS - 1 + 1) * PER_MESSAGE) {
        assert_int_equal(note(count), HG_SUCCESS);
        count++;
    }
    amg_mem_fail_nth(1);
    assert_int_equal(note(count), HG_NOMEM);
    amg_mem_fail_nth(0);
    assert_int_equal(note(count), HG_SUCCESS);
    drain(count + 1);
}

/* None is begun while a thread is blocked that would have to send it. */
static void test_stream_no_message_while_a_thread_is_blocked(void **state)
{
    (void)state;
    assert_true(amg_wakeup_fd(context, AMG_CQ_OWNER) >= 0);
    assert_true(
        amg_cq_arm(&context->cq, AMG_CQ_OWNER, amg_cq_epoch(&context->cq)));
    for (uint32_t i = 0; i < CREDITS; i++) {
        assert_int_equal(note(i), HG_SUCCESS);
        assert_false(is_unsent());
    }
    amg_cq_disarm(&context->cq, AMG_CQ_OWNER);
    drain(CREDITS);
}

/* A thread that is about to block sends what was begun before. */
static void test_stream_leaves_before_a_thread_blocks(void **state)
{
    (void)state;
    assert_int_equal(note(0), HG_SUCCESS);
    assert_int_equal(note(1), HG_SUCCESS);
    assert_true(is_unsent());
    assert_true(amg_wakeup_fd(context, AMG_CQ_OWNER) >= 0);
    /* False, as the calls have arrived at the endpoint. */
    assert_false(
        amg_wakeup_arm(context, AMG_CQ_OWNER, amg_cq_epoch(&context->cq)));
    assert_false(is_unsent());
    drain(2);
}

static hg_return_t number_proc(hg_proc_t proc, void *data)
{
    return hg_proc_uint32_t(proc, data);
}

static hg_return_t by_handle(hg_handle_t handle)
{
    uint32_t in = 0;
    void *buf = NULL;
    hg_size_t len = 0;

    assert_int_equal(HG_Get_input_buf(handle, &buf, &len), HG_SUCCESS);
    assert_int_equal(len, sizeof(in));
    assert_int_equal(memcmp(buf, &first, sizeof(first)), 0);
    assert_int_equal(HG_Get_input(handle, &in), HG_SUCCESS);
    assert_int_equal(in, first);
    assert_int_equal(HG_Free_input(handle, &in), HG_SUCCESS);
    if (first % 2 == 0) {
        assert_int_equal(HG_Release_input_buf(handle), HG_SUCCESS);
        assert_int_equal(
            HG_Get_input_buf(handle, &buf, &len), HG_FAULT); /* once */
    }
    first++;
    served++;
    return HG_Destroy(handle);
}

/* A receiver that has registered it with HG gets a handle for each call. */
static void test_stream_handler_with_a_handle(void **state)
{
    (void)state;
    first = 0;
    assert_int_equal(
        HG_Register_name(cls, "oneway", number_proc, NULL, by_handle), id);
    assert_int_equal(
        HG_Registered_disable_response(cls, id, HG_TRUE), HG_SUCCESS);
    for (uint32_t i = 0; i < 1 + PER_MESSAGE; i++)
        assert_int_equal(note(i), HG_SUCCESS);
    drain(1 + PER_MESSAGE);
    assert_int_equal(amg_tally_sum(&context->handles), 0);
}

/* A message of two calls, 2 and 3. */
static void two_make(uint64_t words[4])
{
    const uint32_t args[] = {2, 3};

    amg_record_write(&words[0], &args[0], sizeof(args[0]));
    amg_record_write(&words[2], &args[1], sizeof(args[1]));
}

static struct amg_header two_header(void)
{
    struct amg_header header = header_of(id);

    header.flags |= AMG_HEADER_SEVERAL;
    return header;
}

/* They wait for their registration, as any request that a thread receives. */
static void test_stream_early_is_served_when_registered(void **state)
{
    struct amg_header header = two_header();
    uint64_t words[4];

    (void)state;
    two_make(words);
    assert_int_equal(HG_Deregister(cls, id), HG_SUCCESS);
    raw_send_body(&header, words, sizeof(words));
    amg_role.is_library_thread = true;
    while (amg_progress_wait(context, 0) == HG_SUCCESS)
        continue;
    amg_role.is_library_thread = false;
    assert_int_equal(amg_tally_sum(&context->handles), 2);
    assert_int_equal(amalgam_register_oneway(cls, "oneway", world_serve), id);
    (void)HG_Trigger(context, 0, UINT32_MAX, NULL);
    assert_int_equal(served, 2);
    assert_int_equal(last, 3);
}

enum { HELD_MAX = 1000 };

static hg_handle_t held[HELD_MAX];

static hg_return_t hold(hg_handle_t handle)
{
    assert_in_range(served, 0, HELD_MAX - 1);
    held[served++] = handle;
    return HG_SUCCESS;
}

static void test_stream_no_memory_for_handles_loses_only_them(void **state)
{
    struct amg_header header = two_header();
    uint64_t words[4];
    unsigned sent = 0;

    (void)state;
    two_make(words);
    assert_int_equal(
        HG_Register_name(cls, "oneway", number_proc, NULL, hold), id);
    assert_int_equal(
        HG_Registered_disable_response(cls, id, HG_TRUE), HG_SUCCESS);
    while (served == sent) { /* until the pool of handles is empty */
        raw_send_body(&header, words, sizeof(words));
        sent += 2;
        amg_mem_fail_nth(1);
        (void)poll_and_trigger();
        amg_mem_fail_nth(0);
        for (unsigned i = 0; i < 2 && served == sent; i++)
            assert_int_equal(HG_Release_input_buf(held[sent - 1 - i]),
                HG_SUCCESS); /* and with that its credit */
    }
    while (served > 0)
        assert_int_equal(HG_Destroy(held[--served]), HG_SUCCESS);
    for (unsigned i = 0; i < 2 * CREDITS; i++) { /* all credits are back */
        raw_send_body(&header, words, sizeof(words));
        drain(2);
        while (served > 0)
            assert_int_equal(HG_Destroy(held[--served]), HG_SUCCESS);
    }
}

/* Nothing of a malformed message is served, and the next good one is. */
static void test_stream_malformed_is_dropped(void **state)
{
    struct amg_header header = two_header();
    uint64_t words[12] = {0};

    (void)state;
    two_make(words);
    for (uint32_t len = 0; len < sizeof(words[0]) * 4; len++) {
        if (len == 2 * sizeof(words[0]))
            continue; /* one good call */
        raw_send_body(&header, words, len);
        assert_int_equal(poll_and_trigger(), 0);
    }
    words[2] = AMALGAM_ONEWAY_MAX + 1;
    raw_send_body(&header, words, sizeof(words));
    assert_int_equal(poll_and_trigger(), 0);
    words[2] = UINT64_MAX;
    raw_send_body(&header, words, 4 * sizeof(words[0]));
    assert_int_equal(poll_and_trigger(), 0);
    two_make(words);
    for (unsigned i = 0; i < 4; i++) {
        header = two_header();
        if (i == 0)
            header.flags = AMG_HEADER_SEVERAL; /* it would want a reply */
        else if (i == 1)
            header.flags |= AMG_HEADER_SUMMED;
        else if (i == 2)
            header.user_len = 8;
        else
            header.flags |= AMG_HEADER_ACK;
        raw_send_body(&header, words, 4 * sizeof(words[0]));
        assert_int_equal(poll_and_trigger(), 0);
    }
    assert_int_equal(served, 0);
    header = two_header();
    raw_send_body(&header, words, 4 * sizeof(words[0]));
    assert_int_equal(poll_and_trigger(), 2);
    assert_int_equal(amg_tally_sum(&context->handles), 0);
}

/* Gives the context a message of two calls as a long one, as only a faulty peer
 * sends it; returns the number of handlers that ran. */
static unsigned two_long_serve(void)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_header header = two_header();
    struct amg_arrival *arrival = NULL;
    struct amg_events events;
    atomic_uint_fast64_t len;
    uint64_t words[4];
    unsigned ran = 0;

    two_make(words);
    raw_send_body(&header, words, sizeof(words));
    amg_events_init(&events);
    assert_int_equal(ep->transport->ep.poll(ep, 1, &events), 1);
    arrival = amg_container_of(
        amg_list_pop(&events.arrived), struct amg_arrival, link);
    arrival->is_long = true;
    atomic_init(&len, arrival->len);
    ep->held = &len;
    context->ops.arrived(context, AMG_ROUTE_SELF, arrival);
    (void)HG_Trigger(context, 0, UINT32_MAX, &ran);
    ep->held = NULL;
    return ran;
}

static void test_stream_in_a_long_message_is_dropped(void **state)
{
    (void)state;
    assert_int_equal(two_long_serve(), 0);
    assert_int_equal(
        HG_Register_name(cls, "oneway", number_proc, NULL, by_handle), id);
    assert_int_equal(
        HG_Registered_disable_response(cls, id, HG_TRUE), HG_SUCCESS);
    assert_int_equal(two_long_serve(), 0);
    assert_int_equal(served, 0);
    assert_int_equal(amg_tally_sum(&context->handles), 0);
}

/* Damages the record behind that of the new handle. */
static hg_return_t next_record_change(hg_handle_t handle, void *arg)
{
    void *bytes = NULL;

    (void)arg;
    assert_int_equal(HG_Get_input_buf(handle, &bytes, NULL), HG_SUCCESS);
    ((uint64_t *)bytes)[1] = UINT64_MAX;
    return HG_SUCCESS;
}

/* As a peer could that shares its memory. */
static void test_stream_changed_after_the_check_is_lost(void **state)
{
    struct amg_header header = two_header();
    uint64_t words[4];

    (void)state;
    two_make(words);
    assert_int_equal(
        HG_Register_name(cls, "oneway", number_proc, NULL, hold), id);
    assert_int_equal(
        HG_Registered_disable_response(cls, id, HG_TRUE), HG_SUCCESS);
    assert_int_equal(
        HG_Class_set_handle_create_callback(cls, next_record_change, NULL),
        HG_SUCCESS);
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    hg_log_set_func(log_keep);
    raw_send_body(&header, words, sizeof(words));
    assert_int_equal(poll_and_trigger(), 1);
    assert_true(log_has("a peer changed its message: 1 one-way calls"));
    hg_log_set_func(NULL);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_int_equal(HG_Destroy(held[0]), HG_SUCCESS);
}

static void test_stream_to_unposted_context_is_dropped(void **state)
{
    (void)state;
    assert_int_equal(HG_Context_unpost(context), HG_SUCCESS);
    for (uint32_t i = 0; i < 1 + PER_MESSAGE; i++)
        assert_int_equal(note(i), HG_SUCCESS);
    poll_and_trigger();
    poll_and_trigger();
    assert_int_equal(served, 0);
}

/* They leave first; a context that ends serves no calls, its own neither. */
static void test_stream_leaves_before_its_context_ends(void **state)
{
    (void)state;
    while (note(0) == HG_SUCCESS)
        continue;
    assert_true(is_unsent());
    assert_int_equal(HG_Context_destroy(context), HG_SUCCESS);
    assert_int_equal(served, 0);
    context = NULL;
}

/* Only plain messages are shared. */
static void test_stream_class_with_user_headers_sends_single_calls(void **state)
{
    (void)state;
    assert_int_equal(HG_Class_set_input_offset(cls, 8), HG_SUCCESS);
    for (uint32_t i = 0; i < CREDITS; i++) {
        assert_int_equal(note(i), HG_SUCCESS);
        assert_false(is_unsent());
    }
    drain(CREDITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_stream_first_call_leaves_at_once),
        WORLD_TEST(test_stream_further_calls_share_a_message),
        WORLD_TEST(test_stream_full_message_leaves),
        WORLD_TEST(test_stream_argument_of_each_length),
        WORLD_TEST(test_stream_order_stays_among_other_calls),
        WORLD_TEST(test_stream_trigger_runs_as_many_as_asked_for),
        WORLD_TEST(test_stream_handler_may_run_the_next_one),
        WORLD_TEST(test_stream_without_credits_is_refused),
        WORLD_TEST(test_stream_order_stays_without_credits),
        WORLD_TEST(test_stream_without_memory_was_not_sent),
        WORLD_TEST(test_stream_no_message_while_a_thread_is_blocked),
        WORLD_TEST(test_stream_leaves_before_a_thread_blocks),
        WORLD_TEST(test_stream_handler_with_a_handle),
        WORLD_TEST(test_stream_early_is_served_when_registered),
        WORLD_TEST(test_stream_no_memory_for_handles_loses_only_them),
        WORLD_TEST(test_stream_malformed_is_dropped),
        WORLD_TEST(test_stream_in_a_long_message_is_dropped),
        WORLD_TEST(test_stream_changed_after_the_check_is_lost),
        WORLD_TEST(test_stream_to_unposted_context_is_dropped),
        WORLD_TEST(test_stream_leaves_before_its_context_ends),
        WORLD_TEST(test_stream_class_with_user_headers_sends_single_calls),
    };

    (void)setenv("AMALGAM_CREDITS", "3", 1);
    (void)setenv("AMALGAM_PACK_BYTES", "64", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
