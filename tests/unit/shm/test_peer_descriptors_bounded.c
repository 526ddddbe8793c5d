/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors for peers are bounded: beyond the bound, blocked peers are woken,
 * and deaths are detected, by other means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>

#include "shm/shm_peer.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum { PEERS = 6, BOUND = 2, ROUNDS = 20, SHORT = 16 };

static const struct amg_transport *const shm = &amg_shm_transport;

static unsigned descriptors_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    assert_int_equal(closedir(folder), 0);
    return count;
}

static void peer_sleeps(struct amg_peer *base)
{
    struct amg_shm_peer *peer = amg_shm_peer_of(base);

    while ((atomic_load(&peer->region.contexts[0].sleep) &
               AMG_SHM_SLEEP_MASK) != AMG_SHM_ASLEEP)
        continue;
}

static void test_descriptors_of_peers_are_bounded(void **state)
{
    struct party_child children[PEERS];
    struct amg_peer *peers[PEERS];
    struct party party;
    struct amg_shm_domain *domain = NULL;
    struct party_call call;
    unsigned before = 0;

    (void)state;
    for (unsigned i = 0; i < PEERS; i++)
        party_child_start(&children[i], PARTY_SLEEPER, "");
    party_open(&party, "", 0);
    domain = amg_shm_domain_of(party.domain);
    domain->descriptors_max = BOUND;
    before = descriptors_count();
    for (unsigned i = 0; i < PEERS; i++)
        peers[i] = party_find(&party, children[i].address);
    for (unsigned i = 0; i < ROUNDS * PEERS; i++) {
        peer_sleeps(peers[i % PEERS]);
        party_ask(&party, peers[i % PEERS], &call, i, SHORT);
        assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
        assert_true(party_answer_is(&party, &call, i));
        assert_true(domain->deaths.pidfds <= BOUND);
        assert_true(domain->doorbells.count <= BOUND);
    }
    assert_int_equal(domain->deaths.pidfds, BOUND);
    assert_int_equal(domain->doorbells.count, BOUND);
    assert_true(descriptors_count() <= before + 2 * BOUND);
    /* The last one has no pidfd. */
    assert_true(amg_shm_peer_of(peers[PEERS - 1])->pidfd < 0);
    party_child_kill(&children[PEERS - 1]);
    party_ask(&party, peers[PEERS - 1], &call, 1, SHORT);
    assert_int_equal(party_wait_asleep(&party, &call), HG_HOSTUNREACH);
    for (unsigned i = 0; i < PEERS; i++)
        shm->addr.unref(party.domain, peers[i]);
    for (unsigned i = 0; i < PEERS - 1; i++)
        party_child_end(&children[i]);
    while (amg_shm_peer_next_locked(domain, domain->self) != NULL)
        party_poll(&party);
    assert_int_equal(domain->deaths.pidfds, 0);
    assert_int_equal(domain->doorbells.count, 0);
    assert_true(descriptors_count() <= before + 1); /* and a timer */
    party_close(&party);
}

/* A quarter of what the process may have open, and never more than 256. */
static void test_bound_depends_on_the_soft_limit(void **state)
{
    static const unsigned limits[][2] = {{100, 25}, {1000, 250}, {4000, 256}};
    struct rlimit kept;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit limit = kept;
        struct party party;

        if (limits[i][0] > kept.rlim_max)
            continue;
        limit.rlim_cur = limits[i][0];
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        party_open(&party, "", 0);
        assert_int_equal(
            amg_shm_domain_of(party.domain)->descriptors_max, limits[i][1]);
        party_close(&party);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors_of_peers_are_bounded),
        cmocka_unit_test(test_bound_depends_on_the_soft_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
