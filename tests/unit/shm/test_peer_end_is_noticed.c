/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that die, close, stop, block, stay silent, come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "shm/shm_inbox.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum {
    SHORT = 16,
    LONG = 3000, /* does not fit into a cell */
    CREDITS = 300,
    SILENT = 20,
    VISITORS = 30,
    WAKES = 3000,
    ENDS = 100,
    CALLERS = 4,
};

static const struct amg_transport *const shm = &amg_shm_transport;

static unsigned files_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void test_calls_to_a_dead_peer_end(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call calls[CREDITS];
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_DEAF, "");
    party_open(&party, "", CREDITS);
    peer = party_find(&party, child.address);
    for (uint32_t i = 0; i < CREDITS; i++)
        party_ask(&party, peer, &calls[i], i, i % 3 == 0 ? LONG : SHORT);
    party_poll(&party);
    party_child_kill(&child);
    for (uint32_t i = 0; i < CREDITS; i++)
        assert_int_equal(party_wait(&party, &calls[i]), HG_HOSTUNREACH);
    /* And so does a new one, at once. */
    party_ask(&party, peer, &calls[0], 0, SHORT);
    party_poll(&party);
    assert_int_equal(calls[0].done, 1);
    assert_int_equal(calls[0].op.ret, HG_HOSTUNREACH);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

