/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens of peers: each identifies its peer alone, however many there are, and
 * none can be derived from others. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ofi_backend/ofi_peer.h"

enum { COUNT = 1000 };

static struct amg_ofi_domain domain;
static struct amg_peer *peers[COUNT];

static int start(void **state)
{
    (void)state;
    memset(&domain, 0, sizeof(domain));
    amg_bias_init(&domain.lock);
    amg_bias_lock(&domain.lock);
    for (unsigned i = 0; i < COUNT; i++) {
        peers[i] =
            aligned_alloc(_Alignof(struct amg_peer), sizeof(struct amg_peer));
        assert_non_null(peers[i]);
        memset(peers[i], 0, sizeof(struct amg_peer));
        peers[i]->domain = &domain;
    }
    assert_int_equal(amg_ofi_peers_init(&domain), HG_SUCCESS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    amg_ofi_peers_fini(&domain);
    amg_bias_unlock(&domain.lock);
    for (unsigned i = 0; i < COUNT; i++)
        free(peers[i]);
    return 0;
}

static void test_token_leads_to_its_peer(void **state)
{
    uint64_t token = 0;

    (void)state;
    for (unsigned i = 0; i < COUNT; i++)
        amg_ofi_token_set_locked(peers[i], amg_ofi_token_draw());
    for (unsigned i = 0; i < COUNT; i++) {
        assert_ptr_equal(
            amg_ofi_token_find_locked(&domain, peers[i]->conn.token), peers[i]);
        for (unsigned bit = 0; bit < 64; bit++)
            assert_null(amg_ofi_token_find_locked(
                &domain, peers[i]->conn.token ^ 1ull << bit));
    }
    for (unsigned i = 0; i < COUNT; i++) {
        token = peers[i]->conn.token;
        amg_ofi_token_set_locked(peers[i], 0);
        assert_null(amg_ofi_token_find_locked(&domain, token));
        amg_ofi_token_set_locked(peers[i], token + 1);
        assert_ptr_equal(
            amg_ofi_token_find_locked(&domain, token + 1), peers[i]);
    }
    for (unsigned i = 0; i < COUNT; i++)
        amg_ofi_token_set_locked(peers[i], 0);
    assert_int_equal(domain.peers.indexes[AMG_OFI_BY_TOKEN].count, 0);
}

static int compare(const void *one, const void *other)
{
    uint64_t left = *(const uint64_t *)one;
    uint64_t right = *(const uint64_t *)other;

    return left < right ? -1 : left > right;
}

/* A counter behind any bijection of 64 bits fills neither half evenly by
 * chance; repeated differences would reveal the next token. */
static void test_tokens_are_all_random(void **state)
{
    static uint64_t gaps[COUNT];
    uint64_t before = amg_ofi_token_draw();
    unsigned ones[64] = {0};

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t token = amg_ofi_token_draw();

        gaps[i] = token - before;
        before = token;
        for (unsigned bit = 0; bit < 64; bit++)
            ones[bit] += token >> bit & 1;
    }
    /* 10 times the standard deviation: never happens by chance. */
    for (unsigned bit = 0; bit < 64; bit++)
        assert_in_range(ones[bit], COUNT / 2 - 160, COUNT / 2 + 160);
    qsort(gaps, COUNT, sizeof(gaps[0]), compare);
    for (unsigned i = 1; i < COUNT; i++)
        assert_true(gaps[i] != gaps[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_token_leads_to_its_peer, start, stop),
        cmocka_unit_test_setup_teardown(
            test_tokens_are_all_random, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
