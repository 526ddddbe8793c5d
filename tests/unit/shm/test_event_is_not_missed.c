/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that might be missed: a context that closes before its first call, a
 * doorbell that cannot be signaled, a bounce buffer that is released just
 * before a wait for it, a new sender while events of others are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/assert.h"
#include "log_kept.h"
#include "shm/shm_files.h"
#include "shm/shm_bulk.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum {
    SHORT = 16,
    POLLS = 200,
    LEN = 4 * AMG_SHM_BOUNCE_LEN,
    MOVERS = 3,
    WAITING = 4 * AMG_SHM_CELLS, /* for credits, or for room in the ring */
};

static const struct amg_transport *const shm = &amg_shm_transport;

static struct amg_peer *meet(struct party *party, const struct party *other)
{
    char text[PARTY_TEXT_CAP];

    snprintf(text, sizeof(text), "na+sm://%s",
        amg_shm_domain_of(other->domain)->region.name);
    return party_find(party, text);
}

static void context_close(struct party *party)
{
    struct amg_events events;

    amg_events_init(&events);
    shm->ep.close(party->ep, &events);
}

static void call_passes(
    struct party *client, struct amg_peer *peer, struct party *server)
{
    struct party_call call;

    party_ask(client, peer, &call, 4, SHORT);
    while (call.done == 0) {
        party_poll(server);
        party_poll(client);
    }
    assert_true(party_answer_is(client, &call, 4));
}

static void test_first_call_to_a_closed_context_is_refused(void **state)
{
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_open(&server, "", 0);
    party_open(&client, "", 0);
    peer = meet(&client, &server);
    context_close(&server);
    party_ask(&client, peer, &call, 1, SHORT);
    party_poll(&client);
    assert_int_equal(call.done, 1);
    assert_int_equal(call.op.ret, HG_NOENTRY);
    assert_int_equal(shm->ep.open(server.domain, 0, &server.ep), HG_SUCCESS);
    call_passes(&client, peer, &server);
    assert_int_equal(server.served, 1);
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    party_close(&server);
}

/* Nobody reads the ring after the context has closed, so that neither credits
 * nor room come back. */
static void test_calls_that_wait_end_when_the_context_closes(void **state)
{
    static const uint32_t credits[] = {0, WAITING};
    static struct party_call calls[WAITING];

    (void)state;
    /* Every peer has all its credits from the start. */
    assert_int_equal(setenv("AMALGAM_MAX_REQUEST_BYTES", "10000000000", 1), 0);
    for (unsigned i = 0; i < sizeof(credits) / sizeof(credits[0]); i++) {
        struct party server;
        struct party client;
        struct amg_peer *peer = NULL;
        unsigned done = 0;

        party_open(&server, "", credits[i]);
        party_open(&client, "", credits[i]);
        peer = meet(&client, &server);
        call_passes(&client, peer, &server);
        for (uint32_t k = 0; k < WAITING; k++)
            party_ask(&client, peer, &calls[k], k, SHORT);
        assert_int_equal(
            client.domain->counts->credits_short > 0, credits[i] == 0);
        assert_int_equal(client.domain->counts->retries > 0, credits[i] > 0);
        context_close(&server);
        for (unsigned k = 0; k < POLLS; k++)
            party_poll(&client);
        for (unsigned k = 0; k < WAITING; k++)
            done += calls[k].done;
        assert_int_equal(done, WAITING);
        for (unsigned k = 0; k < WAITING; k++)
            assert_int_equal(calls[k].op.ret, HG_NOENTRY);
        assert_int_equal(
            shm->ep.open(server.domain, 0, &server.ep), HG_SUCCESS);
        call_passes(&client, peer, &server);
        assert_int_equal(server.served, 2);
        shm->addr.unref(client.domain, peer);
        party_close(&client);
        party_close(&server);
    }
}

