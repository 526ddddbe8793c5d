/* SPDX-License-Identifier: BSD-3-Clause */
/* Refused senders, and slots: refused requests are never served, no slot is
 * lost, and requests and replies wait while all slots are taken. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fallocate */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "shm/shm_inbox.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum { SHORT = 16, TRIES = 3, POLLS = 100 };

static const struct amg_transport *const shm = &amg_shm_transport;

static bool is_full; /* /dev/shm */

/* Replaces the function of the C library. */
int posix_fallocate(int fd, off_t at, off_t len)
{
    if (is_full)
        return ENOSPC;
    return fallocate(fd, 0, at, len) == 0 ? 0 : errno;
}

static const struct amg_shm_region *region_of(const struct party *party)
{
    return &amg_shm_domain_of(party->domain)->region;
}

static struct amg_peer *meet(struct party *party, const struct party *other)
{
    char text[PARTY_TEXT_CAP];

    snprintf(text, sizeof(text), "na+sm://%s", region_of(other)->name);
    return party_find(party, text);
}

/* The slots of `party` that are not free. */
static unsigned slots_taken(const struct party *party)
{
    const struct amg_shm_region *region = region_of(party);
    unsigned count = 0;

    for (uint32_t i = 0; i < AMG_SHM_SLOTS; i++)
        count += amg_shm_claim_state(atomic_load(&region->claims[i])) !=
                 AMG_SHM_CLAIM_FREE;
    return count;
}

/* Polls without a free descriptor, as if for long. */
static void poll_starved(struct party *party)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(party->domain);
    struct rlimit kept;
    struct rlimit none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    none = kept;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    party_poll(party);
    if (domain->unmapped_since_ns != 0)
        domain->unmapped_since_ns =
            1; /* the moment of the first try, long ago */
    party_poll(party);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
}

/* Number of lines in `log` with this text. */
static unsigned lines_count(FILE *log, const char *words)
{
    char line[1024];
    unsigned count = 0;

    rewind(log);
    while (fgets(line, sizeof(line), log) != NULL)
        count += strstr(line, words) != NULL;
    return count;
}

/* The server has no descriptor, refuses, and has one again. Both log it once,
 * however often the client calls. */
static void test_refused_requests_are_never_served(void **state)
{
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    FILE *log = tmpfile();

    (void)state;
    assert_non_null(log);
    hg_log_set_stream_warning(log);
    party_open(&server, "", 0);
    party_open(&client, "", 0);
    for (uint32_t i = 1; i <= TRIES; i++) {
        peer = meet(&client, &server);
        party_ask(&client, peer, &call, i, SHORT);
        poll_starved(&server);
        assert_int_equal(party_wait(&client, &call), HG_HOSTUNREACH);
        shm->addr.unref(client.domain, peer);
        party_poll(&server);
        assert_int_equal(slots_taken(&server), 0);
    }
    assert_int_equal(server.served, 0);
    assert_int_equal(
        lines_count(log, "sends to this process, and is refused"), 1);
    assert_int_equal(
        lines_count(log, "cannot map the segment of this process"), 1);
    peer = meet(&client, &server);
    party_ask(&client, peer, &call, 77, SHORT);
    while (call.done == 0) {
        party_poll(&server);
        party_poll(&client);
    }
    assert_true(party_answer_is(&client, &call, 77));
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    for (unsigned i = 0; i < POLLS; i++)
        party_poll(&server);
    assert_int_equal(server.served, 1);
    assert_int_equal(slots_taken(&server), 0);
    party_close(&server);
    hg_log_set_stream_warning(NULL);
    assert_int_equal(fclose(log), 0);
}

/* A sender waits some time for a descriptor to map it. */
static void test_sender_is_served_when_there_is_a_descriptor_again(void **state)
{
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;
    struct rlimit kept;
    struct rlimit none;

    (void)state;
    party_open(&server, "", 0);
    party_open(&client, "", 0);
    peer = meet(&client, &server);
    party_ask(&client, peer, &call, 5, SHORT);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    none = kept;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    party_poll(&server);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    while (call.done == 0) {
        party_poll(&server);
        party_poll(&client);
    }
    assert_true(party_answer_is(&client, &call, 5));
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    party_close(&server);
}

