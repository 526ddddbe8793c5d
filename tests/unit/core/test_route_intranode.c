/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers on two routes: called by the intranode one, and named by the main one.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/addr.h"
#include "route_driver.h"
#include "base/mem.h"

enum { STRANGER = 2, PEERS = 5000 };

/* Two fake transports with peers of their own, beside the loopback. */
static struct amg_transport far;
static struct amg_transport near;
static struct amg_peer far_peers[PEERS];
static struct amg_peer near_peers[PEERS];
static hg_class_t *cls;
static atomic_uint asked; /* near peers that core asked for */

static hg_return_t far_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    return open_as(how, ret_domain, &far);
}

static hg_return_t near_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    return open_as(how, ret_domain, &near);
}

static hg_return_t text_write(const char *scheme, const struct amg_peer *peer,
    char *ret_text, size_t *len)
{
    size_t room = *len;

    *len = strlen(scheme) + 2;
    if (ret_text == NULL || room < *len)
        return HG_OVERFLOW;
    strcpy(ret_text, scheme);
    ret_text[*len - 2] = (char)('0' + peer->number);
    ret_text[*len - 1] = '\0';
    return HG_SUCCESS;
}

static hg_return_t far_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    (void)domain;
    return text_write("far://", peer, ret_text, len);
}

static hg_return_t near_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    (void)domain;
    return text_write("near://", peer, ret_text, len);
}

static hg_return_t far_peer(
    struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer)
{
    (void)domain;
    *ret_peer = &far_peers[rank];
    return HG_SUCCESS;
}

static uint32_t far_rank(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    (void)domain;
    return (uint32_t)peer->number;
}

static const struct amg_node_ops node_ops = {
    .peer = far_peer,
    .rank = far_rank,
};

/* All peers have both routes, but the strangers have one each. */
static hg_return_t near_peer(
    struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer)
{
    (void)domain;
    if (rank == STRANGER)
        return HG_NOENTRY;
    asked++;
    *ret_peer = peer_ref(&near_peers[rank]);
    return HG_SUCCESS;
}

static uint32_t near_rank(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    (void)domain;
    return peer->number != STRANGER ? (uint32_t)peer->number : UINT32_MAX;
}

static const struct amg_route_near node_near = {
    .peer = near_peer,
    .rank = near_rank,
};

static hg_return_t join(hg_class_t *opened)
{
    hg_return_t rc =
        amg_class_add_route(opened, AMG_ROUTE_SHM, &near, NULL, "");

    if (rc == HG_SUCCESS)
        rc = amg_route_map_create(opened);
    if (rc == HG_SUCCESS)
        amg_route_map_add_node(opened->route_map, AMG_ROUTE_SHM, &node_near);
    opened->ranks = &node_ops;
    return rc;
}

static hg_return_t class_open(hg_class_t **ret_class)
{
    struct amg_class_plan plan = {
        .transports[AMG_ROUTE_SELF] = &amg_self_transport,
        .transports[AMG_ROUTE_OFI] = &far,
        .main_route = AMG_ROUTE_OFI,
        .join = join,
        .how = {.info = "", .is_listening = true, .max_contexts = 1},
    };

    far = near = amg_self_transport;
    far.domain.open = far_open;
    near.domain.open = near_open;
    far.addr.ref = near.addr.ref = peer_ref;
    far.addr.unref = near.addr.unref = peer_unref;
    far.addr.is_self = near.addr.is_self = is_never;
    far.addr.format = far_format;
    near.addr.format = near_format;
    far.schemes = far.name = "far";
    near.schemes = near.name = "near";
    return amg_class_open(&plan, ret_class);
}

static int class_setup(void **state)
{
    (void)state;
    for (int i = 0; i < PEERS; i++)
        far_peers[i].number = near_peers[i].number = i;
    return class_open(&cls) != HG_SUCCESS;
}

static int class_teardown(void **state)
{
    (void)state;
    amg_class_close(cls);
    for (int i = 0; i < PEERS; i++)
        if (far_peers[i].shares != 0 || near_peers[i].shares != 0)
            return 1;
    return 0;
}

static void test_route_is_called_by_near_route(void **state)
{
    struct hg_addr addr;

    (void)state;
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_OFI, &far_peers[1], &addr), HG_SUCCESS);
    assert_int_equal(addr.route, AMG_ROUTE_SHM);
    assert_ptr_equal(addr.peer, &near_peers[1]);
    amg_addr_fini(&addr);
    /* The class keeps the peer, once. */
    assert_int_equal(asked, 1);
    assert_int_equal(near_peers[1].shares, 1);
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_OFI, &far_peers[1], &addr), HG_SUCCESS);
    assert_ptr_equal(addr.peer, &near_peers[1]);
    amg_addr_fini(&addr);
    assert_int_equal(near_peers[1].shares, 1);
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_OFI, &far_peers[2], &addr), HG_SUCCESS);
    assert_int_equal(addr.route, AMG_ROUTE_OFI);
    assert_ptr_equal(addr.peer, &far_peers[2]);
    amg_addr_fini(&addr);
}

static void assert_text(struct hg_addr *addr, const char *text)
{
    char room[32];

    assert_string_equal(amg_addr_text(addr, room, sizeof(room)), text);
}

