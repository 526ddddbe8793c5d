/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between two processes, by each way that needs no message: the bytes,
 * what is refused, memory that is not there, and an exposer that dies.
 *
 * The exposer is a child that makes its segment, exposes memory, and waits to
 * be killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mapping.h"
#include "shm/shm_copy.h"
#include "shm/shm_files.h"
#include "transport/self.h"

enum {
    LEN = 3 << 20,
    HOLE_LEN = 16 * AMG_PAGE_LEN, /* the second half is unmapped */
    AREA_LEN = 8 << 20,
};

static const uint64_t HUGE_LEN = 5ull << 30;
static const uint64_t FAR_AT = (4ull << 30) - 5000;

/* What the child exposes. */
enum { IN_HEAP, IN_AREA, READ_ONLY, IN_HOLE, HUGE_ONE, KINDS };

struct shown {
    char name[AMG_SHM_NAME_CAP];
    struct amg_shm_key keys[KINDS];
};

struct fixture {
    pid_t child;
    struct shown shown;
    struct amg_shm_domain domain;
    struct amg_shm_peer peer;
    char *local;
};

static char byte_at(uint64_t i)
{
    return (char)(i * 7 + i / 4096 * 13);
}

static void fill(char *bytes, uint64_t from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(from + i);
}

static void assert_filled(const char *bytes, uint64_t from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != byte_at(from + i))
            fail_msg("byte %zu is wrong", i);
}

static void die_if(bool is_bad)
{
    if (is_bad)
        _exit(EXIT_FAILURE);
}

static void expose(struct amg_shm_keys *keys, void *base, uint64_t len,
    uint8_t flags, struct amg_shm_key *ret_key)
{
    struct amg_segment parts[] = {{base, len}};
    struct amg_mem *mem = NULL;
    struct amg_key key;

    die_if(amg_shm_keys_add(keys, &amg_self_transport, parts, 1, flags, &mem) !=
           HG_SUCCESS);
    amg_shm_keys_key(mem, &key);
    die_if(amg_shm_keys_read(&key, ret_key) != HG_SUCCESS);
}

