/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of exposed memory: permitted and refused accesses; no access is in
 * flight after memory was removed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fallocate */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_keys.h"
#include "transport/self.h"

enum { LEN = 1000, LONG_MS = 10000 };
enum { DEAD_PID = 666, UNTOLD_PID = 777, LEAVING_PID = 888 };
enum { VISITORS = 127 }; /* of a large node */

static const struct amg_shm_accessor_id me = {
    .id = 77, .start_time = 5, .pid = 4};

static enum amg_life most_live(uint32_t pid, uint64_t start_time)
{
    (void)start_time;
    return pid == DEAD_PID     ? AMG_LIFE_DEAD
           : pid == UNTOLD_PID ? AMG_LIFE_UNKNOWN
                               : AMG_LIFE_ALIVE;
}

struct fixture {
    struct amg_shm_exposer keys;
    struct amg_shm_key_table *table;
    struct amg_shm_accessor *accessor;
    uint64_t live;
    char bytes[2 * LEN];
};

static bool is_full; /* /dev/shm */

/* Replaces the function of the C library. */
int posix_fallocate(int fd, off_t at, off_t len)
{
    if (is_full)
        return ENOSPC;
    return fallocate(fd, 0, at, len) == 0 ? 0 : errno;
}

static uint64_t live_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->live = live_now();
    f->table = calloc(1, sizeof(*f->table));
    amg_shm_exposer_init(&f->keys, f->table, 0x1234567890ull, most_live);
    f->accessor = amg_shm_access_claim(f->table, NULL, &me, most_live);
    *state = f;
    return f->accessor == NULL;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    bool leaks = false;

    amg_shm_access_release(f->accessor);
    amg_shm_exposer_fini(&f->keys);
    leaks = live_now() != f->live;
    free(f->table);
    free(f);
    return leaks;
}

static struct amg_mem *expose(struct fixture *f,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_shm_key *ret_key)
{
    struct amg_mem *mem = NULL;
    struct amg_key key;

    assert_int_equal(amg_shm_exposer_add(&f->keys, &amg_self_transport,
                         segments, count, flags, &mem),
        HG_SUCCESS);
    assert_ptr_equal(mem->transport, &amg_self_transport);
    amg_shm_key_write(mem, &key);
    assert_int_equal(amg_shm_key_read(&key, ret_key), HG_SUCCESS);
    return mem;
}

/* Checks of an access by a peer and by the exposer itself; they must agree,
 * except on facts that only the exposer knows. */
static hg_return_t try_both(
    struct fixture *f, const struct amg_shm_access *access, void **ret_at)
{
    struct amg_shm_mem *mem = NULL;
    unsigned visit = 0;
    struct amg_shm_view view;
    struct amg_seg_iter own = {NULL, 0, 0, 0};
    hg_return_t rc =
        amg_shm_access_enter(f->table, f->accessor, access, &visit, &view);
    hg_return_t own_rc = amg_shm_exposer_enter(&f->keys, access, &mem, &own);

    if (rc == HG_SUCCESS)
        amg_shm_access_leave(f->accessor, visit);
    if (own_rc == HG_SUCCESS)
        amg_shm_exposer_leave(&f->keys, mem);
    if (rc != HG_OPNOTSUPPORTED)
        assert_int_equal(rc, own_rc);
    if (rc == HG_SUCCESS)
        assert_ptr_equal((void *)(uintptr_t)view.at, amg_seg_iter_at(&own));
    if (ret_at != NULL && own_rc == HG_SUCCESS)
        *ret_at = amg_seg_iter_at(&own);
    return rc;
}

static void hide(struct fixture *f, struct amg_mem *mem)
{
    assert_int_equal(
        amg_shm_exposer_remove(&f->keys, mem, LONG_MS), HG_SUCCESS);
}

static void test_keys_access_inside_is_allowed(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment parts[] = {
        {f->bytes, LEN}, {NULL, 0}, {f->bytes + LEN, LEN}};
    struct amg_shm_access access = {
        .segment = 2, .direction = AMG_MEM_READ, .offset = 1, .len = LEN - 1};
    struct amg_mem *mem = expose(f, parts, 3, AMG_MEM_READ, &access.key);
    void *at = NULL;

    assert_int_equal(try_both(f, &access, &at), HG_SUCCESS);
    assert_ptr_equal(at, f->bytes + LEN + 1);
    access.segment = 0;
    assert_int_equal(try_both(f, &access, &at), HG_SUCCESS);
    assert_ptr_equal(at, f->bytes + 1);
    hide(f, mem);
    mem = expose(f, parts, 1, AMG_MEM_READ, &access.key);
    access.offset = LEN - 1;
    access.len = 1;
    assert_int_equal(try_both(f, &access, &at), HG_SUCCESS);
    assert_ptr_equal(at, f->bytes + LEN - 1);
    hide(f, mem);
}

