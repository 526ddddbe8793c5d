/* SPDX-License-Identifier: BSD-3-Clause */
/* First contact of the ranks of a node: no rank is mapped before, and a call to
 * a rank that cannot be mapped, or that cannot map its caller, ends with an
 * error that names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "shm/shm_inbox.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum { NODE = 4, SHORT = 16, FIRST_RANK = 10, LINE_CAP = 1024 };

static const struct amg_transport *const shm = &amg_shm_transport;

static bool has_no_room; /* for mappings of files */

/* Replaces the function of the C library. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t from)
{
    if (has_no_room && fd >= 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, from);
}

/* The classes of a node, of this process; rank i is FIRST_RANK + i. */
static struct party node[NODE];
static FILE *logged;

static struct amg_shm_domain *domain_of(unsigned i)
{
    return amg_shm_domain_of(node[i].domain);
}

/* Adds the ranks of the node, and one of another process, to a class. */
static void join(struct party *party, const struct amg_shm_id *last)
{
    struct amg_shm_rank *ranks = amg_mem_alloc((NODE + 1) * sizeof(*ranks));

    assert_non_null(ranks);
    for (unsigned i = 0; i < NODE; i++) {
        ranks[i].rank = FIRST_RANK + i;
        amg_shm_node_id(node[i].domain, &ranks[i].id);
    }
    ranks[NODE] = (struct amg_shm_rank){FIRST_RANK + NODE, *last};
    amg_shm_node_join(party->domain, ranks, NODE + 1);
}

static void node_open(const struct amg_shm_id *last)
{
    static const struct amg_shm_id none;

    has_no_room = false;
    logged = tmpfile();
    assert_non_null(logged);
    hg_log_set_stream_warning(logged);
    hg_log_set_stream_error(logged);
    for (unsigned i = 0; i < NODE; i++)
        party_open(&node[i], "", 0);
    for (unsigned i = 0; i < NODE; i++)
        join(&node[i], last == NULL ? &none : last);
}