static void test_route_is_named_by_main_route(void **state)
{
    struct hg_addr addr;

    (void)state;
    amg_addr_init_from(cls, AMG_ROUTE_SHM, &near_peers[1], &addr);
    assert_text(&addr, "far://1");
    assert_int_equal(amg_addr_rank(&addr), 1);
    amg_addr_fini(&addr);
    /* An unknown process that called by this route. */
    amg_addr_init_from(cls, AMG_ROUTE_SHM, &near_peers[2], &addr);
    assert_text(&addr, "near://2");
    assert_int_equal(amg_addr_rank(&addr), -1);
    amg_addr_fini(&addr);
}

static void test_route_is_the_same_by_both_routes(void **state)
{
    struct hg_addr far_addr;
    struct hg_addr near_addr;
    struct hg_addr other;

    (void)state;
    amg_addr_init_from(cls, AMG_ROUTE_OFI, &far_peers[0], &far_addr);
    amg_addr_init_from(cls, AMG_ROUTE_SHM, &near_peers[0], &near_addr);
    amg_addr_init_from(cls, AMG_ROUTE_SHM, &near_peers[1], &other);
    assert_true(amg_addr_is_same(&far_addr, &near_addr));
    assert_true(amg_addr_is_same(&near_addr, &far_addr));
    assert_false(amg_addr_is_same(&far_addr, &other));
    assert_false(amg_addr_is_same(&other, &far_addr));
    amg_addr_fini(&other);
    amg_addr_fini(&near_addr);
    amg_addr_fini(&far_addr);
}

/* Neither its opening nor a class without calls looks at a peer. */
static void test_route_opens_without_peers(void **state)
{
    (void)state;
    assert_int_equal(asked, 0);
    for (int i = 0; i < PEERS; i++)
        assert_int_equal(far_peers[i].shares + near_peers[i].shares, 0);
}

/* Each allocation fails once, and no memory is lost. */
static void test_route_without_memory_leaves_nothing(void **state)
{
    int far_shares = far_peers[0].shares;
    int near_shares = near_peers[0].shares;
    hg_return_t rc = HG_NOMEM;

    (void)state;
    for (uint64_t n = 1; rc == HG_NOMEM; n++) {
        hg_class_t *other = NULL;
        struct hg_addr addr;

        amg_mem_fail_nth(n);
        rc = class_open(&other);
        if (rc == HG_SUCCESS)
            rc = amg_addr_init(other, AMG_ROUTE_OFI, &far_peers[0], &addr);
        amg_mem_fail_nth(0);
        if (rc == HG_SUCCESS)
            amg_addr_fini(&addr);
        if (other != NULL)
            amg_class_close(other);
    }
    assert_int_equal(rc, HG_SUCCESS);
    assert_int_equal(far_peers[0].shares, far_shares);
    assert_int_equal(near_peers[0].shares, near_shares);
}

static bool leads_to(unsigned rank)
{
    struct amg_peer *peer = NULL;
    unsigned route = 0;

    if (amg_route_map_find(cls, &far_peers[rank], &route, &peer) !=
            HG_SUCCESS ||
        route != AMG_ROUTE_SHM || peer != &near_peers[rank])
        return false;
    peer_unref(NULL, peer);
    return amg_route_map_rank(cls, route, peer) == rank;
}

static void test_route_kept_peer_costs_no_memory(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    assert_true(leads_to(0));
    amg_mem_stats_get(&before);
    assert_true(leads_to(0));
    amg_mem_stats_get(&after);
    assert_int_equal(after.calls, before.calls);
}

/* Looks for a peer that is in the map, while others are added. */
static void *seek(void *arg)
{
    const atomic_bool *ends = arg;

    while (!atomic_load_explicit(ends, memory_order_relaxed))
        if (!leads_to(0))
            return arg;
    return NULL;
}

static void test_route_map_grows_while_others_search(void **state)
{
    atomic_bool ends = false;
    pthread_t seeker;
    void *result = NULL;

    (void)state;
    assert_true(leads_to(0));
    assert_int_equal(pthread_create(&seeker, NULL, seek, &ends), 0);
    for (unsigned i = STRANGER + 1; i < PEERS; i++)
        assert_true(leads_to(i));
    atomic_store_explicit(&ends, true, memory_order_relaxed);
    assert_int_equal(pthread_join(seeker, &result), 0);
    assert_null(result);
    for (unsigned i = STRANGER + 1; i < PEERS; i++) {
        assert_true(leads_to(i));
        assert_int_equal(near_peers[i].shares, 1);
    }
}

/* A peer that the map cannot keep is found as long as it has a reference. */
static void test_route_without_memory_finds_a_peer(void **state)
{
    hg_class_t *other = NULL;
    struct hg_addr addr;

    (void)state;
    assert_int_equal(class_open(&other), HG_SUCCESS);
    for (uint64_t n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_int_equal(
            amg_addr_init(other, AMG_ROUTE_OFI, &far_peers[3], &addr),
            HG_SUCCESS);
        amg_mem_fail_nth(0);
        assert_ptr_equal(addr.peer, &near_peers[3]);
        amg_addr_fini(&addr);
        assert_int_equal(near_peers[3].shares, 1); /* of the first class */
    }
    amg_class_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_opens_without_peers),
        cmocka_unit_test(test_route_is_called_by_near_route),
        cmocka_unit_test(test_route_is_named_by_main_route),
        cmocka_unit_test(test_route_is_the_same_by_both_routes),
        cmocka_unit_test(test_route_without_memory_leaves_nothing),
        cmocka_unit_test(test_route_kept_peer_costs_no_memory),
        cmocka_unit_test(test_route_map_grows_while_others_search),
        cmocka_unit_test(test_route_without_memory_finds_a_peer),
    };

    return cmocka_run_group_tests(tests, class_setup, class_teardown);
}
