/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a report: only those with something that is counted are written, and
 * only whole ones; what has no room is counted nevertheless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "transport/calls.h"
#include "transport/state.h"

enum { CREDITS = 4, ME = 1, OTHER = 2 };

static unsigned named;

static void peer_name(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP])
{
    (void)calls;
    (void)peer;
    named++;
    snprintf(ret_text, AMG_PEER_NAME_CAP, "rank 7");
}

static const struct amg_calls_ops ops = {.source = "med", .name = peer_name};

static void test_state_line_without_items_is_not_written(void **state)
{
    char text[200] = "";
    struct amg_state report;

    (void)state;
    amg_state_init(&report, text, sizeof(text), 3);
    amg_state_begin(&report, "part");
    amg_state_add(&report, "things", 0);
    amg_state_print(&report, ", fact %d", 1);
    amg_state_end(&report);
    assert_int_equal(report.len, 0);
    amg_state_begin(&report, "part");
    amg_state_add(&report, "things", 2);
    amg_state_print(&report, ", fact %d", 1);
    amg_state_add(&report, "others", 1);
    amg_state_end(&report);
    assert_string_equal(
        text, "amalgam [rank 3] state: part: things 2, fact 1, others 1\n");
    assert_int_equal(report.count, 3);
}

static void test_state_line_without_room_is_left_out(void **state)
{
    char text[60] = "";
    struct amg_state report;

    (void)state;
    amg_state_init(&report, text, sizeof(text), 3);
    for (int i = 0; i < 3; i++) {
        amg_state_begin(&report, "part");
        amg_state_add(&report, "things", 1);
        if (i == 1)
            amg_state_add(&report, "which are in a very long line", 1);
        amg_state_end(&report);
    }
    text[report.len] = '\0';
    assert_string_equal(text, "amalgam [rank 3] state: part: things 1\n");
    assert_int_equal(report.count, 4);
    assert_int_equal(report.lacked, 2);
    amg_state_init(&report, NULL, 0, -1);
    amg_state_begin(&report, "part");
    amg_state_add(&report, "things", 5);
    amg_state_end(&report);
    assert_int_equal(report.count, 5);
    assert_int_equal(report.lacked, 0);
}

/* Each credit is that of a call, of a cancelled one, or of a one-way call. */
static void test_state_peer_has_its_credits_and_queue(void **state)
{
    char text[400] = "";
    struct amg_bias lock;
    struct amg_calls calls;
    struct amg_flow_peer peer = {0};
    struct amg_flow_peer quiet = {0};
    struct amg_op asked = {.priv = {AMG_CALL_ASKED}};
    struct amg_op waiting = {.priv = {AMG_CALL_WAITING}};
    struct amg_link links[2];
    struct amg_state report;
    uint32_t cookie = 0;

    (void)state;
    amg_bias_init(&lock);
    amg_bias_lock(&lock);
    amg_calls_init(&calls, &lock, CREDITS, &ops);
    assert_int_equal(
        amg_table_add(&calls.table, &asked, ME, &cookie), HG_SUCCESS);
    assert_int_equal(
        amg_table_add(&calls.table, &waiting, ME, &cookie), HG_SUCCESS);
    assert_int_equal(
        amg_table_add(&calls.table, &asked, OTHER, &cookie), HG_SUCCESS);
    assert_int_equal(
        amg_table_add(&calls.table, &amg_call_cancelled, ME, &cookie),
        HG_SUCCESS);
    peer.unanswered = CREDITS;
    amg_flow_wait(&peer, &links[0]);
    amg_flow_wait(&peer, &links[1]);
    (void)amg_flow_owe(&calls.flow, &peer);
    amg_state_init(&report, text, sizeof(text), 0);
    amg_state_begin_peer_locked(&report, &calls, &quiet, 0);
    amg_state_end(&report);
    assert_int_equal(named, 0);
    amg_state_begin_peer_locked(&report, &calls, &peer, ME);
    amg_state_end(&report);
    assert_string_equal(text,
        "amalgam [rank 0] state: med: rank 7: unanswered calls 1, cancelled "
        "calls not answered 1, one-way calls not known to be handled 2, "
        "requests waiting for a credit or room 2, credits owed to it 1, "
        "credits taken 4 of 4\n");
    assert_int_equal(report.count, 7);
    assert_int_equal(report.quiet, 1);
    amg_calls_fini(&calls);
    amg_bias_unlock(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_line_without_items_is_not_written),
        cmocka_unit_test(test_state_line_without_room_is_left_out),
        cmocka_unit_test(test_state_peer_has_its_credits_and_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