/* A living process takes the slots of `party`, or frees them. */
static void slots_fill_at(const struct amg_shm_region *region, bool is_full)
{
    for (uint32_t i = 0; i < AMG_SHM_SLOTS; i++) {
        uint64_t claim = atomic_load(&region->claims[i]);

        if (is_full && amg_shm_claim_state(claim) == AMG_SHM_CLAIM_FREE)
            atomic_store(&region->claims[i],
                amg_shm_claim_take(claim, 0, false, (uint32_t)getpid()));
        else if (!is_full && amg_shm_claim_state(claim) == AMG_SHM_CLAIM_MAKING)
            atomic_store(&region->claims[i], amg_shm_claim_free(claim));
    }
}

static void slots_fill(const struct party *party, bool is_full)
{
    slots_fill_at(region_of(party), is_full);
}

static void test_answer_waits_for_a_slot(void **state)
{
    struct party_child server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&server, PARTY_SLEEPER, "");
    party_open(&client, "", 0);
    slots_fill(&client, true);
    peer = party_find(&client, server.address);
    party_ask(&client, peer, &call, 9, SHORT);
    /* The server has read the request, and blocks. */
    while (atomic_load(&amg_shm_peer_of(peer)->first.out.ring->poll_state) ==
               AMG_SHM_UNSEEN ||
           (atomic_load(&amg_shm_peer_of(peer)->first.context->sleep) &
               AMG_SHM_SLEEP_MASK) != AMG_SHM_ASLEEP)
        party_poll(&client);
    for (unsigned i = 0; i < POLLS; i++)
        party_poll(&client);
    assert_int_equal(call.done, 0);
    slots_fill(&client, false);
    assert_int_equal(party_wait(&client, &call), HG_SUCCESS);
    assert_true(party_answer_is(&client, &call, 9));
    shm->addr.unref(client.domain, peer);
    party_child_end(&server);
    party_close(&client);
}