static void test_keys_access_outside_is_refused(void **state)
{
    static const struct {
        uint32_t segment;
        uint64_t offset;
        uint64_t len;
    } tries[] = {
        {0, LEN, 1},
        {0, 0, LEN + 1},
        {0, UINT64_MAX, 2},
        {0, UINT64_MAX - 7, 16},
        {0, 1, UINT64_MAX},
        {1, 0, 1},
        {2, 0, 1},
        {UINT32_MAX, 0, 1},
    };
    struct fixture *f = *state;
    const struct amg_segment parts[] = {{f->bytes, LEN}, {NULL, 0}};

    for (uint32_t count = 0; count <= 2; count++) {
        struct amg_shm_key key;
        struct amg_mem *mem =
            expose(f, parts, count, AMG_MEM_READ | AMG_MEM_WRITE, &key);

        for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
            assert_int_equal(try_both(f,
                                 &(struct amg_shm_access){.key = key,
                                     .segment = tries[i].segment,
                                     .direction = AMG_MEM_WRITE,
                                     .offset = tries[i].offset,
                                     .len = tries[i].len},
                                 NULL),
                HG_OVERFLOW);
        hide(f, mem);
    }
}

static void test_keys_beyond_4_gib_is_counted_right(void **state)
{
    struct fixture *f = *state;
    const uint64_t much = 9ull << 32;
    const struct amg_segment parts[] = {{f->bytes, much}, {f->bytes, 1}};
    struct amg_shm_access access = {.direction = AMG_MEM_READ};
    struct amg_mem *mem = expose(f, parts, 2, AMG_MEM_READ, &access.key);
    void *at = NULL;

    access.offset = much - 5;
    access.len = 5;
    assert_int_equal(try_both(f, &access, &at), HG_SUCCESS);
    assert_ptr_equal(at, f->bytes + (much - 5));
    access.len = 7; /* a byte more than the next segment has */
    assert_int_equal(try_both(f, &access, &at), HG_OVERFLOW);
    access.offset = 0;
    access.len = much;
    assert_int_equal(try_both(f, &access, &at), HG_SUCCESS);
    hide(f, mem);
}

static void test_keys_permission_holds(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.len = 1};

    for (uint8_t flag = AMG_MEM_READ; flag <= AMG_MEM_WRITE; flag++) {
        struct amg_mem *mem = expose(f, &part, 1, flag, &access.key);

        access.direction = AMG_MEM_READ;
        assert_int_equal(try_both(f, &access, NULL),
            flag == AMG_MEM_READ ? HG_SUCCESS : HG_PERMISSION);
        access.direction = AMG_MEM_WRITE;
        assert_int_equal(try_both(f, &access, NULL),
            flag == AMG_MEM_WRITE ? HG_SUCCESS : HG_PERMISSION);
        hide(f, mem);
    }
}

static void test_keys_wrong_or_old_key_finds_nothing(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_shm_access wrong;
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    struct amg_shm_key next;

    for (size_t i = 0; i < sizeof(access.key); i++) {
        hg_return_t rc = HG_SUCCESS;

        wrong = access;
        ((unsigned char *)&wrong.key)[i] ^= 0x80;
        rc = try_both(f, &wrong, NULL);
        assert_true(rc == HG_NOENTRY || rc == HG_OPNOTSUPPORTED);
    }
    assert_int_equal(try_both(f, &access, NULL), HG_SUCCESS);
    hide(f, mem);
    assert_int_equal(try_both(f, &access, NULL), HG_NOENTRY);
    mem = expose(f, &part, 1, AMG_MEM_READ, &next);
    assert_int_equal(next.index, access.key.index);
    assert_int_equal(try_both(f, &access, NULL), HG_NOENTRY);
    hide(f, mem);
    assert_int_equal(
        amg_shm_key_read(&(struct amg_key){.len = 15}, &next), HG_INVALID_ARG);
}