static int setup(void **state)
{
    (void)state;
    node_open(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    has_no_room = false;
    for (unsigned i = 0; i < NODE; i++)
        party_close(&node[i]);
    hg_log_set_stream_warning(NULL);
    hg_log_set_stream_error(NULL);
    return fclose(logged);
}

/* Number of log lines with both texts. */
static unsigned lines_count(const char *words, const char *more)
{
    char line[LINE_CAP];
    unsigned count = 0;

    rewind(logged);
    while (fgets(line, sizeof(line), logged) != NULL)
        count += strstr(line, words) != NULL && strstr(line, more) != NULL;
    return count;
}

static unsigned mapped_count(unsigned i)
{
    const struct amg_shm_domain *domain = domain_of(i);
    const struct amg_shm_peer *peer = NULL;
    unsigned count = 0;

    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        count += peer != domain->self && peer->region.head != NULL;
    return count;
}

static struct amg_peer *peer_of(unsigned i, unsigned other)
{
    struct amg_peer *peer = NULL;

    assert_int_equal(
        amg_shm_node_peer(node[i].domain, FIRST_RANK + other, &peer),
        HG_SUCCESS);
    assert_int_equal(
        amg_shm_node_rank(node[i].domain, peer), FIRST_RANK + other);
    return peer;
}

/* Polls all until the call has ended. */
static hg_return_t end_of(struct party_call *call)
{
    for (unsigned i = 0; call->done == 0; i++)
        party_poll(&node[i % NODE]);
    return call->op.ret;
}

static void test_ranks_are_mapped_at_their_first_call(void **state)
{
    struct amg_peer *peers[NODE] = {NULL};
    struct party_call call;

    (void)state;
    for (unsigned i = 1; i < NODE; i++)
        peers[i] = peer_of(0, i);
    for (unsigned i = 0; i < NODE; i++)
        assert_int_equal(mapped_count(i), 0);
    for (unsigned i = 1; i < NODE; i++) {
        for (unsigned again = 0; again < 2; again++) {
            party_ask(&node[0], peers[i], &call, i, SHORT);
            assert_int_equal(end_of(&call), HG_SUCCESS);
            assert_true(party_answer_is(&node[0], &call, i));
            assert_int_equal(mapped_count(0), i);
            assert_int_equal(mapped_count(i), 1);
        }
    }
    for (unsigned i = 1; i < NODE; i++)
        shm->addr.unref(node[0].domain, peers[i]);
}

static void test_only_other_ranks_of_the_node_have_peers(void **state)
{
    struct amg_peer *peer = NULL;

    (void)state;
    assert_int_equal(
        amg_shm_node_peer(node[1].domain, FIRST_RANK + 1, &peer), HG_NOENTRY);
    assert_int_equal(
        amg_shm_node_peer(node[1].domain, FIRST_RANK - 1, &peer), HG_NOENTRY);
    assert_int_equal(
        amg_shm_node_peer(node[1].domain, FIRST_RANK + 99, &peer), HG_NOENTRY);
    assert_null(peer);
}

/* Whichever of two ranks looks the other up first, they have one peer. */
static void test_rank_that_calls_is_the_one_that_was_looked_for(void **state)
{
    struct amg_peer *there = peer_of(0, 1);
    struct amg_peer *here = peer_of(1, 0);
    struct party_call call;

    (void)state;
    party_ask(&node[0], there, &call, 1, SHORT);
    assert_int_equal(end_of(&call), HG_SUCCESS);
    assert_true(party_answer_is(&node[0], &call, 1));
    assert_int_equal(mapped_count(1), 1);
    assert_ptr_equal(peer_of(1, 0), here);
    shm->addr.unref(node[1].domain, here);
    party_ask(&node[1], here, &call, 2, SHORT);
    assert_int_equal(end_of(&call), HG_SUCCESS);
    assert_true(party_answer_is(&node[1], &call, 2));
    assert_int_equal(mapped_count(0), 1);
    shm->addr.unref(node[1].domain, here);
    shm->addr.unref(node[0].domain, there);
}

static void call_fails(struct amg_peer *peer, hg_return_t ret)
{
    struct party_call call = {.done = 0};
    struct amg_buf *buf = NULL;

    assert_int_equal(shm->msg.get_buf(node[0].ep, peer, &buf), HG_SUCCESS);
    if (ret == HG_NOMEM) {
        assert_int_equal(
            shm->msg.send_request(node[0].ep, (struct amg_target){peer, 0}, buf,
                SHORT, true, &call.op),
            HG_NOMEM);
        shm->msg.put_buf(node[0].ep, buf);
        return;
    }
    shm->msg.put_buf(node[0].ep, buf);
    party_ask(&node[0], peer, &call, 1, SHORT);
    assert_int_equal(end_of(&call), ret);
}

static void call_succeeds(struct amg_peer *peer)
{
    struct party_call call;

    party_ask(&node[0], peer, &call, 77, SHORT);
    assert_int_equal(end_of(&call), HG_SUCCESS);
    assert_true(party_answer_is(&node[0], &call, 77));
}

/* Without room for the mapping the call fails, and a later one succeeds. */
static void test_call_without_room_for_the_mapping_fails(void **state)
{
    struct amg_peer *peer = peer_of(0, 2);

    (void)state;
    has_no_room = true;
    call_fails(peer, HG_NOMEM);
    call_fails(peer, HG_NOMEM);
    has_no_room = false;
    assert_int_equal(mapped_count(0), 0);
    assert_int_equal(lines_count("rank 12 of this node", "ulimit -v"), 1);
    call_succeeds(peer);
    shm->addr.unref(node[0].domain, peer);
}

static void test_call_without_a_descriptor_fails(void **state)
{
    struct amg_peer *peer = peer_of(0, 3);
    struct rlimit kept;
    struct rlimit none;
    int spare = -1;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    none = kept;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    spare = amg_spare_open("/", 0); /* not even the spare one */
    call_fails(peer, HG_NA_ERROR);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    if (spare >= 0)
        amg_spare_close(spare);
    assert_int_equal(mapped_count(0), 0);
    assert_int_equal(lines_count("rank 13 of this node", "ulimit -n"), 1);
    call_succeeds(peer);
    shm->addr.unref(node[0].domain, peer);
}

/* The other rank cannot map its caller: it refuses, and its own later calls to
 * that rank fail, as it could not see the replies. */
static void test_call_that_the_other_cannot_map_fails(void **state)
{
    struct amg_peer *peer = peer_of(0, 1);
    struct amg_peer *back = NULL;
    struct party_call call;

    (void)state;
    party_ask(&node[0], peer, &call, 1, SHORT);
    has_no_room = true;
    party_poll(&node[1]);
    assert_true(domain_of(1)->unmapped_since_ns != 0);
    domain_of(1)->unmapped_since_ns = 1; /* the first try was long ago */
    party_poll(&node[1]);
    has_no_room = false;
    assert_int_equal(end_of(&call), HG_HOSTUNREACH);
    assert_int_equal(node[1].served, 0);
    assert_int_equal(lines_count("and is refused", "ulimit -v"), 1);
    back = peer_of(1, 0);
    party_ask(&node[1], back, &call, 2, SHORT);
    assert_int_equal(end_of(&call), HG_HOSTUNREACH);
    assert_int_equal(node[0].served, 0);
    assert_int_equal(lines_count("it refused this process before", ""), 1);
    shm->addr.unref(node[1].domain, back);
    shm->addr.unref(node[0].domain, peer);
}

/* The other rank cannot map its caller, and calls back before the caller sees
 * the refusal. */
static void test_calls_back_and_forth_across_a_refusal_end(void **state)
{
    struct amg_peer *peer = peer_of(0, 1);
    struct amg_peer *back = peer_of(1, 0);
    struct party_call call;
    struct party_call again;

    (void)state;
    party_ask(&node[0], peer, &call, 1, SHORT);
    has_no_room = true;
    party_poll(&node[1]);
    domain_of(1)->unmapped_since_ns = 1; /* the first try was long ago */
    party_poll(&node[1]);
    has_no_room = false;
    party_ask(&node[1], back, &again, 2, SHORT);
    assert_int_equal(end_of(&call), HG_HOSTUNREACH);
    assert_int_equal(end_of(&again), HG_HOSTUNREACH);
    for (unsigned i = 0; i < NODE; i++)
        party_poll(&node[i]);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            amg_shm_claim_state(atomic_load(&domain_of(i)->region.claims[0])),
            AMG_SHM_CLAIM_FREE);
    shm->addr.unref(node[1].domain, back);
    shm->addr.unref(node[0].domain, peer);
}