/* A cancelled request is not sent. */
static void test_requests_wait_for_a_slot_in_order(void **state)
{
    struct party server;
    struct party client;
    struct party_call calls[TRIES];
    struct party_call dropped;
    struct amg_peer *peer = NULL;

    (void)state;
    hg_log_set_level(0);
    party_open(&server, "", 0);
    party_open(&client, "", 0);
    slots_fill(&server, true);
    peer = meet(&client, &server);
    party_ask(&client, peer, &dropped, 99, SHORT);
    for (uint32_t i = 0; i < TRIES; i++)
        party_ask(&client, peer, &calls[i], i, SHORT);
    for (unsigned i = 0; i < POLLS; i++)
        party_poll(&client);
    assert_int_equal(shm->ep.cancel(client.ep, &dropped.op), HG_SUCCESS);
    assert_int_equal(party_wait(&client, &dropped), HG_CANCELED);
    assert_int_equal(calls[0].done, 0);
    slots_fill(&server, false);
    while (calls[TRIES - 1].done == 0) {
        party_poll(&server);
        party_poll(&client);
    }
    for (uint32_t i = 0; i < TRIES; i++)
        assert_true(party_answer_is(&client, &calls[i], i));
    assert_int_equal(server.served, TRIES);
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    party_close(&server);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

/* The slots whose pages exist are taken, and /dev/shm has no room for more. */
static void test_request_without_room_for_a_claim_fails(void **state)
{
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;
    struct amg_buf *buf = NULL;
    struct amg_op op = {0};

    (void)state;
    hg_log_set_level(0);
    party_open(&server, "", 0);
    party_open(&client, "", 0);
    slots_fill(&server, true);
    peer = meet(&client, &server);
    assert_int_equal(shm->msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
    is_full = true;
    assert_int_equal(shm->msg.send_request(client.ep,
                         (struct amg_target){peer, 0}, buf, SHORT, true, &op),
        HG_NOMEM);
    is_full = false;
    shm->msg.put_buf(client.ep, buf);
    slots_fill(&server, false);
    party_ask(&client, peer, &call, 1, SHORT);
    while (call.done == 0) {
        party_poll(&server);
        party_poll(&client);
    }
    assert_true(party_answer_is(&client, &call, 1));
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    party_close(&server);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

static void test_request_without_a_slot_ends_with_its_peer(void **state)
{
    struct party_child server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    hg_log_set_level(0);
    party_child_start(&server, PARTY_SLEEPER, "");
    party_open(&client, "", 0);
    peer = party_find(&client, server.address);
    slots_fill_at(&amg_shm_peer_of(peer)->region, true);
    party_ask(&client, peer, &call, 1, SHORT);
    for (unsigned i = 0; i < POLLS; i++)
        party_poll(&client);
    assert_int_equal(call.done, 0);
    party_child_end(&server);
    assert_int_equal(party_wait(&client, &call), HG_HOSTUNREACH);
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

/* The owner has freed the slot, and a class of the same process has it now. */
static void test_slot_that_was_freed_is_left_alone(void **state)
{
    struct party server;
    struct party first;
    struct party second;
    struct party_call call;
    struct amg_peer *by_first = NULL;
    struct amg_peer *by_second = NULL;

    (void)state;
    party_open(&server, "", 0);
    party_open(&first, "", 0);
    party_open(&second, "", 0);
    by_first = meet(&first, &server);
    party_ask(&first, by_first, &call, 1, SHORT);
    while (call.done == 0) {
        party_poll(&server);
        party_poll(&first);
    }
    assert_true(party_answer_is(&first, &call, 1));
    atomic_store(&region_of(&first)->head->is_closed, 1);
    atomic_fetch_or(
        &region_of(&server)->contexts[0].events, AMG_SHM_EVENT_PEERS);
    party_poll(&server);
    party_poll(&server);
    assert_int_equal(slots_taken(&server), 0);
    atomic_store(&region_of(&first)->head->is_closed, 0);
    by_second = meet(&second, &server);
    for (uint32_t i = 0; i < TRIES; i++) {
        party_ask(&second, by_second, &call, i, SHORT);
        for (unsigned k = 0; call.done == 0 && k < POLLS; k++) {
            party_poll(&server);
            party_poll(&second);
        }
        assert_int_equal(call.done, 1);
        assert_true(party_answer_is(&second, &call, i));
        if (i > 0)
            continue;
        assert_int_equal(slots_taken(&server), 1);
        shm->addr.unref(first.domain, by_first);
        party_close(&first);
        assert_int_equal(
            amg_shm_claim_state(atomic_load(&region_of(&server)->claims[0])),
            AMG_SHM_CLAIM_LIVE);
    }
    shm->addr.unref(second.domain, by_second);
    party_close(&second);
    party_close(&server);
}

/* The pid of a process in another pid namespace means nothing here. */
static void test_stranger_keeps_its_slot(void **state)
{
    struct party party;
    const struct amg_shm_region *region = NULL;
    uint64_t claim = amg_shm_claim_take(0, 0, true, 0x7fffffff);

    (void)state;
    party_open(&party, "", 0);
    region = region_of(&party);
    atomic_store(&region->claims[0], claim);
    atomic_store(&region->claims[1],
        amg_shm_claim_take(0, 0, false, 0x7fffffff)); /* it is dead */
    atomic_store(&region->head->slot_end, 2);
    atomic_fetch_or(&region->contexts[0].events, AMG_SHM_EVENT_PEERS);
    party_poll(&party);
    assert_int_equal(atomic_load(&region->claims[0]), claim);
    assert_int_equal(amg_shm_claim_state(atomic_load(&region->claims[1])),
        AMG_SHM_CLAIM_FREE);
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_requests_are_never_served),
        cmocka_unit_test(
            test_sender_is_served_when_there_is_a_descriptor_again),
        cmocka_unit_test(test_answer_waits_for_a_slot),
        cmocka_unit_test(test_requests_wait_for_a_slot_in_order),
        cmocka_unit_test(test_request_without_room_for_a_claim_fails),
        cmocka_unit_test(test_request_without_a_slot_ends_with_its_peer),
        cmocka_unit_test(test_slot_that_was_freed_is_left_alone),
        cmocka_unit_test(test_stranger_keeps_its_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
