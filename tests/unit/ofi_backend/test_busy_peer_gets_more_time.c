/* SPDX-License-Identifier: BSD-3-Clause */
/* Deadlines of a peer that takes no messages: it is given up in time, but a
 * busy peer gets longer while the provider still has messages to it. If this
 * process lacks what a connection needs, the log says so. Two domains of this
 * process, and a provider that returns EAGAIN. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fake.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_domain.h"
#include "party.h"

/* PATIENT: checks of the driver that a busy machine may need, as time without
 * polls does not count. */
enum { LEN = 900, PATIENT = 60 };

/* Fate of the client's sends. */
static enum { SEND_GOES, SEND_STAYS, SEND_AGAIN } sending;

/* Resources that the client lacks while time passes. */
static const struct rlimit *lack; /* prevents new descriptors; NULL: does not */
static bool is_out_of_memory;
static bool is_host_full; /* no process of the host gets a descriptor */
static bool fails_sockets;

static struct amg_ofi_call real;

static struct party server;
static struct party client;
static struct amg_peer *peer; /* the server, as a peer of the client */
static unsigned arrived;

static bool is_client(const struct fid_ep *ep)
{
    return client.domain != NULL &&
           amg_ofi_domain_of(client.domain)->fi.ep == ep;
}

static ssize_t call_send(struct fid_ep *ep, const void *bytes, size_t len,
    void *desc, fi_addr_t to, void *context)
{
    if (is_client(ep) && sending == SEND_AGAIN)
        return -FI_EAGAIN;
    if (is_client(ep) && sending == SEND_STAYS)
        return 0;
    return real.send(ep, bytes, len, desc, to, context);
}

static ssize_t call_inject(
    struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    if (is_client(ep) && sending != SEND_GOES)
        return -FI_EAGAIN;
    return real.inject(ep, bytes, len, to);
}

/* The result of `op` of the client, or HG_AGAIN. */
static hg_return_t poll_both(const struct amg_op *op)
{
    struct amg_events events;
    struct amg_link *link = NULL;
    hg_return_t ret = HG_AGAIN;

    amg_events_init(&events);
    (void)amg_ofi_transport.ep.poll(client.ep, 100, &events);
    while ((link = amg_list_pop(&events.done)) != NULL)
        if (amg_container_of(link, struct amg_op, link) == op)
            ret = op->ret;
    (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    while ((link = amg_list_pop(&events.arrived)) != NULL) {
        amg_ofi_transport.msg.release(
            server.ep, amg_container_of(link, struct amg_arrival, link));
        arrived++;
    }
    return ret;
}

static void post(struct amg_op *op)
{
    struct amg_buf *buf = NULL;

    memset(op, 0, sizeof(*op));
    assert_int_equal(
        amg_ofi_transport.msg.get_buf(client.ep, peer, &buf), HG_SUCCESS);
    memset(buf->data, 1, LEN);
    assert_int_equal(amg_ofi_transport.msg.send_request(client.ep,
                         (struct amg_target){peer, 0}, buf, LEN, false, op),
        HG_SUCCESS);
}

static hg_return_t wait_for(const struct amg_op *op)
{
    hg_return_t ret = HG_AGAIN;

    while ((ret = poll_both(op)) == HG_AGAIN)
        continue;
    return ret;
}

/* Takes the place of libc's. */
int socket(int family, int type, int protocol)
{
    if (!fails_sockets)
        return (int)syscall(SYS_socket, family, type, protocol);
    errno = ENFILE;
    return -1;
}

/* Sets the time of the wait for the peer to that many connect time-outs, and
 * polls until `op` ends, but at most until the driver has checked the peer that
 * many times. */
static hg_return_t poll_late(
    const struct amg_op *op, unsigned times, unsigned checks)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(client.domain);
    unsigned tick = 0;
    hg_return_t ret = poll_both(op); /* sends what is kept for other calls */

    tick = domain->clock.tick;
    peer->conn.deadline_ns =
        amg_ofi_clock_ns(domain) - (times - 1) * domain->connect_ns - 1;
    if (lack != NULL)
        assert_int_equal(setrlimit(RLIMIT_NOFILE, lack), 0);
    fails_sockets = is_host_full;
    while (ret == HG_AGAIN && domain->clock.tick - tick <= checks) {
        amg_mem_fail_nth(is_out_of_memory ? 1 : 0);
        ret = poll_both(op);
    }
    amg_mem_fail_nth(0);
    fails_sockets = false;
    return ret;
}