static void *map(uint64_t len)
{
    void *base = mmap(NULL, len, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    die_if(base == MAP_FAILED);
    return base;
}

static void child_main(int out)
{
    static struct amg_shm_keys keys;
    struct amg_shm_region region;
    struct amg_mapping mapping;
    struct amg_area area;
    struct shown shown;
    char *bytes = map(LEN);
    char *hole = map(HOLE_LEN);
    char *huge = map(HUGE_LEN);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    die_if(amg_mapping_open("test", AREA_LEN, &mapping) != HG_SUCCESS);
    area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    die_if(amg_shm_region_create(&(struct amg_shm_plan){.name = "",
                                     .max_contexts = 1,
                                     .message_len = 4096,
                                     .area = &area},
               &region) != HG_SUCCESS);
    memset(&shown, 0, sizeof(shown));
    memcpy(shown.name, region.name, sizeof(shown.name));
    amg_shm_keys_init(
        &keys, region.keys, region.incarnation, amg_shm_files_is_alive);
    fill(bytes, 0, LEN);
    fill((char *)area.base + 100, 0, LEN);
    fill(hole, 0, HOLE_LEN);
    fill(huge + FAR_AT, FAR_AT, 10000);
    expose(
        &keys, bytes, LEN, AMG_MEM_READ | AMG_MEM_WRITE, &shown.keys[IN_HEAP]);
    expose(&keys, (char *)area.base + 100, LEN, AMG_MEM_READ | AMG_MEM_WRITE,
        &shown.keys[IN_AREA]);
    expose(&keys, bytes, LEN, AMG_MEM_READ, &shown.keys[READ_ONLY]);
    expose(&keys, hole, HOLE_LEN, AMG_MEM_READ | AMG_MEM_WRITE,
        &shown.keys[IN_HOLE]);
    expose(&keys, huge, HUGE_LEN, AMG_MEM_READ, &shown.keys[HUGE_ONE]);
    die_if(munmap(hole + HOLE_LEN / 2, HOLE_LEN / 2) != 0);
    die_if(write(out, &shown, sizeof(shown)) != sizeof(shown));
    for (;;)
        pause();
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int pipes[2];

    *state = f;
    f->local = calloc(1, LEN);
    if (pipe(pipes) != 0)
        return 1;
    f->child = fork();
    if (f->child == 0)
        child_main(pipes[1]);
    close(pipes[1]);
    if (read(pipes[0], &f->shown, sizeof(f->shown)) != sizeof(f->shown))
        return 1;
    close(pipes[0]);
    if (amg_shm_region_create(
            &(struct amg_shm_plan){
                .name = "", .max_contexts = 1, .message_len = 4096},
            &f->domain.region) != HG_SUCCESS)
        return 1;
    f->domain.bulk.who = (struct amg_shm_who){f->domain.region.incarnation | 2,
        f->domain.region.start_time, f->domain.region.pid};
    f->peer.domain = &f->domain;
    return amg_shm_region_map(f->shown.name, &f->peer.region) != HG_SUCCESS;
}

static void child_kill(struct fixture *f)
{
    if (f->child == 0)
        return;
    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    f->child = 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    amg_shm_copy_fini(&f->peer.bulk);
    child_kill(f);
    amg_shm_region_fini(&f->peer.region);
    amg_shm_region_fini(&f->domain.region);
    amg_shm_files_clean();
    free(f->local);
    free(f);
    return 0;
}

/* Moves all of it, step by step; how it ended, and how far it came. */
static hg_return_t move(struct fixture *f, int kind, uint32_t direction,
    uint64_t offset, uint64_t len, uint64_t *ret_moved)
{
    struct amg_shm_access access = {.key = f->shown.keys[kind],
        .direction = direction,
        .offset = offset,
        .len = len};
    const struct amg_segment here = {f->local, LEN};
    struct amg_place local = {&here, 1, 0, 0};
    uint64_t moved = 0;
    hg_return_t rc = HG_SUCCESS;

    while (moved < len && rc == HG_SUCCESS) {
        uint64_t budget = 1 << 20;
        uint64_t step = 0;

        access.offset = offset + moved;
        access.len = len - moved;
        rc = amg_shm_copy_step(
            &f->domain, &f->peer, &access, &local, &budget, &step);
        if (rc == HG_SUCCESS) {
            assert_in_range(step, 1, 1 << 20);
            moved += step;
        }
    }
    if (ret_moved != NULL)
        *ret_moved = moved;
    return rc;
}

/* Gets what is there, puts other bytes into it, and gets them back. */
static void bytes_pass(struct fixture *f, int kind)
{
    assert_int_equal(move(f, kind, AMG_MEM_READ, 0, LEN, NULL), HG_SUCCESS);
    assert_filled(f->local, 0, LEN);
    fill(f->local, 777, LEN - 10);
    assert_int_equal(
        move(f, kind, AMG_MEM_WRITE, 3, LEN - 10, NULL), HG_SUCCESS);
    memset(f->local, 0, LEN);
    assert_int_equal(move(f, kind, AMG_MEM_READ, 0, LEN, NULL), HG_SUCCESS);
    assert_filled(f->local, 0, 3);
    assert_filled(f->local + 3, 777, LEN - 10);
    assert_filled(f->local + LEN - 7, LEN - 7, 7);
}

static void skip_without(struct fixture *f, enum amg_shm_copy copy)
{
    f->domain.bulk.copy = copy;
    if (move(f, copy == AMG_SHM_COPY_DIRECT ? IN_AREA : IN_HEAP, AMG_MEM_READ,
            0, 1, NULL) == HG_OPNOTSUPPORTED)
        skip();
}

static void test_copy_cma_moves_the_bytes(void **state)
{
    struct fixture *f = *state;

    skip_without(f, AMG_SHM_COPY_CMA);
    assert_null(f->peer.bulk.area);
    bytes_pass(f, IN_HEAP);
    bytes_pass(f, IN_AREA);
}

static void test_copy_direct_moves_the_bytes(void **state)
{
    struct fixture *f = *state;

    skip_without(f, AMG_SHM_COPY_DIRECT);
    assert_int_equal(f->peer.bulk.has_cma, 0);
    bytes_pass(f, IN_AREA);
    assert_int_equal(
        move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
}

static void test_copy_auto_takes_what_there_is(void **state)
{
    struct fixture *f = *state;

    skip_without(f, AMG_SHM_COPY_AUTO);
    bytes_pass(f, IN_HEAP);
    bytes_pass(f, IN_AREA);
    assert_non_null(f->peer.bulk.area);
}

static void test_copy_segment_is_for_messages(void **state)
{
    struct fixture *f = *state;

    f->domain.bulk.copy = AMG_SHM_COPY_SEGMENT;
    assert_int_equal(
        move(f, IN_AREA, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
    assert_null(f->peer.bulk.visitor);
}

/* Containers share a node, but neither pids nor addresses. */
static void test_copy_other_pid_namespace_is_for_messages(void **state)
{
    struct fixture *f = *state;

    f->peer.region.pid_ns++;
    assert_int_equal(
        move(f, IN_AREA, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
    assert_null(f->peer.bulk.visitor);
}

static void test_copy_wrong_probe_is_no_cma(void **state)
{
    struct fixture *f = *state;

    f->peer.region.head->probe_addr += 8;
    f->domain.bulk.copy = AMG_SHM_COPY_CMA;
    assert_int_equal(
        move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
}

static void test_copy_not_allowed_is_refused(void **state)
{
    struct fixture *f = *state;

    skip_without(f, AMG_SHM_COPY_CMA);
    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    memset(f->local, 9, LEN);
    assert_int_equal(
        move(f, READ_ONLY, AMG_MEM_WRITE, 0, 1, NULL), HG_PERMISSION);
    assert_int_equal(move(f, IN_HEAP, AMG_MEM_READ, 1, LEN, NULL), HG_OVERFLOW);
    f->shown.keys[IN_HEAP].serial++;
    assert_int_equal(move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_NOENTRY);
    amg_log_level_set(AMG_LOG_LEVEL_WARNING);
    for (size_t i = 0; i < LEN; i++)
        assert_int_equal(f->local[i], 9);
}

static void test_copy_stops_where_memory_ends(void **state)
{
    struct fixture *f = *state;
    uint64_t moved = 0;

    skip_without(f, AMG_SHM_COPY_CMA);
    amg_log_level_set(AMG_LOG_LEVEL_NONE);
    assert_int_equal(
        move(f, IN_HOLE, AMG_MEM_READ, 0, HOLE_LEN, &moved), HG_NA_ERROR);
    assert_int_equal(moved, HOLE_LEN / 2);
    assert_filled(f->local, 0, HOLE_LEN / 2);
    assert_int_equal(
        move(f, IN_HOLE, AMG_MEM_WRITE, 0, HOLE_LEN, &moved), HG_NA_ERROR);
    assert_int_equal(moved, HOLE_LEN / 2);
    amg_log_level_set(AMG_LOG_LEVEL_WARNING);
    /* It was this memory's fault, not that of the way. */
    assert_int_equal(move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_SUCCESS);
}

static void test_copy_beyond_4_gib(void **state)
{
    struct fixture *f = *state;

    skip_without(f, AMG_SHM_COPY_CMA);
    assert_int_equal(
        move(f, HUGE_ONE, AMG_MEM_READ, FAR_AT, 10000, NULL), HG_SUCCESS);
    assert_filled(f->local, FAR_AT, 10000);
    assert_int_equal(
        move(f, HUGE_ONE, AMG_MEM_READ, HUGE_LEN - 10, 10, NULL), HG_SUCCESS);
}

static void test_copy_from_the_dead_fails(void **state)
{
    struct fixture *f = *state;

    skip_without(f, AMG_SHM_COPY_CMA);
    child_kill(f);
    assert_int_equal(
        move(f, IN_HEAP, AMG_MEM_READ, 0, LEN, NULL), HG_HOSTUNREACH);
    assert_int_equal(
        move(f, IN_HEAP, AMG_MEM_WRITE, 0, LEN, NULL), HG_HOSTUNREACH);
}

/* One who died before the ways to it were found out. */
static void test_copy_from_the_long_dead_needs_messages(void **state)
{
    struct fixture *f = *state;

    child_kill(f);
    assert_int_equal(
        move(f, IN_AREA, AMG_MEM_READ, 0, LEN, NULL), HG_OPNOTSUPPORTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_copy_cma_moves_the_bytes),
        TEST(test_copy_direct_moves_the_bytes),
        TEST(test_copy_auto_takes_what_there_is),
        TEST(test_copy_segment_is_for_messages),
        TEST(test_copy_other_pid_namespace_is_for_messages),
        TEST(test_copy_wrong_probe_is_no_cma),
        TEST(test_copy_not_allowed_is_refused),
        TEST(test_copy_stops_where_memory_ends),
        TEST(test_copy_beyond_4_gib),
        TEST(test_copy_from_the_dead_fails),
        TEST(test_copy_from_the_long_dead_needs_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