static void test_death_wakes_the_sleeper(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_KEEPER, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    party_ask(&party, peer, &call, 1, SHORT);
    party_poll(&party);
    while (!shm->ep.arm(party.ep))
        party_poll(&party);
    kill(child.pid, SIGKILL);
    assert_int_equal(party_wait_asleep(&party, &call), HG_HOSTUNREACH);
    party_child_kill(&child);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

static void test_close_of_the_peer_ends_calls_and_waits(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_KEEPER, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    party_ask(&party, peer, &call, 1, SHORT);
    party_poll(&party);
    party_child_end(&child);
    assert_int_equal(party_wait_asleep(&party, &call), HG_HOSTUNREACH);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

/* The peer ends before its last reply is received. `calls_before`: calls that
 * it answered before, so that its ring is known. */
static void last_answer_is_had(
    enum party_role role, unsigned calls_before, bool is_asleep, uint32_t len)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;

    party_child_start(&child, role, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    for (uint32_t i = 0; i < calls_before; i++) {
        party_ask(&party, peer, &call, i, len);
        assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
        assert_true(party_answer_is(&party, &call, i));
    }
    party_ask(&party, peer, &call, PARTY_BYE, len);
    if (is_asleep)
        (void)shm->ep.arm(party.ep);
    party_child_join(&child);
    assert_int_equal(is_asleep ? party_wait_asleep(&party, &call)
                               : party_wait(&party, &call),
        HG_SUCCESS);
    assert_true(party_answer_is(&party, &call, PARTY_BYE));
    /* But its end was detected. */
    party_ask(&party, peer, &call, 1, len);
    assert_int_equal(party_wait(&party, &call), HG_HOSTUNREACH);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

static void test_last_reply_of_a_closed_peer_arrives(void **state)
{
    (void)state;
    last_answer_is_had(PARTY_LEAVER, 1, false, SHORT);
    last_answer_is_had(PARTY_LEAVER, 1, true, LONG);
    last_answer_is_had(PARTY_LEAVER, 0, false, LONG);
    last_answer_is_had(PARTY_LEAVER, 0, true, SHORT);
}

static void test_last_reply_of_an_exited_peer_arrives(void **state)
{
    (void)state;
    last_answer_is_had(PARTY_QUITTER, 1, false, SHORT);
    last_answer_is_had(PARTY_QUITTER, 1, true, LONG);
    last_answer_is_had(PARTY_QUITTER, 0, false, LONG);
    last_answer_is_had(PARTY_QUITTER, 0, true, SHORT);
}

/* The clients poll while it ends, which it does after their last calls. */
static void callers_get_all(enum party_role role)
{
    struct party_child child;
    struct party parties[CALLERS];
    struct party_call calls[CALLERS];
    struct amg_peer *peers[CALLERS];

    party_child_start(&child, role, "");
    for (uint32_t i = 0; i < CALLERS; i++) {
        party_open(&parties[i], "", 0);
        peers[i] = party_find(&parties[i], child.address);
        party_ask(&parties[i], peers[i], &calls[i],
            i == CALLERS - 1 ? PARTY_BYE : i, SHORT);
    }
    for (uint32_t i = 0; calls[i % CALLERS].done == 0; i++)
        party_poll(&parties[i % CALLERS]);
    for (uint32_t i = 0; i < CALLERS; i++) {
        assert_int_equal(party_wait(&parties[i], &calls[i]), HG_SUCCESS);
        assert_true(party_answer_is(
            &parties[i], &calls[i], i == CALLERS - 1 ? PARTY_BYE : i));
        shm->addr.unref(parties[i].domain, peers[i]);
    }
    for (uint32_t i = 0; i < CALLERS; i++)
        party_close(&parties[i]);
    party_child_join(&child);
}

static void test_callers_get_all_of_a_peer_that_ends(void **state)
{
    (void)state;
    for (int i = 0; i < ENDS; i++)
        callers_get_all(i % 8 == 0 ? PARTY_LEAVER : PARTY_QUITTER);
}

/* A peer that does not read uses up ring, msgbufs and credits: no message is
 * lost, and the sender can block meanwhile. */
static void test_stopped_peer_gets_all_when_it_goes_on(void **state)
{
    static struct party_call calls[CREDITS];
    struct party_child child;
    struct party party;
    struct amg_peer *peer = NULL;
    int status = 0;

    (void)state;
    party_child_start(&child, PARTY_ECHO, "");
    party_open(&party, "", CREDITS);
    peer = party_find(&party, child.address);
    party_ask(&party, peer, &calls[0], 0, SHORT);
    assert_int_equal(party_wait(&party, &calls[0]), HG_SUCCESS);
    assert_true(party_answer_is(&party, &calls[0], 0));
    kill(child.pid, SIGSTOP);
    assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
    for (uint32_t i = 0; i < CREDITS; i++)
        party_ask(&party, peer, &calls[i], i, i % 2 == 0 ? LONG : SHORT);
    while (party_poll(&party) > 0)
        continue;
    /* The sender may block although the ring is full. */
    assert_true(shm->ep.arm(party.ep));
    assert_true(party.domain->counts->credits_short > 0);
    kill(child.pid, SIGCONT);
    for (uint32_t i = 0; i < CREDITS; i++) {
        assert_int_equal(party_wait_asleep(&party, &calls[i]), HG_SUCCESS);
        assert_true(party_answer_is(&party, &calls[i], i));
    }
    shm->addr.unref(party.domain, peer);
    party_child_end(&child);
    party_close(&party);
}

/* Bytes in our doorbell: signals that were not drained. */
static int rings_left(const struct party *party)
{
    int bytes = -1;

    assert_int_equal(ioctl(amg_container_of(party->ep, struct amg_shm_ep, base)
                               ->inbox->doorbell,
                         FIONREAD, &bytes),
        0);
    return bytes;
}

static void test_only_blocked_readers_are_signaled(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call calls[3];
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_ECHO, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    for (uint32_t i = 0; i < 100; i++) {
        party_ask(&party, peer, &calls[0], i, SHORT);
        assert_int_equal(party_wait(&party, &calls[0]), HG_SUCCESS);
        assert_true(party_answer_is(&party, &calls[0], i));
    }
    assert_int_equal(party.domain->counts->wakes, 0);
    assert_int_equal(rings_left(&party), 0);
    for (uint32_t i = 0; i < 3; i++)
        party_ask(&party, peer, &calls[i], i, SHORT);
    party_sleep(&party);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(party_wait(&party, &calls[i]), HG_SUCCESS);
        assert_true(rings_left(&party) <= 1);
    }
    shm->addr.unref(party.domain, peer);
    party_child_end(&child);
    party_close(&party);
}

/* Both block when idle: a lost wakeup hangs the test. */
static void test_no_wake_is_lost(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_SLEEPER, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    for (uint32_t i = 0; i < WAKES; i++) {
        party_ask(&party, peer, &call, i, i % 7 == 0 ? LONG : SHORT);
        assert_int_equal(party_wait_asleep(&party, &call), HG_SUCCESS);
        assert_true(party_answer_is(&party, &call, i));
    }
    assert_true(party.domain->counts->wakes > 0);
    shm->addr.unref(party.domain, peer);
    party_child_end(&child);
    party_close(&party);
}

static void test_silent_peers_are_not_checked(void **state)
{
    struct party_child children[SILENT];
    struct amg_peer *peers[SILENT];
    struct party party;
    struct party_call call;
    const struct amg_shm_inbox *inbox = NULL;

    (void)state;
    for (int i = 0; i < SILENT; i++)
        party_child_start(&children[i], PARTY_SLEEPER, "");
    party_open(&party, "", 0);
    inbox = amg_container_of(party.ep, struct amg_shm_ep, base)->inbox;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < SILENT; i++) {
            if (round == 0)
                peers[i] = party_find(&party, children[i].address);
            party_ask(&party, peers[i], &call, i, SHORT);
            assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
            assert_true(party_answer_is(&party, &call, i));
        }
        for (int i = 0; i < 2048; i++)
            party_poll(&party);
        assert_true(inbox->active_count <= 4);
    }
    for (int i = 0; i < SILENT; i++) {
        shm->addr.unref(party.domain, peers[i]);
        party_child_end(&children[i]);
    }
    party_close(&party);
}