static void test_busy_peer_is_waited_for(void **state)
{
    static struct amg_op stays; /* until the domain is closed */
    struct amg_op waits;

    (void)state;
    sending = SEND_STAYS;
    post(&stays);
    sending = SEND_AGAIN;
    post(&waits);
    assert_int_equal(poll_late(&waits, 4, 1), HG_AGAIN);
    arrived = 0;
    sending = SEND_GOES;
    assert_int_equal(wait_for(&waits), HG_SUCCESS);
    while (arrived == 0)
        (void)poll_both(NULL);
    assert_false(fake_has_logged("is not reached"));
}

/* One with the provider, and one that is kept for calls that may follow. */
static void test_busy_messages_are_counted(void **state)
{
    static struct amg_op ops[2];

    (void)state;
    post(&ops[0]);
    post(&ops[1]);
    amg_ofi_transport.domain.report(client.domain);
    assert_true(fake_has_logged("2 messages of this process have not left, "
                                "and 0 reads and writes"));
    assert_int_equal(wait_for(&ops[1]), HG_SUCCESS);
}

static void test_busy_peer_is_given_up_at_last(void **state)
{
    static struct amg_op stays; /* until the domain is closed */
    struct amg_op waits;

    (void)state;
    sending = SEND_STAYS;
    post(&stays);
    sending = SEND_AGAIN;
    post(&waits);
    assert_int_equal(poll_late(&waits, 12, PATIENT), HG_HOSTUNREACH);
    /* The wait for messages that the provider still has ends, too. */
    assert_int_equal(stays.priv[AMG_CALL_PRIV_STATE], AMG_CALL_DONE);
    assert_int_equal(stays.ret, HG_HOSTUNREACH);
}

/* The client, as a peer of the server. */
static struct amg_peer *client_at_server(void)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(server.domain);
    struct amg_link *link = amg_list_first(&domain->peers.all);

    while (amg_container_of(link, struct amg_peer, all) == domain->self)
        link = amg_list_next(&domain->peers.all, link);
    return amg_container_of(link, struct amg_peer, all);
}

static void client_check(void)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(server.domain);

    amg_bias_lock(&domain->lock);
    amg_ofi_peer_check_locked(client_at_server());
    amg_bias_unlock(&domain->lock);
}

/* Long after first contact the peer checks the identity of this process, and
 * there is no room for the answer at that moment. */
static void test_busy_answer_to_a_check_has_time(void **state)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(client.domain);
    struct amg_op op;
    unsigned tick = 0;

    (void)state;
    peer->conn.deadline_ns = 1;
    sending = SEND_AGAIN;
    client_check();
    while (!peer->conn.owes_accept && peer->state == AMG_OFI_PEER_OPEN)
        (void)poll_both(NULL);
    tick = domain->clock.tick;
    while (domain->clock.tick - tick < 2)
        (void)poll_both(NULL);
    assert_int_equal(peer->state, AMG_OFI_PEER_OPEN);
    sending = SEND_GOES;
    while (peer->conn.owes_accept)
        (void)poll_both(NULL);
    post(&op);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
}

/* A CONNECT may reach a process that does not know the sender, so it returns no
 * credits. */
static void test_busy_connect_returns_no_credits(void **state)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(client.domain);
    struct amg_events events;
    struct amg_op op;
    unsigned tick = domain->clock.tick;

    (void)state;
    amg_events_init(&events);
    post(&op);
    while (amg_list_is_empty(&events.arrived)) {
        (void)amg_ofi_transport.ep.poll(client.ep, 100, &events);
        (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    }
    client_check();
    amg_ofi_transport.msg.release(
        server.ep, amg_container_of(amg_list_pop(&events.arrived),
                       struct amg_arrival, link));
    while (peer->calls.unanswered > 0 && domain->clock.tick - tick < 10)
        (void)poll_both(NULL);
    assert_int_equal(peer->calls.unanswered, 0);
}