/* More memory, and longer lists, than the table has room for. */
static void test_keys_beyond_the_table_go_by_message(void **state)
{
    enum { MANY = AMG_SHM_ENTRIES + 100, SEGMENTS = 32768, LISTS = 5 };
    struct fixture *f = *state;
    static struct amg_mem *mems[MANY];
    static struct amg_segment parts[SEGMENTS + 1];
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    void *at = NULL;
    int by_message = 0;

    for (uint32_t i = 0; i <= SEGMENTS; i++)
        parts[i] = (struct amg_segment){f->bytes + i % LEN, LEN};
    for (uint32_t i = 0; i < MANY; i++) {
        mems[i] = expose(f, parts + i % LEN, 1, AMG_MEM_READ, &access.key);
        assert_int_equal(try_both(f, &access, &at),
            i < AMG_SHM_ENTRIES ? HG_SUCCESS : HG_OPNOTSUPPORTED);
        assert_ptr_equal(at, f->bytes + i % LEN);
    }
    for (uint32_t i = 0; i < MANY; i++)
        hide(f, mems[i]);
    for (int round = 0; round < 2; round++) {
        by_message = 0;
        for (int i = 0; i < LISTS; i++) {
            hg_return_t rc = HG_SUCCESS;

            access.segment = SEGMENTS - 1;
            mems[i] = expose(f, parts, SEGMENTS, AMG_MEM_READ, &access.key);
            rc = try_both(f, &access, &at);
            assert_true(rc == HG_SUCCESS || rc == HG_OPNOTSUPPORTED);
            by_message += rc == HG_OPNOTSUPPORTED;
            assert_ptr_equal(at, parts[SEGMENTS - 1].base);
        }
        assert_in_range(by_message, 1, 3);
        for (int i = 0; i < LISTS; i++)
            hide(f, mems[i]);
    }
    mems[0] = expose(f, parts, SEGMENTS + 1, AMG_MEM_READ, &access.key);
    assert_int_equal(try_both(f, &access, &at), HG_OPNOTSUPPORTED);
    hide(f, mems[0]);
}

