/* SPDX-License-Identifier: BSD-3-Clause */
/* States of TCP connections: those to living hosts, and those of others, stay;
 * a connection that is still being made at its deadline ends.
 * tests/hosts/host_dies.c has the dead ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ofi_backend/ofi_peer.h"
#include "party.h"

enum { HALF_A_SECOND = 5 /* ticks */, FULL = 8 /* connections */ };

/* A connection of this process to itself, and the peer at its end. */
struct world {
    struct party party;
    struct amg_ofi_domain *domain;
    struct sockaddr_in addr;
    struct amg_peer *peer;
    struct amg_peer *other; /* at another port */
    int listener;
    int near;
    int far;
};

static struct amg_peer *peer_at(
    struct world *world, struct sockaddr_in addr, unsigned port_bits)
{
    struct amg_peer *peer = NULL;

    addr.sin_port ^= (in_port_t)port_bits;
    amg_bias_lock(&world->domain->lock);
    assert_int_equal(
        amg_ofi_peer_get_locked(world->domain, &addr, sizeof(addr), &peer),
        HG_SUCCESS);
    assert_ptr_equal(
        amg_ofi_peer_find_locked(world->domain, peer->addr, sizeof(addr)),
        peer);
    amg_bias_unlock(&world->domain->lock);
    return peer;
}

static struct sockaddr_in addr_of(int fd)
{
    struct sockaddr_in addr;
    socklen_t len = sizeof(addr);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    return addr;
}