static uint32_t rank_of(const void *ranks, const struct amg_peer *asked)
{
    assert_ptr_equal(asked, peer);
    return *(const uint32_t *)ranks;
}

static void test_silent_peer_is_given_up_in_time(void **state)
{
    static const uint32_t rank = 17;
    struct amg_op waits;

    (void)state;
    client.domain->rank_of = rank_of;
    client.domain->ranks = &rank;
    sending = SEND_AGAIN;
    post(&waits);
    assert_int_equal(poll_late(&waits, 1, PATIENT), HG_HOSTUNREACH);
    assert_true(fake_has_logged(" (rank 17) is not reached: no answer within "
                                "AMALGAM_CONNECT_TIMEOUT_MS"));
    assert_true(fake_has_logged("does it use ofi+tcp;ofi_rxm, too?"));
    /* The next call connects anew. */
    sending = SEND_GOES;
    post(&waits);
    assert_int_equal(wait_for(&waits), HG_SUCCESS);
}

/* A new peer, which the client cannot reach for lack of a resource. */
static void stranger_is_not_reached(struct party *stranger)
{
    struct amg_op waits;

    sending = SEND_AGAIN;
    party_open(stranger, 0, 1);
    amg_ofi_transport.addr.unref(client.domain, peer);
    peer = party_meet(&client, stranger);
    post(&waits);
    assert_int_equal(poll_late(&waits, 1, PATIENT), HG_HOSTUNREACH);
}

static void test_busy_process_without_descriptors_logs_it(void **state)
{
    struct party stranger;
    struct rlimit limit;
    struct rlimit none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    lack = &none;
    stranger_is_not_reached(&stranger);
    lack = NULL;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(
        fake_has_logged("no file descriptor left (ulimit -n); no answer"));
    (void)party_close(&stranger);
}

static void test_busy_host_without_descriptors_logs_it(void **state)
{
    struct party stranger;

    (void)state;
    is_host_full = true;
    stranger_is_not_reached(&stranger);
    is_host_full = false;
    assert_true(
        fake_has_logged("no descriptor left on this host (fs.file-max)"));
    assert_false(fake_has_logged("ulimit -n"));
    (void)party_close(&stranger);
}

static void test_busy_process_without_memory_logs_it(void **state)
{
    struct party stranger;

    (void)state;
    is_out_of_memory = true;
    stranger_is_not_reached(&stranger);
    is_out_of_memory = false;
    assert_true(fake_has_logged("no memory left for a connection; no answer"));
    (void)party_close(&stranger);
}

/* The host of a rank may drop requests for connections while many ranks begin;
 * that of another process is given up. */
static void test_busy_rank_without_a_connection_has_more_time(void **state)
{
    struct party stranger;
    struct amg_op waits;

    (void)state;
    amg_ofi_domain_of(client.domain)->is_joined = true;
    sending = SEND_AGAIN;
    party_open(&stranger, 0, 1);
    amg_ofi_transport.addr.unref(client.domain, peer);
    peer = party_meet(&client, &stranger);
    post(&waits);
    while (peer->conn.extensions < 11)
        assert_int_equal(poll_late(&waits, 1, 1), HG_AGAIN);
    assert_int_equal(poll_late(&waits, 1, PATIENT), HG_HOSTUNREACH);
    amg_ofi_domain_of(client.domain)->is_joined = false;
    (void)party_close(&stranger);
}

/* As if no thread had polled for so long, before this poll. */
static hg_return_t poll_after(const struct amg_op *op, uint64_t away_ns)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(client.domain);
    unsigned tick = domain->clock.tick;
    hg_return_t ret = HG_AGAIN;

    domain->clock.tick_ns = amg_clock_ns() - away_ns;
    peer->conn.deadline_ns -= away_ns;
    while (ret == HG_AGAIN && domain->clock.tick == tick)
        ret = poll_both(op);
    return ret;
}

