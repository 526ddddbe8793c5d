/* SPDX-License-Identifier: BSD-3-Clause */
/* Attached regions: they never overlap, referenced memory lies within one of
 * them, and a region without references is detached; nothing shares one of
 * which no reference is to all; against a model byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mpi_backend/mpi_rma_window.h"

enum { SPACE = 512, HOLDS = 64, ROUNDS = 200000 };

/* A model of the window: base + 1 of the region that each byte is attached by,
 * or 0. */
static uint16_t owners[SPACE];
static unsigned attached;
static bool attach_fails;
static char space[SPACE];

static hg_return_t model_attach(void *arg, void *base, uint64_t len)
{
    size_t from = (size_t)((char *)base - space);

    assert_ptr_equal(arg, space);
    assert_true(len > 0 && from + len <= SPACE);
    if (attach_fails)
        return HG_NA_ERROR;
    for (size_t i = from; i < from + len; i++) {
        assert_int_equal(owners[i], 0); /* regions do not overlap */
        owners[i] = (uint16_t)(from + 1);
    }
    attached++;
    return HG_SUCCESS;
}

static void model_detach(void *arg, void *base)
{
    size_t from = (size_t)((char *)base - space);
    size_t i = from;

    assert_ptr_equal(arg, space);
    assert_int_equal(owners[from], from + 1);
    for (; i < SPACE && owners[i] == from + 1; i++)
        owners[i] = 0;
    attached--;
}

static int setup(void **state)
{
    static struct amg_mpi_regions regions;

    memset(owners, 0, sizeof(owners));
    attached = 0;
    attach_fails = false;
    regions = (struct amg_mpi_regions){
        .ops = {model_attach, model_detach, space}, .max = SPACE};
    *state = &regions;
    return 0;
}

/* Are all bytes in one region? In none: `*ret_is_free`. */
static bool is_in_one(size_t from, size_t len, bool *ret_is_free)
{
    bool is_one = owners[from] != 0;

    *ret_is_free = true;
    for (size_t i = from; i < from + len; i++) {
        is_one = is_one && owners[i] == owners[from];
        *ret_is_free = *ret_is_free && owners[i] == 0;
    }
    return is_one;
}

struct hold {
    size_t from;
    size_t len;
};

/* Is the region of this byte held as a whole? */
static bool is_whole(size_t at, const struct hold *holds, unsigned count)
{
    size_t from = owners[at] - 1u;
    size_t end = from;

    while (end < SPACE && owners[end] == owners[at])
        end++;
    for (unsigned i = 0; i < count; i++)
        if (holds[i].from == from && holds[i].len == end - from)
            return true;
    return false;
}

static void hold_try(
    struct amg_mpi_regions *regions, struct hold *holds, unsigned *count)
{
    struct hold hold = {(size_t)rand() % SPACE, 0};
    unsigned before = attached;
    bool is_free = false;
    bool is_one = false;
    hg_return_t rc = HG_SUCCESS;

    hold.len = 1 + (size_t)rand() % (rand() % 4 == 0 ? SPACE : 16);
    if (hold.len > SPACE - hold.from)
        hold.len = SPACE - hold.from;
    is_one = is_in_one(hold.from, hold.len, &is_free);
    rc = amg_mpi_regions_ref(regions, space + hold.from, hold.len);
    if ((!is_one && !is_free) ||
        (is_one && !is_whole(hold.from, holds, *count))) {
        assert_int_equal(rc, HG_OPNOTSUPPORTED);
        assert_int_equal(attached, before);
        return;
    }
    assert_int_equal(rc, HG_SUCCESS);
    assert_int_equal(attached, before + is_free);
    holds[(*count)++] = hold;
}

static void test_regions_any_order_holds_as_the_model(void **state)
{
    struct amg_mpi_regions *regions = *state;
    struct hold holds[HOLDS];
    unsigned count = 0;
    unsigned seen = 0;

    srand(4711);
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool is_free = false;

        if (count < HOLDS && rand() % 2 == 0) {
            hold_try(regions, holds, &count);
        } else if (count > 0) {
            unsigned i = (unsigned)rand() % count;

            amg_mpi_regions_unref(regions, space + holds[i].from, holds[i].len);
            holds[i] = holds[--count];
        }
        assert_int_equal(regions->count, attached);
        assert_true(attached <= count);
        for (unsigned i = 0; i < count; i++)
            assert_true(is_in_one(holds[i].from, holds[i].len, &is_free));
        seen = attached > seen ? attached : seen;
    }
    assert_true(seen > 8); /* it was not one region all the time */
    while (count > 0) {
        count--;
        amg_mpi_regions_unref(
            regions, space + holds[count].from, holds[count].len);
    }
    assert_int_equal(attached, 0);
    amg_mpi_regions_fini(regions);
}

static void test_regions_fini_detaches_all(void **state)
{
    struct amg_mpi_regions *regions = *state;

    assert_int_equal(amg_mpi_regions_ref(regions, space, 8), HG_SUCCESS);
    assert_int_equal(amg_mpi_regions_ref(regions, space + 8, 8), HG_SUCCESS);
    assert_int_equal(amg_mpi_regions_ref(regions, space + 9, 2), HG_SUCCESS);
    assert_int_equal(attached, 2);
    amg_mpi_regions_fini(regions);
    assert_int_equal(attached, 0);
}

static void test_regions_failure_changes_nothing(void **state)
{
    struct amg_mpi_regions *regions = *state;

    attach_fails = true;
    assert_int_equal(amg_mpi_regions_ref(regions, space, 8), HG_NA_ERROR);
    attach_fails = false;
    amg_mem_fail_nth(1);
    assert_int_equal(amg_mpi_regions_ref(regions, space, 8),
        regions->cap == 0 ? HG_NOMEM : HG_SUCCESS);
    amg_mem_fail_nth(0);
    amg_mpi_regions_fini(regions);
    assert_int_equal(attached, 0);
}

static void test_regions_beyond_their_number_are_refused(void **state)
{
    struct amg_mpi_regions *regions = *state;

    regions->max = 2;
    assert_int_equal(amg_mpi_regions_ref(regions, space, 8), HG_SUCCESS);
    assert_int_equal(amg_mpi_regions_ref(regions, space + 8, 8), HG_SUCCESS);
    assert_int_equal(
        amg_mpi_regions_ref(regions, space + 16, 8), HG_OPNOTSUPPORTED);
    assert_int_equal(amg_mpi_regions_ref(regions, space + 9, 2), HG_SUCCESS);
    assert_int_equal(attached, 2);
    amg_mpi_regions_unref(regions, space, 8);
    assert_int_equal(amg_mpi_regions_ref(regions, space + 16, 8), HG_SUCCESS);
    amg_mpi_regions_fini(regions);
    assert_int_equal(attached, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            test_regions_any_order_holds_as_the_model, setup),
        cmocka_unit_test_setup(test_regions_fini_detaches_all, setup),
        cmocka_unit_test_setup(test_regions_failure_changes_nothing, setup),
        cmocka_unit_test_setup(
            test_regions_beyond_their_number_are_refused, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
