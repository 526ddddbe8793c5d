/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP connections of silent peers: those to living hosts, and those of others,
 * stay. tests/hosts/host_dies.c has the dead ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ofi_backend/ofi_peer.h"

enum { MINUTE_MS = 60000, HALF_A_SECOND = 5 /* ticks */ };

/* A connection of this process to itself, and the peer at its end. */
struct world {
    struct amg_ofi_domain domain;
    struct amg_peer *self;
    struct amg_peer *peer;
    int listener;
    int near;
    int far;
};

static struct amg_peer *peer_make(
    struct amg_ofi_domain *domain, const struct sockaddr_in *addr)
{
    struct amg_peer *peer =
        aligned_alloc(_Alignof(struct amg_peer), sizeof(struct amg_peer) + 64);

    assert_non_null(peer);
    memset(peer, 0, sizeof(*peer));
    peer->domain = domain;
    peer->addr_len = sizeof(*addr);
    memcpy(peer->addr, addr, sizeof(*addr));
    return peer;
}

static int world_open(void **state)
{
    static struct world world;
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    world.listener = socket(AF_INET, SOCK_STREAM, 0);
    world.near = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(
        bind(world.listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(world.listener, 1), 0);
    assert_int_equal(
        getsockname(world.listener, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(world.near, (struct sockaddr *)&addr, len), 0);
    world.far = accept(world.listener, NULL, NULL);
    assert_true(world.far >= 0);
    world.peer = peer_make(&world.domain, &addr);
    addr.sin_port = 0;
    world.self = peer_make(&world.domain, &addr);
    world.domain.self = world.self;
    world.domain.facts.is_tcp = true;
    world.domain.conns.is_known = false;
    world.domain.clock.tick = 0;
    world.domain.connect_ns = MINUTE_MS * 1000000ull;
    *state = &world;
    return 0;
}

static int world_close(void **state)
{
    struct world *world = *state;

    close(world->near);
    close(world->far);
    close(world->listener);
    amg_ofi_tcp_fini(&world->domain);
    world->domain.conns.cap = 0;
    free(world->peer);
    free(world->self);
    return 0;
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
    assert_false(amg_ofi_tcp_end_if_dead_locked(world->peer));
    connections_check(world);
}

/* The peer has been silent for long, but no sent byte waits to be acknowledged.
 */
static void test_connection_without_unacknowledged_bytes_stays(void **state)
{
    struct world *world = *state;

    world->domain.connect_ns = 0;
    assert_false(amg_ofi_tcp_end_if_dead_locked(world->peer));
    assert_true(amg_ofi_tcp_is_connected_locked(world->peer));
    connections_check(world);
}

/* The peer's process has ended, so this process does not wait for it. */
static void test_connection_that_ended_is_not_connected(void **state)
{
    struct world *world = *state;
    char byte = 0;

    assert_true(amg_ofi_tcp_is_connected_locked(world->peer));
    assert_int_equal(shutdown(world->far, SHUT_RDWR), 0);
    assert_int_equal(recv(world->near, &byte, 1, 0), 0);
    world->domain.clock.tick += HALF_A_SECOND;
    assert_false(amg_ofi_tcp_is_connected_locked(world->peer));
}

static void test_connection_of_others_stays(void **state)
{
    struct world *world = *state;

    assert_false(amg_ofi_tcp_end_if_dead_locked(world->self));
    assert_false(amg_ofi_tcp_is_connected_locked(world->self));
    connections_check(world);
}

/* An incoming connection may be of any process of that host. */
static void test_connection_incoming_is_of_any_process(void **state)
{
    struct world *world = *state;
    struct sockaddr_in addr;

    memcpy(&addr, world->peer->addr, sizeof(addr));
    memcpy(world->self->addr, &addr, sizeof(addr));
    addr.sin_port ^= 1;
    memcpy(world->peer->addr, &addr, sizeof(addr));
    assert_false(amg_ofi_tcp_is_connected_locked(world->peer));
}

static void test_connection_without_tcp_is_unknown(void **state)
{
    struct world *world = *state;

    world->domain.facts.is_tcp = false;
    assert_false(amg_ofi_tcp_end_if_dead_locked(world->peer));
    assert_false(amg_ofi_tcp_is_connected_locked(world->peer));
    connections_check(world);
}

/* The driver scans its descriptors twice a second, however many peers are
 * silent. */
static void test_connections_are_scanned_twice_a_second(void **state)
{
    struct world *world = *state;

    scans = 0;
    for (unsigned i = 0; i < 50; i++) {
        assert_true(amg_ofi_tcp_is_connected_locked(world->peer));
        assert_false(amg_ofi_tcp_end_if_dead_locked(world->self));
        world->domain.clock.tick = i % HALF_A_SECOND;
    }
    assert_int_equal(scans, 1);
    world->domain.clock.tick = HALF_A_SECOND;
    assert_true(amg_ofi_tcp_is_connected_locked(world->peer));
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
            test_connections_are_scanned_twice_a_second, world_open,
            world_close),
        cmocka_unit_test_setup_teardown(
            test_connection_without_tcp_is_unknown, world_open, world_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