static int world_open(void **state)
{
    static struct world world;
    struct sockaddr_in addr = {.sin_family = AF_INET};

    party_open(&world.party, 0, 1);
    world.domain = amg_ofi_domain_of(world.party.domain);
    assert_true(world.domain->facts.is_tcp);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    world.listener = socket(AF_INET, SOCK_STREAM, 0);
    world.near = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(
        bind(world.listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(world.listener, 1), 0);
    world.addr = addr_of(world.listener);
    assert_int_equal(
        connect(world.near, (struct sockaddr *)&world.addr, sizeof(world.addr)),
        0);
    world.far = accept(world.listener, NULL, NULL);
    assert_true(world.far >= 0);
    world.peer = peer_at(&world, world.addr, 0);
    world.other = peer_at(&world, world.addr, 1);
    *state = &world;
    return 0;
}

static int world_close(void **state)
{
    struct world *world = *state;

    close(world->near);
    close(world->far);
    close(world->listener);
    amg_ofi_transport.addr.unref(&world->domain->base, world->peer);
    amg_ofi_transport.addr.unref(&world->domain->base, world->other);
    (void)party_close(&world->party);
    return 0;
}

static unsigned states_now(const struct amg_peer *peer)
{
    unsigned states = 0;

    amg_bias_lock(&peer->domain->lock);
    states = amg_ofi_tcp_states_locked(peer);
    amg_bias_unlock(&peer->domain->lock);
    return states;
}

/* The driver looks again. */
static unsigned states(struct world *world, const struct amg_peer *peer)
{
    world->domain->clock.tick += HALF_A_SECOND;
    return states_now(peer);
}

static unsigned scans;

/* Replaces the function of the C library. */
DIR *opendir(const char *name)
{
    DIR *(*real)(const char *) =
        (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");

    scans += strcmp(name, "/proc/self/fd") == 0 ? 1 : 0;
    return real(name);
}

/* A byte still passes in both directions. */
static void connections_check(const struct world *world)
{
    char byte = 'a';

    assert_int_equal(send(world->near, &byte, 1, MSG_NOSIGNAL), 1);
    assert_int_equal(recv(world->far, &byte, 1, 0), 1);
    assert_int_equal(send(world->far, &byte, 1, MSG_NOSIGNAL), 1);
    assert_int_equal(recv(world->near, &byte, 1, 0), 1);
}

static void test_connection_that_answers_stays(void **state)
{
    struct world *world = *state;

    connections_check(world);
    assert_int_equal(states(world, world->peer), AMG_OFI_TCP_LIVE);
    connections_check(world);
}

/* The peer has been silent for long, but no sent byte waits to be acknowledged.
 */
static void test_connection_without_unacknowledged_bytes_stays(void **state)
{
    struct world *world = *state;

    world->domain->connect_ns = 0;
    assert_int_equal(states(world, world->peer), AMG_OFI_TCP_LIVE);
    connections_check(world);
}

/* The peer's process has ended, so this process does not wait for it. */
static void test_connection_that_ended_is_not_connected(void **state)
{
    struct world *world = *state;
    char byte = 0;

    assert_int_equal(states(world, world->peer), AMG_OFI_TCP_LIVE);
    assert_int_equal(shutdown(world->far, SHUT_RDWR), 0);
    assert_int_equal(recv(world->near, &byte, 1, 0), 0);
    assert_int_equal(states(world, world->peer), 0);
}

static void test_connection_of_others_stays(void **state)
{
    struct world *world = *state;

    assert_int_equal(states(world, world->other), 0);
    connections_check(world);
}

/* An incoming connection may be of any process of that host. */
static void test_connection_incoming_is_of_any_process(void **state)
{
    struct world *world = *state;
    struct amg_peer *caller = peer_at(world, addr_of(world->near), 0);
    struct sockaddr_in self;

    assert_int_equal(states(world, caller), AMG_OFI_TCP_LIVE);
    memcpy(&self, world->domain->self->addr, sizeof(self));
    memcpy(world->domain->self->addr, &world->addr, sizeof(self));
    assert_int_equal(states(world, caller), 0);
    memcpy(world->domain->self->addr, &self, sizeof(self));
    connections_check(world);
    amg_ofi_transport.addr.unref(&world->domain->base, caller);
}

static void test_connection_without_tcp_is_unknown(void **state)
{
    struct world *world = *state;

    world->domain->facts.is_tcp = false;
    assert_int_equal(states(world, world->peer), 0);
    connections_check(world);
}

/* The listener accepts no more, so its host answers no request for a
 * connection. */
static void test_connection_being_made_ends_at_its_deadline(void **state)
{
    struct world *world = *state;
    int fds[FULL];
    int fd = -1;

    for (unsigned i = 0; i < FULL; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(
            fds[i], (struct sockaddr *)&world->addr, sizeof(world->addr));
    }
    fd = fds[FULL - 1];
    world->peer->conn.deadline_ns = UINT64_MAX;
    assert_int_equal(
        states(world, world->peer), AMG_OFI_TCP_LIVE | AMG_OFI_TCP_BEGUN);
    assert_int_equal(
        poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0), 0);
    world->peer->conn.deadline_ns = amg_ofi_clock_ns(world->domain);
    assert_int_equal(
        states(world, world->peer), AMG_OFI_TCP_LIVE | AMG_OFI_TCP_BEGUN);
    assert_int_equal(
        poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0), 1);
    assert_int_equal(states(world, world->peer), AMG_OFI_TCP_LIVE);
    connections_check(world);
    for (unsigned i = 0; i < FULL; i++)
        close(fds[i]);
}

/* The driver scans its descriptors twice a second, however many peers are
 * silent. */
static void test_connections_are_scanned_twice_a_second(void **state)
{
    struct world *world = *state;

    world->domain->clock.tick += HALF_A_SECOND;
    scans = 0;
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(states_now(world->peer), AMG_OFI_TCP_LIVE);
        assert_int_equal(states_now(world->other), 0);
        world->domain->clock.tick += i % 10 == 9 ? 1 : 0;
    }
    assert_int_equal(scans, 1);
    assert_int_equal(states_now(world->peer), AMG_OFI_TCP_LIVE);
    assert_int_equal(scans, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_connection_that_answers_stays, world_open, world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_without_unacknowledged_bytes_stays, world_open,
            world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_incoming_is_of_any_process, world_open,
            world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_that_ended_is_not_connected, world_open,
            world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_of_others_stays, world_open, world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_being_made_ends_at_its_deadline, world_open,
            world_close),
        cmocka_unit_test_setup_teardown(
            test_connections_are_scanned_twice_a_second, world_open,
            world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_without_tcp_is_unknown, world_open, world_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
