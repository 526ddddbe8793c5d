/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of other nodes: called by the internode route, and named by the main
 * one, whether this process called them or they called first. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "core/addr.h"
#include "route_driver.h"

enum {
    RANKS = 4,
    PLACES = 8,
    STRANGER = RANKS,
    PEERS,
    RECORD_LEN = 24,
    TEXT_CAP = 16
};

static struct amg_transport main_medium;
static struct amg_transport far_medium;
static struct amg_peer main_peers[PEERS];
static struct amg_peer far_peers[PEERS];
static unsigned char records[RANKS * RECORD_LEN];
static int released;
static int parsed;
static hg_return_t parse_ret;
static hg_class_t *cls;

/* Ranks 0 and 1 are on this node. The texts are not in the order of ranks. */
static const char *const texts[PEERS] = {
    "far://c", "far://a", "far://d", "far://b", "far://cc"};
static uint32_t places[PLACES];

static hg_return_t main_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    return open_as(how, ret_domain, &main_medium);
}

static hg_return_t far_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    assert_true(how->is_joined);
    assert_string_equal(how->protocol, "net");
    return open_as(how, ret_domain, &far_medium);
}

static bool is_same(const struct amg_domain *domain, const struct amg_peer *one,
    const struct amg_peer *other)
{
    (void)domain;
    return one == other;
}

static hg_return_t text_write(const char *text, char *ret_text, size_t *len)
{
    size_t room = *len;

    *len = strlen(text) + 1;
    if (room < *len)
        return HG_OVERFLOW;
    memcpy(ret_text, text, *len);
    return HG_SUCCESS;
}

static hg_return_t far_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    (void)domain;
    return text_write(texts[peer->number], ret_text, len);
}

static hg_return_t main_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    char text[] = "main://?";

    (void)domain;
    text[strlen(text) - 1] = (char)('0' + peer->number);
    return text_write(text, ret_text, len);
}

static hg_return_t far_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer)
{
    (void)domain;
    parsed++;
    if (parse_ret != HG_SUCCESS)
        return parse_ret;
    for (int i = 0; i < PEERS; i++)
        if (strcmp(text, texts[i]) == 0) {
            *ret_peer = peer_ref(&far_peers[i]);
            return HG_SUCCESS;
        }
    return HG_INVALID_ARG;
}

static hg_return_t node_peer(
    struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer)
{
    (void)domain;
    *ret_peer = &main_peers[rank];
    return HG_SUCCESS;
}

static uint32_t node_rank(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    (void)domain;
    return (uint32_t)peer->number;
}

static const struct amg_node_ops node_ops = {
    .peer = node_peer,
    .rank = node_rank,
};

static void table_release(void *memory)
{
    assert_ptr_equal(memory, records);
    released++;
}

static hg_return_t join(hg_class_t *opened)
{
    struct amg_rank_table table = {
        .records = records,
        .places = places,
        .record_len = RECORD_LEN,
        .size = RANKS,
        .memory = records,
        .release = table_release,
    };
    hg_return_t rc =
        amg_class_add_route(opened, AMG_ROUTE_OFI, &far_medium, "net", "");

    if (rc == HG_SUCCESS)
        rc = amg_route_map_create(opened);
    if (rc == HG_SUCCESS)
        amg_route_map_add_table(opened->route_map, AMG_ROUTE_OFI, &table);
    opened->ranks = &node_ops;
    return rc;
}

static void records_fill(void)
{
    const struct amg_rank_table table = {
        .records = records, .record_len = RECORD_LEN, .size = RANKS};

    assert_int_equal(amg_rank_table_places(RANKS), PLACES);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct amg_rank_record head = {.rank = i, .node = i / 2 * 2};

        memcpy(records + i * RECORD_LEN, &head, sizeof(head));
        strcpy((char *)records + i * RECORD_LEN + sizeof(head), texts[i]);
    }
    memset(places, 0, sizeof(places));
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(amg_rank_table_enter(&table, places, i), UINT32_MAX);
}

static int class_setup(void **state)
{
    struct amg_class_plan plan = {
        .transports[AMG_ROUTE_SELF] = &amg_self_transport,
        .transports[AMG_ROUTE_MPI] = &main_medium,
        .main_route = AMG_ROUTE_MPI,
        .join = join,
        .how = {.info = "", .is_listening = true, .max_contexts = 1},
    };

    (void)state;
    for (int i = 0; i < PEERS; i++)
        main_peers[i].number = far_peers[i].number = i;
    records_fill();
    main_medium = far_medium = amg_self_transport;
    main_medium.domain.open = main_open;
    far_medium.domain.open = far_open;
    main_medium.addr.ref = far_medium.addr.ref = peer_ref;
    main_medium.addr.unref = far_medium.addr.unref = peer_unref;
    main_medium.addr.is_self = far_medium.addr.is_self = is_never;
    main_medium.addr.is_same = far_medium.addr.is_same = is_same;
    main_medium.addr.format = main_format;
    far_medium.addr.format = far_format;
    far_medium.addr.parse = far_parse;
    main_medium.schemes = main_medium.name = "main";
    far_medium.schemes = far_medium.name = "far";
    parsed = released = 0;
    parse_ret = HG_SUCCESS;
    return amg_class_open(&plan, &cls) != HG_SUCCESS;
}