/* No context is open there, or ever will be. */
static void test_call_to_a_class_that_ends_without_a_context(void **state)
{
    const struct amg_open how = {
        .info = "", .is_listening = true, .max_contexts = 1};
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    assert_int_equal(shm->domain.open(&how, &server.domain), HG_SUCCESS);
    party_open(&client, "", 0);
    peer = meet(&client, &server);
    party_ask(&client, peer, &call, 1, SHORT);
    party_poll(&client);
    assert_int_equal(call.done, 0);
    for (unsigned i = 0; i < POLLS && call.done == 0; i++) {
        (void)shm->domain.quiesce(server.domain);
        party_poll(&client);
    }
    assert_int_equal(call.done, 1);
    assert_int_equal(call.op.ret, HG_NOENTRY);
    party_ask(&client, peer, &call, 2, SHORT);
    party_poll(&client);
    assert_int_equal(call.done, 1);
    assert_int_equal(call.op.ret, HG_NOENTRY);
    shm->addr.unref(client.domain, peer);
    shm->domain.close(server.domain);
    party_close(&client);
}

static void one_way_send(struct party *party, struct amg_peer *peer)
{
    struct amg_buf *buf = NULL;

    assert_int_equal(shm->msg.get_buf(party->ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 0, SHORT);
    assert_int_equal(shm->msg.send_request(party->ep,
                         (struct amg_target){peer, 0}, buf, SHORT, false, NULL),
        HG_SUCCESS);
}

static void quiesce_expect(const struct party *party, hg_return_t wanted)
{
    for (unsigned i = 0; i < POLLS; i++)
        assert_int_equal(shm->domain.quiesce(party->domain), wanted);
}

/* The end waits for the reader of a one-way call; a rank of a job also for its
 * handler. A wait that is given up tells how many calls are. */
static void test_end_waits_until_one_way_calls_are_safe(void **state)
{
    (void)state;
    for (unsigned is_joined = 0; is_joined < 2; is_joined++) {
        struct party server;
        struct party client;
        struct amg_peer *peer = NULL;

        party_open(&server, "", 0);
        party_open(&client, "", 0);
        amg_shm_domain_of(client.domain)->is_joined = is_joined;
        peer = meet(&client, &server);
        quiesce_expect(&client, HG_SUCCESS);
        one_way_send(&client, peer);
        one_way_send(&client, peer);
        quiesce_expect(&client, HG_AGAIN);
        log_len = 0;
        hg_log_set_func(log_keep);
        shm->domain.report(client.domain);
        assert_non_null(strstr(log_text, "has not handled 2 calls"));
        assert_true(shm->domain.abandon(client.domain));
        hg_log_set_func(NULL);
        assert_non_null(strstr(log_text, "given up"));
        /* Served, but the credits are not returned yet. */
        assert_int_equal(party_poll(&server), 2);
        quiesce_expect(&client, is_joined ? HG_AGAIN : HG_SUCCESS);
        while (shm->domain.quiesce(client.domain) == HG_AGAIN) {
            party_poll(&server);
            party_poll(&client);
        }
        assert_false(shm->domain.abandon(client.domain));
        shm->addr.unref(client.domain, peer);
        party_close(&client);
        party_close(&server);
    }
}

#if defined(AMG_TEST_POINTS)
static struct party *closing;
static bool closes_class;

static void close_at_point(const char *name)
{
    struct party *party = closing;

    if (party == NULL || strcmp(name, "shm_request_checked") != 0)
        return;
    closing = NULL;
    context_close(party);
}

static struct {
    struct party *client;
    struct amg_peer *peer;
    struct party_call call;
} newcomer;

static void ask_at_point(const char *name)
{
    struct party *client = newcomer.client;

    if (client == NULL || strcmp(name, "shm_slots_event") != 0)
        return;
    newcomer.client = NULL;
    party_ask(client, newcomer.peer, &newcomer.call, 2, SHORT);
}

/* It claims a slot while the server reads the event of another client. */
static void test_first_call_while_events_are_read(void **state)
{
    struct party server;
    struct party clients[2];
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_open(&server, "", 0);
    for (unsigned i = 0; i < 2; i++)
        party_open(&clients[i], "", 0);
    peer = meet(&clients[0], &server);
    newcomer.peer = meet(&clients[1], &server);
    newcomer.client = &clients[1];
    amg_test_point_set(ask_at_point);
    party_ask(&clients[0], peer, &call, 1, SHORT);
    for (unsigned i = 0; i < POLLS; i++) {
        party_poll(&server);
        party_poll(&clients[0]);
        party_poll(&clients[1]);
    }
    amg_test_point_set(NULL);
    assert_null(newcomer.client);
    assert_true(party_answer_is(&clients[0], &call, 1));
    assert_int_equal(newcomer.call.done, 1);
    assert_true(party_answer_is(&clients[1], &newcomer.call, 2));
    shm->addr.unref(clients[0].domain, peer);
    shm->addr.unref(clients[1].domain, newcomer.peer);
    for (unsigned i = 0; i < 2; i++)
        party_close(&clients[i]);
    party_close(&server);
}

/* It closes between the caller's check and the caller's message. */
static void test_call_to_a_context_that_closes_meanwhile(void **state)
{
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    amg_test_point_set(close_at_point);
    for (int knows = 0; knows < 2; knows++) {
        party_open(&server, "", 0);
        party_open(&client, "", 0);
        peer = meet(&client, &server);
        if (knows == 1)
            call_passes(&client, peer, &server);
        server.served = 0;
        closing = &server;
        party_ask(&client, peer, &call, 1, SHORT);
        party_poll(&client);
        assert_int_equal(call.done, 1);
        assert_int_equal(call.op.ret, HG_NOENTRY);
        /* A refused request is not served by the next context. */
        assert_int_equal(
            shm->ep.open(server.domain, 0, &server.ep), HG_SUCCESS);
        call_passes(&client, peer, &server);
        assert_int_equal(server.served, 1);
        shm->addr.unref(client.domain, peer);
        party_close(&client);
        party_close(&server);
    }
    amg_test_point_set(NULL);
}

static struct party *opening;

static void open_at_point(const char *name)
{
    struct party *party = opening;

    if (party == NULL || strcmp(name, "shm_context_never") != 0)
        return;
    opening = NULL;
    assert_int_equal(shm->ep.open(party->domain, 0, &party->ep), HG_SUCCESS);
}

/* The caller sees no open context, and then the context opens. */
static void test_first_call_to_a_context_that_opens_meanwhile(void **state)
{
    const struct amg_open how = {
        .info = "", .is_listening = true, .max_contexts = 1};
    struct party server = {.ep = NULL};
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    assert_int_equal(shm->domain.open(&how, &server.domain), HG_SUCCESS);
    party_open(&client, "", 0);
    peer = meet(&client, &server);
    opening = &server;
    amg_test_point_set(open_at_point);
    party_ask(&client, peer, &call, 1, SHORT);
    amg_test_point_set(NULL);
    assert_non_null(server.ep);
    while (call.done == 0) {
        party_poll(&server);
        party_poll(&client);
    }
    assert_true(party_answer_is(&client, &call, 1));
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    party_close(&server);
}

static void serve_and_close_at_point(const char *name)
{
    struct party *party = closing;

    if (party == NULL || strcmp(name, "shm_request_told") != 0)
        return;
    closing = NULL;
    while (party->served == 0)
        party_poll(party);
    if (closes_class)
        party_close(party);
    else
        context_close(party);
}

/* It is served, and the context or its class closes, before the caller goes on.
 */
static void served_before_close(bool is_class)
{
    struct party server;
    struct party client;
    struct party_call call;
    struct amg_peer *peer = NULL;

    closes_class = is_class;
    amg_test_point_set(serve_and_close_at_point);
    party_open(&server, "", 0);
    party_open(&client, "", 0);
    peer = meet(&client, &server);
    closing = &server;
    party_ask(&client, peer, &call, 1, SHORT);
    while (call.done == 0)
        party_poll(&client);
    assert_true(party_answer_is(&client, &call, 1));
    amg_test_point_set(NULL);
    shm->addr.unref(client.domain, peer);
    party_close(&client);
    if (is_class)
        return;
    assert_int_equal(shm->ep.open(server.domain, 0, &server.ep), HG_SUCCESS);
    party_close(&server);
}

static void test_call_that_is_served_by_a_context_that_closes(void **state)
{
    (void)state;
    served_before_close(false);
}

static void test_call_that_is_served_by_a_class_that_ends(void **state)
{
    (void)state;
    served_before_close(true);
}

/* Two contexts of one process that move data by messages. */
struct mover {
    struct amg_domain *domain;
    struct amg_ep *eps[2];
    struct amg_op ops[MOVERS];
    unsigned done[MOVERS];
    char *bytes;
    struct amg_segment local;
};

static struct mover *waiting;
static struct party *exposer;

static void mover_step(struct amg_op *op)
{
    for (unsigned i = 0; i < MOVERS; i++)
        waiting->done[i] += op == &waiting->ops[i];
}

static void mover_poll(struct mover *mover, unsigned ep)
{
    struct amg_events events;
    struct amg_link *link = NULL;

    amg_events_init(&events);
    (void)shm->ep.poll(mover->eps[ep], 1, &events);
    while ((link = amg_list_pop(&events.done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
}

/* The second context found no bounce buffer: now all of the first are released.
 */
static void drain_at_point(const char *name)
{
    static bool is_inside;

    if (is_inside || strcmp(name, "shm_transfer_moved") != 0 ||
        !amg_shm_is_due(amg_shm_ep_of(waiting->eps[1]), AMG_SHM_DUE_BULK) ||
        waiting->done[0] + waiting->done[1] == 2)
        return;
    is_inside = true;
    while (waiting->done[0] + waiting->done[1] < 2) {
        party_poll(exposer);
        mover_poll(waiting, 0);
    }
    is_inside = false;
}

static void get_post(struct mover *mover, unsigned ep, unsigned i,
    struct amg_peer *peer, const struct amg_remote *remote)
{
    const struct amg_seg_iter local = {&mover->local, 1, 0, 0};

    mover->ops[i].step = mover_step;
    assert_int_equal(shm->bulk.get(mover->eps[ep], (struct amg_target){peer, 0},
                         &local, remote, LEN, &mover->ops[i]),
        HG_SUCCESS);
}

static void test_chunk_that_comes_back_before_the_wait_is_seen(void **state)
{
    const struct amg_open how = {
        .info = "", .is_listening = true, .max_contexts = 2};
    struct party server;
    struct mover mover = {.bytes = malloc(LEN)};
    char *shown = calloc(1, LEN);
    struct amg_segment segment = {shown, LEN};
    struct amg_remote remote = {.at = {&segment, 1, 0, 0}};
    struct amg_mem *mem = NULL;
    struct amg_peer *peer = NULL;
    char text[PARTY_TEXT_CAP];

    (void)state;
    setenv("AMALGAM_SHM_COPY", "segment", 1);
    party_open(&server, "", 0);
    assert_int_equal(shm->domain.open(&how, &mover.domain), HG_SUCCESS);
    for (uint8_t i = 0; i < 2; i++)
        assert_int_equal(
            shm->ep.open(mover.domain, i, &mover.eps[i]), HG_SUCCESS);
    mover.local = (struct amg_segment){mover.bytes, LEN};
    waiting = &mover;
    exposer = &server;
    assert_int_equal(
        shm->bulk.reg(server.domain, &segment, 1, AMG_MEM_READ, &mem),
        HG_SUCCESS);
    shm->bulk.key(mem, &remote.key);
    snprintf(text, sizeof(text), "na+sm://%s",
        amg_shm_domain_of(server.domain)->region.name);
    assert_int_equal(shm->addr.parse(mover.domain, text, &peer), HG_SUCCESS);
    get_post(&mover, 0, 0, peer, &remote);
    get_post(&mover, 0, 1, peer, &remote);
    mover_poll(&mover, 0);
    get_post(&mover, 1, 2, peer, &remote);
    amg_test_point_set(drain_at_point);
    mover_poll(&mover, 1);
    amg_test_point_set(NULL);
    assert_int_equal(mover.done[0] + mover.done[1], 2);
    for (unsigned i = 0; i < POLLS && mover.done[2] == 0; i++) {
        mover_poll(&mover, 1);
        party_poll(&server);
    }
    assert_int_equal(mover.done[2], 1);
    assert_int_equal(mover.ops[2].ret, HG_SUCCESS);
    assert_int_equal(shm->bulk.unreg(server.domain, mem, 0), HG_SUCCESS);
    shm->addr.unref(mover.domain, peer);
    for (unsigned i = 0; i < 2; i++) {
        struct amg_events events;

        amg_events_init(&events);
        shm->ep.close(mover.eps[i], &events);
    }
    shm->domain.close(mover.domain);
    party_close(&server);
    unsetenv("AMALGAM_SHM_COPY");
    free(shown);
    free(mover.bytes);
}
#endif

/* The doorbell of the blocked context cannot be opened for a moment. */
static void test_sleeper_that_could_not_be_woken_is_woken_later(void **state)
{
    struct party_child child;
    struct party client;
    struct party_call call;
    struct amg_shm_region region;
    struct amg_peer *peer = NULL;
    char doorbell[AMG_SHM_PATH_CAP];
    char kept[AMG_SHM_PATH_CAP + 8];

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    party_child_start(&child, PARTY_SLEEPER, "");
    assert_int_equal(
        amg_shm_region_map(strstr(child.address, "//") + 2, &region),
        HG_SUCCESS);
    amg_shm_files_doorbell(region.name, region.incarnation, 0, doorbell);
    snprintf(kept, sizeof(kept), "%s.kept", doorbell);
    party_open(&client, "", 0);
    peer = party_find(&client, child.address);
    while ((atomic_load(&region.contexts[0].sleep) & AMG_SHM_SLEEP_MASK) !=
           AMG_SHM_ASLEEP)
        continue;
    assert_int_equal(rename(doorbell, kept), 0);
    party_ask(&client, peer, &call, 6, SHORT);
    party_poll(&client);
    assert_int_equal(
        atomic_load(&region.contexts[0].sleep) & AMG_SHM_SLEEP_MASK,
        AMG_SHM_ASLEEP);
    assert_int_equal(call.done, 0);
    assert_int_equal(rename(kept, doorbell), 0);
    /* The sender blocks, too: the pending wakeup ends its wait. */
    assert_int_equal(party_wait_asleep(&client, &call), HG_SUCCESS);
    assert_true(party_answer_is(&client, &call, 6));
    shm->addr.unref(client.domain, peer);
    amg_shm_region_fini(&region);
    party_child_end(&child);
    party_close(&client);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_call_to_a_closed_context_is_refused),
        cmocka_unit_test(test_calls_that_wait_end_when_the_context_closes),
        cmocka_unit_test(test_call_to_a_class_that_ends_without_a_context),
        cmocka_unit_test(test_end_waits_until_one_way_calls_are_safe),
#if defined(AMG_TEST_POINTS)
        cmocka_unit_test(test_first_call_while_events_are_read),
        cmocka_unit_test(test_first_call_to_a_context_that_opens_meanwhile),
        cmocka_unit_test(test_call_to_a_context_that_closes_meanwhile),
        cmocka_unit_test(test_call_that_is_served_by_a_context_that_closes),
        cmocka_unit_test(test_call_that_is_served_by_a_class_that_ends),
        cmocka_unit_test(test_chunk_that_comes_back_before_the_wait_is_seen),
#endif
        cmocka_unit_test(test_sleeper_that_could_not_be_woken_is_woken_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