static void test_keys_remove_waits_for_accesses_in_flight(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    struct amg_shm_mem *own = NULL;
    unsigned visit = 0;
    struct amg_shm_view view;
    struct amg_seg_iter own_at;

    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_int_equal(
        amg_shm_access_enter(f->table, f->accessor, &access, &visit, &view),
        HG_SUCCESS);
    assert_int_equal(
        amg_shm_exposer_enter(&f->keys, &access, &own, &own_at), HG_SUCCESS);
    assert_int_equal(amg_shm_exposer_remove(&f->keys, mem, 1), HG_BUSY);
    assert_int_equal(try_both(f, &access, NULL), HG_NOENTRY);
    amg_shm_exposer_leave(&f->keys, own);
    assert_int_equal(amg_shm_exposer_remove(&f->keys, mem, 0), HG_BUSY);
    amg_shm_access_leave(f->accessor, visit);
    hide(f, mem);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

static void test_keys_remove_does_not_wait_for_dead_processes(void **state)
{
    struct fixture *f = *state;
    const struct amg_shm_accessor_id dead = {.id = 99, .pid = DEAD_PID};
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    struct amg_shm_accessor *accessor =
        amg_shm_access_claim(f->table, NULL, &dead, most_live);
    unsigned visit = 0;
    struct amg_shm_view view;

    assert_int_equal(
        amg_shm_access_enter(f->table, accessor, &access, &visit, &view),
        HG_SUCCESS);
    hide(f, mem);
    assert_ptr_equal(
        amg_shm_access_claim(f->table, NULL, &me, most_live), accessor);
    amg_shm_access_release(accessor);
}

/* A process without free descriptors cannot learn whether an accessor lives. */
static void test_keys_remove_waits_for_processes_that_may_live(void **state)
{
    struct fixture *f = *state;
    const struct amg_shm_accessor_id untold = {.id = 99, .pid = UNTOLD_PID};
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    struct amg_shm_accessor *accessor =
        amg_shm_access_claim(f->table, NULL, &untold, most_live);
    unsigned visit = 0;
    struct amg_shm_view view;

    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    assert_int_equal(
        amg_shm_access_enter(f->table, accessor, &access, &visit, &view),
        HG_SUCCESS);
    assert_int_equal(amg_shm_exposer_remove(&f->keys, mem, 0), HG_BUSY);
    assert_int_equal(atomic_load(&accessor->id), untold.id);
    amg_shm_access_leave(accessor, visit);
    hide(f, mem);
    amg_shm_access_release(accessor);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

/* When removal asks whether peer LEAVING_PID lives, the peer ends its access
 * and releases its slot. */
static struct amg_shm_accessor *leaving;

static enum amg_life leaves_when_asked(uint32_t pid, uint64_t start_time)
{
    (void)start_time;
    if (pid == LEAVING_PID)
        amg_shm_access_release(leaving);
    return AMG_LIFE_ALIVE;
}

static void test_keys_remove_waits_for_others_when_an_accessor_leaves(
    void **state)
{
    struct fixture *f = *state;
    const struct amg_shm_accessor_id first = {.id = 99, .pid = LEAVING_PID};
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    struct amg_shm_accessor *stays = NULL;
    unsigned visit = 0;
    struct amg_shm_view view;

    leaving = amg_shm_access_claim(f->table, NULL, &first, most_live);
    stays = amg_shm_access_claim(f->table, NULL, &me, most_live);
    assert_true(leaving < stays);
    assert_int_equal(
        amg_shm_access_enter(f->table, leaving, &access, &visit, &view),
        HG_SUCCESS);
    assert_int_equal(
        amg_shm_access_enter(f->table, stays, &access, &visit, &view),
        HG_SUCCESS);
    f->keys.life = leaves_when_asked;
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    for (int i = 0; i < 2; i++)
        assert_int_equal(amg_shm_exposer_remove(&f->keys, mem, 0), HG_BUSY);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    assert_int_equal(atomic_load(&leaving->id), 0);
    amg_shm_access_leave(stays, visit);
    hide(f, mem);
    amg_shm_access_release(stays);
}

static void test_keys_accessors_of_the_dead_are_reused(void **state)
{
    struct fixture *f = *state;
    const struct amg_shm_accessor_id dead = {.id = 99, .pid = DEAD_PID};
    struct amg_shm_accessor *last = NULL;

    for (int i = 1; i < AMG_SHM_ACCESSORS; i++)
        assert_non_null(amg_shm_access_claim(
            f->table, NULL, i == 100 ? &dead : &me, most_live));
    last = amg_shm_access_claim(f->table, NULL, &me, most_live);
    assert_ptr_equal(last, &f->table->accessors[100]);
    assert_null(amg_shm_access_claim(f->table, NULL, &me, most_live));
    for (int i = 1; i < AMG_SHM_ACCESSORS; i++)
        amg_shm_access_release(&f->table->accessors[i]);
}

/* A slot whose page has no room is not claimed: to write there is SIGBUS. */
static void test_keys_accessor_without_room_is_not_claimed(void **state)
{
    const struct amg_shm_region_params params = {
        .name = "", .max_contexts = 1, .message_len = 4096};
    struct amg_shm_region region;
    struct amg_shm_key_table *table = NULL;
    uint32_t count = 0;

    (void)state;
    assert_int_equal(amg_shm_region_create(&params, &region), HG_SUCCESS);
    table = region.keys;
    is_full = true;
    while (amg_shm_access_claim(table, &region, &me, most_live) != NULL)
        count++;
    assert_int_equal((count + 1) * sizeof(table->accessors[0]),
        AMG_SHM_KEY_TABLE_FIRST_PAGES * AMG_SHM_PAGE);
    assert_int_equal(atomic_load(&table->accessor_end), count);
    is_full = false;
    for (; count < AMG_SHM_ACCESSORS; count++)
        assert_ptr_equal(amg_shm_access_claim(table, &region, &me, most_live),
            &table->accessors[count]);
    amg_shm_region_fini(&region);
}

static void test_keys_remove_checks_only_claimed_accessors(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    struct amg_shm_accessor *accessor = NULL;
    unsigned visit = 0;
    struct amg_shm_view view;

    for (int i = 1; i < VISITORS; i++)
        accessor = amg_shm_access_claim(f->table, NULL, &me, most_live);
    /* As many lines as removal would read if it checked them. */
    for (int i = 0; i < VISITORS; i++)
        atomic_store(&f->table->accessors[i].accesses[0], access.key.index + 1);
    hide(f, mem);
    for (int i = 0; i < VISITORS; i++)
        atomic_store(&f->table->accessors[i].accesses[0], 0);

    /* The slot is used again, and one of them has an access to it. */
    mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    assert_int_equal(
        amg_shm_access_enter(f->table, accessor, &access, &visit, &view),
        HG_SUCCESS);
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    assert_int_equal(amg_shm_exposer_remove(&f->keys, mem, 0), HG_BUSY);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    amg_shm_access_leave(accessor, visit);
    hide(f, mem);
    for (int i = 1; i < VISITORS; i++)
        amg_shm_access_release(&f->table->accessors[i]);
}

static void test_keys_too_many_accesses_are_refused(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment part = {f->bytes, LEN};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, &part, 1, AMG_MEM_READ, &access.key);
    unsigned accesses[AMG_SHM_ACCESSES + 1];
    struct amg_shm_view view;

    for (int i = 0; i < AMG_SHM_ACCESSES; i++)
        assert_int_equal(amg_shm_access_enter(f->table, f->accessor, &access,
                             &accesses[i], &view),
            HG_SUCCESS);
    assert_int_equal(amg_shm_access_enter(
                         f->table, f->accessor, &access, &accesses[0], &view),
        HG_AGAIN);
    for (unsigned i = 0; i < AMG_SHM_ACCESSES; i++)
        amg_shm_access_leave(f->accessor, i);
    hide(f, mem);
}

static void test_keys_broken_table_is_not_trusted(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment parts[] = {{f->bytes, LEN}, {f->bytes, LEN}};
    struct amg_shm_access access = {
        .segment = 1, .direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = expose(f, parts, 2, AMG_MEM_READ, &access.key);
    struct amg_shm_entry *entry = &f->table->entries[access.key.index];
    const uint64_t lists[] = {AMG_SHM_LIST, AMG_SHM_LIST - 1, UINT32_MAX,
        UINT32_MAX - 1, UINT64_MAX, 1ull << 32};
    unsigned visit = 0;
    struct amg_shm_view view;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        atomic_store(&entry->base, lists[i]);
        assert_int_equal(
            amg_shm_access_enter(f->table, f->accessor, &access, &visit, &view),
            HG_PROTOCOL_ERROR);
    }
    atomic_store(&entry->count, UINT32_MAX);
    atomic_store(&entry->base, 5);
    access.segment = AMG_SHM_LIST;
    assert_int_equal(
        amg_shm_access_enter(f->table, f->accessor, &access, &visit, &view),
        HG_PROTOCOL_ERROR);
    hide(f, mem);
}

static void test_keys_without_memory_stay_as_they_are(void **state)
{
    struct fixture *f = *state;
    const struct amg_segment parts[] = {{f->bytes, LEN}, {f->bytes, LEN}};
    struct amg_shm_access access = {.direction = AMG_MEM_READ, .len = 1};
    struct amg_mem *mem = NULL;

    for (uint64_t n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_int_equal(amg_shm_exposer_add(&f->keys, &amg_self_transport,
                             parts, 2, AMG_MEM_READ, &mem),
            HG_NOMEM);
        assert_null(mem);
    }
    amg_mem_fail_nth(3); /* the list's books: by message, then */
    mem = expose(f, parts, 2, AMG_MEM_READ, &access.key);
    amg_mem_fail_nth(0);
    assert_int_equal(try_both(f, &access, NULL), HG_OPNOTSUPPORTED);
    hide(f, mem);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_keys_access_inside_is_allowed),
        TEST(test_keys_access_outside_is_refused),
        TEST(test_keys_beyond_4_gib_is_counted_right),
        TEST(test_keys_permission_holds),
        TEST(test_keys_wrong_or_old_key_finds_nothing),
        TEST(test_keys_beyond_the_table_go_by_message),
        TEST(test_keys_remove_waits_for_accesses_in_flight),
        TEST(test_keys_remove_does_not_wait_for_dead_processes),
        TEST(test_keys_remove_waits_for_processes_that_may_live),
        TEST(test_keys_remove_waits_for_others_when_an_accessor_leaves),
        TEST(test_keys_accessors_of_the_dead_are_reused),
        TEST(test_keys_accessor_without_room_is_not_claimed),
        TEST(test_keys_remove_checks_only_claimed_accessors),
        TEST(test_keys_too_many_accesses_are_refused),
        TEST(test_keys_broken_table_is_not_trusted),
        TEST(test_keys_without_memory_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