/* No reference is left, and the table was released once. */
static int class_teardown(void **state)
{
    (void)state;
    amg_class_close(cls);
    for (int i = 0; i < PEERS; i++)
        if (main_peers[i].shares != 0 || far_peers[i].shares != 0)
            return 1;
    return released != 1;
}

static void test_route_rank_is_called_by_far_route(void **state)
{
    struct hg_addr addr;

    (void)state;
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_MPI, &main_peers[3], &addr), HG_SUCCESS);
    assert_int_equal(addr.route, AMG_ROUTE_OFI);
    assert_ptr_equal(addr.peer, &far_peers[3]);
    amg_addr_fini(&addr);
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_MPI, &main_peers[3], &addr), HG_SUCCESS);
    assert_ptr_equal(addr.peer, &far_peers[3]);
    amg_addr_fini(&addr);
    assert_int_equal(far_peers[3].shares, 1); /* the class keeps it */
}

static void test_route_rank_of_this_node_is_called_by_main_route(void **state)
{
    struct hg_addr addr;

    (void)state;
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_MPI, &main_peers[1], &addr), HG_SUCCESS);
    assert_int_equal(addr.route, AMG_ROUTE_MPI);
    amg_addr_fini(&addr);
    assert_int_equal(parsed, 0);
    /* A request from it is still attributed to it, and the peer is not kept. */
    assert_int_equal(amg_route_map_rank(cls, AMG_ROUTE_OFI, &far_peers[1]), 1);
    assert_int_equal(far_peers[1].shares, 0);
}

static void test_route_origin_is_found_by_its_text(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(
            amg_route_map_rank(cls, AMG_ROUTE_OFI, &far_peers[i]), i);
    assert_int_equal(
        amg_route_map_rank(cls, AMG_ROUTE_OFI, &far_peers[STRANGER]),
        UINT32_MAX);
    assert_int_equal(far_peers[STRANGER].shares, 0);
}

/* So a log line of its driver can name the rank. */
static void test_route_peer_has_its_rank(void **state)
{
    const struct amg_domain *domain = cls->domains[AMG_ROUTE_OFI];

    (void)state;
    for (int again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < RANKS; i++)
            assert_int_equal(domain->rank_of(domain->ranks, &far_peers[i]), i);
        assert_int_equal(
            domain->rank_of(domain->ranks, &far_peers[STRANGER]), UINT32_MAX);
        assert_int_equal(amg_route_map_rank(cls, AMG_ROUTE_OFI, &far_peers[2]),
            2); /* is kept */
    }
}

static void test_route_origin_and_rank_are_the_same(void **state)
{
    struct hg_addr heard;
    struct hg_addr called;
    struct hg_addr stranger;
    char text[TEXT_CAP];
    size_t len = sizeof(text);

    (void)state;
    amg_addr_init_from(cls, AMG_ROUTE_OFI, &far_peers[2], &heard);
    amg_addr_init_from(cls, AMG_ROUTE_OFI, &far_peers[STRANGER], &stranger);
    assert_int_equal(amg_addr_format(&heard, text, &len), HG_SUCCESS);
    assert_string_equal(text, "main://2");
    len = sizeof(text);
    assert_int_equal(amg_addr_format(&stranger, text, &len), HG_SUCCESS);
    assert_string_equal(text, texts[STRANGER]);
    assert_int_equal(
        amg_addr_init(cls, AMG_ROUTE_MPI, &main_peers[2], &called), HG_SUCCESS);
    assert_true(amg_addr_is_same(&heard, &called));
    assert_false(amg_addr_is_same(&stranger, &called));
    amg_addr_fini(&called);
    amg_addr_init_from(cls, AMG_ROUTE_MPI, &main_peers[2], &called);
    assert_true(amg_addr_is_same(&heard, &called));
    assert_true(amg_addr_is_same(&called, &heard));
    assert_false(amg_addr_is_same(&stranger, &called));
    amg_addr_fini(&called);
    amg_addr_fini(&stranger);
    amg_addr_fini(&heard);
}

static void test_route_rank_not_reached_is_an_error(void **state)
{
    struct hg_addr addr = {.peer = NULL};

    (void)state;
    parse_ret = HG_ADDRNOTAVAIL;
    assert_int_equal(amg_addr_init(cls, AMG_ROUTE_MPI, &main_peers[2], &addr),
        HG_ADDRNOTAVAIL);
    parse_ret = HG_SUCCESS;
    assert_null(addr.peer);
    /* A peer that called is known, also if it cannot be kept. */
    amg_mem_fail_nth(1);
    assert_int_equal(amg_route_map_rank(cls, AMG_ROUTE_OFI, &far_peers[2]), 2);
    amg_mem_fail_nth(0);
    assert_int_equal(main_peers[2].shares, 0);
    assert_int_equal(far_peers[2].shares, 0);
}

#define FRESH(test)                                                            \
    cmocka_unit_test_setup_teardown(test, class_setup, class_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(test_route_rank_is_called_by_far_route),
        FRESH(test_route_rank_of_this_node_is_called_by_main_route),
        FRESH(test_route_origin_is_found_by_its_text),
        FRESH(test_route_peer_has_its_rank),
        FRESH(test_route_origin_and_rank_are_the_same),
        FRESH(test_route_rank_not_reached_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