/* A process that computes between post and progress does not lose its peer. */
static void test_silent_peer_is_waited_for_after_a_pause(void **state)
{
    uint64_t connect_ns = amg_ofi_domain_of(client.domain)->connect_ns;
    struct amg_op waits;
    unsigned looks = 0;

    (void)state;
    sending = SEND_AGAIN;
    post(&waits);
    assert_int_equal(poll_after(&waits, 3 * connect_ns), HG_AGAIN);
    sending = SEND_GOES;
    assert_int_equal(wait_for(&waits), HG_SUCCESS);
    assert_false(fake_has_logged("is not reached"));
    /* But the wait is bounded. */
    sending = SEND_AGAIN;
    post(&waits);
    while (poll_after(&waits, connect_ns) == HG_AGAIN)
        looks++;
    assert_in_range(looks, 3, 12);
}

/* The program may cancel a call before its deadline. */
static void test_busy_peer_calls_can_be_cancelled(void **state)
{
    static struct amg_op stays; /* until the domain is closed */
    struct amg_op waits;

    (void)state;
    sending = SEND_STAYS;
    post(&stays);
    sending = SEND_AGAIN;
    post(&waits);
    assert_int_equal(
        amg_ofi_transport.ep.cancel(client.ep, &waits), HG_SUCCESS);
    assert_int_equal(wait_for(&waits), HG_CANCELED);
}

/* If another thread releases a request while the owner blocks, the credit is
 * returned soon, and not only at the end of the wait. */
static void test_busy_credit_of_another_thread_is_sent_soon(void **state)
{
    const struct amg_ofi_ep *ep = amg_ofi_ep_of(server.ep);
    struct amg_events events;
    struct amg_op op;
    uint64_t wait_ns = 0;

    (void)state;
    amg_events_init(&events);
    post(&op);
    while (amg_list_is_empty(&events.arrived)) {
        (void)amg_ofi_transport.ep.poll(client.ep, 100, &events);
        (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    }
    while (!amg_ofi_transport.ep.arm(server.ep))
        (void)amg_ofi_transport.ep.poll(server.ep, 100, &events);
    wait_ns = ep->wait_ns;
    amg_ofi_transport.msg.release(
        server.ep, amg_container_of(amg_list_pop(&events.arrived),
                       struct amg_arrival, link));
    assert_true(ep->wait_ns < wait_ns);
    while (peer->calls.unanswered > 0)
        (void)poll_both(NULL);
}

static int start(void **state)
{
    struct amg_op op;

    (void)state;
    fake_start(NULL, 0);
    real = fake_call;
    fake_call.send = call_send;
    fake_call.inject = call_inject;
    sending = SEND_GOES;
    party_open(&server, 0, 1);
    party_open(&client, 0, 1);
    peer = party_meet(&client, &server);
    post(&op);
    assert_int_equal(wait_for(&op), HG_SUCCESS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sending = SEND_GOES;
    amg_ofi_transport.addr.unref(client.domain, peer);
    (void)party_close(&client);
    (void)party_close(&server);
    fake_stop();
    return 0;
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_busy_peer_is_waited_for),
        UNIT_TEST(test_busy_peer_is_given_up_at_last),
        UNIT_TEST(test_busy_messages_are_counted),
        UNIT_TEST(test_silent_peer_is_given_up_in_time),
        UNIT_TEST(test_silent_peer_is_waited_for_after_a_pause),
        UNIT_TEST(test_busy_process_without_descriptors_logs_it),
        UNIT_TEST(test_busy_host_without_descriptors_logs_it),
        UNIT_TEST(test_busy_rank_without_a_connection_has_more_time),
        UNIT_TEST(test_busy_process_without_memory_logs_it),
        UNIT_TEST(test_busy_peer_calls_can_be_cancelled),
        UNIT_TEST(test_busy_answer_to_a_check_has_time),
        UNIT_TEST(test_busy_connect_returns_no_credits),
        UNIT_TEST(test_busy_credit_of_another_thread_is_sent_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