static void test_transfer_without_room_for_the_mapping_fails(void **state)
{
    struct amg_peer *peer = peer_of(0, 2);
    uint64_t word = 0;
    const struct amg_segment segment = {&word, sizeof(word)};
    const struct amg_seg_iter local = {&segment, 1, 0, 0};
    struct amg_remote remote = {.at = local};
    struct amg_mem *mem = NULL;
    struct party_call call;
    struct amg_events events;

    (void)state;
    memset(&call, 0, sizeof(call));
    assert_int_equal(
        shm->bulk.reg(node[2].domain, &segment, 1, AMG_MEM_READ, &mem),
        HG_SUCCESS);
    shm->bulk.key(mem, &remote.key);
    has_no_room = true;
    assert_int_equal(shm->bulk.get(node[0].ep, (struct amg_target){peer, 0},
                         &local, &remote, 8, &call.op),
        HG_SUCCESS);
    has_no_room = false;
    amg_events_init(&events);
    assert_int_equal(shm->ep.poll(node[0].ep, 1, &events), 1);
    assert_int_equal(call.op.ret, HG_NOMEM);
    assert_int_equal(mapped_count(0), 0);
    assert_int_equal(shm->bulk.unreg(node[2].domain, mem, 0), HG_SUCCESS);
    shm->addr.unref(node[0].domain, peer);
}

/* A rank closed before the first contact, and another file got the descriptor
 * by which its segment was found. */
static void test_call_to_a_rank_whose_descriptor_is_another_file_fails(
    void **state)
{
    struct amg_peer *peer = peer_of(0, 3);
    int number = domain_of(3)->region.fd;
    FILE *other = tmpfile();

    (void)state;
    assert_non_null(other);
    party_close(&node[3]);
    assert_int_equal(dup2(fileno(other), number), number);
    call_fails(peer, HG_HOSTUNREACH);
    call_fails(peer, HG_HOSTUNREACH);
    assert_int_equal(lines_count("", ""), 0);
    shm->addr.unref(node[0].domain, peer);
    assert_int_equal(close(number), 0);
    assert_int_equal(fclose(other), 0);
    party_open(&node[3], "", 0);
}

/* A rank that closed or died before the first contact. */
static void test_call_to_a_rank_that_has_gone_fails(void **state)
{
    struct party_child child;
    struct amg_shm_id id = {.incarnation = 0};
    struct amg_shm_region region;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_DEAF, "");
    memcpy(id.name, child.address + strlen("na+sm://"), sizeof(id.name));
    assert_int_equal(amg_shm_region_map(id.name, &region), HG_SUCCESS);
    id.incarnation = region.incarnation;
    amg_shm_region_fini(&region);
    node_open(&id);
    peer = peer_of(0, NODE);
    party_child_kill(&child);
    call_fails(peer, HG_HOSTUNREACH);
    call_fails(peer, HG_HOSTUNREACH);
    assert_int_equal(mapped_count(0), 0);
    shm->addr.unref(node[0].domain, peer);
    (void)teardown(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_ranks_are_mapped_at_their_first_call),
        TEST(test_only_other_ranks_of_the_node_have_peers),
        TEST(test_rank_that_calls_is_the_one_that_was_looked_for),
        TEST(test_call_without_room_for_the_mapping_fails),
        TEST(test_call_without_a_descriptor_fails),
        TEST(test_call_that_the_other_cannot_map_fails),
        TEST(test_calls_back_and_forth_across_a_refusal_end),
        TEST(test_transfer_without_room_for_the_mapping_fails),
        TEST(test_call_to_a_rank_whose_descriptor_is_another_file_fails),
        cmocka_unit_test(test_call_to_a_rank_that_has_gone_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
