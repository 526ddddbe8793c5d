/* SPDX-License-Identifier: BSD-3-Clause */
/* Rare events that must not be delayed for ever: late doorbells, peers that
 * close unnoticed, children of this process, and a context that is never idle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/shm_peer.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum {
    SHORT = 16,
    CREDITS = 300,
    BUSY_POLLS = 2000, /* many times as often as rare things are done */
};

static const struct amg_transport *const shm = &amg_shm_transport;

static struct amg_shm_inbox *inbox_of(const struct party *party)
{
    return amg_container_of(party->ep, struct amg_shm_ep, base)->inbox;
}

static const char *address_of(
    const struct amg_domain *domain, char text[PARTY_TEXT_CAP])
{
    size_t len = PARTY_TEXT_CAP;
    struct amg_peer *self = shm->addr.self((struct amg_domain *)domain);

    assert_int_equal(shm->addr.format(domain, self, text, &len), HG_SUCCESS);
    shm->addr.unref((struct amg_domain *)domain, self);
    return text;
}

static bool is_awake(const struct party *party)
{
    struct pollfd fd = {.fd = shm->ep.wait_fd(party->ep), .events = POLLIN};

    return poll(&fd, 1, 0) != 0;
}

/* Polls until the endpoint may block. */
static void fall_asleep(struct party *party)
{
    while (!shm->ep.arm(party->ep))
        party_poll(party);
}

static void ring(const struct amg_shm_inbox *inbox)
{
    atomic_store(&inbox->context->sleep, AMG_SHM_WOKEN);
}

static void byte_send(const struct amg_shm_inbox *inbox)
{
    assert_int_equal(write(inbox->doorbell, "", 1), 1);
}

/* A sender announces the signal before it writes; others may signal in between.
 */
static void test_late_bytes_do_not_prevent_blocking(void **state)
{
    struct party party;
    const struct amg_shm_inbox *inbox = NULL;

    (void)state;
    party_open(&party, "", 0);
    inbox = inbox_of(&party);
    for (unsigned late = 1; late <= 3; late++) {
        for (unsigned i = 0; i < late; i++) {
            fall_asleep(&party);
            ring(inbox);
            party_poll(&party);
        }
        fall_asleep(&party);
        ring(inbox);
        byte_send(inbox);
        assert_true(is_awake(&party));
        party_poll(&party);
        for (unsigned i = 0; i < late; i++)
            byte_send(inbox);
        fall_asleep(&party); /* in vain at most once */
        party_poll(&party);
        fall_asleep(&party);
        assert_false(is_awake(&party));
        party_poll(&party);
    }
    party_close(&party);
}

static void test_peer_that_closed_before_the_first_call(void **state)
{
    struct party party;
    struct party other;
    struct party_call call;
    struct amg_peer *peer = NULL;
    char text[PARTY_TEXT_CAP];

    (void)state;
    party_open(&party, "", 0);
    party_open(&other, "", 0);
    peer = party_find(&party, address_of(other.domain, text));
    fall_asleep(&party); /* so that peers were checked just now */
    party_poll(&party);
    party_close(&other);
    party_ask(&party, peer, &call, 1, SHORT);
    party_poll(&party);
    assert_int_equal(call.done, 1);
    assert_int_equal(call.op.ret, HG_HOSTUNREACH);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

/* It has a claim, but its ring was never read. */
static void test_peer_that_closes_without_a_poll_wakes_callers(void **state)
{
    const struct amg_open how = {
        .info = "", .is_listening = true, .max_contexts = 1};
    struct amg_domain *other = NULL;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;
    char text[PARTY_TEXT_CAP];

    (void)state;
    party_open(&party, "", 0);
    assert_int_equal(shm->domain.open(&how, &other), HG_SUCCESS);
    peer = party_find(&party, address_of(other, text));
    party_ask(&party, peer, &call, 1, SHORT);
    party_poll(&party);
    fall_asleep(&party);
    assert_false(is_awake(&party));
    shm->domain.close(other);
    assert_true(is_awake(&party));
    party_poll(&party);
    party_poll(&party);
    assert_int_equal(call.done, 1);
    assert_int_equal(call.op.ret, HG_HOSTUNREACH);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

/* A forked child has all our descriptors, also that of the dead peer. */
static void test_death_is_reported_once_also_with_a_child(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;
    int ends[2];
    char byte = 0;
    pid_t pid = -1;

    (void)state;
    party_child_start(&child, PARTY_KEEPER, "");
    party_open(&party, "", 0);
    peer = party_find(&party, child.address);
    party_ask(&party, peer, &call, 1, SHORT);
    party_poll(&party);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) < 0);
    }
    party_child_kill(&child);
    assert_int_equal(party_wait_asleep(&party, &call), HG_HOSTUNREACH);
    fall_asleep(&party);
    assert_false(is_awake(&party));
    party_poll(&party);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    shm->addr.unref(party.domain, peer);
    party_close(&party);
}

/* The ring of replies to one caller is full, while another one calls so often
 * that every poll finds a request. The first gets its replies. */
static void test_busy_context_answers_later(void **state)
{
    static struct party_call calls[2 * AMG_SHM_CELLS];
    struct party server;
    struct party slow;
    struct party eager;
    struct party_call call;
    struct amg_peer *by_slow = NULL;
    struct amg_peer *by_eager = NULL;
    char text[PARTY_TEXT_CAP];
    unsigned done = 0;

    (void)state;
    /* Every peer has all its credits from the start. */
    assert_int_equal(setenv("AMALGAM_MAX_REQUEST_BYTES", "10000000000", 1), 0);
    party_open(&server, "", CREDITS);
    party_open(&slow, "", CREDITS);
    party_open(&eager, "", CREDITS);
    by_slow = party_find(&slow, address_of(server.domain, text));
    by_eager = party_find(&eager, text);
    for (uint32_t i = 0; i < 2 * AMG_SHM_CELLS; i++) {
        party_ask(&slow, by_slow, &calls[i], i, SHORT);
        if (i % 8 == 7)
            while (party_poll(&server) > 0)
                continue;
    }
    assert_int_equal(slow.domain->counts->retries, 0);
    assert_int_equal(server.domain->counts->retries, AMG_SHM_CELLS);
    for (unsigned i = 0; i < BUSY_POLLS; i++) {
        party_ask(&eager, by_eager, &call, i, SHORT);
        assert_true(party_poll(&server) > 0);
        assert_int_equal(party_wait(&eager, &call), HG_SUCCESS);
        assert_true(party_answer_is(&eager, &call, i));
        party_poll(&slow);
    }
    for (uint32_t i = 0; i < 2 * AMG_SHM_CELLS; i++)
        done += calls[i].done;
    assert_int_equal(done, 2 * AMG_SHM_CELLS);
    for (uint32_t i = 0; i < 2 * AMG_SHM_CELLS; i++)
        assert_true(party_answer_is(&slow, &calls[i], i));
    shm->addr.unref(slow.domain, by_slow);
    shm->addr.unref(eager.domain, by_eager);
    party_close(&eager);
    party_close(&slow);
    party_close(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_bytes_do_not_prevent_blocking),
        cmocka_unit_test(test_peer_that_closed_before_the_first_call),
        cmocka_unit_test(test_peer_that_closes_without_a_poll_wakes_callers),
        cmocka_unit_test(test_death_is_reported_once_also_with_a_child),
        cmocka_unit_test(test_busy_context_answers_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