/* Half of the peers close, the others are killed. */
static void visitors_come(struct party *party, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct party_child child;
        struct party_call call;
        struct amg_peer *peer = NULL;

        party_child_start(&child, PARTY_ECHO, "");
        peer = party_find(party, child.address);
        party_ask(party, peer, &call, i, i % 3 == 0 ? LONG : SHORT);
        assert_int_equal(party_wait(party, &call), HG_SUCCESS);
        assert_true(party_answer_is(party, &call, i));
        shm->addr.unref(party->domain, peer);
        if (i % 2 == 0)
            party_child_end(&child);
        else
            party_child_kill(&child);
    }
}

static bool has_only_itself(const struct amg_shm_domain *domain)
{
    for (uint32_t i = 0; i < AMG_SHM_SLOTS; i++)
        if (amg_shm_claim_state(domain->region.claims[i]) != AMG_SHM_CLAIM_FREE)
            return false;
    return domain->all_peers.head.next == domain->all_peers.head.prev;
}

static void peers_settle(struct party *party)
{
    const struct amg_shm_domain *domain = amg_shm_domain_of(party->domain);
    struct amg_shm_ep *ep =
        amg_container_of(party->ep, struct amg_shm_ep, base);

    while (!has_only_itself(domain)) {
        ep->checked_ns = 0; /* as if the time had passed */
        party_poll(party);
    }
}

static void test_peers_that_come_and_go_leave_nothing(void **state)
{
    struct party party;
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    unsigned files = 0;

    (void)state;
    party_open(&party, "", 0);
    visitors_come(&party, 4);
    peers_settle(&party);
    amg_mem_stats_get(&before);
    files = files_open();
    visitors_come(&party, VISITORS);
    peers_settle(&party);
    amg_mem_stats_get(&after);
    assert_int_equal(files_open(), files);
    assert_int_equal(after.live, before.live);
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_to_a_dead_peer_end),
        cmocka_unit_test(test_death_wakes_the_sleeper),
        cmocka_unit_test(test_close_of_the_peer_ends_calls_and_waits),
        cmocka_unit_test(test_last_reply_of_a_closed_peer_arrives),
        cmocka_unit_test(test_last_reply_of_an_exited_peer_arrives),
        cmocka_unit_test(test_callers_get_all_of_a_peer_that_ends),
        cmocka_unit_test(test_stopped_peer_gets_all_when_it_goes_on),
        cmocka_unit_test(test_only_blocked_readers_are_signaled),
        cmocka_unit_test(test_no_wake_is_lost),
        cmocka_unit_test(test_silent_peers_are_not_checked),
        cmocka_unit_test(test_peers_that_come_and_go_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
