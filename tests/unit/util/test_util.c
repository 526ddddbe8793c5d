/* SPDX-License-Identifier: BSD-3-Clause */
/* The small headers: version, arithmetic, byte order, hash, queues, lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "mercury_byteswap.h"
#include "mercury_hash_string.h"
#include "mercury_inet.h"
#include "mercury_list.h"
#include "mercury_param.h"
#include "mercury_queue.h"
#include "mercury_util.h"

struct job {
    int what;
    HG_QUEUE_ENTRY(job) entry;
    HG_LIST_ENTRY(job) link;
};

static void test_util_version_is_that_of_the_api(void **state)
{
    unsigned int major = 0, minor = 0, patch = 0;

    (void)state;
    assert_int_equal(
        HG_Util_version_get(&major, &minor, &patch), HG_UTIL_SUCCESS);
    assert_int_equal(major, HG_VERSION_MAJOR);
    assert_int_equal(minor, HG_VERSION_MINOR);
    assert_int_equal(patch, HG_VERSION_PATCH);
    assert_int_equal(HG_Util_version_get(NULL, NULL, NULL), HG_UTIL_SUCCESS);
}

static void test_util_param_computes(void **state)
{
    (void)state;
    assert_int_equal(MIN(3, 4), 3);
    assert_int_equal(MAX(3, 4), 4);
    assert_int_equal(howmany(9, 4), 3);
    assert_int_equal(roundup(9, 4), 12);
    assert_true(powerof2(64));
    assert_false(powerof2(65));
}

static void test_util_bytes_turn_around(void **state)
{
    uint64_t value = 0x0102030405060708u;
    uint64_t sent = htonll(value);
    unsigned char bytes[8];

    (void)state;
    assert_int_equal(bswap_16(0x0102), 0x0201);
    assert_int_equal(bswap_32(0x01020304u), 0x04030201u);
    assert_true(bswap_64(value) == 0x0807060504030201u);
    memcpy(bytes, &sent, sizeof(bytes));
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(bytes[i], i + 1);
    assert_true(ntohll(sent) == value);
}

static void test_util_hash_is_djb2(void **state)
{
    (void)state;
    assert_int_equal(hg_hash_string(""), 5381);
    assert_int_equal(hg_hash_string("hello"), 261238937u);
    /* Bytes above 127 count as positive. */
    assert_int_equal(hg_hash_string("\xff"), 5381u * 33u + 255u);
}

static void test_util_queue_is_first_in_first_out(void **state)
{
    HG_QUEUE_HEAD(job) jobs = HG_QUEUE_HEAD_INITIALIZER(jobs);
    struct job job[3] = {{.what = 1}, {.what = 2}, {.what = 3}};
    struct job *at = NULL;
    int sum = 0;

    (void)state;
    assert_true(HG_QUEUE_IS_EMPTY(&jobs));
    for (int i = 0; i < 3; i++)
        HG_QUEUE_PUSH_TAIL(&jobs, &job[i], entry);
    assert_ptr_equal(STAILQ_LAST(&jobs, job, entry), &job[2]);
    HG_QUEUE_FOREACH(at, &jobs, entry)
    sum = 10 * sum + at->what;
    assert_int_equal(sum, 123);
    HG_QUEUE_REMOVE(&jobs, &job[1], job, entry);
    assert_ptr_equal(HG_QUEUE_FIRST(&jobs), &job[0]);
    assert_ptr_equal(HG_QUEUE_NEXT(&job[0], entry), &job[2]);
    HG_QUEUE_POP_HEAD(&jobs, entry);
    HG_QUEUE_POP_HEAD(&jobs, entry);
    assert_true(HG_QUEUE_IS_EMPTY(&jobs));
    assert_null(STAILQ_LAST(&jobs, job, entry));
    HG_QUEUE_INIT(&jobs);
    assert_true(HG_QUEUE_IS_EMPTY(&jobs));
}

HG_LIST_HEAD_DECL(job_list, job);

static void test_util_list_gives_any_back(void **state)
{
    HG_LIST_HEAD_INIT(job_list, jobs);
    struct job job[3] = {{.what = 1}, {.what = 2}, {.what = 3}};
    struct job *at = NULL, *next = NULL;
    int sum = 0;

    (void)state;
    assert_true(HG_LIST_IS_EMPTY(&jobs));
    HG_LIST_INSERT_HEAD(&jobs, &job[1], link);
    HG_LIST_INSERT_AFTER(&job[1], &job[2], link);
    HG_LIST_INSERT_BEFORE(&job[1], &job[0], link);
    HG_LIST_FOREACH(at, &jobs, link)
    sum = 10 * sum + at->what;
    assert_int_equal(sum, 123);
    assert_ptr_equal(HG_LIST_NEXT(HG_LIST_FIRST(&jobs), link), &job[1]);
    LIST_FOREACH_SAFE(at, &jobs, link, next)
    HG_LIST_REMOVE(at, link);
    assert_true(HG_LIST_IS_EMPTY(&jobs));
    HG_LIST_INIT(&jobs);
    assert_true(HG_LIST_IS_EMPTY(&jobs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_util_version_is_that_of_the_api),
        cmocka_unit_test(test_util_param_computes),
        cmocka_unit_test(test_util_bytes_turn_around),
        cmocka_unit_test(test_util_hash_is_djb2),
        cmocka_unit_test(test_util_queue_is_first_in_first_out),
        cmocka_unit_test(test_util_list_gives_any_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
